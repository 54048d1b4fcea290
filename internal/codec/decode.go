package codec

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strconv"
)

// Decode decodes JSON as encoding/json does, but integers in values of any type stay
// exact: they become int64, other numbers float64.
func Decode(data []byte, dst any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(dst); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("something follows the value")
	}
	plainNumbers(reflect.ValueOf(dst).Elem())
	return nil
}

// Plain is a canonical JSON value as Decode decodes it into a variable of any type.
func Plain(canonical []byte) (any, error) {
	switch KindOf(canonical) {
	case Null:
		return nil, nil
	case Bool:
		return canonical[0] == 't', nil
	case Int:
		return strconv.ParseInt(string(canonical), 10, 64)
	case Float:
		return strconv.ParseFloat(string(canonical), 64)
	case String:
		return Unquote(canonical), nil
	}
	var v any
	err := Decode(canonical, &v)
	return v, err
}

// PlainNumbers turns each json.Number in a decoded value into an int64, or a
// float64 if it is not an integer.
func PlainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, err := v.Float64()
		if err != nil {
			return v.String()
		}
		return f
	case []any:
		for i := range v {
			v[i] = PlainNumbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = PlainNumbers(v[k])
		}
	}
	return v
}

// HoldsAny reports whether values of a Go type can hold values of any type, so that
// Decode makes a difference.
func HoldsAny(t reflect.Type) bool { return holdsAny(t, map[reflect.Type]bool{}) }

func holdsAny(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	if decodesItself(t) {
		return false
	}
	switch t.Kind() {
	case reflect.Interface:
		return t.NumMethod() == 0
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return holdsAny(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); filled(f) && holdsAny(f.Type, seen) {
				return true
			}
		}
	}
	return false
}

// plainNumbers is PlainNumbers for the values of any type within a Go value.
func plainNumbers(v reflect.Value) {
	if decodesItself(v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() && v.NumMethod() == 0 {
			v.Set(reflect.ValueOf(PlainNumbers(v.Interface())))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			plainNumbers(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			plainNumbers(v.Index(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			item := reflect.New(v.Type().Elem()).Elem()
			item.Set(v.MapIndex(k))
			plainNumbers(item)
			v.SetMapIndex(k, item)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if filled(v.Type().Field(i)) {
				plainNumbers(v.Field(i))
			}
		}
	}
}

// decodesItself reports whether encoding/json leaves values of a type to the
// type's own method, so that none of our numbers are in them.
func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// filled reports whether encoding/json fills in a field: also the exported
// fields of an embedded struct whose type is not.
func filled(f reflect.StructField) bool {
	return f.Tag.Get("json") != "-" && (f.IsExported() || f.Anonymous && f.Type.Kind() == reflect.Struct)
}
