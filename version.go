package onto

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Op is what a version does to its identity.
type Op string

// The ops.
const (
	Put    Op = "put"    // the identity has these fields
	Delete Op = "delete" // the identity is gone
)

// Version is the full state of one identity after one commit. It is never
// changed.
type Version struct {
	Identity
	Op            Op
	Commit        int64           // the commit that made it
	SchemaVersion int             // the version of the type it was written with
	Fields        json.RawMessage // canonical JSON object; {} after a delete
}

// String describes the version for messages.
func (v Version) String() string {
	return fmt.Sprintf("%s at commit %d: %s %s", v.Identity, v.Commit, v.Op, v.Fields)
}

// Live reports whether the identity exists after this version.
func (v Version) Live() bool { return v.Op == Put }

// Map decodes the fields. Integers become int64, other numbers float64.
func (v Version) Map() (map[string]any, error) {
	return DecodeObject(v.Fields)
}

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
		return nil, Errorf(Corrupt, "decode JSON object: %w", err)
	}
	if _, err := dec.Token(); m == nil || err != io.EOF {
		return nil, Errorf(Corrupt, "decode JSON object: found something else")
	}
	for k, v := range m {
		m[k] = PlainNumbers(v)
	}
	return m, nil
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

// Operation names what a change did to an identity.
type Operation string

// The operations.
const (
	Insert        Operation = "insert"
	UpdateVersion Operation = "update_version"
	Removal       Operation = "delete"
)

// Change is the difference in one identity between two moments.
type Change struct {
	Identity
	Before *Version // nil if it did not exist
	After  *Version // nil if it does not exist any more; a delete's version is given when it is known
}

// String describes the change for messages.
func (c Change) String() string { return string(c.Operation()) + " " + c.Identity.String() }

// Operation tells whether the identity came, changed or went.
func (c Change) Operation() Operation {
	switch {
	case c.After == nil || !c.After.Live():
		return Removal
	case c.Before == nil || !c.Before.Live():
		return Insert
	}
	return UpdateVersion
}

// Blame tells who last set one top-level field of an identity.
type Blame struct {
	Field string
	Value json.RawMessage // canonical JSON

	// Commit is the commit that set the field to this value. Its ID is 0 if none
	// did: a view of the past shows what a later migration makes of it, and that
	// did not write the identity anew, which did not exist any more for example.
	Commit Commit

	// Migration is the version of the type whose migration made the value, by a
	// default or an upgrader; nil if a draft gave it.
	Migration *SchemaVersion
}
