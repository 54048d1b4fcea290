package schemafile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/suggest"
)

// reader turns a file's tree into schemas.
type reader struct {
	schemas  []onto.Schema
	folds    []Fold
	declared map[string]position // by type name
}

// key is a key that an object of the format may have.
type key struct {
	name string
	read func(v *node, path string) error
}

// readKeys reads the members of an object in which only these keys may occur.
// No value at all is the same as no members.
func (n *node) readKeys(path string, keys ...key) error {
	members, err := n.object(path)
	if err != nil {
		return err
	}
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.name
	}
	for _, m := range members {
		i := slices.Index(names, m.name)
		if i < 0 {
			return m.fail(path, "unknown key %.80q", m.name).WithHint("%s", suggestion(m.name, names))
		}
		if err := keys[i].read(m.value, join(path, m.name)); err != nil {
			return err
		}
	}
	return nil
}

// object returns the members of a node that must be an object or nothing.
func (n *node) object(path string) ([]member, error) {
	if n.kind != codec.Object && n.kind != codec.Null {
		err := n.fail(path, "expected keys with values, found %s", n.found())
		if slices.Contains(typeNames(), n.text) {
			return nil, err.WithHint("write: {type: %s}", n.text)
		}
		return nil, err
	}
	return n.members, nil
}

// suggestion is the hint for a name that is not among the known ones.
func suggestion(name string, known []string) string {
	if len(name) <= onto.MaxName {
		if s := suggest.Name(name, known); s != "" {
			return "did you mean " + s + "?"
		}
	}
	return "use " + strings.Join(known, ", ")
}

// name reads a name into dst.
func name(what string, dst *string) func(*node, string) error {
	return func(v *node, path string) error {
		if v.kind != codec.String {
			return v.fail(path, "expected a name, found %s", v.found())
		}
		if err := onto.CheckName(what, v.text); err != nil {
			return v.fail(path, "%w", err)
		}
		*dst = v.text
		return nil
	}
}

// storedName reads the name of what is stored into dst. Whether it exists, and so may have
// the name, is for the store to say.
func storedName(dst *string) func(*node, string) error {
	return func(v *node, path string) error {
		if v.kind != codec.String || v.text == "" {
			return v.fail(path, "expected a name, found %s", v.found())
		}
		*dst = v.text
		return nil
	}
}

// flag reads true or false into dst.
func flag(dst *bool) func(*node, string) error {
	return func(v *node, path string) error {
		if v.kind != codec.Bool {
			return v.fail(path, "expected true or false, found %s", v.found())
		}
		*dst = v.text == "true"
		return nil
	}
}

func (r *reader) file(root *node) error {
	return root.readKeys("",
		key{"entities", func(v *node, path string) error { return r.each(v, path, onto.KindEntity, r.entity) }},
		key{"facts", func(v *node, path string) error { return r.each(v, path, onto.KindFact, r.facts) }},
		key{"folds", r.eachFold},
		key{"relations", func(v *node, path string) error { return r.each(v, path, onto.KindRelation, r.relation) }},
	)
}

// each reads the types of one kind.
func (r *reader) each(n *node, path string, kind onto.Kind, read func(member, string) error) error {
	members, err := n.object(path)
	if err != nil {
		return err
	}
	for _, m := range members {
		inner := join(path, m.name)
		if err := onto.CheckUserName("type", m.name); err != nil {
			return m.fail(inner, "%w", err)
		}
		if first, ok := r.declared[m.name]; ok {
			return m.fail(inner, "the name is taken by another type, on line %d", first.line)
		}
		r.declared[m.name] = m.position
		if err := read(m, inner); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) entity(m member, path string) error {
	s := onto.Schema{Kind: onto.KindEntity, Name: m.name}
	err := m.value.readKeys(path,
		key{"key", name("key", &s.Key)},
		key{"fields", fieldsOf(&s)},
	)
	if err != nil {
		return err
	}
	at := m.value.valueOf("key")
	if s.Key == "" {
		return m.fail(path, "key is missing").WithHint("name the field that is the key, for example key: id")
	}
	if _, ok := s.Field(s.Key); !ok {
		return at.fail(join(path, "key"), "%s is not among the fields", s.Key).
			WithHint("%s", suggestion(s.Key, s.FieldNames()))
	}
	return r.add(s, m, "key", path)
}

func (r *reader) relation(m member, path string) error {
	s := onto.Schema{Kind: onto.KindRelation, Name: m.name}
	err := m.value.readKeys(path,
		key{"left", name("left type", &s.Left)},
		key{"right", name("right type", &s.Right)},
		key{"instance_key", name("instance key", &s.InstanceKey)},
		key{"fields", fieldsOf(&s)},
	)
	if err != nil {
		return err
	}
	if s.Left == "" {
		return m.fail(path, "left is missing").WithHint("name the type at the left end")
	}
	if s.Right == "" {
		return m.fail(path, "right is missing").WithHint("name the type at the right end")
	}
	return r.add(s, m, "instance_key", path)
}

// facts reads a type of facts. Its fields are its attributes.
func (r *reader) facts(m member, path string) error {
	s := onto.Schema{Kind: onto.KindFact, Name: m.name}
	err := m.value.readKeys(path,
		key{"subject", name("subject type", &s.Left)},
		key{"open", flag(&s.Open)},
		key{"fields", fieldsOf(&s)},
	)
	if err != nil {
		return err
	}
	if len(s.Fields) == 0 && !s.Open {
		return m.fail(path, "facts need an attribute").WithHint("declare one under fields, or say open: true")
	}
	whole, err := onto.Untyped(s).Schema()
	if err != nil {
		return m.fail(path, "%w", err)
	}
	r.schemas = append(r.schemas, whole)
	return nil
}

// add takes a schema. What can still be wrong with it is about its key, or about what is
// computed in the fields of the type.
func (r *reader) add(s onto.Schema, m member, keyed, path string) error {
	whole, err := onto.Untyped(s).Schema()
	if err != nil {
		for _, f := range s.Fields {
			if f.Compute != nil && strings.HasPrefix(err.Error(), s.Name+"."+f.Name+": ") {
				at := m.value.valueOf("fields").valueOf(f.Name).valueOf("compute")
				return at.fail(join(join(join(path, "fields"), f.Name), "compute"), "%w", err)
			}
		}
		return m.value.valueOf(keyed).fail(join(path, keyed), "%w", err)
	}
	r.schemas = append(r.schemas, whole)
	return nil
}

// types returns what was read, in the promised order.
func (r *reader) types() []onto.Type {
	sortSchemas(r.schemas)
	types := make([]onto.Type, len(r.schemas))
	for i, s := range r.schemas {
		types[i] = onto.Untyped(s)
	}
	return types
}

// sortSchemas puts entities before facts and these before relations, each by name.
func sortSchemas(list []onto.Schema) {
	slices.SortFunc(list, func(a, b onto.Schema) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
}
