package datafile

import (
	"sync"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/parquet"
	"github.com/ontologia/onto/backend/lake/protocol"
)

// Types is what a catalog tells about types, and the columns of their files. It is
// never changed.
type Types struct {
	*protocol.Types

	mu      sync.Mutex // guards layouts
	layouts map[onto.TypeName]*parquet.Layout
}

// ReadTypes reads the types of a catalog.
func ReadTypes(c *protocol.Catalog) (*Types, error) {
	t, err := protocol.ReadTypes(c)
	if err != nil {
		return nil, err
	}
	return withColumns(t), nil
}

// withColumns is types with the columns of their files.
func withColumns(t *protocol.Types) *Types {
	return &Types{Types: t, layouts: map[onto.TypeName]*parquet.Layout{}}
}

// Layout is the columns of a type's files.
func (t *Types) Layout(name onto.TypeName) *parquet.Layout {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.layouts[name] == nil {
		t.layouts[name] = LayoutOf(t.Types, name)
	}
	return t.layouts[name]
}

// Shelf is the files of every type as of one tip, and their columns. It is never
// changed.
type Shelf struct {
	*protocol.Shelf
	Types *Types
}

// NewShelf is the shelf of files. Columns that an older shelf knows are taken from
// there; it may be nil.
func NewShelf(files *protocol.Shelf, old *Shelf) *Shelf {
	if old != nil && old.Types.Types == files.Types {
		return &Shelf{files, old.Types}
	}
	return &Shelf{files, withColumns(files.Types)}
}

// Base is the files alone; nil for nil.
func (s *Shelf) Base() *protocol.Shelf {
	if s == nil {
		return nil
	}
	return s.Shelf
}
