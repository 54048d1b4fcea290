package layout

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// originalSchema is a schema as the original program stores it.
type originalSchema struct {
	EntityName   string                   `json:"entity_name"`
	RelationName string                   `json:"relation_name"`
	LeftType     string                   `json:"left_type"`
	RightType    string                   `json:"right_type"`
	InstanceKey  string                   `json:"instance_key_field"`
	Fields       map[string]originalField `json:"fields"`
}

type originalField struct {
	PrimaryKey bool          `json:"primary_key"`
	Index      bool          `json:"index"`
	Search     bool          `json:"search"` // ours, see retuneOriginal
	Type       string        `json:"type"`   // a Python type, as "<class 'str'>"
	TypeSpec   *originalSpec `json:"type_spec"`
}

// originalSpec is a type in a structured form. Old files do not have it.
type originalSpec struct {
	Kind, Name string
	Members    []originalSpec // of a union
}

// UnmarshalJSON reads a spec. The members of a union are whatever list of
// specs it holds, since the member's name is not part of the format's contract.
func (s *originalSpec) UnmarshalJSON(data []byte) error {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(data, &parts); err != nil {
		return nil // unknown: reads as any
	}
	for name, raw := range parts {
		switch name {
		case "kind":
			json.Unmarshal(raw, &s.Kind)
		case "name":
			json.Unmarshal(raw, &s.Name)
		default:
			var members []originalSpec
			if json.Unmarshal(raw, &members) == nil {
				s.Members = append(s.Members, members...)
			}
		}
	}
	return nil
}

// ParseSchema reads a stored schema, ours or the original program's. Schemas are
// compared by the result, never by the stored text. Kind and name are those of the row;
// an unknown type reads as any.
func ParseSchema(kind onto.Kind, name string, data []byte) onto.Schema {
	if s, ok := parseOwn(kind, name, data); ok {
		return s
	}
	s := onto.Schema{Kind: kind, Name: name}
	var o originalSchema
	if err := json.Unmarshal(data, &o); err != nil {
		return s
	}
	s.Left, s.Right, s.InstanceKey = o.LeftType, o.RightType, o.InstanceKey
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
	return s
}

// parseOwn reads a schema in our form, and reports whether it is in that form.
func parseOwn(kind onto.Kind, name string, data []byte) (onto.Schema, bool) {
	s, _ := onto.ParseSchema(data)
	return s, s.Kind == kind && s.Name == name
}

// retuneOriginal sets the flags of a schema and keeps the original's form, so that the
// original program still recognises its own type.
func retuneOriginal(data []byte, flags onto.Schema) []byte {
	var doc map[string]json.RawMessage
	var fields map[string]map[string]json.RawMessage
	if json.Unmarshal(data, &doc) != nil || json.Unmarshal(doc["fields"], &fields) != nil {
		return flags.JSON() // no program can read it
	}
	for _, f := range flags.Fields {
		if field := fields[f.Name]; field != nil {
			field["index"] = strconv.AppendBool(nil, f.Index)
			delete(field, "search")
			if f.Search {
				field["search"] = json.RawMessage("true")
			}
		}
	}
	doc["fields"], _ = json.Marshal(fields) // was read from JSON a moment ago
	text, _ := json.Marshal(doc)
	return text
}

// TypeVersion names a version of a type.
type TypeVersion struct {
	onto.TypeName
	Version int
}

// OriginalOptional returns the optional fields, sorted, of the versions of types that the
// original program has stored.
func OriginalOptional(all []onto.SchemaVersion) map[TypeVersion][]string {
	list := map[TypeVersion][]string{}
	for _, v := range all {
		name := v.Schema.TypeName()
		if _, own := parseOwn(name.Kind, name.Name, v.JSON); own {
			continue
		}
		var optional []string
		for _, f := range v.Schema.Fields {
			if f.Optional {
				optional = append(optional, f.Name)
			}
		}
		if optional != nil {
			list[TypeVersion{name, v.Version}] = optional
		}
	}
	return list
}

// WithNulls is canonical fields with a null for each of the names that is absent. The names
// are sorted.
func WithNulls(fields []byte, names []string) []byte {
	if len(names) == 0 {
		return fields
	}
	var all []codec.Member
	for _, m := range codec.Members(fields) {
		for ; len(names) > 0 && names[0] < m.Name; names = names[1:] {
			all = append(all, codec.Member{Name: names[0], Value: []byte("null")})
		}
		if len(names) > 0 && names[0] == m.Name {
			names = names[1:]
		}
		all = append(all, m)
	}
	for _, name := range names {
		all = append(all, codec.Member{Name: name, Value: []byte("null")})
	}
	return codec.AppendObject(nil, all)
}

// OriginalCompact is JSON as the original program hashes it: without spaces, sorted, with
// all but ASCII escaped. It is nil if it cannot be read.
func OriginalCompact(data []byte) []byte {
	text, err := codec.AppendCanonical(nil, data)
	if err != nil {
		return nil
	}
	var out []byte
	for _, r := range string(text) {
		if r < utf8.RuneSelf {
			out = append(out, byte(r))
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			out = fmt.Appendf(out, `\u%04x`, unit)
		}
	}
	return out
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

// union is the type that remains when None is taken out; any, if more than one
// remains.
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
