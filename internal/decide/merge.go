package decide

import (
	"bytes"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/refusal"
)

// Catalog is the types that drafts are checked against. It is immutable.
type Catalog struct {
	All    []onto.SchemaVersion // what Schemas returns
	newest map[onto.TypeName]*onto.SchemaVersion
}

// NewCatalog prepares types.
func NewCatalog(all []onto.SchemaVersion) *Catalog {
	c := &Catalog{all, map[onto.TypeName]*onto.SchemaVersion{}}
	for i := range all { // the last version of a type comes last
		if t := all[i].Schema.TypeName(); all[i].End == nil {
			c.newest[t] = &all[i]
		} else {
			delete(c.newest, t)
		}
	}
	return c
}

// Newest returns the newest version of a type; nil if it does not exist.
func (c *Catalog) Newest(t onto.TypeName) *onto.SchemaVersion { return c.newest[t] }

// Merged returns a write in terms of the newest version of its type, given the
// identity's newest version, or nil if it has none: the write itself if it knows all
// fields, or else another one.
func (c *Catalog) Merged(w *backend.Write, newest *onto.Version) (*backend.Write, error) {
	last := c.newest[w.TypeName()]
	if last == nil || last.Version == w.SchemaVersion && w.Known == nil {
		return w, nil
	}
	known := w.Known
	if known == nil {
		known = c.fieldsOf(w)
	}
	merged := *w
	merged.SchemaVersion, merged.Known = last.Version, nil
	if w.Op == onto.Delete {
		return &merged, nil
	}
	given, err := codec.ParseObject(w.Fields)
	if err == nil {
		merged.Fields, err = merge(&last.Schema, known, given, newest)
	}
	if err != nil {
		return nil, onto.Errorf(onto.CodeOf(err), "%s: %w", w.Identity, err)
	}
	if len(merged.Fields) > onto.MaxFields {
		return nil, refusal.FieldsTooLarge(w.Identity, len(merged.Fields))
	}
	return &merged, nil
}

// fieldsOf is the fields of the version that a write was made for.
func (c *Catalog) fieldsOf(w *backend.Write) []string {
	if i := indexOf(c.All, w.TypeName(), w.SchemaVersion); i >= 0 {
		return c.All[i].Schema.FieldNames()
	}
	return nil
}

// merge is the fields of an object: those that are known as given, the others as they
// are, and defaults for absent ones. What is given besides counts if there is no object yet.
func merge(s *onto.Schema, known []string, given []codec.Member, newest *onto.Version) ([]byte, error) {
	var present []codec.Member
	exists := newest != nil && newest.Live()
	if exists {
		var err error
		if present, err = codec.ParseObject(newest.Fields); err != nil {
			return nil, onto.Errorf(onto.Corrupt, "the version at commit %d cannot be read: %w", newest.Commit, err)
		}
	}
	members := slices.Clone(given)
	if exists {
		members = slices.DeleteFunc(members, func(m codec.Member) bool { return !slices.Contains(known, m.Name) })
	}
	named := func(name string) func(codec.Member) bool {
		return func(m codec.Member) bool { return m.Name == name }
	}
	for _, m := range present {
		if !slices.Contains(known, m.Name) {
			members = append(members, m)
		}
	}
	for _, f := range s.Fields {
		i := slices.IndexFunc(members, named(f.Name))
		switch {
		case i >= 0: // a wider type may have another form
			value, err := f.Type.Fit(members[i].Value)
			if err != nil {
				return nil, onto.Errorf(onto.Invalid, "field %s: %w", f.Name, err)
			}
			members[i].Value = value
		case f.Default != nil:
			members = append(members, codec.Member{Name: f.Name, Value: f.Default})
		case !f.Optional && !exists:
			return nil, refusal.MissingToMake(f)
		case !f.Optional:
			return nil, refusal.FieldMissing(f)
		}
	}
	slices.SortFunc(members, func(a, b codec.Member) int { return bytes.Compare([]byte(a.Name), []byte(b.Name)) })
	return codec.AppendObject(nil, members), nil
}
