package onto

import (
	"cmp"
	"encoding/json"
	"iter"
	"slices"
	"time"
)

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
func (s Schema) Field(name string) (Field, bool) { return fieldIn(s.Fields, name) }

// Lookup returns the field that names lead to, from the top through objects whose fields are
// declared, and whether each thing of the type has a value there.
func (s Schema) Lookup(names []string) (f Field, always, ok bool) {
	fields, always := s.Fields, true
	for _, name := range names {
		if f, ok = fieldIn(fields, name); !ok {
			return Field{}, false, false
		}
		fields, always = f.Fields, always && !f.Optional
	}
	return f, always, ok
}

// Indexes yields the paths of the fields that are worth an index. The slice is used again.
func (s Schema) Indexes() iter.Seq[[]string] {
	return func(yield func([]string) bool) { indexes(s.Fields, nil, yield) }
}

// Indexed reports whether a field is worth an index.
func (s Schema) Indexed() bool {
	for range s.Indexes() {
		return true
	}
	return false
}

func indexes(fields []Field, path []string, yield func([]string) bool) bool {
	for i := range fields {
		at := append(path, fields[i].Name)
		if fields[i].Index && !yield(at) || !indexes(fields[i].Fields, at, yield) {
			return false
		}
	}
	return true
}

// FieldNames returns the names of the fields, sorted.
func (s Schema) FieldNames() []string { return fieldNames(s.Fields) }

// WithFlags returns the schema with the index and search flags that its fields
// have in the other.
func (s Schema) WithFlags(from Schema) Schema {
	s.Fields = withFlags(s.Fields, from.Fields)
	return s
}

func withFlags(fields, from []Field) []Field {
	fields = slices.Clone(fields)
	for i, f := range fields {
		if other, ok := fieldIn(from, f.Name); ok {
			fields[i].Index, fields[i].Search = other.Index, other.Search
			if f.Fields != nil && other.Fields != nil {
				fields[i].Fields = withFlags(f.Fields, other.Fields)
			}
		}
	}
	return fields
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

// Check reports whether the schema is well formed.
func (s Schema) Check() error {
	if err := CheckName("type", s.Name); err != nil {
		return err
	}
	if err := s.checkFields(); err != nil {
		return err
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

// SortFields puts the fields into the order that the other methods rely on.
func (s *Schema) SortFields() { sortFields(s.Fields) }

func sortFields(fields []Field) {
	slices.SortFunc(fields, func(a, b Field) int { return cmp.Compare(a.Name, b.Name) })
}
