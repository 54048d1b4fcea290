package store

import (
	"cmp"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// A name can be given to a type again after the type that had it has ended. So a name
// has lives, of which at most the last continues.

// covers reports whether the type existed as of a commit.
func (t *typ) covers(commit int64) bool {
	if t.end != nil && (commit == backend.Head || commit >= t.end.Commit) {
		return false
	}
	return t.chain == nil || t.chain.Begun(commit)
}

// life returns the type that had a name as of a commit, or the last one that had it if
// none did.
func (c *catalog) life(kind onto.Kind, name string, commit int64) (*typ, error) {
	n := onto.TypeName{Kind: kind, Name: name}
	now, exists := c.present[n]
	if exists && now.covers(commit) {
		return now, nil
	}
	former := c.former[n]
	for _, t := range slices.Backward(former) {
		if t.covers(commit) {
			return t, nil
		}
	}
	switch {
	case exists:
		return now, nil
	case len(former) > 0:
		return former[len(former)-1], nil
	}
	return nil, c.unknown(kind, name)
}

// lastOf is the last commit about a type that has ended: the one that deleted its
// things. If there were none, no such commit was made, and the next one may be about
// another type of that name.
func (c *catalog) lastOf(t *typ) int64 {
	name := t.Schema.TypeName()
	lives := c.former[name]
	if now, ok := c.present[name]; ok {
		lives = append(lives[:len(lives):len(lives)], now)
	}
	for _, other := range lives {
		if other != t && other.Version > t.Version && other.chain != nil && other.chain.Start == t.end.Commit {
			return t.end.Commit - 1
		}
	}
	return t.end.Commit
}

// presentName is an identity under the name that its type has now, given a commit at
// which it had the old one. It fails if the type was dropped.
func (c *catalog) presentName(id onto.Identity, commit int64) (onto.Identity, error) {
	for range len(c.stored) + 1 {
		t, err := c.life(id.Kind, id.Type, commit)
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
func (c *catalog) storedType(kind onto.Kind, name string, commit int64) (*typ, error) {
	if _, err := c.life(kind, name, commit); err != nil {
		return nil, err
	}
	t := &typ{}
	for _, v := range c.stored {
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

// everyName yields the types by name, also those that have ended.
func (c *catalog) everyName() []namedType {
	var list []namedType
	for name, t := range c.present {
		list = append(list, namedType{name, t})
	}
	for name, lives := range c.former {
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

// everyType returns all types in order, also those that were dropped. Renamed types
// appear under their new name.
func (c *catalog) everyType() []*typ {
	var list []*typ
	for _, n := range c.everyName() {
		if n.typ.end == nil || n.typ.end.RenamedTo == "" {
			list = append(list, n.typ)
		}
	}
	return list
}

// settled reports whether everything stored since a commit is in the form of the
// present types.
func (c *catalog) settled(since int64) bool {
	for _, t := range c.everyType() {
		if t.chain != nil && (!t.chain.Ready(since) || t.chain.Start > 0) {
			return false
		}
	}
	return true
}

// nativeEnd reports whether the endpoints that a query sees are stored as their
// type is now.
func (c *catalog) nativeEnd(name string, q *backend.Query) bool {
	t, err := c.life(onto.KindEntity, name, q.At)
	return err != nil || t.chain == nil || t.chain.Native(q)
}
