package onto

import (
	"slices"

	"github.com/ontologia/onto/internal/codec"
)

// Keyed returns the type with a key that the store computes of the texts at two paths, in
// the field onto_key: [ObjectKey] of the id if both paths are the same, else [ShardedKey] of
// shard key and id, whatever their values are. In the second case the id is also in the
// field onto_id, which is indexed. No field of the struct is marked as the key then, and the
// struct does not have these fields: things are read and written without them.
func (t Type) Keyed(idPath, shardKeyPath string) Type {
	return t.with(func(s *Schema) error {
		switch {
		case s.Kind != KindEntity:
			return Errorf(Invalid, "%s: only entities have a key that is computed", s.Name)
		case s.Key == ComputeKey.FieldName():
			return Errorf(Invalid, "%s: the key is computed already", s.Name)
		case s.Key != "":
			return Errorf(Invalid, "%s.%s is marked as the key, so none can be computed", s.Name, s.Key).
				WithHint("leave out the tag onto:\"key\", or Keyed")
		}
		s.Key = ComputeKey.FieldName()
		key := &Compute{Rule: ComputeKey, ID: idPath, ShardKey: shardKeyPath}
		if err := s.addComputed(key); err != nil || !key.Sharded() {
			return err
		}
		return s.addComputed(&Compute{Rule: ComputeID, ID: idPath})
	})
}

// Indexed returns the type with fields marked for an index, at any depth of objects: their
// paths, such as sender or head.sent.
func (t Type) Indexed(paths ...string) Type {
	return t.with(func(s *Schema) error {
		for _, path := range paths {
			if _, _, err := s.at(path); err != nil {
				return Errorf(Invalid, "%s cannot have an index: %w", s.Name, err)
			}
			names, _ := codec.ParsePath(path)
			s.Fields = indexed(s.Fields, names)
		}
		return nil
	})
}

// indexed returns fields of which the one that the names lead to is marked for an index.
func indexed(fields []Field, names []string) []Field {
	fields = slices.Clone(fields)
	i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == names[0] })
	if len(names) == 1 {
		fields[i].Index = true
	} else {
		fields[i].Fields = indexed(fields[i].Fields, names[1:])
	}
	return fields
}

// TextSearch returns the type with a field of all texts of a thing, onto_text, whose words
// can be searched. The store computes it: the strings at every depth in the order of the
// names of the fields, each on a line of its own. Empty ones, numbers, times, dates, names
// of members and what else is computed are no part of it. The struct does not have the field.
func (t Type) TextSearch() Type {
	return t.with(func(s *Schema) error { return s.addComputed(&Compute{Rule: ComputeText}) })
}

// addComputed adds a field with the rule.
func (s *Schema) addComputed(rule *Compute) error {
	f := Field{Name: rule.Rule.FieldName(), Type: String, Index: rule.Rule == ComputeID, Search: rule.Rule == ComputeText, Compute: rule}
	if _, taken := s.Field(f.Name); taken {
		return Errorf(Invalid, "%s has a field %s already", s.Name, f.Name).WithHint("the store computes this field, so no struct has it")
	}
	s.Fields = append(slices.Clip(s.Fields), f)
	s.SortFields()
	return nil
}

// with returns the type with a change of its schema. Mistakes that the change mends are none.
func (t Type) with(change func(*Schema) error) Type {
	if t.schema.Kind == "" || t.broken {
		return t
	}
	if t.err = change(&t.schema); t.err != nil {
		t.broken = true
		return t
	}
	t.err = t.schema.Check()
	return t
}
