package schemafile

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// fieldsOf reads the fields of a type.
func fieldsOf(s *onto.Schema) func(*node, string) error {
	return func(v *node, path string) error {
		members, err := v.object(path)
		if err != nil {
			return err
		}
		for _, m := range members {
			read := readField
			if s.Kind == onto.KindFact {
				read = readAttribute
			}
			if err := onto.CheckUserName("field", m.name); err != nil && s.Kind != onto.KindFact && !onto.IsComputed(m.name) {
				return m.fail(join(path, m.name), "%w", err)
			}
			f, err := read(m, join(path, m.name))
			if err != nil {
				return err
			}
			s.Fields = append(s.Fields, f)
		}
		s.SortFields()
		return nil
	}
}

func readField(m member, path string) (onto.Field, error) {
	d := declaration{top: true, indexable: true}
	f, err := d.read(m.value, m.position, path)
	f.Name = m.name
	return f, err
}

// readAttribute reads an attribute of facts. There are facts on it, or there are none: it
// is neither optional nor has it a default.
func readAttribute(m member, path string) (onto.Field, error) {
	f := onto.Field{Name: m.name, Optional: true}
	if onto.ReservedAttribute(m.name) {
		return f, m.fail(path, "no attribute can have this name: it is a field that facts have anyway").
			WithHint("leave it out, or choose another name")
	}
	if err := onto.CheckUserName("attribute", m.name); err != nil {
		return f, m.fail(path, "%w", err)
	}
	without := func(why string) func(*node, string) error {
		return func(v *node, path string) error {
			return v.fail(path, "%s", why).WithHint("leave it out: where nothing is known there is no fact")
		}
	}
	d := declaration{top: true, indexable: true, more: []key{
		{"many", flag(&f.Many)},
		{"optional", without("no attribute is required, so none is optional")},
		{"default", without("an attribute has no default")},
	}}
	read, err := d.read(m.value, m.position, path)
	read.Name, read.Optional, read.Many = f.Name, f.Optional, f.Many
	return read, err
}

func fieldType(dst *onto.FieldType) func(*node, string) error {
	return func(v *node, path string) error {
		if v.kind != codec.String {
			return v.fail(path, "expected the name of a type, found %s", v.found())
		}
		if !slices.Contains(typeNames(), v.text) {
			return v.fail(path, "unknown type %.80q", v.text).WithHint("%s", suggestion(v.text, typeNames()))
		}
		*dst = onto.FieldType(v.text)
		return nil
	}
}

func typeNames() []string {
	var names []string
	for _, t := range onto.FieldTypes() {
		names = append(names, string(t))
	}
	return names
}

// readDefault returns the canonical JSON of a default that fits the field.
func readDefault(f *onto.Field, v *node, path string) (json.RawMessage, error) {
	if v.kind == codec.Null {
		return nil, v.fail(path, "null is no default").WithHint("leave it out, or say optional: true instead")
	}
	canonical, err := v.canonical(path)
	if err != nil {
		return nil, err
	}
	fitted, err := f.FitValue(canonical)
	if err != nil {
		return nil, v.fail(path, "%w", err)
	}
	return fitted, nil
}

// canonical returns the canonical JSON of a value that will be a member of an object.
func (n *node) canonical(path string) (json.RawMessage, error) {
	// The brackets stand for the object: they count as one level of depth.
	text, err := n.appendJSON([]byte{'['}, path)
	if err != nil {
		return nil, err
	}
	canonical, err := codec.AppendCanonical(nil, append(text, ']'))
	if err != nil {
		var syntax *codec.SyntaxError
		if errors.As(err, &syntax) {
			return nil, n.fail(path+strings.TrimPrefix(syntax.Path, "$[0]"), "%s", syntax.Msg)
		}
		return nil, err
	}
	return canonical[1 : len(canonical)-1], nil
}
