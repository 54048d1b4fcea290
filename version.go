package onto

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/gostruct"
)

// Op is what a version does to its identity.
type Op string

// The ops.
const (
	Put    Op = "put"    // the identity has these fields
	Delete Op = "delete" // the identity is gone
)

// Version is the full state of one identity after one commit. It is never
// changed.
type Version struct {
	Identity
	Op            Op
	Commit        int64           // the commit that made it
	SchemaVersion int             // the version of the type it was written with
	Fields        json.RawMessage // canonical JSON object; {} after a delete
}

// String describes the version for messages.
func (v Version) String() string {
	return fmt.Sprintf("%s at commit %d: %s %s", v.Identity, v.Commit, v.Op, v.Fields)
}

// Live reports whether the identity exists after this version.
func (v Version) Live() bool { return v.Op == Put }

// Map decodes the fields. Integers become int64, other numbers float64.
func (v Version) Map() (map[string]any, error) {
	m, err := codec.DecodeObject(v.Fields)
	if err != nil {
		return nil, Errorf(Corrupt, "%s at commit %d: %w", v.Identity, v.Commit, err)
	}
	return m, nil
}

// Decode decodes the fields into what dst points to, as encoding/json does, except that
// integers in values of any type stay exact: they become int64. In a struct that embeds
// a [Link] the keys of the endpoints are filled in as well, and the instance key where
// the struct has one; in one that embeds an [About], the subject, and the one attribute
// that the fact is on. A version that deletes has nothing to decode: NotFound.
//
// Decode takes fields as they come and needs no store; a store's Get and Find decode the
// types that it knows, faster.
func (v Version) Decode(dst any) error {
	p := reflect.ValueOf(dst)
	if p.Kind() != reflect.Pointer || p.IsNil() {
		return Errorf(Invalid, "%s cannot be decoded into a %T", v.Identity, dst).WithHint("give a pointer to a value")
	}
	if !v.Live() {
		return Errorf(NotFound, "%s was deleted by commit %d", v.Identity, v.Commit)
	}
	if err := codec.Decode(v.fieldsFor(p.Elem().Type()), dst); err != nil {
		return Errorf(Invalid, "%s at commit %d does not fit the Go type %v: %w", v.Identity, v.Commit, p.Type().Elem(), err)
	}
	switch {
	case p.Elem().Kind() != reflect.Struct:
	case v.Kind == KindRelation:
		v.fillLink(p.Elem())
	case v.Kind == KindFact:
		if bound := typeOf(p.Elem().Type()).bound; bound != nil && bound.About != nil {
			p.Elem().FieldByIndex(bound.About).FieldByName("Subject").SetString(v.Left)
		}
	}
	return nil
}

// fieldsFor is the fields as a Go type has them: the value of a fact is in a list if the
// struct has many of them.
func (v Version) fieldsFor(t reflect.Type) []byte {
	if v.Kind != KindFact || t.Kind() != reflect.Struct {
		return v.Fields
	}
	bound := typeOf(t).bound
	if bound == nil || bound.About == nil {
		return v.Fields
	}
	i := slices.IndexFunc(bound.Fields, func(f gostruct.Field) bool { return f.Name == v.Right })
	if i < 0 || !bound.Fields[i].Many {
		return v.Fields
	}
	value := codec.Find(v.Fields, []string{v.Right})
	if value == nil {
		return v.Fields
	}
	return codec.AppendObject(nil, []codec.Member{{Name: v.Right, Value: slices.Concat([]byte{'['}, value, []byte{']'})}})
}

// fillLink sets the parts of a relation's identity that are no fields.
func (v Version) fillLink(s reflect.Value) {
	bound := typeOf(s.Type()).bound
	if bound == nil || bound.Link == nil {
		return
	}
	link := s.FieldByIndex(bound.Link)
	link.FieldByName("Left").SetString(v.Left)
	link.FieldByName("Right").SetString(v.Right)
	if bound.Instance != nil {
		s.FieldByIndex(bound.Instance).SetString(v.Instance)
	}
}

// Operation names what a change did to an identity.
type Operation string

// The operations.
const (
	OperationInsert Operation = "insert"
	OperationUpdate Operation = "update_version"
	OperationDelete Operation = "delete"
)

// Change is the difference in one identity between two moments.
type Change struct {
	Identity
	Before *Version // nil if it did not exist
	After  *Version // nil if it does not exist any more; a delete's version is given when it is known
}

// String describes the change for messages.
func (c Change) String() string { return string(c.Operation()) + " " + c.Identity.String() }

// Operation tells whether the identity was inserted, updated or deleted.
func (c Change) Operation() Operation {
	switch {
	case c.After == nil || !c.After.Live():
		return OperationDelete
	case c.Before == nil || !c.Before.Live():
		return OperationInsert
	}
	return OperationUpdate
}

// Blame tells who last set one top-level field of an identity.
type Blame struct {
	Field string
	Value json.RawMessage // canonical JSON

	// Commit is the commit that set the field to this value. Its ID is 0 if none did: a
	// view of the past shows the value that a later migration makes, and that migration
	// did not rewrite the identity, for example since it was deleted by then.
	Commit Commit

	// Migration is the version of the type whose migration made the value, by a
	// default or an upgrader; nil if a draft gave it.
	Migration *SchemaVersion
}
