package store

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
)

// typ is a type of the store: its present schema, and the Go struct bound to
// it, if any.
type typ struct {
	schema  onto.Schema
	version int
	bound   *onto.Binding
	encode  []fieldEncoder // of the struct's fields, in the schema's order
	free    bool           // the struct can hold values of any type

	decoders []fieldDecoder // of the same fields; nil if encoding/json decodes the struct

	chain *chain    // its versions; nil if there is only one, and never was another
	end   *onto.End // it exists no more; nil while it does

	asStored bool        // for reading whatever is stored under its name
	ends     [][2]string // as stored: the names its endpoints had, left and right
}

// write checks untyped fields against the schema and makes a write of them.
func (t *typ) write(id onto.Identity, fields any) (backend.Write, error) {
	text := rawFields(fields)
	var err error
	if text == nil {
		text, err = codec.AppendValue(nil, reflect.ValueOf(fields))
	}
	var members []codec.Member
	if err == nil {
		members, err = codec.ParseObject(text)
	}
	if err != nil {
		return backend.Write{}, onto.Errorf(onto.Invalid, "%s: %w", describe(id), err)
	}
	return t.fit(id, members)
}

// describe names an identity whose key may not be known yet.
func describe(id onto.Identity) string {
	if id.Kind == onto.KindEntity && id.Key == "" {
		return id.Type
	}
	return id.String()
}

// fit turns the members of an object into the canonical fields of an identity:
// unknown and misfitting values are refused, missing ones defaulted.
func (t *typ) fit(id onto.Identity, members []codec.Member) (backend.Write, error) {
	id, members, err := t.withKey(id, members)
	if err != nil {
		return backend.Write{}, err
	}
	if err := t.checkIdentity(id); err != nil {
		return backend.Write{}, err
	}
	kept := make([]codec.Member, 0, len(t.schema.Fields))
	i := 0
	for _, f := range t.schema.Fields {
		if i < len(members) && members[i].Name < f.Name {
			return backend.Write{}, t.unknownField(id, members[i].Name)
		}
		var value []byte
		if i < len(members) && members[i].Name == f.Name {
			if codec.KindOf(members[i].Value) != codec.Null {
				if value, err = f.Type.Fit(members[i].Value); err != nil {
					return backend.Write{}, fieldError(id, f, err)
				}
			}
			i++
		}
		if value == nil {
			if value, err = missing(id, f); err != nil {
				return backend.Write{}, err
			}
		}
		if value != nil {
			kept = append(kept, codec.Member{Name: f.Name, Value: value})
		}
	}
	if i < len(members) {
		return backend.Write{}, t.unknownField(id, members[i].Name)
	}
	return t.finish(id, codec.AppendObject(nil, kept))
}

func (t *typ) finish(id onto.Identity, fields []byte) (backend.Write, error) {
	if len(fields) > onto.MaxFields {
		return backend.Write{}, onto.Errorf(onto.TooLarge, "%s has %d bytes of fields, the limit is %d", id, len(fields), onto.MaxFields)
	}
	return backend.Write{Identity: id, Op: onto.Put, Fields: fields, SchemaVersion: t.version}, nil
}

// missing is what stands in for an absent value; nil if nothing does.
func missing(id onto.Identity, f onto.Field) ([]byte, error) {
	if f.Default != nil || f.Optional {
		return f.Default, nil
	}
	return nil, onto.Errorf(onto.Invalid, "%s: field %s is missing", id, f.Name).
		WithHint("give a value of type %s, or make the field optional", f.Type)
}

func fieldError(id onto.Identity, f onto.Field, err error) error {
	return onto.Errorf(onto.Invalid, "%s: field %s: %w", id, f.Name, err)
}

func (t *typ) unknownField(id onto.Identity, name string) error {
	return unknownName(onto.Errorf(onto.Invalid, "%s: type %s has no field %s", id, t.schema.Name, name),
		name, t.schema.FieldNames(), "its fields are "+strings.Join(t.schema.FieldNames(), ", "))
}

// identityField is the field that repeats a part of the identity: the key, or
// the instance key if it is among the fields. "" if there is none.
func (t *typ) identityField() (name, what string) {
	if t.schema.Kind == onto.KindEntity {
		return t.schema.Key, "key"
	}
	if _, ok := t.schema.Field(t.schema.InstanceKey); ok {
		return t.schema.InstanceKey, "instance key"
	}
	return "", ""
}

// withKey makes identity and fields agree on the key: it may be given in
// either place, or in both if they are the same.
func (t *typ) withKey(id onto.Identity, members []codec.Member) (onto.Identity, []codec.Member, error) {
	name, what := t.identityField()
	if name == "" {
		return id, members, nil
	}
	part := &id.Key
	if id.Kind == onto.KindRelation {
		part = &id.Instance
	}
	for _, m := range members {
		if m.Name != name || codec.KindOf(m.Value) == codec.Null {
			continue
		}
		inside := keyText(m.Value)
		if *part != "" && *part != inside {
			return id, nil, onto.Errorf(onto.Invalid, "%s: the %s is %q, but field %s says %q", id, what, *part, name, inside).
				WithHint("give the %s once, or the same twice", what)
		}
		*part = inside
		return id, members, nil
	}
	value, err := t.keyValue(name, *part)
	if err != nil {
		return id, nil, onto.Errorf(onto.Invalid, "%s: %s: %w", describe(id), what, err)
	}
	return id, insertMember(members, codec.Member{Name: name, Value: value}), nil
}

// keyText is the key that a key field's value stands for.
func keyText(value []byte) string {
	if codec.KindOf(value) == codec.String {
		return codec.Unquote(value)
	}
	return string(value)
}

// keyValue is the key field's value for a key. Null if there is no key.
func (t *typ) keyValue(name, key string) ([]byte, error) {
	if key == "" {
		return []byte("null"), nil
	}
	if f, _ := t.schema.Field(name); f.Type == onto.Int {
		n, err := strconv.ParseInt(key, 10, 64)
		if err != nil || strconv.FormatInt(n, 10) != key {
			return nil, onto.Errorf(onto.Invalid, "%q is not an integer", key)
		}
		return []byte(key), nil
	}
	return codec.AppendString(nil, key)
}

// insertMember puts a member into its place, in place of one with that name.
func insertMember(members []codec.Member, m codec.Member) []codec.Member {
	list := make([]codec.Member, 0, len(members)+1)
	for _, o := range members {
		if o.Name < m.Name {
			list = append(list, o)
		}
	}
	list = append(list, m)
	for _, o := range members {
		if o.Name > m.Name {
			list = append(list, o)
		}
	}
	return list
}

// checkIdentity refuses malformed keys, a keyed relation without its instance
// key, and an unkeyed one with one.
func (t *typ) checkIdentity(id onto.Identity) error {
	if err := id.Check(); err != nil {
		return err
	}
	if id.Kind == onto.KindEntity {
		if _, err := t.keyValue(t.schema.Key, id.Key); err != nil {
			return onto.Errorf(onto.Invalid, "%s: key: %w", id, err)
		}
		return nil
	}
	keyed := t.schema.InstanceKey != ""
	switch {
	case keyed && id.Instance == "":
		return onto.Errorf(onto.Invalid, "%s needs its instance key %s", id, t.schema.InstanceKey).
			WithHint("relations of this type are told apart by %s", t.schema.InstanceKey)
	case !keyed && id.Instance != "":
		return onto.Errorf(onto.Invalid, "%s has an instance key, but relations of type %s have none", id, id.Type)
	}
	return nil
}
