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
			if err := onto.CheckUserName("field", m.name); err != nil && s.Kind != onto.KindFact {
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
	f := onto.Field{Name: m.name}
	var fallback *node
	err := m.value.readKeys(path,
		key{"type", fieldType(&f.Type)},
		key{"optional", flag(&f.Optional)},
		key{"default", func(v *node, _ string) error { fallback = v; return nil }},
		key{"index", flag(&f.Index)},
		key{"search", flag(&f.Search)},
	)
	if err == nil {
		err = checkField(m, path, &f)
	}
	switch {
	case err != nil:
		return f, err
	case fallback == nil:
		return f, nil
	case f.Optional:
		return f, m.value.valueOf("optional").fail(join(path, "optional"),
			"a field with a default is never absent, so it cannot be optional").WithHint("leave out optional")
	}
	f.Default, err = readDefault(f.Type, fallback, join(path, "default"))
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
	err := m.value.readKeys(path,
		key{"type", fieldType(&f.Type)},
		key{"index", flag(&f.Index)},
		key{"search", flag(&f.Search)},
		key{"many", flag(&f.Many)},
		key{"optional", without("no attribute is required, so none is optional")},
		key{"default", without("an attribute has no default")},
	)
	if err == nil {
		err = checkField(m, path, &f)
	}
	return f, err
}

// checkField checks what all fields have.
func checkField(m member, path string, f *onto.Field) error {
	switch {
	case f.Type == "":
		return m.fail(path, "type is missing").WithHint("use %s", strings.Join(typeNames(), ", "))
	case f.Search && f.Type != onto.String:
		return m.value.valueOf("search").fail(join(path, "search"), "only strings can be searched, this is %s", f.Type)
	}
	return nil
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

// readDefault returns the canonical JSON of a default that fits the type.
func readDefault(t onto.FieldType, v *node, path string) (json.RawMessage, error) {
	if v.kind == codec.Null {
		return nil, v.fail(path, "null is no default").WithHint("leave it out, or say optional: true instead")
	}
	// The brackets stand for the object that the default will be part of:
	// they count as one level of depth.
	text, err := v.appendJSON([]byte{'['}, path)
	if err != nil {
		return nil, err
	}
	canonical, err := codec.AppendCanonical(nil, append(text, ']'))
	if err != nil {
		var syntax *codec.SyntaxError
		if errors.As(err, &syntax) {
			return nil, v.fail(path+strings.TrimPrefix(syntax.Path, "$[0]"), "%s", syntax.Msg)
		}
		return nil, err
	}
	canonical = canonical[1 : len(canonical)-1]
	fitted, err := t.Fit(canonical)
	if err != nil {
		return nil, v.fail(path, "%w", err)
	}
	return fitted, nil
}
