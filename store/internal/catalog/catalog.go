// Package catalog has the types that a store knows: by name, by Go struct, and over
// time, since a name may pass from one type to another. It makes writes of what drafts
// want, and tells whether answers stand after types have changed.
package catalog

import (
	"context"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/suggest"
	"github.com/ontologia/onto/internal/typelist"
	"github.com/ontologia/onto/store/internal/lineage"
	"github.com/ontologia/onto/store/internal/shape"
)

// Type is a type of the store.
type Type struct {
	shape.Type // its present version

	Chain *lineage.Chain // its versions; nil if there is only one, and never was another
	End   *onto.End      // it has ended; nil while it exists

	Ends [][2]string // as stored: the names its endpoints had, left and right

	Since int // the first version that the present one continues
}

// Catalog is the types that a store knows, by name and by Go struct. It does not change
// once it is in use.
type Catalog struct {
	Present map[onto.TypeName]*Type
	Former  map[onto.TypeName][]*Type // types that have ended, oldest first
	Stored  []onto.SchemaVersion      // what both were made of
	structs map[reflect.Type]*Type

	own    bool // there are types that only the store itself writes
	strict bool // there are relations to types whose keys are not any text

	outdated map[reflect.Type]onto.Schema // Go structs of types that have changed incompatibly since
	Turn     atomic.Int64                 // the count of type changes that it is as of
}

// New makes a catalog of the stored types, without structs.
func New(stored []onto.SchemaVersion, given lineage.Functions) *Catalog {
	c := &Catalog{
		Present: map[onto.TypeName]*Type{}, Former: map[onto.TypeName][]*Type{}, Stored: stored,
		structs: map[reflect.Type]*Type{}, outdated: map[reflect.Type]onto.Schema{},
	}
	newest := typelist.Newest(stored)
	for _, v := range stored {
		last := slices.ContainsFunc(newest, func(n onto.SchemaVersion) bool {
			return n.Schema.TypeName() == v.Schema.TypeName() && n.Version == v.Version
		})
		if v.End == nil && !last {
			continue
		}
		t := &Type{Type: shape.New(v.Schema, v.Version), End: v.End}
		if chain := lineage.New(stored, v, given); !chain.Plain() {
			t.Chain = chain
		}
		name := v.Schema.TypeName()
		t.Since = firstContinued(stored, name, v.Version)
		if v.End != nil {
			c.Former[name] = append(c.Former[name], t)
		} else {
			c.Present[name] = t
			c.own = c.own || c.Own(name)
		}
	}
	for _, t := range c.Present {
		c.strict = c.strict || t.Schema.Kind == onto.KindRelation && c.strictEnds(t)
	}
	return c
}

// strictEnds reports whether an endpoint of a relation has a key that is not any text.
func (c *Catalog) strictEnds(t *Type) bool {
	for _, name := range []string{t.Schema.Left, t.Schema.Right} {
		end, ok := c.Present[onto.TypeName{Kind: onto.KindEntity, Name: name}]
		if ok && end.KeyType() != onto.String {
			return true
		}
	}
	return false
}

// firstContinued returns the first version of a type that a later one continues.
func firstContinued(stored []onto.SchemaVersion, name onto.TypeName, version int) int {
	for version > 1 && typelist.Continues(stored, name, version-1) {
		version--
	}
	return version
}

// Get returns a type by kind and name.
func (c *Catalog) Get(kind onto.Kind, name string) (*Type, error) {
	if t, ok := c.Present[onto.TypeName{Kind: kind, Name: name}]; ok {
		return t, nil
	}
	return nil, c.Unknown(kind, name)
}

// Unknown is the error for a name of no type of the kind; "" stands for any kind.
func (c *Catalog) Unknown(kind onto.Kind, name string) error {
	for _, k := range onto.Kinds() {
		if lives := c.Former[onto.TypeName{Kind: k, Name: name}]; lives != nil && (kind == "" || kind == k) {
			return lives[len(lives)-1].Gone()
		}
	}
	var names []string
	for t := range c.Present {
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
	return UnknownName(onto.Errorf(onto.Invalid, "%s %s does not exist in this store", what, name), name, names,
		"see the types", "info", "--schema")
}

// OfStruct returns the type that a Go struct is bound to.
func (c *Catalog) OfStruct(t reflect.Type) (*Type, error) {
	if found, ok := c.structs[t]; ok {
		return found, nil
	}
	if given, ok := c.outdated[t]; ok {
		return nil, c.outdatedStruct(given)
	}
	return nil, onto.Errorf(onto.Invalid, "Go type %v is not a type of this store", t).
		WithHint("give onto.TypeOf[%s]() to store.Open", t.Name())
}

// Gone is the error for a type that has ended.
func (t *Type) Gone() error {
	if t.End.RenamedTo != "" {
		return onto.Errorf(onto.Invalid, "type %s was renamed to %s by commit %d", t.Schema.Name, t.End.RenamedTo, t.End.Commit).
			WithHint("use %s, also for the time before", t.End.RenamedTo)
	}
	return onto.Errorf(onto.Invalid, "type %s was dropped by commit %d", t.Schema.Name, t.End.Commit).
		WithHint("read it as of an earlier commit, or register it again").WithCommand("init", "--schema", "FILE")
}

// Explain adds to an error how the types of the catalog differ from those stored
// now, as far as these can be read. Compatible changes are not the reason.
func (c *Catalog) Explain(ctx context.Context, b backend.Backend, e *onto.Error) {
	stored, err := b.Schemas(ctx)
	if err != nil {
		return
	}
	for _, v := range typelist.Newest(stored) {
		t, ok := c.Present[v.Schema.TypeName()]
		if !ok || typelist.Continues(stored, v.Schema.TypeName(), t.Version) {
			continue
		}
		if d := onto.DiffSchemas(v.Schema, t.Schema); !d.Empty() {
			e.Differences = append(e.Differences, d)
			e.Message += "; " + d.String()
		}
	}
}

// ContinuedBy reports whether answers about a type that were found with this catalog
// stay valid: in the later one it is unchanged, or has only got further fields.
func (c *Catalog) ContinuedBy(now *Catalog, name onto.TypeName) bool {
	t, ok := c.Present[name]
	if !ok {
		return c.hash(name) == now.hash(name)
	}
	if !typelist.Continues(now.Stored, name, t.Version) {
		return false
	}
	d := onto.DiffSchemas(t.Schema, now.Present[name].Schema)
	return len(d.Changed)+len(d.Flags) == 0 && !slices.ContainsFunc(d.Added, func(added string) bool {
		f, _ := now.Present[name].Schema.Field(added)
		return f.Search // so there is more to be found
	})
}

// hash identifies all versions of a type.
func (c *Catalog) hash(name onto.TypeName) string {
	var list []onto.SchemaVersion
	for _, v := range c.Stored {
		if v.Schema.TypeName() == name {
			list = append(list, v)
		}
	}
	return typelist.Hash(list)
}

// UnknownName adds a hint to an error about a name that does not exist.
func UnknownName(err *onto.Error, name string, known []string, otherwise string, command ...string) error {
	if near := suggest.Name(name, known); near != "" {
		return err.WithHint("did you mean %s?", near)
	}
	return err.WithHint("%s", otherwise).WithCommand(command...)
}
