package schemafile

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// Format writes schemas as a YAML schema file: entities, facts, then relations, each
// by name, with the key first among the fields. Parse gives them back. What a store keeps
// for itself, see [onto.OwnPrefix], is left out, except for fields that it computes.
func Format(schemas []onto.Schema) ([]byte, error) {
	list := declared(schemas)
	sortSchemas(list)
	var w bytes.Buffer
	names := map[string]bool{}
	for i, s := range list {
		if err := s.Check(); err != nil {
			return nil, err
		}
		if names[s.Name] {
			return nil, onto.Errorf(onto.Conflict, "two types are named %s", s.Name)
		}
		names[s.Name] = true
		if i == 0 || list[i-1].Kind != s.Kind {
			fmt.Fprintf(&w, "%s:\n", map[onto.Kind]string{onto.KindEntity: "entities", onto.KindFact: "facts", onto.KindRelation: "relations"}[s.Kind])
		}
		if err := formatType(&w, s); err != nil {
			return nil, err
		}
	}
	if len(list) == 0 {
		w.WriteString("entities: {}\n")
	}
	if w.Len() > MaxSize {
		return nil, onto.Errorf(onto.TooLarge, "the schema file would be larger than %d MiB", MaxSize>>20)
	}
	return w.Bytes(), nil
}

// declared returns the types and fields that a file can declare.
func declared(schemas []onto.Schema) []onto.Schema {
	own := func(name string) bool { return strings.HasPrefix(name, onto.OwnPrefix) }
	var list []onto.Schema
	for _, s := range schemas {
		if own(s.Name) {
			continue
		}
		s.Fields = slices.DeleteFunc(slices.Clone(s.Fields), func(f onto.Field) bool { return f.Compute == nil && own(f.Name) })
		list = append(list, s)
	}
	return list
}

func formatType(w *bytes.Buffer, s onto.Schema) error {
	fmt.Fprintf(w, "  %s:\n", plainName(s.Name))
	for _, line := range []struct{ key, name string }{
		{"key", s.Key}, {leftWord(s), s.Left}, {"right", s.Right}, {"instance_key", s.InstanceKey},
	} {
		if line.name != "" {
			fmt.Fprintf(w, "    %s: %s\n", line.key, plainName(line.name))
		}
	}
	if s.Open {
		w.WriteString("    open: true\n")
	}
	if s.Kind == onto.KindFact {
		s.Fields = s.Attributes()
	}
	if len(s.Fields) == 0 {
		return nil
	}
	w.WriteString("    fields:\n")
	width := 0
	for _, f := range s.Fields {
		width = max(width, len(plainName(f.Name)))
	}
	for _, f := range keyFirst(s) {
		f.Optional = f.Optional && s.Kind != onto.KindFact // where each attribute is
		text, err := formatField(f)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "      %-*s %s\n", width+1, plainName(f.Name)+":", text)
	}
	return nil
}

// leftWord is what a file calls the left end.
func leftWord(s onto.Schema) string {
	if s.Kind == onto.KindFact {
		return "subject"
	}
	return "left"
}

// keyFirst returns the fields with the key or instance key in front.
func keyFirst(s onto.Schema) []onto.Field {
	fields := slices.Clone(s.Fields)
	slices.SortStableFunc(fields, func(a, b onto.Field) int {
		return rank(s, a.Name) - rank(s, b.Name)
	})
	return fields
}

func rank(s onto.Schema, field string) int {
	if field == s.Key || field == s.InstanceKey {
		return 0
	}
	return 1
}

func formatField(f onto.Field) (string, error) {
	parts := []string{"type: " + string(f.Type)}
	if f.Optional {
		parts = append(parts, "optional: true")
	}
	if f.Default != nil {
		text, err := formatJSON(f.Default)
		if err != nil {
			return "", err
		}
		parts = append(parts, "default: "+text)
	}
	for _, flag := range []struct {
		name string
		on   bool
	}{{"index", f.Index}, {"search", f.Search}, {"many", f.Many}} {
		if flag.on {
			parts = append(parts, flag.name+": true")
		}
	}
	if r := f.Compute; r != nil {
		rule := "rule: " + string(r.Rule)
		for _, path := range []struct{ key, text string }{{"id", r.ID}, {"shard_key", r.ShardKey}} {
			if path.text == "" {
				continue
			}
			text, err := quote(path.text)
			if err != nil {
				return "", err
			}
			if onto.CheckName("", path.text) == nil {
				text = plainName(path.text)
			}
			rule += ", " + path.key + ": " + text
		}
		parts = append(parts, "compute: {"+rule+"}")
	}
	inside, err := formatInside(f)
	return "{" + strings.Join(append(parts, inside...), ", ") + "}", err
}

// formatInside writes what is declared about a field's values.
func formatInside(f onto.Field) (parts []string, err error) {
	if f.Enum != nil {
		var values []string
		for _, v := range f.Enum {
			text, err := formatJSON(v)
			if err != nil {
				return nil, err
			}
			values = append(values, text)
		}
		parts = append(parts, "enum: ["+strings.Join(values, ", ")+"]")
	}
	for _, each := range []struct {
		name string
		f    *onto.Field
	}{{"items", f.Items}, {"values", f.Values}} {
		if each.f == nil {
			continue
		}
		text, err := formatField(*each.f)
		if err != nil {
			return nil, err
		}
		if plain := (onto.Field{Type: each.f.Type}); plain.Equal(*each.f) {
			text = string(each.f.Type)
		}
		parts = append(parts, each.name+": "+text)
	}
	if f.Fields == nil {
		return parts, nil
	}
	var fields []string
	for _, inner := range f.Fields {
		name, err := formatName(inner.Name)
		if err != nil {
			return nil, err
		}
		text, err := formatField(inner)
		if err != nil {
			return nil, err
		}
		fields = append(fields, name+": "+text)
	}
	return append(parts, "fields: {"+strings.Join(fields, ", ")+"}"), nil
}

// formatName writes the name of a field below the top, which can be any text.
func formatName(name string) (string, error) {
	if onto.CheckName("field", name) == nil {
		return plainName(name), nil
	}
	quoted, err := quote(name)
	if len(quoted) > longKey {
		quoted = "? " + quoted
	}
	return quoted, err
}

func formatJSON(value []byte) (string, error) {
	root, err := parseJSON(value)
	if err != nil {
		return "", err
	}
	text, err := root.appendFlow(nil)
	return string(text), err
}

const longKey = 1000 // YAML looks about so far for the colon

// plainName quotes a name that some YAML reader takes for a bool or null.
func plainName(s string) string {
	switch strings.ToLower(s) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
		return `"` + s + `"`
	}
	return s
}

// appendFlow appends the node as YAML on one line.
func (n *node) appendFlow(dst []byte) (_ []byte, err error) {
	switch n.kind {
	case codec.List:
		dst = append(dst, '[')
		for i, item := range n.items {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			if dst, err = item.appendFlow(dst); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case codec.Object:
		dst = append(dst, '{')
		for i, m := range n.members {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			quoted, err := quote(m.name)
			if err != nil {
				return nil, err
			}
			if len(quoted) > longKey {
				dst = append(dst, "? "...)
			}
			dst = append(append(dst, quoted...), ": "...)
			if dst, err = m.value.appendFlow(dst); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	case codec.String:
		quoted, err := quote(n.text)
		return append(dst, quoted...), err
	}
	return n.appendJSON(dst, "")
}

// quote writes text in double quotes, as both YAML and JSON read it.
func quote(s string) (string, error) {
	text, err := codec.AppendString(nil, s)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, r := range string(text) {
		if unprintable(r) || r == 0x85 || r == 0x2028 || r == 0x2029 || r == 0xfeff {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String(), nil
}
