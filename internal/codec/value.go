package codec

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// AppendValue appends the canonical JSON of a Go value. It reads maps, lists and
// scalars itself, so that text that is not valid UTF-8 is refused and not repaired;
// structs go through encoding/json. A time is written in its stored form. Nil maps and
// slices are null.
func AppendValue(dst []byte, v reflect.Value) ([]byte, error) { return appendValue(dst, v, 0) }

// AppendMember is AppendValue for a member of an object, which counts as one
// level of depth.
func AppendMember(dst []byte, v reflect.Value) ([]byte, error) { return appendValue(dst, v, 1) }

// AppendInside is AppendValue for a value that stands inside that many objects and lists.
func AppendInside(dst []byte, v reflect.Value, depth int) ([]byte, error) {
	return appendValue(dst, v, depth)
}

func appendValue(dst []byte, v reflect.Value, depth int) ([]byte, error) {
	for hops := 0; v.IsValid() && (v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer && (v.IsNil() || !marshals(v.Type()))); hops++ {
		if hops > MaxDepth {
			return dst, &SyntaxError{Path: "$", Msg: "a pointer that leads round in a circle"}
		}
		v = v.Elem()
	}
	if !v.IsValid() {
		return append(dst, "null"...), nil
	}
	if t, ok := v.Interface().(time.Time); ok {
		if err := CheckTime(t); err != nil {
			return dst, err
		}
		return append(AppendTime(append(dst, '"'), t), '"'), nil
	}
	if marshals(v.Type()) || marshals(reflect.PointerTo(v.Type())) { // methods of the pointer count too
		return appendMarshalled(dst, v, depth)
	}
	switch v.Kind() {
	case reflect.String:
		return AppendString(dst, v.String())
	case reflect.Bool:
		return strconv.AppendBool(dst, v.Bool()), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.AppendInt(dst, v.Int(), 10), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return AppendUint(dst, v.Uint())
	case reflect.Float32: // 0.1 is written as 0.1, not as the float64 nearest to it
		f, _ := strconv.ParseFloat(strconv.FormatFloat(v.Float(), 'g', -1, 32), 64)
		return AppendFloat(dst, f)
	case reflect.Float64:
		return AppendFloat(dst, v.Float())
	case reflect.Map:
		if v.Type().Key().Kind() == reflect.String && !v.IsNil() {
			return appendMap(dst, v, depth+1)
		}
	case reflect.Array, reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 && (v.Kind() == reflect.Array || !v.IsNil()) {
			return appendList(dst, v, depth+1)
		}
	}
	return appendMarshalled(dst, v, depth)
}

// AppendUint appends n as a canonical JSON number, if it is within int64.
func AppendUint(dst []byte, n uint64) ([]byte, error) {
	if n > math.MaxInt64 {
		return dst, &SyntaxError{Path: "$", Msg: fmt.Sprintf("integer %d is outside int64", n)}
	}
	return strconv.AppendUint(dst, n, 10), nil
}

// marshals reports whether a type has a JSON form of its own. A time is written
// in its stored form instead.
func marshals(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[time.Time](), reflect.TypeFor[*time.Time]():
		return false
	case reflect.TypeFor[json.Number]():
		return true
	}
	return t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

func appendMarshalled(dst []byte, v reflect.Value, depth int) ([]byte, error) {
	if v.Kind() != reflect.Pointer { // so that methods of pointers are found, also further inside
		p := reflect.New(v.Type())
		p.Elem().Set(v)
		v = p
	}
	text, err := json.Marshal(v.Interface())
	if err != nil {
		return dst, err
	}
	p := parser{src: text, out: dst}
	if err := p.value(depth); err != nil {
		return dst, within(err, "$")
	}
	return p.out, nil
}

func appendList(dst []byte, v reflect.Value, depth int) ([]byte, error) {
	if depth > MaxDepth {
		return dst, &SyntaxError{Path: "$", Msg: fmt.Sprintf("nested deeper than %d", MaxDepth)}
	}
	dst = append(dst, '[')
	for i := range v.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendValue(dst, v.Index(i), depth); err != nil {
			return dst, fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return append(dst, ']'), nil
}

func appendMap(dst []byte, v reflect.Value, depth int) ([]byte, error) {
	if depth > MaxDepth {
		return dst, &SyntaxError{Path: "$", Msg: fmt.Sprintf("nested deeper than %d", MaxDepth)}
	}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	dst = append(dst, '{')
	for i, k := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = AppendString(dst, k.String()); err != nil {
			return dst, err
		}
		if dst, err = appendValue(append(dst, ':'), v.MapIndex(k), depth); err != nil {
			return dst, fmt.Errorf("%s: %w", k, err)
		}
	}
	return append(dst, '}'), nil
}
