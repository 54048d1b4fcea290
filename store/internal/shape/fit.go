// Package shape turns the things of a type into canonical fields and back: Go structs,
// maps and JSON are checked against the type's schema, defaults are filled in, and
// identity and fields agree on the key.
package shape

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/computed"
	"github.com/ontologia/onto/internal/gostruct"
	"github.com/ontologia/onto/internal/refusal"
	"github.com/ontologia/onto/internal/suggest"
)

// Type is one version of a type: its schema, and the Go struct bound to it, if
// any.
type Type struct {
	Schema  onto.Schema
	Version int
	Known   backend.Known // the fields that the program knows; nil for all

	computed *computed.Rules // the fields that the store computes; nil for none

	bound  *gostruct.Binding
	given  onto.Schema    // as the struct has it
	encode []fieldEncoder // of the struct's fields, in the schema's order
	decode structDecoder  // of the same fields
}

// New prepares a version of a type.
func New(s onto.Schema, version int) Type {
	return Type{Schema: s, Version: version, computed: computed.Of(&s)}
}

// Bound reports whether a Go struct stands for the type.
func (t *Type) Bound() bool { return t.bound != nil }

// Write checks untyped fields against the schema and makes a write of them.
func (t *Type) Write(id onto.Identity, fields any) (backend.Write, error) {
	members, err := membersOf(id, fields)
	if err != nil {
		return backend.Write{}, err
	}
	return t.fit(id, members)
}

// membersOf is the members of untyped fields.
func membersOf(id onto.Identity, fields any) ([]codec.Member, error) {
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
		return nil, onto.Errorf(onto.Invalid, "%s: %w", describe(id), err)
	}
	return members, nil
}

// rawFields is the JSON text of untyped fields, or nil if they are given as a
// Go value.
func rawFields(fields any) []byte {
	switch f := fields.(type) {
	case nil:
		return []byte("{}")
	case json.RawMessage:
		return f
	case []byte:
		return f
	}
	return nil
}

// describe names an identity whose key may not be known yet.
func describe(id onto.Identity) string {
	if id.Kind == onto.KindEntity && id.Key == "" {
		return id.Type
	}
	return id.String()
}

// fit turns the members of an object into the canonical fields of an identity: unknown
// and unfit values are refused, missing ones get their default.
func (t *Type) fit(id onto.Identity, members []codec.Member) (backend.Write, error) {
	id, members, err := t.identify(id, members, false)
	if err != nil {
		return backend.Write{}, err
	}
	if id.Kind == onto.KindFact {
		if members, err = t.placeValue(id, members); err != nil {
			return backend.Write{}, err
		}
	}
	kept, known := make([]codec.Member, 0, len(t.Schema.Fields)), t.Known
	i := 0
	for at := range t.Schema.Fields {
		f := &t.Schema.Fields[at]
		if i < len(members) && members[i].Name < f.Name {
			return backend.Write{}, t.unknownField(id, members[i].Name)
		}
		if f.Compute != nil {
			continue
		}
		var value []byte
		if i < len(members) && members[i].Name == f.Name {
			if codec.KindOf(members[i].Value) != codec.Null {
				if value, known, err = fitKnown(f, members[i].Value, known); err != nil {
					return backend.Write{}, onto.Errorf(onto.Invalid, "%s: %w", id, err)
				}
			} else if known != nil && !known.Has(f.Name) {
				known = known.With(backend.KnownField{Name: f.Name})
			}
			i++
		}
		if value == nil && known != nil && !known.Has(f.Name) {
			continue
		}
		if value == nil {
			if value, err = missing(id, f); err != nil {
				return backend.Write{}, cmp.Or(t.misnamed(id, members), err)
			}
		}
		if value != nil {
			kept = append(kept, codec.Member{Name: f.Name, Value: value})
		}
	}
	if i < len(members) {
		return backend.Write{}, t.unknownField(id, members[i].Name)
	}
	if id.Kind == onto.KindFact {
		if err := t.checkRow(id, kept); err != nil {
			return backend.Write{}, err
		}
	}
	return t.finish(id, codec.AppendObject(nil, kept), known)
}

// fitKnown is the stored form of a field's value, and the fields that are known with it: a
// program that does not know all fields of the type knows those that it gives, and the
// backend fills in defaults of the others.
func fitKnown(f *onto.Field, value []byte, known backend.Known) ([]byte, backend.Known, error) {
	if known == nil {
		fitted, err := f.Fit(value)
		return fitted, nil, err
	}
	fitted, err := f.FitPart(value)
	if err != nil {
		return nil, nil, err
	}
	in := withGiven(knownInside(backend.Inside{Fields: known}, f), f, fitted)
	return withoutNulls(in, fitted), known.With(backend.KnownField{Name: f.Name, Inside: in}), nil
}

// finish makes a write of all fields but those that are computed.
func (t *Type) finish(id onto.Identity, fields []byte, known backend.Known) (backend.Write, error) {
	fields, err := t.fill(fields, known)
	if err != nil {
		return backend.Write{}, onto.Errorf(onto.Invalid, "%s: %w", id, err)
	}
	return t.write(id, fields, known)
}

func (t *Type) write(id onto.Identity, fields []byte, known backend.Known) (backend.Write, error) {
	if len(fields) > onto.MaxFields {
		return backend.Write{}, refusal.FieldsTooLarge(id, len(fields))
	}
	return backend.Write{Identity: id, Op: onto.Put, Fields: fields, SchemaVersion: t.Version, Known: known}, nil
}

// missing is the replacement of an absent value; nil if there is none.
func missing(id onto.Identity, f *onto.Field) ([]byte, error) {
	if f.Default != nil || f.Optional {
		return f.Default, nil
	}
	return nil, onto.Errorf(onto.Invalid, "%s: %w", id, refusal.FieldMissing(*f))
}

func (t *Type) unknownField(id onto.Identity, name string) error {
	err := onto.Errorf(onto.Invalid, "%s: type %s has no field %s", describe(id), t.Schema.Name, name)
	names := slices.DeleteFunc(t.Schema.FieldNames(), func(name string) bool { return t.computed != nil && onto.IsComputed(name) })
	if near := suggest.Name(name, names); near != "" {
		return err.WithHint("did you mean %s?", near)
	}
	return err.WithHint("its fields are %s", strings.Join(names, ", "))
}

// misnamed is the error for a member that the type does not have, which may stand for
// one that is missing; nil if there is none.
func (t *Type) misnamed(id onto.Identity, members []codec.Member) error {
	for _, m := range members {
		if _, ok := t.Schema.Field(m.Name); !ok {
			return t.unknownField(id, m.Name)
		}
	}
	return nil
}

// identityField is the field that repeats a part of the identity: the key, or the
// instance key. "" if there is none. Kept says that it is stored among the fields.
func (t *Type) identityField() (name, what string, kept bool) {
	switch {
	case t.computed.Keyed():
		return "", "", false
	case t.Schema.Kind == onto.KindEntity:
		return t.Schema.Key, "key", true
	case t.Schema.Kind == onto.KindRelation:
		_, kept = t.Schema.Field(t.Schema.InstanceKey)
		return t.Schema.InstanceKey, "instance key", kept
	}
	return "", "", false
}

// identify makes identity and members agree on the key, and checks the identity.
func (t *Type) identify(id onto.Identity, members []codec.Member, merge bool) (onto.Identity, []codec.Member, error) {
	err := t.refuseComputed(id, members)
	switch {
	case err != nil:
	case t.computed.Keyed():
		id, err = t.withComputedKey(id, members, merge)
	default:
		id, members, err = t.withKey(id, members)
	}
	if err == nil {
		err = t.CheckIdentity(id)
	}
	return id, members, err
}

// withKey makes identity and fields agree on the key: it may be given in
// either place, or in both if they are the same.
func (t *Type) withKey(id onto.Identity, members []codec.Member) (onto.Identity, []codec.Member, error) {
	name, what, kept := t.identityField()
	if name == "" {
		return id, members, nil
	}
	part := &id.Key
	if id.Kind == onto.KindRelation {
		part = &id.Instance
	}
	for i, m := range members {
		if m.Name != name {
			continue
		}
		if !kept {
			members = slices.Delete(slices.Clone(members), i, i+1)
		}
		if codec.KindOf(m.Value) == codec.Null {
			break
		}
		if !kept {
			if _, err := onto.String.Fit(m.Value); err != nil {
				return id, nil, onto.Errorf(onto.Invalid, "%s: %s %s: %w", describe(id), what, name, err)
			}
		}
		inside := t.keyText(name, m.Value)
		if *part != "" && *part != inside {
			return id, nil, onto.Errorf(onto.Invalid, "%s: the %s is %q, but field %s says %q", id, what, *part, name, inside).
				WithHint("give the %s once, or the same twice", what)
		}
		*part = inside
		return id, members, nil
	}
	if !kept {
		return id, members, nil
	}
	value, err := t.keyValue(name, *part)
	if err != nil {
		return id, nil, onto.Errorf(onto.Invalid, "%s: %s: %w", describe(id), what, err)
	}
	return id, insertMember(members, codec.Member{Name: name, Value: value}), nil
}

// keyText is the key that the value of a field that repeats it stands for.
func (t *Type) keyText(name string, value []byte) string {
	f, _ := t.Schema.Field(name)
	return f.Type.KeyText(value)
}

// keyValue is the key field's value for a key. Null if there is no key.
func (t *Type) keyValue(name, key string) ([]byte, error) {
	if key == "" {
		return []byte("null"), nil
	}
	f, _ := t.Schema.Field(name)
	return f.Type.KeyValue(key)
}

// Insert puts a member into its place, in place of one with that name.
func Insert(members []codec.Member, m codec.Member) []codec.Member { return insertMember(members, m) }

// KeyFields is the fields of an entity of which nothing but the key is known.
func (t *Type) KeyFields(id onto.Identity) (json.RawMessage, error) {
	if err := t.CheckIdentity(id); err != nil {
		return nil, err
	}
	value, err := t.keyValue(t.Schema.Key, id.Key)
	return codec.AppendObject(nil, []codec.Member{{Name: t.Schema.Key, Value: value}}), err
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

// Identity makes an identity out of the parts of a key.
func (t *Type) Identity(key []string) (onto.Identity, error) {
	want := 1
	switch {
	case t.Schema.Kind == onto.KindFact, t.Schema.Kind == onto.KindRelation && t.Schema.InstanceKey != "":
		want = 3
	case t.Schema.Kind == onto.KindRelation:
		want = 2
	}
	if len(key) != want {
		return onto.Identity{}, onto.Errorf(onto.Invalid, "the key of a %s has %d parts, not %d", t.Schema.Name, want, len(key)).
			WithHint("an entity's is its key; a relation's is left, right and, if it is keyed, its instance key; a fact's is subject, attribute and id")
	}
	if want == 1 {
		return onto.EntityID(t.Schema.Name, key[0]), nil
	}
	id := onto.Identity{Kind: t.Schema.Kind, Type: t.Schema.Name, Left: key[0], Right: key[1]}
	if want == 3 {
		id.Instance = key[2]
	}
	return id, nil
}

// CheckNew refuses an identity that is well formed and should not be stored.
func (t *Type) CheckNew(id onto.Identity) error {
	if err := id.CheckNew(); err != nil {
		return t.ofField(id, err)
	}
	return nil
}

// ofField names the field that is the key of an entity in an error about that.
func (t *Type) ofField(id onto.Identity, err error) error {
	if id.Kind != onto.KindEntity {
		return err
	}
	return onto.Errorf(onto.CodeOf(err), "field %s: %w", t.Schema.Key, err)
}

// CheckIdentity refuses malformed keys, a keyed relation without its instance
// key, an unkeyed one with one, and a fact on an attribute that its type does not have.
func (t *Type) CheckIdentity(id onto.Identity) error {
	if err := id.Check(); err != nil {
		return t.ofField(id, err)
	}
	if id.Kind == onto.KindEntity {
		if _, err := t.keyValue(t.Schema.Key, id.Key); err != nil {
			return onto.Errorf(onto.Invalid, "%s: key: %w", id, err)
		}
		return nil
	}
	if id.Kind == onto.KindFact {
		return t.checkAttribute(id)
	}
	keyed := t.Schema.InstanceKey != ""
	switch {
	case keyed && id.Instance == "":
		return onto.Errorf(onto.Invalid, "%s needs its instance key %s", id, t.Schema.InstanceKey).
			WithHint("relations of this type are told apart by %s", t.Schema.InstanceKey)
	case !keyed && id.Instance != "":
		return onto.Errorf(onto.Invalid, "%s has an instance key, but relations of type %s have none", id, id.Type)
	}
	return nil
}
