package onto

import (
	"encoding/json"
	"slices"

	"github.com/ontologia/onto/internal/codec"
)

// withCanonicalDefaults returns the schema with those defaults canonical that
// fit; Check tells about the others.
func (s Schema) withCanonicalDefaults() Schema {
	s.Fields = slices.Clone(s.Fields)
	for i, f := range s.Fields {
		if canonical, err := canonicalDefault(f.Type, f.Default); err == nil && f.Default != nil {
			s.Fields[i].Default = canonical
		}
	}
	return s
}

// canonicalDefault returns a default in the form in which it is stored, or
// says why it does not fit a field of type t.
func canonicalDefault(t FieldType, text []byte) (json.RawMessage, error) {
	if !json.Valid(text) {
		return nil, Errorf(Invalid, "default %.80s is not JSON", text).
			WithHint(`a text default needs quotes: default="Silver"`)
	}
	// The brackets stand for the object that the default will be part of:
	// they count as one level of depth.
	inside, err := codec.AppendCanonical(nil, slices.Concat([]byte("["), text, []byte("]")))
	if err != nil {
		return nil, Errorf(Invalid, "default %.80s: %w", text, err)
	}
	canonical := inside[1 : len(inside)-1]
	fitted, err := t.Fit(canonical)
	if err != nil {
		return nil, Errorf(Invalid, "default %.80s: %w", canonical, err)
	}
	return fitted, nil
}

// Fit checks that a field of type t can have this value, which is canonical
// JSON, and returns it in its stored form. Null is no value.
func (t FieldType) Fit(canonical []byte) (json.RawMessage, error) {
	kind := codec.KindOf(canonical)
	ok := false
	switch t {
	case Any:
		ok = kind != codec.Null
	case String:
		ok = kind == codec.String
	case Int:
		ok = kind == codec.Int
	case Float:
		ok = kind == codec.Int || kind == codec.Float
	case Bool:
		ok = kind == codec.Bool
	case Object:
		ok = kind == codec.Object
	case List:
		ok = kind == codec.List
	case Time:
		if kind == codec.String {
			return fitTime(codec.Unquote(canonical))
		}
	}
	if !ok {
		return nil, Errorf(Invalid, "expected %s, found %s", t, kind)
	}
	return canonical, nil
}

func fitTime(text string) (json.RawMessage, error) {
	at, err := codec.ParseTime(text)
	if err != nil {
		return nil, Errorf(Invalid, "%w", err)
	}
	return json.RawMessage(`"` + codec.FormatTime(at) + `"`), nil
}
