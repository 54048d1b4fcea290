package shape

import (
	"encoding/json"
	"reflect"
	"strconv"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/gostruct"
)

// fieldEncoder writes one struct field as canonical JSON. Structs are encoded field by
// field in the schema's order, so that the result needs neither sorting nor another
// check.
type fieldEncoder struct {
	gostruct.Field
	field  onto.Field
	prefix []byte // the quoted name and a colon
	append func(dst []byte, v reflect.Value) ([]byte, error)
}

// Bind ties a Go struct to the type, which serves the schema of the struct.
func (t *Type) Bind(b *gostruct.Binding, given onto.Schema) {
	t.given = given
	t.bound, t.free = b, codec.HoldsAny(b.Struct)
	t.encode = make([]fieldEncoder, 0, len(b.Fields))
	for _, f := range b.Fields {
		schema, ok := t.Schema.Field(f.Name)
		if !ok {
			continue // the instance key, which is stored in the identity only
		}
		quoted, _ := codec.AppendString(nil, f.Name) // a checked name
		t.encode = append(t.encode, fieldEncoder{f, schema, append(quoted, ':'), appenderFor(f, schema)})
	}
	t.bindDecoders()
}

// appenderFor picks how values of a struct field are written.
func appenderFor(f gostruct.Field, schema onto.Field) func([]byte, reflect.Value) ([]byte, error) {
	elem := f.Type
	if elem.Kind() == reflect.Pointer {
		elem = elem.Elem()
	}
	plain := elem.PkgPath() == "" // a predeclared type has no methods
	switch {
	case f.Quoted:
		return appendQuoted
	case elem == reflect.TypeFor[time.Time]():
		return codec.AppendMember
	case plain && elem.Kind() == reflect.String:
		return func(dst []byte, v reflect.Value) ([]byte, error) { return codec.AppendString(dst, v.String()) }
	case plain && elem.Kind() == reflect.Bool:
		return func(dst []byte, v reflect.Value) ([]byte, error) { return strconv.AppendBool(dst, v.Bool()), nil }
	case plain && schema.Type == onto.Int && elem.Kind() >= reflect.Int && elem.Kind() <= reflect.Int64:
		return func(dst []byte, v reflect.Value) ([]byte, error) { return strconv.AppendInt(dst, v.Int(), 10), nil }
	case plain && elem.Kind() == reflect.Float64:
		return func(dst []byte, v reflect.Value) ([]byte, error) { return codec.AppendFloat(dst, v.Float()) }
	}
	return func(dst []byte, v reflect.Value) ([]byte, error) { return appendFitting(dst, v, schema) }
}

// appendQuoted writes a scalar as text, as the json tag's string option asks.
func appendQuoted(dst []byte, v reflect.Value) ([]byte, error) {
	text, err := codec.AppendMember(nil, v)
	if err != nil {
		return dst, err
	}
	return codec.AppendString(dst, string(text))
}

// appendFitting writes any value and checks that the JSON it turns into has
// the kind that the schema says. A nil slice or map is an empty one.
func appendFitting(dst []byte, v reflect.Value, f onto.Field) ([]byte, error) {
	start := len(dst)
	dst, err := codec.AppendMember(dst, v)
	if err != nil {
		return dst, err
	}
	value := dst[start:]
	if codec.KindOf(value) == codec.Null {
		switch {
		case v.Kind() == reflect.Slice && f.Type == onto.List:
			return append(dst[:start], "[]"...), nil
		case v.Kind() == reflect.Slice && f.Type == onto.String:
			return append(dst[:start], `""`...), nil
		case v.Kind() == reflect.Map && f.Type == onto.Object:
			return append(dst[:start], "{}"...), nil
		}
		return dst, nil
	}
	fitted, err := f.Type.Fit(value)
	if err != nil {
		return dst, err
	}
	return append(dst[:start], fitted...), nil
}

// WriteStruct makes a write of a struct.
func (t *Type) WriteStruct(v reflect.Value) (backend.Write, error) {
	id := t.structIdentity(v)
	keyField := t.Schema.Key
	fields := append(make([]byte, 0, 256), '{')
	for i := range t.encode {
		e := &t.encode[i]
		start := len(fields)
		if start > 1 {
			fields = append(fields, ',')
		}
		fields = append(fields, e.prefix...)
		value := len(fields)
		var err error
		if fields, err = e.appendField(fields, v.FieldByIndex(e.Index)); err != nil {
			return backend.Write{}, fieldError(id, e.field, err)
		}
		if len(fields) == value {
			fallback, err := missing(id, e.field)
			if err != nil {
				return backend.Write{}, err
			}
			if fallback == nil {
				fields = fields[:start]
				continue
			}
			fields = append(fields, fallback...)
		}
		if e.Name == keyField {
			id.Key = e.field.Type.KeyText(fields[value:])
		}
	}
	if err := t.CheckIdentity(id); err != nil {
		return backend.Write{}, err
	}
	return t.finish(id, append(fields, '}'), t.Known)
}

// appendField appends the field's value, or nothing if there is none.
func (e *fieldEncoder) appendField(dst []byte, v reflect.Value) ([]byte, error) {
	if e.OmitZero && isZero(v) || e.OmitEmpty && isEmpty(v) {
		return dst, nil
	}
	if v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return dst, nil
		}
		v = v.Elem()
	}
	start := len(dst)
	dst, err := e.append(dst, v)
	if err == nil && string(dst[start:]) == "null" {
		dst = dst[:start]
	}
	return dst, err
}

// isZero asks the value itself if it can tell, as encoding/json does.
func isZero(v reflect.Value) bool {
	if z, ok := v.Interface().(interface{ IsZero() bool }); ok {
		return v.Kind() == reflect.Pointer && v.IsNil() || z.IsZero()
	}
	return v.IsZero()
}

// isEmpty is what encoding/json calls empty.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// IdentityOf returns the identity of a struct.
func (t *Type) IdentityOf(v reflect.Value) (onto.Identity, error) {
	id := t.structIdentity(v)
	for i := range t.encode {
		e := &t.encode[i]
		if e.Name != t.Schema.Key {
			continue
		}
		text, err := e.appendField(nil, v.FieldByIndex(e.Index))
		if err != nil {
			return id, fieldError(id, e.field, err)
		}
		if len(text) > 0 {
			id.Key = e.field.Type.KeyText(text)
		}
	}
	return id, t.CheckIdentity(id)
}

// structIdentity is the identity of a struct, but for an entity's key.
func (t *Type) structIdentity(v reflect.Value) onto.Identity {
	id := onto.Identity{Kind: t.Schema.Kind, Type: t.Schema.Name}
	if t.bound.Link == nil {
		return id
	}
	link := v.FieldByIndex(t.bound.Link)
	id.Left, id.Right = link.FieldByName("Left").String(), link.FieldByName("Right").String()
	if t.bound.Instance != nil {
		id.Instance = v.FieldByIndex(t.bound.Instance).String()
	}
	return id
}

// unmarshal is json.Unmarshal, but integers in values of any type stay exact.
func (t *Type) unmarshal(data []byte, dst any) error {
	if !t.free {
		return json.Unmarshal(data, dst)
	}
	return codec.Decode(data, dst)
}
