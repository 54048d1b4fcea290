package onto

import (
	"reflect"
	"slices"

	"github.com/ontologia/onto/internal/gostruct"
)

// valueOf returns what the values of a Go type are, without a name, and how the type
// holds them. Where a struct contains itself, it is any value.
func (r *typeReader) valueOf(t reflect.Type, path string, indexable bool) (Field, gostruct.Value, error) {
	f, v := Field{Type: fieldTypeOf(t)}, gostruct.Value{Type: t}
	if r.count++; r.count > MaxSchemaFields {
		return f, v, Errorf(Invalid, "%s has more than %d fields at all depths; %s is one too many", r.schema.Name, MaxSchemaFields, path)
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case f.Type == List:
		items, elem, err := r.elementOf(t.Elem(), path+"[]")
		f.Items, v.Elem = items, elem
		return f, v, err
	case f.Type == Object && t.Kind() == reflect.Map && !keys(t.Key()):
		return f, v, Errorf(Invalid, "%s.%s: a %s cannot be stored: keys of a map are strings or ints, or have a text form", r.schema.Name, path, t).
			WithHint(`leave it out with json:"-"`)
	case f.Type == Object && t.Kind() == reflect.Map:
		values, elem, err := r.elementOf(t.Elem(), path+"{}")
		f.Values, v.Elem = values, elem
		return f, v, err
	case f.Type != Object:
		return f, v, nil
	case slices.Contains(r.within, t):
		f.Type = Any
		return f, v, nil
	}
	inner := structReader{typeReader: r, path: path, indexable: indexable, outside: len(r.within)}
	err := inner.readStruct(t, nil, false)
	if err == nil {
		f.Fields, v.Fields, err = inner.sorted()
	}
	return f, v, err
}

// keys reports whether encoding/json writes maps with keys of a Go type.
func keys(t reflect.Type) bool {
	return t.Kind() == reflect.String || reflect.Int <= t.Kind() && t.Kind() <= reflect.Uintptr || t.Implements(textMarshaler)
}

// elementOf is valueOf for the elements of a list and the values of a map; nil if these can
// be anything.
func (r *typeReader) elementOf(t reflect.Type, path string) (*Field, *gostruct.Value, error) {
	if !storable(t) {
		return nil, nil, Errorf(Invalid, "%s.%s: a %s cannot be stored", r.schema.Name, path, t).
			WithHint(`leave it out with json:"-"`)
	}
	f, v, err := r.valueOf(t, path, false)
	if err != nil || f.Type == Any {
		return nil, nil, err
	}
	f.Optional = nullable(t)
	return &f, &v, nil
}

// isScalar reports whether the JSON form of a Go type is a plain text, number
// or bool.
func isScalar(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch fieldTypeOf(t) {
	case String:
		return t.Kind() == reflect.String && !hasMethods(t, textMarshaler)
	case Int, Float, Bool:
		return true
	}
	return false
}

// hasMethods reports whether a type or its pointer implements an interface.
func hasMethods(t, methods reflect.Type) bool {
	return t.Implements(methods) || reflect.PointerTo(t).Implements(methods)
}

// storable reports whether values of this Go type can have a JSON form.
func storable(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		return t.Implements(jsonMarshaler) || t.Implements(textMarshaler)
	case reflect.Interface: // its contents could not be read back
		return t.NumMethod() == 0
	}
	return true
}

// nullable reports whether a Go value of this type can mean that there is no value. A
// nil slice or map does not: it is an empty one.
func nullable(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface || t == rawMessage
}

// fieldTypeOf maps a Go type to the field type its JSON has.
func fieldTypeOf(t reflect.Type) FieldType {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == timeType:
		return Time
	case t == reflect.TypeFor[Date]():
		return DateOnly
	case t == rawMessage || t == jsonNumber || hasMethods(t, jsonMarshaler):
		return Any
	case hasMethods(t, textMarshaler):
		return String
	}
	switch t.Kind() {
	case reflect.String:
		return String
	case reflect.Bool:
		return Bool
	case reflect.Float32, reflect.Float64:
		return Float
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return Int
	case reflect.Struct, reflect.Map:
		return Object
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return String // encoding/json writes bytes as base64
		}
		return List
	case reflect.Array:
		return List
	}
	return Any
}
