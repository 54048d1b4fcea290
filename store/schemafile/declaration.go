package schemafile

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// declaration reads what a field is, at any depth.
type declaration struct {
	top       bool  // a field of the type itself
	element   bool  // what each element of a list or value of a map is
	indexable bool  // it is reached through objects only
	depth     int   // of objects and lists around it
	more      []key // that may stand there as well, in place of others of these names
}

// inside is the declaration of what stands inside a field.
func (d declaration) inside(element bool) declaration {
	return declaration{element: element, indexable: d.indexable && !element, depth: d.depth + 1}
}

// read reads a declaration; in place of one, the name of a type is enough for elements.
func (d declaration) read(v *node, at position, path string) (onto.Field, error) {
	var f onto.Field
	if d.depth >= codec.MaxDepth {
		return f, v.fail(path, "it is declared deeper than %d", codec.MaxDepth-1)
	}
	if d.element && v.kind == codec.String {
		return f, fieldType(&f.Type)(v, path)
	}
	var fallback, values *node
	keys := []key{
		{"type", fieldType(&f.Type)},
		{"optional", flag(&f.Optional)},
		{"default", func(v *node, _ string) error { fallback = v; return nil }},
		{"index", flag(&f.Index)},
		{"search", flag(&f.Search)},
		{"enum", func(v *node, _ string) error { values = v; return nil }},
		{"items", d.elements(&f.Items)},
		{"fields", d.fields(&f.Fields)},
		{"values", d.elements(&f.Values)},
		{"compute", readCompute(&f.Compute)},
	}
	keys = slices.DeleteFunc(keys, func(k key) bool {
		known := func(name string) bool { return k.name == name }
		return !d.top && (known("search") || known("compute")) || d.element && (known("default") || known("index")) ||
			slices.ContainsFunc(d.more, func(other key) bool { return known(other.name) })
	})
	err := v.readKeys(path, append(keys, d.more...)...)
	if err == nil {
		err = d.check(v, at, path, &f)
	}
	if err == nil && values != nil {
		f.Enum, err = readEnum(f.Type, values, join(path, "enum"))
	}
	switch {
	case err != nil || fallback == nil:
		return f, err
	case f.Optional:
		return f, v.valueOf("optional").fail(join(path, "optional"),
			"a field with a default is never absent, so it cannot be optional").WithHint("leave out optional")
	}
	f.Default, err = readDefault(&f, fallback, join(path, "default"))
	return f, err
}

// check checks what the keys of a declaration say together.
func (d declaration) check(v *node, at position, path string, f *onto.Field) error {
	fail := func(name, format string, args ...any) error {
		return v.valueOf(name).fail(join(path, name), format, args...)
	}
	switch {
	case f.Type == "":
		return at.fail(path, "type is missing").WithHint("use %s", strings.Join(typeNames(), ", "))
	case f.Search && f.Type != onto.String:
		return fail("search", "only strings can be searched, this is %s", f.Type)
	case f.Index && !d.indexable:
		return fail("index", "there are no indexes inside lists and maps")
	case f.Index && !d.top && !f.Type.Scalar():
		return fail("index", "below the top only a single value can have an index, this is %s", f.Type)
	case f.Items != nil && f.Type != onto.List:
		return fail("items", "only a list has items, this is %s", f.Type)
	case f.Fields != nil && f.Type != onto.Object:
		return fail("fields", "only an object has fields, this is %s", f.Type)
	case f.Values != nil && f.Type != onto.Object:
		return fail("values", "only an object has values, this is %s", f.Type)
	case f.Fields != nil && f.Values != nil:
		return fail("values", "an object has either fields or values")
	}
	return nil
}

// elements reads what the elements of a list or the values of a map are.
func (d declaration) elements(dst **onto.Field) func(*node, string) error {
	return func(v *node, path string) error {
		f, err := d.inside(true).read(v, v.position, path)
		*dst = &f
		return err
	}
}

// fields reads the fields of an object.
func (d declaration) fields(dst *[]onto.Field) func(*node, string) error {
	return func(v *node, path string) error {
		members, err := v.object(path)
		if err != nil {
			return err
		}
		*dst = []onto.Field{}
		for _, m := range members {
			f, err := d.inside(false).read(m.value, m.position, join(path, m.name))
			if err != nil {
				return err
			}
			f.Name = m.name
			*dst = append(*dst, f)
		}
		return nil
	}
}

// readCompute reads the rule by which a field is computed.
func readCompute(dst **onto.Compute) func(*node, string) error {
	return func(v *node, path string) error {
		r := &onto.Compute{}
		*dst = r
		text := func(dst *string) func(*node, string) error {
			return func(v *node, path string) error {
				if v.kind != codec.String {
					return v.fail(path, "expected text, found %s", v.found())
				}
				*dst = v.text
				return nil
			}
		}
		return v.readKeys(path, key{"rule", text((*string)(&r.Rule))}, key{"id", text(&r.ID)}, key{"shard_key", text(&r.ShardKey)})
	}
}

// readEnum reads the values that a string or an int can have.
func readEnum(t onto.FieldType, v *node, path string) ([]json.RawMessage, error) {
	switch {
	case t != onto.String && t != onto.Int:
		return nil, v.fail(path, "only a string or an int can have an enum, this is %s", t)
	case v.kind != codec.List || len(v.items) == 0:
		return nil, v.fail(path, "expected a list of values, found %s", v.found()).WithHint("write: enum: [Silver, Gold]")
	}
	var list []json.RawMessage
	for i, item := range v.items {
		at := joinItem(path, i)
		value, err := item.canonical(at)
		if err != nil {
			return nil, err
		}
		if _, err := t.Fit(value); err != nil {
			return nil, item.fail(at, "%w", err)
		}
		if slices.ContainsFunc(list, func(o json.RawMessage) bool { return bytes.Equal(o, value) }) {
			return nil, item.fail(at, "the value %s is given twice", value)
		}
		list = append(list, value)
	}
	return list, nil
}
