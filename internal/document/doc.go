// Package document has the answers of a store as JSON: one type for each document,
// made from values of the store. It prints nothing; the command prints documents,
// and a server can send them.
//
// Absent texts are null, absent lists are empty, times are as they are stored.
package document

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/ontologia/onto/internal/codec"
)

// Encode is a document as JSON on one line.
func Encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// OrNull is a text as JSON, with null for none.
func OrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// orEmpty is a list that is never null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// storedTime is a time as it is stored, or null if it is not known.
func storedTime(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := codec.FormatTime(t)
	return &text
}
