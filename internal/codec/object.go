package codec

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// DecodeObject decodes a JSON object. Integers become int64, other numbers
// float64. Empty input is an empty object.
func DecodeObject(data []byte) (map[string]any, error) {
	if len(data) == 0 {
		return map[string]any{}, nil
	}
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.UseNumber()
	m := map[string]any{}
	if err := dec.Decode(&m); err != nil {
		return nil, fmt.Errorf("decode JSON object: %w", err)
	}
	if _, err := dec.Token(); m == nil || err != io.EOF {
		return nil, fmt.Errorf("decode JSON object: found something else")
	}
	for k, v := range m {
		m[k] = PlainNumbers(v)
	}
	return m, nil
}
