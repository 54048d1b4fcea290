package store

import (
	"context"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/typelist"
	"github.com/ontologia/onto/store/internal/lineage"
	"github.com/ontologia/onto/store/internal/shape"
)

// typ is a type of the store.
type typ struct {
	shape.Type // its present version

	chain *lineage.Chain // its versions; nil if there is only one, and never was another
	end   *onto.End      // it has ended; nil while it exists

	ends [][2]string // as stored: the names its endpoints had, left and right

	since int // the first version that the present one continues
}

// catalog is the types that a store knows, by name and by Go struct. It does not change
// once it is in use.
type catalog struct {
	present map[onto.TypeName]*typ
	former  map[onto.TypeName][]*typ // types that have ended, oldest first
	stored  []onto.SchemaVersion     // what both were made of
	structs map[reflect.Type]*typ

	outdated map[reflect.Type]onto.Schema // Go structs of types that have changed incompatibly since
	turn     atomic.Int64                 // the count of type changes that it is as of
}

// newCatalog makes a catalog of the stored types, without structs.
func newCatalog(stored []onto.SchemaVersion, given upgraders) *catalog {
	c := &catalog{
		present: map[onto.TypeName]*typ{}, former: map[onto.TypeName][]*typ{}, stored: stored,
		structs: map[reflect.Type]*typ{}, outdated: map[reflect.Type]onto.Schema{},
	}
	newest := typelist.Newest(stored)
	for _, v := range stored {
		last := slices.ContainsFunc(newest, func(n onto.SchemaVersion) bool {
			return n.Schema.TypeName() == v.Schema.TypeName() && n.Version == v.Version
		})
		if v.End == nil && !last {
			continue
		}
		t := &typ{Type: shape.Type{Schema: v.Schema, Version: v.Version}, end: v.End}
		if chain := lineage.New(stored, v, given.function); !chain.Plain() {
			t.chain = chain
		}
		name := v.Schema.TypeName()
		t.since = firstContinued(stored, name, v.Version)
		if v.End != nil {
			c.former[name] = append(c.former[name], t)
		} else {
			c.present[name] = t
		}
	}
	return c
}

// firstContinued returns the first version of a type that a later one continues.
func firstContinued(stored []onto.SchemaVersion, name onto.TypeName, version int) int {
	for version > 1 && typelist.Continues(stored, name, version-1) {
		version--
	}
	return version
}

// get returns a type by kind and name.
func (c *catalog) get(kind onto.Kind, name string) (*typ, error) {
	if t, ok := c.present[onto.TypeName{Kind: kind, Name: name}]; ok {
		return t, nil
	}
	return nil, c.unknown(kind, name)
}

// unknown is the error for a name of no type of the kind; "" stands for any kind.
func (c *catalog) unknown(kind onto.Kind, name string) error {
	for _, k := range []onto.Kind{onto.KindEntity, onto.KindRelation} {
		if lives := c.former[onto.TypeName{Kind: k, Name: name}]; lives != nil && (kind == "" || kind == k) {
			return lives[len(lives)-1].gone()
		}
	}
	var names []string
	for t := range c.present {
		if t.Name == name {
			return onto.Errorf(onto.Invalid, "%s is of kind %s, not %s", name, t.Kind, kind)
		}
		if kind == "" || t.Kind == kind {
			names = append(names, t.Name)
		}
	}
	slices.Sort(names)
	what := "type"
	if kind != "" {
		what = string(kind) + " type"
	}
	return unknownName(onto.Errorf(onto.Invalid, "%s %s does not exist in this store", what, name), name, names,
		"see the types", "info", "--schema")
}

// ofStruct returns the type that a Go struct is bound to.
func (c *catalog) ofStruct(t reflect.Type) (*typ, error) {
	if found, ok := c.structs[t]; ok {
		return found, nil
	}
	if given, ok := c.outdated[t]; ok {
		return nil, c.outdatedStruct(given)
	}
	return nil, onto.Errorf(onto.Invalid, "Go type %v is not a type of this store", t).
		WithHint("give onto.TypeOf[%s]() to store.Open", t.Name())
}

// gone is the error for a type that has ended.
func (t *typ) gone() error {
	if t.end.RenamedTo != "" {
		return onto.Errorf(onto.Invalid, "type %s was renamed to %s by commit %d", t.Schema.Name, t.end.RenamedTo, t.end.Commit).
			WithHint("use %s, also for the time before", t.end.RenamedTo)
	}
	return onto.Errorf(onto.Invalid, "type %s was dropped by commit %d", t.Schema.Name, t.end.Commit).
		WithHint("read it as of an earlier commit, or register it again").WithCommand("init", "--schema", "FILE")
}

// explain adds to an error how the types of the catalog differ from those stored
// now, as far as these can be read. Compatible changes are not the reason.
func (c *catalog) explain(ctx context.Context, b backend.Backend, e *onto.Error) {
	stored, err := b.Schemas(ctx)
	if err != nil {
		return
	}
	for _, v := range typelist.Newest(stored) {
		t, ok := c.present[v.Schema.TypeName()]
		if !ok || typelist.Continues(stored, v.Schema.TypeName(), t.Version) {
			continue
		}
		if d := onto.DiffSchemas(v.Schema, t.Schema); !d.Empty() {
			e.Differences = append(e.Differences, d)
			e.Message += "; " + d.String()
		}
	}
}
