package filter

import (
	"encoding"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// scalar returns the Go value of a canonical text, number or bool: string,
// int64, float64 or bool. For everything else it is nil.
func scalar(canonical []byte) any {
	switch codec.KindOf(canonical) {
	case codec.String:
		return codec.Unquote(canonical)
	case codec.Int:
		n, _ := strconv.ParseInt(string(canonical), 10, 64)
		return n
	case codec.Float:
		f, _ := strconv.ParseFloat(string(canonical), 64)
		return f
	case codec.Bool:
		return canonical[0] == 't'
	}
	return nil
}

// refuse says why a test cannot have a value, which is clean, or nil for null.
func refuse(test onto.Test, v any, column int) error {
	switch _, isBool := v.(bool); {
	case isBool && ordered(test):
		return fault(column, "true and false have no order").WithHint("%s", wording(column, "use == or is_true()", "use Eq or IsTrue"))
	case v != nil:
		return nil
	case test == onto.In:
		return fault(column, "null cannot be among the values of in_").
			WithHint("%s", wording(column, "add a condition with | and .is_null()", "add a condition with onto.Or and IsNull"))
	case test == onto.NotEqual:
		return fault(column, "nothing can be compared with null").WithHint("%s", wording(column, "use .is_not_null()", "use IsNotNull"))
	}
	return fault(column, "nothing can be compared with null").WithHint("%s", wording(column, "use .is_null()", "use IsNull"))
}

// wording chooses how to write about a filter: as text, if it has a column, or as Go.
func wording(column int, text, code string) string {
	if column > 0 {
		return text
	}
	return code
}

// clean returns a Go value as a string, int64, float64 or bool: what would be
// stored of it. Nil and nil pointers are nil.
func clean(v any) (any, error) {
	switch v := v.(type) {
	case int64, bool, nil:
		return v, nil
	}
	canonical, err := canonicalOf(v)
	if err != nil {
		return nil, err
	}
	return scalar(canonical), nil
}

// canonicalOf returns the canonical JSON of a Go value that is a scalar or null.
func canonicalOf(v any) ([]byte, error) {
	if isBytes(v) {
		return nil, notScalar(v)
	}
	canonical, err := codec.AppendValue(nil, reflect.ValueOf(v))
	if e := (*codec.SyntaxError)(nil); errors.As(err, &e) && e.Path == "$" {
		return nil, onto.Errorf(onto.Invalid, "%s", e.Msg)
	}
	if err != nil {
		return nil, notScalar(v)
	}
	switch codec.KindOf(canonical) {
	case codec.List, codec.Object:
		return nil, notScalar(v)
	}
	return canonical, nil
}

// isBytes reports whether encoding/json would write v as base64.
func isBytes(v any) bool {
	switch v.(type) {
	case nil, json.Marshaler, encoding.TextMarshaler:
		return false
	}
	t := reflect.TypeOf(v)
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

func notScalar(v any) error {
	return onto.Errorf(onto.Invalid, "a value of type %T cannot be compared with", v).
		WithHint("use a string, a number, a bool or a time")
}
