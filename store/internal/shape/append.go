package shape

import (
	"bytes"
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/gostruct"
)

// appender writes a value as canonical JSON. It is never given a nil pointer. Of objects,
// it can write the part only that a struct does not leave out.
type appender func(dst []byte, v reflect.Value, part bool) ([]byte, error)

// fieldEncoder writes one struct field as canonical JSON. Structs are encoded field by
// field in the schema's order, at every depth, so that the result needs neither sorting
// nor another check.
type fieldEncoder struct {
	*gostruct.Field
	field  onto.Field
	prefix []byte // the quoted name and a colon
	append appender
}

// newFieldEncoder prepares a field that stands inside that many objects and lists.
func newFieldEncoder(f *gostruct.Field, schema onto.Field, depth int) fieldEncoder {
	quoted, _ := codec.AppendString(nil, f.Name) // a checked name
	e := fieldEncoder{Field: f, field: schema, prefix: append(quoted, ':')}
	if f.Quoted {
		e.append = appendQuoted
	} else {
		e.append = appenderFor(&f.Value, schema, depth)
	}
	return e
}

// appenderFor picks how values are written that stand inside that many objects and lists.
func appenderFor(g *gostruct.Value, f onto.Field, depth int) appender {
	elem := g.Type
	if elem.Kind() == reflect.Pointer {
		elem = elem.Elem()
	}
	plain := elem.PkgPath() == "" // a predeclared type has no methods
	switch {
	case f.Enum != nil:
		return appendChecked(f, depth)
	case f.Fields != nil && g.Fields != nil:
		return appendStruct(g, f, depth)
	case f.Items != nil && g.Elem != nil && f.Type == onto.List:
		return appendList(g.Elem, *f.Items, depth)
	case f.Values != nil && g.Elem != nil:
		return appendMap(elem.Key(), g.Elem, *f.Values, depth)
	case elem == reflect.TypeFor[time.Time]():
		return func(dst []byte, v reflect.Value, _ bool) ([]byte, error) { return codec.AppendMember(dst, v) }
	case elem == reflect.TypeFor[onto.Date]():
		return appendDate
	case plain && elem.Kind() == reflect.String:
		return func(dst []byte, v reflect.Value, _ bool) ([]byte, error) { return codec.AppendString(dst, v.String()) }
	case plain && elem.Kind() == reflect.Bool:
		return func(dst []byte, v reflect.Value, _ bool) ([]byte, error) {
			return strconv.AppendBool(dst, v.Bool()), nil
		}
	case plain && f.Type == onto.Int && elem.Kind() >= reflect.Int && elem.Kind() <= reflect.Int64:
		return func(dst []byte, v reflect.Value, _ bool) ([]byte, error) {
			return strconv.AppendInt(dst, v.Int(), 10), nil
		}
	case plain && elem.Kind() == reflect.Float64:
		return func(dst []byte, v reflect.Value, _ bool) ([]byte, error) { return codec.AppendFloat(dst, v.Float()) }
	}
	return appendChecked(f, depth)
}

func appendDate(dst []byte, v reflect.Value, _ bool) ([]byte, error) {
	d := v.Interface().(onto.Date)
	if d.IsZero() {
		return dst, onto.Errorf(onto.Invalid, "the zero date is none").WithHint("use a pointer, or mark the field omitzero, where there may be no date")
	}
	if err := d.Check(); err != nil {
		return dst, err
	}
	return append(append(append(dst, '"'), d.String()...), '"'), nil
}

// appendQuoted writes a scalar as text, as the json tag's string option asks.
func appendQuoted(dst []byte, v reflect.Value, _ bool) ([]byte, error) {
	text, err := codec.AppendMember(nil, v)
	if err != nil {
		return dst, err
	}
	return codec.AppendString(dst, string(text))
}

// appendChecked writes any value and checks that the JSON it turns into is what the schema
// says. A nil slice or map is an empty one.
func appendChecked(f onto.Field, depth int) appender {
	f.Name = ""
	return func(dst []byte, v reflect.Value, _ bool) ([]byte, error) {
		start := len(dst)
		dst, err := codec.AppendInside(dst, v, depth)
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
		fitted, err := f.FitValue(value)
		if err != nil {
			return dst, err
		}
		return append(dst[:start], fitted...), nil
	}
}

// appendStruct writes a struct field by field.
func appendStruct(g *gostruct.Value, f onto.Field, depth int) appender {
	encoders := make([]fieldEncoder, len(g.Fields))
	for i := range g.Fields {
		encoders[i] = newFieldEncoder(&g.Fields[i], f.Fields[i], depth+1)
	}
	return func(dst []byte, v reflect.Value, part bool) ([]byte, error) {
		dst = append(dst, '{')
		first := len(dst)
		for i := range encoders {
			e := &encoders[i]
			start := len(dst)
			if start > first {
				dst = append(dst, ',')
			}
			dst = append(dst, e.prefix...)
			value := len(dst)
			var err error
			if dst, err = e.appendField(dst, e.Get(v), part); err != nil {
				return dst, codec.At(codec.Step(e.Name), err)
			}
			switch {
			case len(dst) > value:
			case part:
				dst = dst[:start]
			case e.field.Default != nil:
				dst = append(dst, e.field.Default...)
			case e.field.Optional:
				dst = dst[:start]
			default:
				return dst, codec.At(codec.Step(e.Name), onto.Errorf(onto.Invalid, "it is missing"))
			}
		}
		return append(dst, '}'), nil
	}
}

// element writes an element of a list or a value of a map: null for none.
func element(write appender, f *onto.Field, dst []byte, v reflect.Value) ([]byte, error) {
	start := len(dst)
	if v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if v.IsValid() {
		var err error
		if dst, err = write(dst, v, false); err != nil {
			return dst, err
		}
	}
	if len(dst) > start && string(dst[start:]) != "null" {
		return dst, nil
	}
	if !f.Optional {
		return dst, onto.Errorf(onto.Invalid, "expected %s, found null", f.Type)
	}
	return append(dst[:start], "null"...), nil
}

// appendList writes a slice or an array. A nil slice is an empty one.
func appendList(g *gostruct.Value, f onto.Field, depth int) appender {
	write := appenderFor(g, f, depth+1)
	return func(dst []byte, v reflect.Value, _ bool) ([]byte, error) {
		dst = append(dst, '[')
		for i := range v.Len() {
			if i > 0 {
				dst = append(dst, ',')
			}
			var err error
			if dst, err = element(write, &f, dst, v.Index(i)); err != nil {
				return dst, codec.At("["+strconv.Itoa(i)+"]", err)
			}
		}
		return append(dst, ']'), nil
	}
}

// appendMap writes a map in order of its keys. A nil map is an empty one.
func appendMap(key reflect.Type, g *gostruct.Value, f onto.Field, depth int) appender {
	write := appenderFor(g, f, depth+1)
	type entry struct {
		name  string
		value reflect.Value
	}
	return func(dst []byte, v reflect.Value, _ bool) ([]byte, error) {
		list := make([]entry, 0, v.Len())
		for entries := v.MapRange(); entries.Next(); {
			name, err := keyName(key, entries.Key())
			if err != nil {
				return dst, err
			}
			list = append(list, entry{name, entries.Value()})
		}
		slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.name, b.name) })
		dst = append(dst, '{')
		for i, e := range list {
			if i > 0 {
				dst = append(dst, ',')
				if e.name == list[i-1].name {
					return dst, fmt.Errorf("two keys of the map are written as %q", e.name)
				}
			}
			var err error
			if dst, err = codec.AppendString(dst, e.name); err != nil {
				return dst, err
			}
			if dst, err = element(write, &f, append(dst, ':'), e.value); err != nil {
				return dst, codec.At(codec.Step(e.name), err)
			}
		}
		return append(dst, '}'), nil
	}
}

// keyName is the name under which encoding/json writes a value of a map.
func keyName(t reflect.Type, key reflect.Value) (string, error) {
	if t.Kind() == reflect.String {
		return key.String(), nil
	}
	if text, ok := key.Interface().(encoding.TextMarshaler); ok {
		if key.Kind() == reflect.Pointer && key.IsNil() {
			return "", nil
		}
		name, err := text.MarshalText()
		return string(name), err
	}
	if key.CanInt() {
		return strconv.FormatInt(key.Int(), 10), nil
	}
	return strconv.FormatUint(key.Uint(), 10), nil
}

// appendField appends the field's value, or nothing if there is none.
func (e *fieldEncoder) appendField(dst []byte, v reflect.Value, part bool) ([]byte, error) {
	if !v.IsValid() || e.OmitZero && isZero(v) || e.OmitEmpty && isEmpty(v) {
		return dst, nil
	}
	if v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return dst, nil
		}
		v = v.Elem()
	}
	start := len(dst)
	dst, err := e.append(dst, v, part)
	if err == nil && bytes.Equal(dst[start:], null) {
		dst = dst[:start]
	}
	return dst, err
}

var null = []byte("null")

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
