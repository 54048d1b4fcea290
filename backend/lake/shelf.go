package lake

import (
	"sync"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/datafile"
	"github.com/ontologia/onto/backend/lake/parquet"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/decide"
)

// types is what a catalog tells about types, and the columns of their files. It is
// never changed.
type types struct {
	*protocol.Types
	stamps map[onto.TypeName]int // the newest version of each type that exists

	mu      sync.Mutex // guards layouts
	layouts map[onto.TypeName]*parquet.Layout
}

// newTypes reads the types of a catalog.
func newTypes(c *protocol.Catalog) (*types, error) {
	t, err := protocol.ReadTypes(c)
	if err != nil {
		return nil, err
	}
	return withColumns(t), nil
}

// withColumns is types with the columns of their files.
func withColumns(t *protocol.Types) *types {
	return &types{Types: t, stamps: decide.Stamps(t.All), layouts: map[onto.TypeName]*parquet.Layout{}}
}

// layout is the columns of a type's files.
func (t *types) layout(name onto.TypeName) *parquet.Layout {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.layouts[name] == nil {
		t.layouts[name] = datafile.LayoutOf(t.Types, name)
	}
	return t.layouts[name]
}

// shelf is the files of every type as of one tip, and their columns. It is never
// changed.
type shelf struct {
	*protocol.Shelf
	types *types
}

// newShelf is the shelf of files. Columns that an older shelf knows are taken from
// there; it may be nil.
func newShelf(files *protocol.Shelf, old *shelf) *shelf {
	if old != nil && old.types.Types == files.Types {
		return &shelf{files, old.types}
	}
	return &shelf{files, withColumns(files.Types)}
}

// base is the files alone; nil for nil.
func (s *shelf) base() *protocol.Shelf {
	if s == nil {
		return nil
	}
	return s.Shelf
}
