package lake

import (
	"slices"
	"sync"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/parquet"
	"github.com/ontologia/onto/internal/decide"
)

// types is what a catalog tells about types. It is never changed.
type types struct {
	catalog *catalog
	all     []onto.SchemaVersion
	hash    string
	stamps  map[onto.TypeName]int // the newest version of each type that exists
	purged  map[onto.TypeName]int // rows of schema versions up to this one do not exist

	mu      sync.Mutex // guards layouts
	layouts map[onto.TypeName]*parquet.Layout
}

// newTypes reads the types of a catalog.
func newTypes(c *catalog) (*types, error) {
	t := &types{catalog: c, layouts: map[onto.TypeName]*parquet.Layout{}}
	for i := range c.Types {
		v, err := c.Types[i].schema()
		if err != nil {
			return nil, damaged("meta/catalog", "type %s: %w", c.Types[i].Name, err)
		}
		if v.Schema.TypeName() != (onto.TypeName{Kind: c.Types[i].Kind, Name: c.Types[i].Name}) {
			return nil, damaged("meta/catalog", "the %s %s has the schema of the %s %s", c.Types[i].Kind, c.Types[i].Name, v.Schema.Kind, v.Schema.Name)
		}
		t.all = append(t.all, v)
	}
	t.hash, t.purged = backend.TypesHash(t.all), decide.Purged(t.all)
	t.stamps = decide.Stamps(t.all)
	return t, nil
}

// layout is the columns of a type's files.
func (t *types) layout(name onto.TypeName) *parquet.Layout {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.layouts[name] == nil {
		t.layouts[name] = parquet.NewLayout(name.Kind, name.Name, t.all)
		t.layouts[name].Store = t.catalog.StoreID
	}
	return t.layouts[name]
}

// newest is the newest version of a type, also if it has ended; nil if there is
// none.
func (t *types) newest(name onto.TypeName) *onto.SchemaVersion {
	if i := backend.LastOf(t.all, name); i >= 0 {
		return &t.all[i]
	}
	return nil
}

// has reports whether there is, or was, a type with a name.
func (t *types) has(name string) bool {
	return slices.ContainsFunc(t.all, func(v onto.SchemaVersion) bool { return v.Schema.Name == name })
}
