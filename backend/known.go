package backend

import (
	"iter"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// Known is a set of fields that a write decides, sorted by name.
type Known []KnownField

// KnownField is one of them. The zero Inside stands for all of its value.
type KnownField struct {
	Name string
	Inside
}

// Inside is which fields of a value are known: those of an object, of each element of a
// list, or of each value of a map. At most one is set.
type Inside struct {
	Fields Known
	Items  *Inside
	Values *Inside
}

// All reports whether everything inside is known.
func (in *Inside) All() bool { return in.Fields == nil && in.Items == nil && in.Values == nil }

// KnownOf returns the fields of a schema, at all depths.
func KnownOf(fields []onto.Field) Known {
	known := make(Known, len(fields))
	for i := range fields {
		known[i] = KnownField{fields[i].Name, InsideOf(&fields[i])}
	}
	return known
}

// InsideOf returns what is known inside the values of a field. Of what holds any values, all
// is known.
func InsideOf(f *onto.Field) Inside {
	switch {
	case f.Fields != nil:
		return Inside{Fields: KnownOf(f.Fields)}
	case f.Items != nil:
		if items := InsideOf(f.Items); !items.All() {
			return Inside{Items: &items}
		}
	case f.Values != nil:
		if values := InsideOf(f.Values); !values.All() {
			return Inside{Values: &values}
		}
	}
	return Inside{}
}

// Named returns the known fields of these names, with all that is inside.
func Named(names ...string) Known {
	known := make(Known, len(names))
	for i, name := range names {
		known[i].Name = name
	}
	slices.SortFunc(known, func(a, b KnownField) int { return strings.Compare(a.Name, b.Name) })
	return known
}

// Find returns the known field of that name.
func (k Known) Find(name string) (*KnownField, bool) {
	i, ok := slices.BinarySearchFunc(k, name, func(f KnownField, n string) int { return strings.Compare(f.Name, n) })
	if !ok {
		return nil, false
	}
	return &k[i], true
}

// Has reports whether the field of that name is known, or something inside it.
func (k Known) Has(name string) bool {
	_, ok := k.Find(name)
	return ok
}

// With returns the set with one more field, in place of what is known of it.
func (k Known) With(f KnownField) Known {
	k = slices.Clone(k)
	if known, ok := k.Find(f.Name); ok {
		*known = f
		return k
	}
	i, _ := slices.BinarySearchFunc(k, f.Name, func(f KnownField, n string) int { return strings.Compare(f.Name, n) })
	return slices.Insert(k, i, f)
}

// Covers reports whether all fields of a schema are known, at all depths.
func (k Known) Covers(fields []onto.Field) bool {
	return !slices.ContainsFunc(fields, func(f onto.Field) bool {
		known, ok := k.Find(f.Name)
		return !ok || !known.covers(&f)
	})
}

func (in *Inside) covers(f *onto.Field) bool {
	switch {
	case in.All():
		return true
	case in.Items != nil && f.Items != nil:
		return in.Items.covers(f.Items)
	case in.Values != nil && f.Values != nil:
		return in.Values.covers(f.Values)
	case in.Fields != nil && f.Fields != nil:
		return in.Fields.Covers(f.Fields)
	}
	return false // it may hold what is not known
}

// String lists the fields, as in [id home{city} lines[]{qty}].
func (k Known) String() string { return "[" + k.list() + "]" }

func (k Known) list() string {
	texts := make([]string, len(k))
	for i := range k {
		texts[i] = k[i].Name + k[i].Inside.text()
	}
	return strings.Join(texts, " ")
}

func (in *Inside) text() string {
	switch {
	case in.Fields != nil:
		return "{" + in.Fields.list() + "}"
	case in.Items != nil:
		return "[]" + in.Items.text()
	case in.Values != nil:
		return "{}" + in.Values.text()
	}
	return ""
}

// Equal reports whether two sets are the same. Nil is another set than one without fields.
func (k Known) Equal(other Known) bool {
	return (k == nil) == (other == nil) && slices.EqualFunc(k, other, func(a, b KnownField) bool {
		return a.Name == b.Name && a.Inside.equal(&b.Inside)
	})
}

func (in *Inside) equal(other *Inside) bool {
	if in == nil || other == nil {
		return in == other
	}
	return in.Fields.Equal(other.Fields) && in.Items.equal(other.Items) && in.Values.equal(other.Values)
}

// Part returns what is known of a canonical object.
func (k Known) Part(object []byte) []byte {
	var kept []codec.Member
	for _, m := range codec.Members(object) {
		f, ok := k.Find(m.Name)
		if !ok {
			continue
		}
		m.Value = f.part(m.Value)
		kept = append(kept, m)
	}
	return codec.AppendObject(nil, kept)
}

func (in *Inside) part(value []byte) []byte {
	switch kind := codec.KindOf(value); {
	case in.Fields != nil && kind == codec.Object:
		return in.Fields.Part(value)
	case in.Items != nil && kind == codec.List:
		list := []byte{'['}
		for v := range codec.Elements(value) {
			if len(list) > 1 {
				list = append(list, ',')
			}
			list = append(list, in.Items.part(v)...)
		}
		return append(list, ']')
	case in.Values != nil && kind == codec.Object:
		members := codec.Members(value)
		for i := range members {
			members[i].Value = in.Values.part(members[i].Value)
		}
		return codec.AppendObject(nil, members)
	}
	return value
}

// Unknown returns the path of a field that a stored value has inside a list or a map, and
// that is not known; "" if there is none. Such a value cannot be replaced without losing it.
func (in *Inside) Unknown(value []byte) string {
	each := func(values iter.Seq[[]byte], in *Inside, step string) string {
		for v := range values {
			if path := in.unknown(v); path != "" {
				return step + path
			}
		}
		return ""
	}
	switch kind := codec.KindOf(value); {
	case in.Items != nil && kind == codec.List:
		return each(codec.Elements(value), in.Items, "[]")
	case in.Values != nil && kind == codec.Object:
		return each(func(yield func([]byte) bool) {
			for _, v := range codec.Pairs(value) {
				if !yield(v) {
					return
				}
			}
		}, in.Values, "{}")
	}
	return ""
}

// unknown is Unknown for what stands inside a list or a map.
func (in *Inside) unknown(value []byte) string {
	if in.Fields == nil || codec.KindOf(value) != codec.Object {
		return in.Unknown(value)
	}
	for _, m := range codec.Members(value) {
		f, ok := in.Fields.Find(m.Name)
		if !ok {
			return codec.Step(m.Name)
		}
		if path := f.unknown(m.Value); path != "" {
			return codec.Step(m.Name) + path
		}
	}
	return ""
}

// paths yields the paths of what a merge decides: one text for each field, with U+0000 after
// the name of each object on the way. Lists and maps are decided whole.
func (k Known) paths(prefix string, yield func(string)) {
	for _, f := range k {
		if f.Fields == nil {
			yield(prefix + f.Name)
			continue
		}
		yield(prefix + f.Name + "\x00")
		f.Fields.paths(prefix+f.Name+"\x00", yield)
	}
}
