package shape

import (
	"bytes"
	"cmp"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
)

// nothingInside is what is known inside a field of which only the name is known.
func nothingInside(f *onto.Field) backend.Inside {
	switch {
	case f.Fields != nil:
		return backend.Inside{Fields: backend.Known{}}
	case f.Items != nil:
		if items := nothingInside(f.Items); !items.All() {
			return backend.Inside{Items: &items}
		}
	case f.Values != nil:
		if values := nothingInside(f.Values); !values.All() {
			return backend.Inside{Values: &values}
		}
	}
	return backend.Inside{}
}

// withGiven adds to what is known inside a field the names that a value of it gives.
func withGiven(in backend.Inside, f *onto.Field, value []byte) backend.Inside {
	switch kind := codec.KindOf(value); {
	case in.Fields != nil && kind == codec.Object:
		for _, m := range codec.Members(value) {
			inner, ok := innerOf(f, m.Name)
			if !ok {
				continue
			}
			known := backend.KnownField{Name: m.Name, Inside: nothingInside(inner)}
			if k, ok := in.Fields.Find(m.Name); ok {
				known = *k
			}
			known.Inside = withGiven(known.Inside, inner, m.Value)
			in.Fields = in.Fields.With(known)
		}
	case in.Items != nil && kind == codec.List:
		items := *in.Items
		for v := range codec.Elements(value) {
			items = withGiven(items, cmp.Or(f.Items, &anything), v)
		}
		in.Items = &items
	case in.Values != nil && kind == codec.Object:
		values := *in.Values
		for _, v := range codec.Pairs(value) {
			values = withGiven(values, cmp.Or(f.Values, &anything), v)
		}
		in.Values = &values
	}
	return in
}

// anything is what is inside values without a declaration. A program can have one where the
// type has none any more: then it knows what its own declaration has, and what it gives.
var anything = onto.Field{Type: onto.Any}

// innerOf returns the field of that name of an object, which can have any where none are
// declared.
func innerOf(f *onto.Field, name string) (*onto.Field, bool) {
	if f.Fields == nil {
		return &anything, true
	}
	return f.Inner(name)
}

// decided is what a merge of a value decides inside a field: of an object whose fields are
// declared in the type, or were when the program was made, the fields that it gives; all of
// anything else. Known is what the program knows there.
func decided(f *onto.Field, value []byte, known backend.Inside) backend.Inside {
	if f.Fields == nil && known.Fields == nil || codec.KindOf(value) != codec.Object {
		return withGiven(known, f, value)
	}
	in := backend.Inside{Fields: backend.Known{}}
	for _, m := range codec.Members(value) {
		inner, ok := innerOf(f, m.Name)
		if !ok {
			continue
		}
		in.Fields = append(in.Fields, backend.KnownField{Name: m.Name, Inside: decided(inner, m.Value, knownMember(known, m.Name, inner))})
	}
	return in
}

// withoutNulls leaves out what is null in objects whose fields the program has declared: there
// it is absent, even if the type declares nothing about them any more.
func withoutNulls(in backend.Inside, value []byte) []byte {
	if in.All() {
		return value
	}
	switch kind := codec.KindOf(value); {
	case kind == codec.Object && in.Fields != nil:
		var kept []codec.Member
		for _, m := range codec.Members(value) {
			if codec.KindOf(m.Value) == codec.Null {
				continue
			}
			if k, ok := in.Fields.Find(m.Name); ok {
				m.Value = withoutNulls(k.Inside, m.Value)
			}
			kept = append(kept, m)
		}
		return codec.AppendObject(nil, kept)
	case kind == codec.Object && in.Values != nil:
		members := codec.Members(value)
		for i := range members {
			members[i].Value = withoutNulls(*in.Values, members[i].Value)
		}
		return codec.AppendObject(nil, members)
	case kind == codec.List && in.Items != nil:
		list := []byte{'['}
		for v := range codec.Elements(value) {
			if len(list) > 1 {
				list = append(list, ',')
			}
			list = append(list, withoutNulls(*in.Items, v)...)
		}
		return append(list, ']')
	}
	return value
}

// knownInside is what is known inside a field of an object, of which only this is known.
func knownInside(object backend.Inside, f *onto.Field) backend.Inside {
	return knownMember(object, f.Name, f)
}

func knownMember(object backend.Inside, name string, f *onto.Field) backend.Inside {
	if object.All() {
		return object
	}
	if k, ok := object.Fields.Find(name); ok {
		return k.Inside
	}
	return nothingInside(f)
}

// known is what the program knows inside a field at the top.
func (t *Type) known(f *onto.Field) backend.Inside {
	if t.Known == nil {
		return backend.Inside{}
	}
	return knownInside(backend.Inside{Fields: t.Known}, f)
}

// OnlyChanged turns a write that may not know all fields of its type into one that decides
// what differs from the fields before, so that lists and maps that stay as they are need not
// be known.
func OnlyChanged(w *backend.Write, before []byte) {
	known, fields := onlyChanged(w.Known, codec.Members(before), codec.Members(w.Fields))
	w.Known, w.Fields = known, codec.AppendObject(nil, fields)
}

func onlyChanged(known backend.Known, before, after []codec.Member) (backend.Known, []codec.Member) {
	changed, members := backend.Known{}, []codec.Member(nil)
	for _, k := range known {
		was, is := memberOf(before, k.Name), memberOf(after, k.Name)
		if bytes.Equal(was, is) {
			continue
		}
		if k.Fields != nil && codec.KindOf(was) == codec.Object && codec.KindOf(is) == codec.Object {
			var inside []codec.Member
			k.Fields, inside = onlyChanged(k.Fields, codec.Members(was), codec.Members(is))
			is = codec.AppendObject(nil, inside)
		}
		changed = append(changed, k)
		if is != nil {
			members = append(members, codec.Member{Name: k.Name, Value: is})
		}
	}
	return changed, members
}
