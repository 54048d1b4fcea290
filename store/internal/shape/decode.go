package shape

import (
	"encoding/json"
	"reflect"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/gostruct"
)

// decodeCanonical fills in a zero struct. It reports false for what it cannot read: then
// the struct is zero again, and encoding/json can say why. A damaged file can hold
// anything, which may cause a panic here.
func (t *Type) decodeCanonical(fields []byte, s reflect.Value) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
		if !ok {
			s.SetZero()
		}
	}()
	return len(fields) >= 2 && fields[0] == '{' && fields[len(fields)-1] == '}' && t.decode.read(s, fields)
}

// Decode fills in the struct that dst points to from a version.
func (t *Type) Decode(v *onto.Version, dst any) error {
	s := reflect.ValueOf(dst).Elem()
	if !t.decodeCanonical(v.Fields, s) {
		if err := t.explain(v, dst); err != nil {
			return err
		}
	}
	if t.bound.About != nil {
		s.FieldByIndex(t.bound.About).FieldByName("Subject").SetString(v.Left)
	}
	if t.bound.Link == nil {
		return nil
	}
	link := s.FieldByIndex(t.bound.Link)
	link.FieldByName("Left").SetString(v.Left)
	link.FieldByName("Right").SetString(v.Right)
	if t.bound.Instance != nil {
		s.FieldByIndex(t.bound.Instance).SetString(v.Instance)
	}
	return nil
}

// explain decodes a version as encoding/json does, for its error.
func (t *Type) explain(v *onto.Version, dst any) error {
	err := codec.Decode(t.bare(v.Fields), dst)
	if err == nil {
		return nil
	}
	if wide := t.outgrown(v); wide != nil {
		return wide
	}
	return onto.Errorf(onto.Invalid, "%s at commit %d does not fit the Go type %v: %w", v.Identity, v.Commit, t.bound.Struct, err).
		WithHint("read it by name with View.Get, or widen the Go type")
}

// bare leaves out the fields that the struct does not have: encoding/json would take one
// whose name differs only in case for another.
func (t *Type) bare(fields []byte) []byte {
	has := func(name string) bool {
		return slices.ContainsFunc(t.bound.Fields, func(f gostruct.Field) bool { return f.Name == name })
	}
	members, err := codec.ParseObject(fields)
	if err != nil || !slices.ContainsFunc(members, func(m codec.Member) bool { return !has(m.Name) }) {
		return fields
	}
	return codec.AppendObject(nil, slices.DeleteFunc(members, func(m codec.Member) bool { return !has(m.Name) }))
}

// outgrown is the error for a value that the field could not hold before its type was
// widened; nil if there is none.
func (t *Type) outgrown(v *onto.Version) error {
	for _, m := range codec.Members(v.Fields) {
		had, known := t.given.Field(m.Name)
		if now, _ := t.Schema.Field(m.Name); !known || now.Equal(had) {
			continue
		}
		if err := holds(had, m.Value); err != nil {
			return onto.Errorf(onto.SchemaOutdated, "%s at commit %d holds what Go type %v cannot: %w", v.Identity, v.Commit, t.bound.Struct, err).
				WithHint("widen the field in the Go type, or read it by name with View.Get")
		}
	}
	return nil
}

// holds reports whether a field could hold a value, or each of a list if it has many.
func holds(f onto.Field, value []byte) error {
	values := slices.Values([][]byte{value})
	if f.Many {
		values = codec.Elements(value)
	}
	for value := range values {
		if err := f.Holds(value); err != nil {
			return err
		}
	}
	return nil
}

// readOther leaves a value to encoding/json. Integers in values of any type stay exact.
func readOther(t reflect.Type) reader {
	if codec.HoldsAny(t) {
		return func(v reflect.Value, canonical []byte) bool {
			return codec.Decode(canonical, v.Addr().Interface()) == nil
		}
	}
	return func(v reflect.Value, canonical []byte) bool {
		return json.Unmarshal(canonical, v.Addr().Interface()) == nil
	}
}
