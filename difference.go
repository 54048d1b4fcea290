package onto

import (
	"bytes"
	"fmt"
	"strings"
)

// Difference says how a type as given differs from the type as stored.
type Difference struct {
	Kind    Kind
	Type    string
	Added   []string // fields that are not stored
	Removed []string // fields that are only stored
	Changed []string // what changed, as "name: stored → given"
	Flags   []string // fields of which only index and search changed, in the same form
}

// Empty reports whether both are the same version of the type. Flags make no
// new version: they change how fast a type is read, not what is in it.
func (d Difference) Empty() bool {
	return len(d.Added)+len(d.Removed)+len(d.Changed) == 0
}

// String lists the difference on one line.
func (d Difference) String() string {
	return d.Type + ": " + strings.Join(d.changes(), ", ")
}

// Lines lists the difference with one change on each line.
func (d Difference) Lines() []string {
	lines := d.changes()
	for i, change := range lines {
		lines[i] = d.Type + ": " + change
	}
	return lines
}

// changes is each change with a sign in front.
func (d Difference) changes() []string {
	var list []string
	for _, part := range []struct {
		sign  string
		names []string
	}{{"+ ", d.Added}, {"- ", d.Removed}, {"~ ", d.Changed}, {"* ", d.Flags}} {
		for _, name := range part.names {
			list = append(list, part.sign+name)
		}
	}
	return list
}

// DiffSchemas returns how the given schema differs from the stored one. An instance key
// that only the given one repeats among its fields is no difference, see
// [Schema.LikeStored].
func DiffSchemas(stored, given Schema) Difference {
	given = given.LikeStored(stored)
	d := Difference{Kind: given.Kind, Type: given.Name}
	change := func(what, from, to string) {
		if from != to {
			d.Changed = append(d.Changed, fmt.Sprintf("%s: %s → %s", what, orNone(from), orNone(to)))
		}
	}
	change("kind", string(stored.Kind), string(given.Kind))
	change("key", stored.Key, given.Key)
	change("left", stored.Left, given.Left)
	change("right", stored.Right, given.Right)
	change("instance key", stored.InstanceKey, given.InstanceKey)
	change("open", fmt.Sprint(stored.Open), fmt.Sprint(given.Open))
	for _, g := range given.Fields {
		s, ok := stored.Field(g.Name)
		if !ok {
			d.Added = append(d.Added, g.Name)
			continue
		}
		if !sameField(s, g) {
			change(g.Name, s.describe(), g.describe())
		} else if s.Index != g.Index || s.Search != g.Search {
			d.Flags = append(d.Flags, fmt.Sprintf("%s: %s → %s", g.Name, s.describe(), g.describe()))
		}
	}
	for _, s := range stored.Fields {
		if _, ok := given.Field(s.Name); !ok {
			d.Removed = append(d.Removed, s.Name)
		}
	}
	return d
}

// Compatible reports whether programs that know an older version of a type can continue
// to read and write beside a newer one: it only adds fields that are optional or have a
// default, makes required fields optional, or widens a field's type from int to float,
// or to any. An attribute that is added to open facts is not: there may be facts on it
// already, whose values are kept in another field then. Flags do not matter.
func Compatible(older, newer Schema) bool {
	older = older.LikeStored(newer)
	if older.TypeName() != newer.TypeName() || older.Key != newer.Key || older.Left != newer.Left ||
		older.Right != newer.Right || older.InstanceKey != newer.InstanceKey {
		return false
	}
	for _, o := range older.Fields {
		n, ok := newer.Field(o.Name)
		identifies := o.Name == older.Key || o.Name == older.InstanceKey
		switch {
		case !ok || o.Optional && !n.Optional || o.Many != n.Many || !bytes.Equal(o.Default, n.Default):
			return false
		case !o.Type.Within(n.Type) || identifies && o.Type != n.Type:
			return false
		}
	}
	for _, n := range newer.Fields {
		if _, known := older.Field(n.Name); !known && (older.Open || !n.Optional && n.Default == nil) {
			return false
		}
	}
	return true
}

// sameField reports whether two fields hold the same, flags aside.
func sameField(a, b Field) bool {
	return a.Type == b.Type && a.Optional == b.Optional && a.Many == b.Many && bytes.Equal(a.Default, b.Default)
}

// describe is the field's declaration in words.
func (f Field) describe() string {
	words := []string{string(f.Type)}
	for _, w := range []struct {
		on   bool
		word string
	}{{f.Optional, "optional"}, {f.Many, "many"}, {f.Index, "index"}, {f.Search, "search"}} {
		if w.on {
			words = append(words, w.word)
		}
	}
	if f.Default != nil {
		words = append(words, "default "+string(f.Default))
	}
	return strings.Join(words, " ")
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
