package store

import (
	"cmp"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/store/internal/lineage"
	"github.com/ontologia/onto/store/internal/shape"
)

// typ is a type of the store.
type typ struct {
	shape.Type // its present version

	chain *lineage.Chain // its versions; nil if there is only one, and never was another
	end   *onto.End      // it exists no more; nil while it does

	ends [][2]string // as stored: the names its endpoints had, left and right
}

// A name can be given to a type again after the type that had it came to its
// end. So a name has lives, of which at most the last goes on.

// learn takes over the stored types.
func (s *Store) learn(stored []onto.SchemaVersion) error {
	given, err := newUpgraders(s.opts.Upgraders)
	if err != nil {
		return err
	}
	s.stored = stored
	newest := backend.Newest(stored)
	for _, v := range stored {
		last := slices.ContainsFunc(newest, func(n onto.SchemaVersion) bool {
			return n.Schema.TypeName() == v.Schema.TypeName() && n.Version == v.Version
		})
		if v.End == nil && !last {
			continue
		}
		t := &typ{Type: shape.Type{Schema: v.Schema, Version: v.Version}, end: v.End}
		if c := lineage.New(stored, v, given.function); !c.Plain() {
			t.chain = c
		}
		name := v.Schema.TypeName()
		if v.End != nil {
			s.former[name] = append(s.former[name], t)
		} else {
			s.types[name] = t
		}
	}
	return nil
}

// covers reports whether the type was there as of a commit.
func (t *typ) covers(commit int64) bool {
	if t.end != nil && (commit == backend.Head || commit >= t.end.Commit) {
		return false
	}
	return t.chain == nil || t.chain.Begun(commit)
}

// life returns the type that had a name as of a commit, or the last one that had
// it if none had then.
func (s *Store) life(kind onto.Kind, name string, commit int64) (*typ, error) {
	n := onto.TypeName{Kind: kind, Name: name}
	lives := s.former[n]
	if t, ok := s.types[n]; ok {
		lives = append(lives[:len(lives):len(lives)], t)
	}
	for _, t := range slices.Backward(lives) {
		if t.covers(commit) {
			return t, nil
		}
	}
	if len(lives) == 0 {
		return nil, s.unknownType(kind, name)
	}
	return lives[len(lives)-1], nil
}

// lastOf is the last commit that is about a type that has ended: the one that
// deleted what there was of it. If there was nothing, no such commit was made,
// and the next one may be about another type of that name.
func (s *Store) lastOf(t *typ) int64 {
	name := t.Schema.TypeName()
	lives := s.former[name]
	if now, ok := s.types[name]; ok {
		lives = append(lives[:len(lives):len(lives)], now)
	}
	for _, other := range lives {
		if other != t && other.Version > t.Version && other.chain != nil && other.chain.Start == t.end.Commit {
			return t.end.Commit - 1
		}
	}
	return t.end.Commit
}

// presentName is an identity under the name that its type has now, given a
// commit at which it had the other. It fails if the type was dropped.
func (s *Store) presentName(id onto.Identity, commit int64) (onto.Identity, error) {
	for range len(s.stored) + 1 {
		t, err := s.life(id.Kind, id.Type, commit)
		switch {
		case err != nil || t.end == nil:
			return id, err
		case t.end.RenamedTo == "":
			return id, t.gone()
		}
		id.Type, commit = t.end.RenamedTo, t.end.Commit
	}
	return id, onto.Errorf(onto.Corrupt, "%s was renamed in a circle", id)
}

// storedType is a type for reading what is stored under its name: its schema has
// the fields of every version up to a commit, and endpoints have the names that
// they had then.
func (s *Store) storedType(kind onto.Kind, name string, commit int64) (*typ, error) {
	if _, err := s.life(kind, name, commit); err != nil {
		return nil, err
	}
	t := &typ{}
	for _, v := range s.stored {
		if v.Schema.Kind != kind || v.Schema.Name != name || t.Version > 0 && commit != backend.Head && v.Since > commit {
			continue
		}
		fields := t.Schema.Fields
		t.Schema, t.Version, t.end = v.Schema, v.Version, v.End
		t.Schema.Fields = fields
		t.ends = append(t.ends, [2]string{v.Schema.Left, v.Schema.Right})
		for _, f := range v.Schema.Fields {
			t.Schema.Fields = widen(t.Schema.Fields, f)
		}
	}
	t.Schema.SortFields()
	return t, nil
}

// widen adds a field to those that may be stored.
func widen(fields []onto.Field, f onto.Field) []onto.Field {
	f.Optional, f.Default = true, nil
	i := slices.IndexFunc(fields, func(o onto.Field) bool { return o.Name == f.Name })
	switch {
	case i < 0:
		return append(fields, f)
	case fields[i].Type != f.Type:
		fields[i].Type, fields[i].Search = onto.Any, false
	default:
		fields[i] = f
	}
	return fields
}

// everyName yields the types by name, also those that exist no more.
func (s *Store) everyName() []namedType {
	var list []namedType
	for name, t := range s.types {
		list = append(list, namedType{name, t})
	}
	for name, lives := range s.former {
		for _, t := range lives {
			list = append(list, namedType{name, t})
		}
	}
	slices.SortFunc(list, func(a, b namedType) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.typ.Version, b.typ.Version))
	})
	return list
}

type namedType struct {
	onto.TypeName
	typ *typ
}

// everyType returns all types in order, also those that were dropped. Those
// that were renamed go on under their new name.
func (s *Store) everyType() []*typ {
	var list []*typ
	for _, n := range s.everyName() {
		if n.typ.end == nil || n.typ.end.RenamedTo == "" {
			list = append(list, n.typ)
		}
	}
	return list
}
