package shape

import (
	"reflect"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
)

// Merge checks untyped fields against the schema and makes a write that decides
// these fields only. One that is null is decided and has no value: the backend puts
// the default in its place.
func (t *Type) Merge(id onto.Identity, fields any) (backend.Write, error) {
	members, err := membersOf(id, fields)
	if err == nil {
		id, members, err = t.withKey(id, members)
	}
	if err == nil {
		err = t.CheckIdentity(id)
	}
	if err != nil {
		return backend.Write{}, err
	}
	given, kept := make([]string, 0, len(members)), make([]codec.Member, 0, len(members))
	for _, m := range members {
		f, ok := t.Schema.Field(m.Name)
		if !ok {
			return backend.Write{}, t.unknownField(id, m.Name)
		}
		given = append(given, f.Name)
		if codec.KindOf(m.Value) == codec.Null {
			if _, err := missing(id, f); err != nil {
				return backend.Write{}, err
			}
			continue
		}
		value, err := f.Type.Fit(m.Value)
		if err != nil {
			return backend.Write{}, fieldError(id, f, err)
		}
		kept = append(kept, codec.Member{Name: f.Name, Value: value})
	}
	return t.merging(id, codec.AppendObject(nil, kept), given)
}

// MergeStruct makes a write of a struct that decides the fields only that the struct
// does not leave out.
func (t *Type) MergeStruct(v reflect.Value) (backend.Write, error) {
	given := make([]string, 0, len(t.encode))
	w, err := t.writeStruct(v, &given)
	if err != nil {
		return backend.Write{}, err
	}
	w.Known, w.Merge = given, true
	return w, nil
}

func (t *Type) merging(id onto.Identity, fields []byte, given []string) (backend.Write, error) {
	w, err := t.finish(id, fields, given)
	w.Merge = err == nil
	return w, err
}
