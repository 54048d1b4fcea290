package onto

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// FieldType is the closed set of types a field can have.
type FieldType string

// The field types.
const (
	String FieldType = "string"
	Int    FieldType = "int" // int64
	Float  FieldType = "float"
	Bool   FieldType = "bool"
	Time   FieldType = "time" // UTC, microseconds
	Object FieldType = "object"
	List   FieldType = "list"
	Any    FieldType = "any"
)

// FieldTypes lists every field type.
func FieldTypes() []FieldType {
	return []FieldType{String, Int, Float, Bool, Time, Object, List, Any}
}

// Within reports whether each value of this type is one of the other as well.
func (t FieldType) Within(other FieldType) bool {
	return t == other || other == Any || t == Int && other == Float
}

// Field describes one top-level field of a type.
type Field struct {
	Name     string
	Type     FieldType
	Optional bool            // may be absent; null is the same as absent
	Default  json.RawMessage // canonical JSON that stands in when absent; nil for none
	Index    bool            // worth an index
	Search   bool            // its words can be searched; strings only
	Many     bool            // facts: an attribute that has several values at once
}

// Schema describes a type of entities, relations or facts.
type Schema struct {
	Kind Kind
	Name string

	Key string // entity: the field that is the key

	Left, Right string // relation: the types of its endpoints; Left of facts: the type of the subjects, "" if these are free
	InstanceKey string // relation: the name of its instance key; "" if unkeyed

	Open bool // facts: attributes that are no fields are allowed, with any value

	Fields []Field // sorted by name; of facts: the attributes, and [FactFields]
}

// SchemaVersion is one registered version of a type.
type SchemaVersion struct {
	Schema  Schema
	Version int             // 1, 2, 3, … per type
	JSON    json.RawMessage // as stored
	Hash    string          // SHA-256 of the canonical JSON, as stored
	Created time.Time
	Runtime string
	Reason  string // initial, migration, bootstrap
	Actor   Actor  // on whose behalf; the zero Actor if that was not said
	Comment string // why, in the words of those who did it; "" for none

	Since    int64           // the first commit that can hold rows of it
	Upgrader *StoredUpgrader // how fields of the previous version become this one's; nil if unknown
	Learned  *Learned        // who gave the upgrader later; nil if it came with the version, or there is none
	End      *End            // the type ended with this version; nil if it did not
}

// Learned tells who has given a version that was stored its upgrader, and why.
type Learned struct {
	Time    time.Time `json:"time"`
	Runtime string    `json:"runtime,omitempty"`
	Actor   Actor     `json:"actor,omitzero"`
	Comment string    `json:"comment,omitempty"`
}

// StoredUpgrader tells how fields become those of its schema version.
type StoredUpgrader struct {
	// Program is the jq program that does it. "" means that the fields stay as they
	// are, with defaults for absent ones, or, with Func, that a Go function does it.
	Program string `json:"program,omitempty"`
	// Func says that a Go function does it, which each program that reads older
	// versions has to provide.
	Func bool `json:"func,omitempty"`
	// RenamedFrom is the type whose fields they are, if the type has been
	// renamed, and FromVersion its last version.
	RenamedFrom string `json:"renamed_from,omitempty"`
	FromVersion int    `json:"from_version,omitempty"`
}

// End tells how a type ended. Its name may be used again: the numbers of its versions
// continue.
type End struct {
	Commit    int64     `json:"commit"`               // the first commit without it
	RenamedTo string    `json:"renamed_to,omitempty"` // "" if it was dropped
	Purged    bool      `json:"purged,omitempty"`     // its history is gone too
	Versions  int64     `json:"versions,omitempty"`   // how many versions were purged
	Time      time.Time `json:"time"`
	Runtime   string    `json:"runtime,omitempty"`
	Actor     Actor     `json:"actor,omitzero"` // on whose behalf
	Comment   string    `json:"comment,omitempty"`
	Purge     Purge     `json:"purge,omitzero"` // zero if it was not purged
}

// Purge tells how the history of a type was removed for good: with its end or later.
type Purge struct {
	Versions int64     `json:"versions"` // how many were removed
	Time     time.Time `json:"time"`
	Runtime  string    `json:"runtime,omitempty"`
	Actor    Actor     `json:"actor,omitzero"` // on whose behalf
	Comment  string    `json:"comment,omitempty"`
}

// TypeName returns the type that the schema describes.
func (s Schema) TypeName() TypeName { return TypeName{s.Kind, s.Name} }

// Field returns the field of that name.
func (s Schema) Field(name string) (Field, bool) {
	i, ok := slices.BinarySearchFunc(s.Fields, name, func(f Field, n string) int {
		return strings.Compare(f.Name, n)
	})
	if !ok {
		return Field{}, false
	}
	return s.Fields[i], true
}

// FieldNames returns the names of the fields, sorted.
func (s Schema) FieldNames() []string {
	names := make([]string, len(s.Fields))
	for i, f := range s.Fields {
		names[i] = f.Name
	}
	return names
}

// WithFlags returns the schema with the index and search flags that its fields
// have in the other.
func (s Schema) WithFlags(from Schema) Schema {
	s.Fields = slices.Clone(s.Fields)
	for i, f := range s.Fields {
		if other, ok := from.Field(f.Name); ok {
			s.Fields[i].Index, s.Fields[i].Search = other.Index, other.Search
		}
	}
	return s
}

// LikeStored returns the schema as it compares with the stored one of its type. The
// instance key is part of the identity, so a declaration may repeat it among the fields or
// not: where the stored schema has it in the identity only, it is no field.
func (s Schema) LikeStored(stored Schema) Schema {
	f, repeated := s.Field(s.InstanceKey)
	if _, kept := stored.Field(s.InstanceKey); !repeated || kept || s.InstanceKey != stored.InstanceKey || !f.identifies() {
		return s
	}
	s.Fields = slices.DeleteFunc(slices.Clone(s.Fields), func(f Field) bool { return f.Name == s.InstanceKey })
	return s
}

// identifies reports whether the field can be an instance key.
func (f Field) identifies() bool { return f.Type == String && !f.Optional && f.Default == nil }

// Check reports whether the schema is well formed.
func (s Schema) Check() error {
	if err := CheckName("type", s.Name); err != nil {
		return err
	}
	for i, f := range s.Fields {
		if err := s.checkField(f); err != nil {
			return err
		}
		if i > 0 && s.Fields[i-1].Name >= f.Name {
			return Errorf(Invalid, "%s: field %s is given twice or out of order", s.Name, f.Name)
		}
	}
	if s.Open && s.Kind != KindFact {
		return Errorf(Invalid, "%s: only types of facts are open", s.Name)
	}
	switch s.Kind {
	case KindEntity:
		return s.checkEntity()
	case KindFact:
		return s.checkFacts()
	case KindRelation:
		return s.checkRelation()
	}
	return Errorf(Invalid, "%s: kind %q is unknown", s.Name, s.Kind).WithHint("use entity, fact or relation")
}

func (s Schema) checkField(f Field) error {
	if err := CheckName(s.Name+": field", f.Name); err != nil {
		return err
	}
	if !slices.Contains(FieldTypes(), f.Type) {
		return Errorf(Invalid, "%s.%s: type %q is unknown", s.Name, f.Name, f.Type).
			WithHint("use string, int, float, bool, time, object, list or any")
	}
	if f.Search && f.Type != String {
		return Errorf(Invalid, "%s.%s: only strings can be searched, this is %s", s.Name, f.Name, f.Type)
	}
	if f.Many && s.Kind != KindFact {
		return Errorf(Invalid, "%s.%s: only attributes of facts have several values at once", s.Name, f.Name).
			WithHint("use a list")
	}
	if f.Optional && f.Default != nil {
		return Errorf(Invalid, "%s.%s: a field with a default is never absent, so it cannot be optional", s.Name, f.Name).
			WithHint("leave out optional")
	}
	if f.Default == nil {
		return nil
	}
	canonical, err := canonicalDefault(f.Type, f.Default)
	if err != nil {
		return Errorf(Invalid, "%s.%s: %w", s.Name, f.Name, err)
	}
	if !bytes.Equal(canonical, f.Default) {
		return Errorf(Invalid, "%s.%s: default %s is not canonical, write %s", s.Name, f.Name, f.Default, canonical)
	}
	return nil
}

func (s Schema) checkEntity() error {
	if s.Left != "" || s.Right != "" || s.InstanceKey != "" {
		return Errorf(Invalid, "%s: an entity has no endpoints and no instance key", s.Name)
	}
	if s.Key == "" {
		return Errorf(Invalid, "%s: no field is the key", s.Name).
			WithHint(`mark one with onto:"key", or name it with key: in the schema file`)
	}
	f, ok := s.Field(s.Key)
	switch {
	case !ok:
		return Errorf(Invalid, "%s: the key %s is not among the fields", s.Name, s.Key)
	case f.Type != String && f.Type != Int:
		return Errorf(Invalid, "%s.%s: a key is a string or an int, not %s", s.Name, f.Name, f.Type)
	case f.Optional || f.Default != nil:
		return Errorf(Invalid, "%s.%s: the key can be neither optional nor have a default", s.Name, f.Name)
	}
	return nil
}

func (s Schema) checkRelation() error {
	if s.Key != "" {
		return Errorf(Invalid, "%s: a relation has no key field", s.Name)
	}
	if err := CheckName(s.Name+": left type", s.Left); err != nil {
		return err
	}
	if err := CheckName(s.Name+": right type", s.Right); err != nil {
		return err
	}
	if s.InstanceKey == "" {
		return nil
	}
	if err := CheckName(s.Name+": instance key", s.InstanceKey); err != nil {
		return err
	}
	if f, ok := s.Field(s.InstanceKey); ok && !f.identifies() {
		return Errorf(Invalid, "%s.%s: the instance key is a string, neither optional nor with a default", s.Name, f.Name)
	}
	return nil
}

// The shape of a schema as JSON. Maps are written with sorted keys, and the
// struct fields stand in order, so the output is canonical.
type schemaJSON struct {
	Fields      map[string]fieldJSON `json:"fields"`
	InstanceKey string               `json:"instance_key,omitempty"`
	Key         string               `json:"key,omitempty"`
	Kind        Kind                 `json:"kind"`
	Left        string               `json:"left,omitempty"`
	Name        string               `json:"name"`
	Open        bool                 `json:"open,omitempty"`
	Right       string               `json:"right,omitempty"`
}

type fieldJSON struct {
	Default  json.RawMessage `json:"default,omitempty"`
	Index    bool            `json:"index,omitempty"`
	Many     bool            `json:"many,omitempty"`
	Optional bool            `json:"optional,omitempty"`
	Search   bool            `json:"search,omitempty"`
	Type     FieldType       `json:"type"`
}

// JSON returns the canonical JSON of the schema.
func (s Schema) JSON() json.RawMessage {
	doc := schemaJSON{
		Fields: make(map[string]fieldJSON, len(s.Fields)), InstanceKey: s.InstanceKey,
		Key: s.Key, Kind: s.Kind, Left: s.Left, Name: s.Name, Open: s.Open, Right: s.Right,
	}
	for _, f := range s.Fields {
		doc.Fields[f.Name] = fieldJSON{f.Default, f.Index, f.Many, f.Optional, f.Search, f.Type}
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(doc); err != nil {
		panic("onto: a schema's default is not JSON: " + err.Error()) // Check refuses this
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}

// Hash returns the SHA-256 of the canonical JSON, in hex.
func (s Schema) Hash() string {
	sum := sha256.Sum256(s.JSON())
	return hex.EncodeToString(sum[:])
}

// ParseSchema reads the form that JSON writes. Unknown members are ignored.
func ParseSchema(data []byte) (Schema, error) {
	var doc schemaJSON
	if err := json.Unmarshal(data, &doc); err != nil {
		return Schema{}, Errorf(Invalid, "schema is not JSON: %w", err)
	}
	s := Schema{
		Kind: doc.Kind, Name: doc.Name, Key: doc.Key,
		Left: doc.Left, Right: doc.Right, InstanceKey: doc.InstanceKey, Open: doc.Open,
	}
	for name, f := range doc.Fields {
		s.Fields = append(s.Fields, Field{name, f.Type, f.Optional, f.Default, f.Index, f.Search, f.Many})
	}
	s.SortFields()
	s = s.withCanonicalDefaults()
	return s, s.Check()
}

// SortFields puts the fields into the order that the other methods rely on.
func (s *Schema) SortFields() {
	slices.SortFunc(s.Fields, func(a, b Field) int { return cmp.Compare(a.Name, b.Name) })
}
