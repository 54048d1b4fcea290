package onto

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/ontologia/onto/internal/codec"
)

// Keys are text. New types have keys of the types string and int, which have one obvious
// text. Types of the original program may also have floats and bools, as Python's str
// writes them: 1.0, 2.5, 1e+16, True.

// KeyText returns the key that a key field's value stands for. The value is canonical
// JSON of this type.
func (t FieldType) KeyText(value []byte) string {
	switch kind := codec.KindOf(value); {
	case kind == codec.String:
		return codec.Unquote(value)
	case kind == codec.Bool && value[0] == 't':
		return "True"
	case kind == codec.Bool:
		return "False"
	case kind == codec.Float || kind == codec.Int && t == Float:
		if f, err := strconv.ParseFloat(string(value), 64); err == nil {
			return floatKey(f)
		}
	}
	return string(value)
}

// KeyValue returns the value of a key field of this type for a key, as canonical JSON. It
// fails if no value has that key.
func (t FieldType) KeyValue(key string) (json.RawMessage, error) {
	switch t {
	case Int:
		if n, err := strconv.ParseInt(key, 10, 64); err == nil && strconv.FormatInt(n, 10) == key {
			return json.RawMessage(key), nil
		}
		return nil, Errorf(Invalid, "%q is not an integer", key)
	case Float:
		f, err := strconv.ParseFloat(key, 64)
		switch {
		case err != nil || math.IsInf(f, 0) || math.IsNaN(f):
			return nil, Errorf(Invalid, "%q is not a float", key)
		case floatKey(f) != key:
			return nil, Errorf(Invalid, "%q is not how the float is written as a key", key).WithHint("write %s", floatKey(f))
		}
		return codec.AppendFloat(nil, f)
	case Bool:
		switch key {
		case "True":
			return json.RawMessage("true"), nil
		case "False":
			return json.RawMessage("false"), nil
		}
		return nil, Errorf(Invalid, "%q is not a bool", key).WithHint("as a key, write True or False")
	}
	return codec.AppendString(nil, key)
}

// floatKey is a float as Python's str writes it: the shortest digits that give it back,
// with an exponent below 1e-4 and from 1e16 on.
func floatKey(f float64) string {
	if abs := math.Abs(f); f != 0 && (abs < 1e-4 || abs >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if f == math.Trunc(f) {
		text += ".0"
	}
	return text
}
