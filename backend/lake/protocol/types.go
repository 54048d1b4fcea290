package protocol

import (
	"encoding/json"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/decide"
	"github.com/ontologia/onto/internal/typelist"
)

// Types is what a catalog tells about types. It is never changed.
type Types struct {
	Catalog *Catalog
	All     []onto.SchemaVersion
	Hash    string
	Judge   *decide.Catalog       // what drafts are judged by
	Purged  map[onto.TypeName]int // rows of schema versions up to this one do not exist
}

// ReadTypes reads the types of a catalog.
func ReadTypes(c *Catalog) (*Types, error) {
	t := &Types{Catalog: c}
	for i := range c.Types {
		v, err := c.Types[i].SchemaVersion()
		if err != nil {
			return nil, Damaged("meta/catalog", "type %s: %w", c.Types[i].Name, err)
		}
		if v.Schema.TypeName() != (onto.TypeName{Kind: c.Types[i].Kind, Name: c.Types[i].Name}) {
			return nil, Damaged("meta/catalog", "the %s %s has the schema of the %s %s", c.Types[i].Kind, c.Types[i].Name, v.Schema.Kind, v.Schema.Name)
		}
		t.All = append(t.All, v)
	}
	t.Hash, t.Judge, t.Purged = typelist.Hash(t.All), decide.NewCatalog(t.All), decide.Purged(t.All)
	return t, nil
}

// Newest is the newest version of a type, also if it has ended; nil if there is
// none.
func (t *Types) Newest(name onto.TypeName) *onto.SchemaVersion {
	if i := typelist.LastOf(t.All, name); i >= 0 {
		return &t.All[i]
	}
	return nil
}

// Has reports whether there is, or was, a type with a name.
func (t *Types) Has(name string) bool {
	return slices.ContainsFunc(t.All, func(v onto.SchemaVersion) bool { return v.Schema.Name == name })
}

// newSchemaEntry is a version of a type as the catalog keeps it. Flags may have
// changed since it was registered.
func newSchemaEntry(v *onto.SchemaVersion) SchemaEntry {
	e := SchemaEntry{
		Kind: v.Schema.Kind, Name: v.Schema.Name, Version: v.Version, Schema: v.JSON, Hash: v.Hash, Created: codec.FormatTime(v.Created),
		Runtime: v.Runtime, Reason: v.Reason, Since: v.Since, Upgrader: v.Upgrader, Learned: v.Learned, End: v.End,
		ActorKind: v.Actor.Kind, ActorID: v.Actor.ID, Comment: v.Comment,
	}
	if flags := v.Schema.JSON(); string(flags) != string(v.JSON) {
		e.Flags = flags
	}
	return e
}

// SchemaVersion is the version of an entry.
func (e *SchemaEntry) SchemaVersion() (onto.SchemaVersion, error) {
	s, err := onto.ParseSchema(e.Schema)
	if err != nil && s.Name != e.Name { // an unusual one was accepted when it was written
		return onto.SchemaVersion{}, err
	}
	if e.Flags != nil {
		flags, err := onto.ParseSchema(e.Flags)
		if err != nil && flags.Name != e.Name {
			return onto.SchemaVersion{}, err
		}
		s = s.WithFlags(flags)
	}
	created, err := codec.ParseTime(e.Created)
	return onto.SchemaVersion{
		Schema: s, Version: e.Version, JSON: slices.Clone(e.Schema), Hash: e.Hash, Created: created, Runtime: e.Runtime, Reason: e.Reason,
		Since: e.Since, Upgrader: e.Upgrader, Learned: e.Learned, End: e.End, Actor: onto.Actor{Kind: e.ActorKind, ID: e.ActorID}, Comment: e.Comment,
	}, err
}

// With is the types after a change, and a new catalog for them, to be published. It is
// nil if nothing changes.
func (t *Types) With(others *decide.Catalog) (*Types, *Catalog, error) {
	if others == t.Judge {
		return t, nil, nil
	}
	c := *t.Catalog
	c.Types = []SchemaEntry{}
	for i := range others.All {
		c.Types = append(c.Types, newSchemaEntry(&others.All[i]))
	}
	if SameTypes(c.Types, t.Catalog.Types) {
		return t, nil, nil
	}
	next, err := ReadTypes(&c)
	return next, &c, err
}

// SameTypes reports whether two lists of types say the same.
func SameTypes(a, b []SchemaEntry) bool {
	return slices.EqualFunc(a, b, func(x, y SchemaEntry) bool {
		one, _ := json.Marshal(x)
		two, _ := json.Marshal(y)
		return string(one) == string(two)
	})
}
