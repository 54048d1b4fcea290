package catalog

import (
	"cmp"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// A name can be given to a type again after the type that had it has ended. So a name
// has lives, of which at most the last continues.

// Covers reports whether the type existed as of a commit.
func (t *Type) Covers(commit int64) bool {
	if t.End != nil && (commit == backend.Head || commit >= t.End.Commit) {
		return false
	}
	return t.Chain == nil || t.Chain.Begun(commit)
}

// Life returns the type that had a name as of a commit, or the last one that had it if
// none did.
func (c *Catalog) Life(kind onto.Kind, name string, commit int64) (*Type, error) {
	n := onto.TypeName{Kind: kind, Name: name}
	now, exists := c.Present[n]
	if exists && now.Covers(commit) {
		return now, nil
	}
	former := c.Former[n]
	for _, t := range slices.Backward(former) {
		if t.Covers(commit) {
			return t, nil
		}
	}
	switch {
	case exists:
		return now, nil
	case len(former) > 0:
		return former[len(former)-1], nil
	}
	return nil, c.Unknown(kind, name)
}

// LastOf is the last commit about a type that has ended: the one that deleted its
// things. If there were none, no such commit was made, and the next one may be about
// another type of that name.
func (c *Catalog) LastOf(t *Type) int64 {
	name := t.Schema.TypeName()
	lives := c.Former[name]
	if now, ok := c.Present[name]; ok {
		lives = append(lives[:len(lives):len(lives)], now)
	}
	for _, other := range lives {
		if other != t && other.Version > t.Version && other.Chain != nil && other.Chain.Start == t.End.Commit {
			return t.End.Commit - 1
		}
	}
	return t.End.Commit
}

// PresentName is an identity under the name that its type has now, given a commit at
// which it had the old one. It fails if the type was dropped.
func (c *Catalog) PresentName(id onto.Identity, commit int64) (onto.Identity, error) {
	for range len(c.Stored) + 1 {
		t, err := c.Life(id.Kind, id.Type, commit)
		switch {
		case err != nil || t.End == nil:
			return id, err
		case t.End.RenamedTo == "":
			return id, t.Gone()
		}
		id.Type, commit = t.End.RenamedTo, t.End.Commit
	}
	return id, onto.Errorf(onto.Corrupt, "%s was renamed in a circle", id)
}

// StoredType is a type for reading what is stored under its name: its schema has
// the fields of every version up to a commit, and endpoints have the names that
// they had then.
func (c *Catalog) StoredType(kind onto.Kind, name string, commit int64) (*Type, error) {
	if _, err := c.Life(kind, name, commit); err != nil {
		return nil, err
	}
	t := &Type{}
	for _, v := range c.Stored {
		if v.Schema.Kind != kind || v.Schema.Name != name || t.Version > 0 && commit != backend.Head && v.Since > commit {
			continue
		}
		fields := t.Schema.Fields
		t.Schema, t.Version, t.End = v.Schema, v.Version, v.End
		t.Schema.Fields = fields
		t.Ends = append(t.Ends, [2]string{v.Schema.Left, v.Schema.Right})
		for _, f := range v.Schema.Fields {
			t.Schema.Fields = widen(t.Schema.Fields, f)
		}
	}
	t.Schema.SortFields()
	return t, nil
}

// widen adds a field to those that may be stored.
func widen(fields []onto.Field, f onto.Field) []onto.Field {
	f.Optional, f.Default, f.Enum = true, nil, nil
	i := slices.IndexFunc(fields, func(o onto.Field) bool { return o.Name == f.Name })
	switch {
	case i < 0:
		return append(fields, f)
	case fields[i].Type != f.Type:
		fields[i] = onto.Field{Name: f.Name, Type: onto.Any, Optional: true, Index: f.Index, Many: f.Many}
	case !fields[i].Equal(f):
		fields[i] = onto.Field{Name: f.Name, Type: f.Type, Optional: true, Index: f.Index, Search: f.Search, Many: f.Many}
	default:
		fields[i] = f
	}
	return fields
}

// EveryName yields the types by name, also those that have ended.
func (c *Catalog) EveryName() []NamedType {
	var list []NamedType
	for name, t := range c.Present {
		list = append(list, NamedType{name, t})
	}
	for name, lives := range c.Former {
		for _, t := range lives {
			list = append(list, NamedType{name, t})
		}
	}
	slices.SortFunc(list, func(a, b NamedType) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Type.Version, b.Type.Version))
	})
	return list
}

type NamedType struct {
	onto.TypeName
	Type *Type
}

// EveryType returns all types in order, also those that were dropped. Renamed types
// appear under their new name.
func (c *Catalog) EveryType() []*Type {
	var list []*Type
	for _, n := range c.EveryName() {
		if n.Type.End == nil || n.Type.End.RenamedTo == "" {
			list = append(list, n.Type)
		}
	}
	return list
}

// Settled reports whether everything stored since a commit is in the form of the
// present types.
func (c *Catalog) Settled(since int64) bool {
	for _, t := range c.EveryType() {
		if t.Chain != nil && (!t.Chain.Ready(since) || t.Chain.Start > 0) {
			return false
		}
	}
	return true
}

// NativeEnd reports whether the endpoints that a query sees are stored as their
// type is now.
func (c *Catalog) NativeEnd(name string, q *backend.Query) bool {
	t, err := c.Life(onto.KindEntity, name, q.At)
	return err != nil || t.Chain == nil || t.Chain.Native(q)
}

// Names returns the names that a type had, oldest first, the present one last.
func (t *Type) Names() []string {
	if t.Chain == nil {
		return []string{t.Schema.Name}
	}
	var names []string
	for _, s := range t.Chain.Spans() {
		if !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}
