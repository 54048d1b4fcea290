package onto

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Difference says how a type as given differs from the type as stored.
type Difference struct {
	Kind    Kind
	Type    string
	Added   []string // the paths of fields that are not stored, such as home.zip and lines[].qty
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
	d.fields(stored.Fields, given.Fields, "")
	return d
}

// fields adds how the fields of two objects differ that stand at a path.
func (d *Difference) fields(stored, given []Field, path string) {
	for i := range given {
		at := FieldPath(path, given[i].Name)
		if s, ok := fieldIn(stored, given[i].Name); ok {
			d.field(&s, &given[i], at)
		} else {
			d.Added = append(d.Added, at)
		}
	}
	for _, s := range stored {
		if _, ok := fieldIn(given, s.Name); !ok {
			d.Removed = append(d.Removed, FieldPath(path, s.Name))
		}
	}
}

// field adds how two declarations of one field differ: those of it alone, and those of what
// is inside.
func (d *Difference) field(stored, given *Field, path string) {
	if !stored.sameOutside(given) {
		d.Changed = append(d.Changed, fmt.Sprintf("%s: %s → %s", path, stored.describe(), given.describe()))
		return
	}
	if stored.Index != given.Index || stored.Search != given.Search {
		d.Flags = append(d.Flags, fmt.Sprintf("%s: %s → %s", path, stored.describe(), given.describe()))
	}
	switch {
	case stored.Items != nil:
		d.field(stored.Items, given.Items, path+"[]")
	case stored.Values != nil:
		d.field(stored.Values, given.Values, path+"{}")
	default:
		d.fields(stored.Fields, given.Fields, path)
	}
}

// Equal reports whether two fields hold the same, flags aside.
func (f Field) Equal(o Field) bool {
	var d Difference
	d.field(&f, &o, "")
	return d.Empty()
}

// sameOutside reports whether two fields are declared alike, flags and what is inside aside.
func (f *Field) sameOutside(o *Field) bool {
	return f.Type == o.Type && f.Optional == o.Optional && f.Many == o.Many && bytes.Equal(f.Default, o.Default) && sameEnum(f, o) && f.Compute.equal(o.Compute) &&
		(f.Items == nil) == (o.Items == nil) && (f.Values == nil) == (o.Values == nil) && (f.Fields == nil) == (o.Fields == nil)
}

// sameEnum reports whether two fields have equal enums, or none.
func sameEnum(f, o *Field) bool {
	return (f.Enum == nil) == (o.Enum == nil) && slices.EqualFunc(f.Enum, o.Enum, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
}

// describe is the field's declaration in words.
func (f *Field) describe() string {
	words := []string{f.what()}
	for _, w := range []struct {
		on   bool
		word string
	}{{f.Optional, "optional"}, {f.Many, "many"}, {f.Index, "index"}, {f.Search, "search"}} {
		if w.on {
			words = append(words, w.word)
		}
	}
	if f.Enum != nil {
		words = append(words, "of "+f.choices())
	}
	if f.Default != nil {
		words = append(words, "default "+string(f.Default))
	}
	if f.Compute != nil {
		words = append(words, f.Compute.describe())
	}
	return strings.Join(words, " ")
}

// what is the field's type, with what it has inside.
func (f *Field) what() string {
	switch {
	case f.Items != nil:
		return "list of " + f.Items.element()
	case f.Values != nil:
		return "map of " + f.Values.element()
	case f.Fields != nil:
		return "object {" + strings.Join(fieldNames(f.Fields), ", ") + "}"
	}
	return string(f.Type)
}

func (f *Field) element() string {
	if f.Optional {
		return f.what() + " or null"
	}
	return f.what()
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
