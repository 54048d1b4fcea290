package onto

import (
	"encoding/json"
	"strconv"

	"github.com/ontologia/onto/internal/codec"
)

// KeyText returns the key that a key field's value stands for, which is a string or an int
// in canonical JSON.
func (t FieldType) KeyText(value []byte) string {
	if codec.KindOf(value) == codec.String {
		return codec.Unquote(value)
	}
	return string(value)
}

// KeyValue returns the value of a key field of this type for a key, as canonical JSON. It
// fails if no value has that key.
func (t FieldType) KeyValue(key string) (json.RawMessage, error) {
	if t != Int {
		return codec.AppendString(nil, key)
	}
	if n, err := strconv.ParseInt(key, 10, 64); err == nil && strconv.FormatInt(n, 10) == key {
		return json.RawMessage(key), nil
	}
	return nil, Errorf(Invalid, "%q is not an integer", key)
}
