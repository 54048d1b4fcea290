// Package computed makes the fields that the store computes when a row is written: the key
// of an entity, its id, and all its texts.
package computed

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// Rules are the fields of one type that are computed. A nil Rules has none.
type Rules struct {
	typ  string
	list []rule       // by name
	all  []onto.Field // of the type
	key  *rule        // that of the key; nil if it is given
}

type rule struct {
	*onto.Compute
	name      string
	prefix    []byte   // the quoted name and a colon
	id, shard []string // the names that lead there
}

// Of returns the rules of a type; nil if none of its fields is computed.
func Of(s *onto.Schema) *Rules {
	var r *Rules
	for i := range s.Fields {
		f := &s.Fields[i]
		if f.Compute == nil {
			continue
		}
		if r == nil {
			r = &Rules{typ: s.Name, all: s.Fields}
		}
		made := rule{Compute: f.Compute, name: f.Name, prefix: []byte(`"` + f.Name + `":`)}
		made.id, _ = codec.ParsePath(f.Compute.ID) // the paths of a checked schema
		made.shard, _ = codec.ParsePath(f.Compute.ShardKey)
		r.list = append(r.list, made)
	}
	for i := range s.Fields {
		if r != nil && i < len(r.list) && r.list[i].Rule == onto.ComputeKey {
			r.key = &r.list[i]
		}
	}
	return r
}

// Keyed reports whether the key is computed.
func (r *Rules) Keyed() bool { return r != nil && r.key != nil }

// Parts returns the names that lead to the id and to the shard key of which the key is made.
func (r *Rules) Parts() [2][]string { return [2][]string{r.key.id, r.key.shard} }

// OfKey reports whether the key is made of the field of that name at the top, or of something
// inside it.
func (r *Rules) OfKey(name string) bool {
	return r.Keyed() && (r.key.id[0] == name || r.key.shard[0] == name)
}

// Key computes the key of an entity. It fails if the canonical fields lack a part of it.
func (r *Rules) Key(fields []byte) (string, error) {
	quoted, err := r.key.value(r, nil, fields)
	if err != nil {
		return "", err
	}
	key := codec.Unquote(quoted)
	if len(key) > onto.MaxKey {
		return "", onto.Errorf(onto.Invalid, "%s: the key made from %s is %d bytes long, the limit is %d", r.typ, r.Made(), len(key), onto.MaxKey).
			WithHint("in a key, each %% and / takes three bytes")
	}
	return key, nil
}

// Made names what the key is made of.
func (r *Rules) Made() string {
	if !r.key.Sharded() {
		return r.key.ID
	}
	return r.key.ShardKey + " and " + r.key.ID
}

// OtherKey is the error for an identity whose fields make another key. A merge would change
// the one that it has.
func (r *Rules) OtherKey(key string, merge bool) error {
	if merge {
		return onto.Errorf(onto.Invalid, "a key cannot change: from %s follows the key %.400q", r.Made(), key).
			WithHint("delete the one and ensure the other in one draft")
	}
	return onto.Errorf(onto.Invalid, "from %s follows another key, %.400q", r.Made(), key).
		WithHint("leave out the key, or give the fields that belong to it")
}

// Row returns the fields of a row that a merge makes, with those that are computed of them.
func Row(s *onto.Schema, id onto.Identity, fields json.RawMessage) (json.RawMessage, error) {
	r := Of(s)
	if r.Keyed() {
		key, err := r.Key(fields)
		switch {
		case err != nil:
			return nil, err
		case key != id.Key:
			return nil, r.OtherKey(key, true)
		}
	}
	return r.Fill(fields, nil)
}

// Complete reports whether canonical fields have all parts of the key.
func (r *Rules) Complete(fields []byte) bool {
	return codec.Find(fields, r.key.id) != nil && codec.Find(fields, r.key.shard) != nil
}

// Fill returns canonical fields with those that are computed of them, in place of any that
// are there. Of a program that does not know all fields of the type, only those are wanted
// that it knows: Wants is nil for all.
func (r *Rules) Fill(fields []byte, wants func(name string) bool) (json.RawMessage, error) {
	if r == nil {
		return fields, nil
	}
	dst := append(make([]byte, 0, 2*len(fields)+64), '{')
	rest := r.list
	put := func() error {
		made := rest[0]
		rest = rest[1:]
		if wants != nil && !wants(made.name) {
			return nil
		}
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		var err error
		dst, err = made.value(r, append(dst, made.prefix...), fields)
		return err
	}
	for name, value := range codec.Pairs(fields) {
		for len(rest) > 0 && rest[0].name < string(name) {
			if err := put(); err != nil {
				return nil, err
			}
		}
		if r.has(name) {
			continue
		}
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		dst = append(append(append(append(dst, '"'), name...), '"', ':'), value...)
	}
	for len(rest) > 0 {
		if err := put(); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func (r *Rules) has(name []byte) bool {
	return bytes.HasPrefix(name, prefix) && slices.ContainsFunc(r.list, func(made rule) bool { return made.name == string(name) })
}

var prefix = []byte(onto.OwnPrefix)

// Check reports why the computed fields of stored ones are not what they must be.
func (r *Rules) Check(id onto.Identity, fields []byte) error {
	if r == nil {
		return nil
	}
	made, err := r.Fill(fields, nil)
	switch {
	case err != nil:
		return err
	case !bytes.Equal(made, fields):
		for _, f := range r.list {
			is, must := codec.Find(fields, []string{f.name}), codec.Find(made, []string{f.name})
			if !bytes.Equal(is, must) {
				return onto.Errorf(onto.Invalid, "field %s: %.80s is not what its rule computes, which is %.80s", f.name, is, must)
			}
		}
	case r.key != nil:
		if key := codec.Unquote(codec.Find(fields, []string{r.key.name})); key != id.Key {
			return onto.Errorf(onto.Invalid, "field %s: it is %.80q, which is not the key", r.key.name, key)
		}
	}
	return nil
}

// value appends what the rule computes of canonical fields.
func (c *rule) value(r *Rules, dst, fields []byte) ([]byte, error) {
	if c.Rule == onto.ComputeText {
		return appendTexts(dst, r.all, fields), nil
	}
	id, err := r.part(fields, c.id, c.ID)
	if err != nil {
		return dst, err
	}
	if c.Rule == onto.ComputeID {
		return append(dst, id...), nil
	}
	dst = append(dst, '"')
	if c.Sharded() {
		shard, err := r.part(fields, c.shard, c.ShardKey)
		if err != nil {
			return dst, err
		}
		dst = append(appendEscaped(dst, shard), '/')
	}
	return append(appendEscaped(dst, id), '"'), nil
}

// part returns a text of which a key is made, in quotes.
func (r *Rules) part(fields []byte, names []string, path string) ([]byte, error) {
	value := codec.Find(fields, names)
	switch {
	case value == nil || codec.KindOf(value) == codec.Null:
		return nil, onto.Errorf(onto.Invalid, "%s: field %s is missing", r.typ, path).WithHint("give it a value: the store computes another field of it")
	case codec.KindOf(value) != codec.String:
		return nil, onto.Errorf(onto.Invalid, "%s: field %s: expected string, found %s", r.typ, path, codec.KindOf(value))
	case len(value) == len(`""`):
		return nil, onto.Errorf(onto.Invalid, "%s: field %s is empty", r.typ, path).WithHint("give it a value: the store computes another field of it")
	}
	return value, nil
}

// appendEscaped appends a text in quotes, without the quotes, as it stands in keys. JSON
// writes % and / as they are.
func appendEscaped(dst, quoted []byte) []byte {
	for _, c := range quoted[1 : len(quoted)-1] {
		switch c {
		case '%':
			dst = append(dst, "%25"...)
		case '/':
			dst = append(dst, "%2F"...)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// Strip returns canonical fields without those that are computed.
func Strip(fields []byte) json.RawMessage {
	if !bytes.Contains(fields, prefix) {
		return fields
	}
	members, err := codec.ParseObject(fields)
	if err != nil {
		return fields // for others to say
	}
	return codec.AppendObject(nil, Given(members))
}

// Given returns the members of fields that are not computed.
func Given(members []codec.Member) []codec.Member {
	computed := func(m codec.Member) bool { return onto.IsComputed(m.Name) }
	if !slices.ContainsFunc(members, computed) {
		return members
	}
	return slices.DeleteFunc(slices.Clone(members), computed)
}
