package source

import (
	"encoding/json"
	"strings"

	"github.com/ontologia/onto"
)

// originalSchema is a schema as the original program stores it.
type originalSchema struct {
	LeftType    string                   `json:"left_type"`
	RightType   string                   `json:"right_type"`
	InstanceKey string                   `json:"instance_key_field"`
	Fields      map[string]originalField `json:"fields"`
}

type originalField struct {
	PrimaryKey bool          `json:"primary_key"`
	Index      bool          `json:"index"`
	Search     bool          `json:"search"`    // added by formats up to 6 of this program
	Type       string        `json:"type"`      // a Python type, as "<class 'str'>"
	TypeSpec   *originalSpec `json:"type_spec"` // the same in a structured form, which old files do not have
}

// originalSpec is a type in a structured form.
type originalSpec struct {
	Kind, Name string
	Members    []originalSpec // of a union
}

// UnmarshalJSON reads a spec. The members of a union are whatever list of specs it holds,
// since the member's name is not part of the format's contract.
func (s *originalSpec) UnmarshalJSON(data []byte) error {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(data, &parts); err != nil {
		return nil // unknown: reads as any
	}
	for name, raw := range parts {
		switch name {
		case "kind":
			_ = json.Unmarshal(raw, &s.Kind) // likewise
		case "name":
			_ = json.Unmarshal(raw, &s.Name)
		default:
			var members []originalSpec
			if json.Unmarshal(raw, &members) == nil {
				s.Members = append(s.Members, members...)
			}
		}
	}
	return nil
}

// parseSchema reads a stored schema, and reports whether it is in the form of this program.
// Kind and name are those of the row; a type of the original that is not understood reads as
// any.
func parseSchema(kind onto.Kind, name string, data []byte) (s onto.Schema, own bool, err error) {
	if s, _ := onto.ParseSchema(data); s.Kind == kind && s.Name == name {
		return s, true, nil
	}
	var o originalSchema
	if err := json.Unmarshal(data, &o); err != nil {
		return s, false, onto.Errorf(onto.Corrupt, "%s %s: its schema cannot be read: %w", kind, name, err).WithHint("look at it with: sqlite3 FILE 'SELECT * FROM schema_versions'")
	}
	s = onto.Schema{Kind: kind, Name: name, Left: o.LeftType, Right: o.RightType, InstanceKey: o.InstanceKey}
	for name, f := range o.Fields {
		if name == s.InstanceKey && name != "" {
			continue // its rows have it in the identity only
		}
		typ, optional := f.fieldType()
		if f.PrimaryKey && kind == onto.KindEntity {
			s.Key, optional = name, false
		}
		s.Fields = append(s.Fields, onto.Field{Name: name, Type: typ, Optional: optional, Index: f.Index, Search: f.Search && typ == onto.String})
	}
	s.SortFields()
	return s, false, nil
}

// fieldType maps a Python type to ours, and tells whether None is allowed.
func (f originalField) fieldType() (onto.FieldType, bool) {
	if f.TypeSpec != nil {
		return f.TypeSpec.fieldType()
	}
	return pythonType(f.Type)
}

func (s originalSpec) fieldType() (onto.FieldType, bool) {
	switch s.Kind {
	case "primitive":
		return pythonType(s.Name)
	case "list":
		return onto.List, false
	case "dict", "typed_dict":
		return onto.Object, false
	case "union":
		return s.union()
	}
	return onto.Any, false
}

// union is the type that remains when None is taken out; any, if more than one remains.
func (s originalSpec) union() (onto.FieldType, bool) {
	var u pythonUnion
	for _, m := range s.Members {
		if m.Kind == "primitive" && isNone(m.Name) {
			u.optional = true
			continue
		}
		u.add(m.fieldType())
	}
	return u.fieldType()
}

// pythonUnion gathers the members of a union.
type pythonUnion struct {
	typ      onto.FieldType
	others   int // members other than None
	optional bool
}

func (u *pythonUnion) add(t onto.FieldType, optional bool) {
	u.typ, u.others, u.optional = t, u.others+1, u.optional || optional
}

func (u *pythonUnion) fieldType() (onto.FieldType, bool) {
	if u.others != 1 {
		return onto.Any, u.optional
	}
	return u.typ, u.optional
}

// pythonType maps the text of a Python type, such as "<class 'str'>", "str | None" or
// "typing.Optional[int]", and tells whether None is allowed.
func pythonType(text string) (onto.FieldType, bool) {
	if len(text) > maxPythonType {
		return onto.Any, false
	}
	text = strings.TrimSpace(text)
	text = strings.TrimSuffix(strings.TrimPrefix(text, "<class '"), "'>")
	var u pythonUnion
	name, args, generic := strings.Cut(strings.TrimPrefix(text, "typing."), "[")
	parts := splitOutside(text, '|')
	switch {
	case generic && len(parts) == 1 && (name == "Optional" || name == "Union"):
		u.optional = name == "Optional"
		parts = splitOutside(strings.TrimSuffix(args, "]"), ',')
	case len(parts) == 1:
		return plainPythonType(name), isNone(name) || strings.EqualFold(name, "any")
	}
	for _, part := range parts {
		if part = strings.TrimSpace(part); isNone(part) {
			u.optional = true
			continue
		}
		u.add(pythonType(part))
	}
	return u.fieldType()
}

// maxPythonType bounds the texts that are looked into: each level of brackets is read
// once more.
const maxPythonType = 4 << 10

func isNone(name string) bool { return name == "None" || name == "NoneType" }

// splitOutside splits a text at a separator that is not within brackets.
func splitOutside(text string, separator byte) []string {
	var parts []string
	depth, start := 0, 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == '[':
			depth++
		case c == ']':
			depth--
		case c == separator && depth == 0:
			parts, start = append(parts, text[start:i]), i+1
		}
	}
	return append(parts, text[start:])
}

func plainPythonType(name string) onto.FieldType {
	switch strings.ToLower(name) {
	case "str":
		return onto.String
	case "int":
		return onto.Int
	case "float":
		return onto.Float
	case "bool":
		return onto.Bool
	case "list":
		return onto.List
	case "dict":
		return onto.Object
	}
	return onto.Any
}
