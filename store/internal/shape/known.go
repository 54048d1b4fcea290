package shape

import (
	"bytes"

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
			inner, ok := f.Inner(m.Name)
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
	case in.Items != nil && f.Items != nil && kind == codec.List:
		items := *in.Items
		for v := range codec.Elements(value) {
			items = withGiven(items, f.Items, v)
		}
		in.Items = &items
	case in.Values != nil && f.Values != nil && kind == codec.Object:
		values := *in.Values
		for _, v := range codec.Pairs(value) {
			values = withGiven(values, f.Values, v)
		}
		in.Values = &values
	}
	return in
}

// decided is what a merge of a value decides inside a field: of an object, the fields that it
// gives; all of anything else. Known is what the program knows there.
func decided(f *onto.Field, value []byte, known backend.Inside) backend.Inside {
	if f.Fields == nil || codec.KindOf(value) != codec.Object {
		return withGiven(known, f, value)
	}
	in := backend.Inside{Fields: backend.Known{}}
	for _, m := range codec.Members(value) {
		inner, ok := f.Inner(m.Name)
		if !ok {
			continue
		}
		in.Fields = append(in.Fields, backend.KnownField{Name: m.Name, Inside: decided(inner, m.Value, knownInside(known, inner))})
	}
	return in
}

// knownInside is what is known inside a field of an object, of which only this is known.
func knownInside(object backend.Inside, f *onto.Field) backend.Inside {
	if object.All() {
		return object
	}
	if k, ok := object.Fields.Find(f.Name); ok {
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
