package lake

import (
	"encoding/json"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/decide"
)

// catalogTypes is what a catalog tells about types. It is never changed.
type catalogTypes struct {
	catalog *catalog
	all     []onto.SchemaVersion
	hash    string
	purged  map[onto.TypeName]int // rows of schema versions up to this one do not exist
}

// readTypes reads the types of a catalog.
func readTypes(c *catalog) (*catalogTypes, error) {
	t := &catalogTypes{catalog: c}
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
	return t, nil
}

// newest is the newest version of a type, also if it has ended; nil if there is
// none.
func (t *catalogTypes) newest(name onto.TypeName) *onto.SchemaVersion {
	if i := backend.LastOf(t.all, name); i >= 0 {
		return &t.all[i]
	}
	return nil
}

// has reports whether there is, or was, a type with a name.
func (t *catalogTypes) has(name string) bool {
	return slices.ContainsFunc(t.all, func(v onto.SchemaVersion) bool { return v.Schema.Name == name })
}

// newSchemaEntry is a version of a type as the catalog keeps it. Flags may have
// changed since it was registered.
func newSchemaEntry(v *onto.SchemaVersion) schemaEntry {
	e := schemaEntry{
		Kind: v.Schema.Kind, Name: v.Schema.Name, Version: v.Version, Schema: v.JSON, Hash: v.Hash, Created: codec.FormatTime(v.Created),
		Runtime: v.Runtime, Reason: v.Reason, Since: v.Since, Upgrader: v.Upgrader, End: v.End,
	}
	if flags := v.Schema.JSON(); string(flags) != string(v.JSON) {
		e.Flags = flags
	}
	return e
}

// schema is the version of an entry.
func (e *schemaEntry) schema() (onto.SchemaVersion, error) {
	s, err := onto.ParseSchema(e.Schema)
	if err != nil && s.Name != e.Name { // what is only unusual was let in by somebody
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
		Since: e.Since, Upgrader: e.Upgrader, End: e.End,
	}, err
}

// typeEntries is types as the catalog keeps them.
func typeEntries(all []onto.SchemaVersion) []schemaEntry {
	list := []schemaEntry{}
	for i := range all {
		list = append(list, newSchemaEntry(&all[i]))
	}
	return list
}

// sameTypes reports whether two lists of types say the same.
func sameTypes(a, b []schemaEntry) bool {
	return slices.EqualFunc(a, b, func(x, y schemaEntry) bool {
		one, _ := json.Marshal(x)
		two, _ := json.Marshal(y)
		return string(one) == string(two)
	})
}
