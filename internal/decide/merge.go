package decide

import (
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/computed"
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
		known = c.knownTo(w)
	}
	merged := *w
	merged.SchemaVersion, merged.Known = last.Version, nil
	if w.Op == onto.Delete {
		return &merged, nil
	}
	given, err := codec.ParseObject(w.Fields)
	if err == nil {
		merged.Fields, err = merge(&last.Schema, w.Identity, known, given, newest)
	}
	if err != nil {
		return nil, onto.Errorf(onto.CodeOf(err), "%s: %w", w.Identity, err)
	}
	if len(merged.Fields) > onto.MaxFields {
		return nil, refusal.FieldsTooLarge(w.Identity, len(merged.Fields))
	}
	return &merged, nil
}

// knownTo is the fields of the version that a write was made for.
func (c *Catalog) knownTo(w *backend.Write) backend.Known {
	if i := indexOf(c.All, w.TypeName(), w.SchemaVersion); i >= 0 {
		return backend.KnownOf(c.All[i].Schema.Fields)
	}
	return nil
}

// merge is the fields of an object: those that are known as given, the others as they
// are, defaults for absent ones, and what is computed of them. What is given besides counts if there is no object yet.
func merge(s *onto.Schema, id onto.Identity, known backend.Known, given []codec.Member, newest *onto.Version) ([]byte, error) {
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
		var err error
		if members, err = mergeMembers(known, given, present, ""); err != nil {
			return nil, err
		}
	}
	members = computed.Given(members)
	for _, f := range s.Fields {
		if f.Compute != nil {
			continue
		}
		i := slices.IndexFunc(members, func(m codec.Member) bool { return m.Name == f.Name })
		switch {
		case i >= 0: // a wider type may have another form
			value, err := f.Fit(members[i].Value)
			if err != nil {
				return nil, err
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
	sortMembers(members)
	return computed.Row(s, id, codec.AppendObject(nil, members))
}

// mergeMembers is the members of a stored object that stands at a path: those that are known
// as given, the others as they are.
func mergeMembers(known backend.Known, given, present []codec.Member, path string) ([]codec.Member, error) {
	var members []codec.Member
	for _, m := range given {
		f, decided := known.Find(m.Name)
		if !decided {
			continue
		}
		if stored := find(present, m.Name); stored != nil {
			var err error
			if m.Value, err = mergeValue(&f.Inside, m.Value, stored, onto.FieldPath(path, m.Name)); err != nil {
				return nil, err
			}
		}
		members = append(members, m)
	}
	for _, m := range present {
		if !known.Has(m.Name) {
			members = append(members, m)
		}
	}
	return members, nil
}

// find returns the value of a member, or nil.
func find(members []codec.Member, name string) []byte {
	i := slices.IndexFunc(members, func(m codec.Member) bool { return m.Name == name })
	if i < 0 {
		return nil
	}
	return members[i].Value
}

// mergeValue is what becomes of a stored value in whose place another one is given, of
// which not all may be known.
func mergeValue(in *backend.Inside, given, present []byte, path string) ([]byte, error) {
	if lost := in.Unknown(present); lost != "" {
		return nil, refusal.WouldLose(path, lost)
	}
	if in.Fields == nil || codec.KindOf(given) != codec.Object || codec.KindOf(present) != codec.Object {
		return given, nil
	}
	members, err := mergeMembers(in.Fields, codec.Members(given), codec.Members(present), path)
	if err != nil {
		return nil, err
	}
	sortMembers(members)
	return codec.AppendObject(nil, members), nil
}

func sortMembers(members []codec.Member) {
	slices.SortFunc(members, func(a, b codec.Member) int { return strings.Compare(a.Name, b.Name) })
}
