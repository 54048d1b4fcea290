package shape

import (
	"reflect"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
)

// Merge checks untyped fields against the schema and makes a write that decides
// these fields only, at every depth of objects whose fields are declared. One that is null
// is decided and has no value: the backend puts the default in its place.
func (t *Type) Merge(id onto.Identity, fields any) (backend.Write, error) {
	if id.Kind == onto.KindFact {
		return backend.Write{}, onto.Errorf(onto.Invalid, "%s: a fact cannot be changed, so nothing can be merged into it", id).
			WithHint("revoke or retract it, and assert another one")
	}
	members, err := membersOf(id, fields)
	if err == nil {
		id, members, err = t.identify(id, members, true)
	}
	if err != nil {
		return backend.Write{}, err
	}
	given, kept := make(backend.Known, 0, len(members)), make([]codec.Member, 0, len(members))
	for _, m := range members {
		f, ok := t.Schema.Field(m.Name)
		if !ok {
			return backend.Write{}, t.unknownField(id, m.Name)
		}
		in := decided(&f, m.Value, t.known(&f))
		given = append(given, backend.KnownField{Name: f.Name, Inside: in})
		if codec.KindOf(m.Value) == codec.Null {
			if _, err := missing(id, &f); err != nil {
				return backend.Write{}, err
			}
			continue
		}
		value, err := f.FitPart(m.Value)
		if err != nil {
			return backend.Write{}, onto.Errorf(onto.Invalid, "%s: %w", id, err)
		}
		kept = append(kept, codec.Member{Name: f.Name, Value: withoutNulls(in, value)})
	}
	return t.merging(id, codec.AppendObject(nil, kept), given)
}

// Initially adds fields to a merge that it does not decide, and that the identity gets if
// it does not exist.
func (t *Type) Initially(w backend.Write, fields any) (backend.Write, error) {
	more, err := membersOf(w.Identity, fields)
	if err == nil {
		err = t.refuseComputed(w.Identity, more)
	}
	if err != nil {
		return backend.Write{}, err
	}
	members := codec.Members(w.Fields)
	for _, m := range more {
		f, ok := t.Schema.Field(m.Name)
		if !ok {
			return backend.Write{}, t.unknownField(w.Identity, m.Name)
		}
		if codec.KindOf(m.Value) == codec.Null {
			continue
		}
		value, err := f.FitPart(m.Value)
		if err != nil {
			return backend.Write{}, onto.Errorf(onto.Invalid, "%s: %w", w.Identity, err)
		}
		members = withInitial(members, &f, value, w.Known)
	}
	return t.merging(w.Identity, codec.AppendObject(nil, members), w.Known)
}

// withInitial adds a value to the members of an object of which these are decided. Where an
// object is decided in part, the rest of it is added.
func withInitial(members []codec.Member, f *onto.Field, value []byte, known backend.Known) []codec.Member {
	decided, ok := known.Find(f.Name)
	if !ok {
		return insertMember(members, codec.Member{Name: f.Name, Value: value})
	}
	given := memberOf(members, f.Name)
	if decided.Fields == nil || codec.KindOf(given) != codec.Object || codec.KindOf(value) != codec.Object {
		return members
	}
	inside := codec.Members(given)
	for _, m := range codec.Members(value) {
		if inner, ok := f.Inner(m.Name); ok {
			inside = withInitial(inside, inner, m.Value, decided.Fields)
		}
	}
	return insertMember(members, codec.Member{Name: f.Name, Value: codec.AppendObject(nil, inside)})
}

// MergeStruct makes a write of a struct that decides the fields only that the struct
// does not leave out.
func (t *Type) MergeStruct(v reflect.Value) (backend.Write, error) {
	id := t.structIdentity(v)
	given, kept := make(backend.Known, 0, len(t.encode)), make([]codec.Member, 0, len(t.encode))
	for i := range t.encode {
		e := &t.encode[i]
		value, err := e.appendField(nil, e.Get(v), true)
		if err != nil {
			return backend.Write{}, fieldError(id, e.field, err)
		}
		if len(value) == 0 {
			continue
		}
		in := decided(&e.field, value, t.known(&e.field))
		given, kept = append(given, backend.KnownField{Name: e.Name, Inside: in}), append(kept, codec.Member{Name: e.Name, Value: value})
		if e.Name == t.Schema.Key {
			id.Key = e.field.Type.KeyText(value)
		}
	}
	fields := codec.AppendObject(nil, kept)
	if t.computed.Keyed() {
		var err error
		if id.Key, err = t.computed.Key(fields); err != nil {
			return backend.Write{}, err
		}
	}
	if err := t.CheckIdentity(id); err != nil {
		return backend.Write{}, err
	}
	return t.merging(id, fields, given)
}

// merging is a write that decides the given fields. What is computed follows when it is known
// what becomes of the others.
func (t *Type) merging(id onto.Identity, fields []byte, given backend.Known) (backend.Write, error) {
	w, err := t.write(id, fields, given)
	w.Merge = err == nil
	return w, err
}
