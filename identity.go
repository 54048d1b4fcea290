package onto

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Kind distinguishes entities, facts and relations.
type Kind string

// The kinds.
const (
	KindEntity   Kind = "entity"
	KindFact     Kind = "fact"
	KindRelation Kind = "relation"
)

// Kinds lists every kind, in order.
func Kinds() []Kind { return []Kind{KindEntity, KindFact, KindRelation} }

// Limits on names, keys and sizes.
const (
	MaxName     = 64       // bytes in the name of a type or field
	MaxKey      = 1 << 10  // bytes in a key, a correlation id, an idempotency key
	MaxComment  = 64 << 10 // bytes in a comment
	MaxFields   = 16 << 20 // bytes of canonical JSON in one version
	MaxMetadata = 1 << 20  // bytes of canonical JSON in a commit's metadata
)

// TypeName names a type. It is comparable.
type TypeName struct {
	Kind Kind
	Name string
}

// String describes the type for messages.
func (t TypeName) String() string { return string(t.Kind) + " " + t.Name }

// Compare orders types by kind, then by name.
func (t TypeName) Compare(other TypeName) int {
	return cmp.Or(strings.Compare(string(t.Kind), string(other.Kind)), strings.Compare(t.Name, other.Name))
}

// Identity names one entity, one relation or one fact. It is comparable.
type Identity struct {
	Kind Kind
	Type string

	Key string // of an entity

	Left, Right string // of a relation: the keys of its endpoints; of a fact: its subject and its attribute
	Instance    string // of a relation: "" when it is unkeyed; of a fact: its id
}

// TypeName returns the type that the identity is of.
func (id Identity) TypeName() TypeName { return TypeName{id.Kind, id.Type} }

// EntityID is the identity of an entity.
func EntityID(typ, key string) Identity {
	return Identity{Kind: KindEntity, Type: typ, Key: key}
}

// RelationID is the identity of an unkeyed relation.
func RelationID(typ, left, right string) Identity {
	return Identity{Kind: KindRelation, Type: typ, Left: left, Right: right}
}

// FactID is the identity of a fact.
func FactID(typ, subject, attribute, id string) Identity {
	return Identity{Kind: KindFact, Type: typ, Left: subject, Right: attribute, Instance: id}
}

// WithInstance returns the identity with the instance key set.
func (id Identity) WithInstance(key string) Identity {
	id.Instance = key
	return id
}

// String describes the identity for messages.
func (id Identity) String() string {
	switch {
	case id.Kind == KindEntity:
		return fmt.Sprintf("%s %q", id.Type, id.Key)
	case id.Kind == KindFact:
		return fmt.Sprintf("%s %q %s [%q]", id.Type, id.Left, id.Right, id.Instance)
	case id.Instance == "":
		return fmt.Sprintf("%s %q → %q", id.Type, id.Left, id.Right)
	}
	return fmt.Sprintf("%s %q → %q [%q]", id.Type, id.Left, id.Right, id.Instance)
}

// Compare orders identities: entities, facts, relations, then by type, then by key, by
// subject, attribute and id, or by left, right and instance key, each by code point.
func (id Identity) Compare(other Identity) int {
	if id.Kind != other.Kind {
		return strings.Compare(string(id.Kind), string(other.Kind))
	}
	if id.Type != other.Type {
		return strings.Compare(id.Type, other.Type)
	}
	if id.Kind == KindEntity {
		return strings.Compare(id.Key, other.Key)
	}
	if id.Left != other.Left {
		return strings.Compare(id.Left, other.Left)
	}
	if id.Right != other.Right {
		return strings.Compare(id.Right, other.Right)
	}
	return strings.Compare(id.Instance, other.Instance)
}

// Check reports whether the identity is well formed: texts within their limits, and only
// the parts that its kind has. Whether there is such a type, only a store can tell.
func (id Identity) Check() error {
	if err := checkText("type name", id.Type, 1, MaxKey); err != nil {
		return err
	}
	switch id.Kind {
	case KindEntity:
		if id.Left != "" || id.Right != "" || id.Instance != "" {
			return Errorf(Invalid, "entity %s has relation keys", id)
		}
		return checkText(id.Type+" key", id.Key, 1, MaxKey)
	case KindFact:
		return id.checkFact()
	case KindRelation:
		if id.Key != "" {
			return Errorf(Invalid, "relation %s has an entity key", id)
		}
		if err := checkText(id.Type+" left key", id.Left, 1, MaxKey); err != nil {
			return err
		}
		if err := checkText(id.Type+" right key", id.Right, 1, MaxKey); err != nil {
			return err
		}
		return checkText(id.Type+" instance key", id.Instance, 0, MaxKey)
	}
	return Errorf(Invalid, "kind %q is unknown", id.Kind).WithHint("use entity, fact or relation")
}

// CheckNew is Check for an identity that is to be stored: none of its keys may be white
// space only. What has such a key already can be read, copied and deleted.
func (id Identity) CheckNew() error {
	if err := id.Check(); err != nil {
		return err
	}
	names := [...]string{" key", " left key", " right key", " instance key"}
	if id.Kind == KindFact {
		names = [...]string{" key", " subject", " attribute", " fact id"}
	}
	for i, text := range [...]string{id.Key, id.Left, id.Right, id.Instance} {
		if text != "" && strings.TrimSpace(text) == "" {
			return Errorf(Invalid, "%s%s %q is white space only", id.Type, names[i], text).WithHint("give one that can be seen")
		}
	}
	return nil
}

func (id Identity) checkFact() error {
	if err := CheckName("type", id.Type); err != nil {
		return err
	}
	if id.Key != "" {
		return Errorf(Invalid, "fact %s has an entity key", id)
	}
	if err := checkText(id.Type+" subject", id.Left, 1, MaxKey); err != nil {
		return err
	}
	if err := CheckName(id.Type+": attribute", id.Right); err != nil {
		return err
	}
	return checkText(id.Type+" fact id", id.Instance, 1, MaxKey)
}

// CheckName reports whether name may name a type or field: a letter or
// underscore, then letters, digits and underscores, 64 bytes at most.
// What says which name is meant, for the message.
func CheckName(what, name string) error {
	return checkName(what, name, "", "start with a letter or _, go on with letters, digits and _")
}

// OwnPrefix begins the names of types and fields that a store keeps for itself.
const OwnPrefix = "onto_"

// CheckUserName is CheckName for names that programs and schema files declare: those
// that begin with [OwnPrefix] are the store's own.
func CheckUserName(what, name string) error {
	if strings.HasPrefix(name, OwnPrefix) {
		return Errorf(Invalid, "%s name %.*q is not allowed: names that begin with %s are the store's own", what, MaxName, name, OwnPrefix).
			WithHint("choose another name")
	}
	return CheckName(what, name)
}

// checkName allows also the given characters, but not as the first.
func checkName(what, name, also, hint string) error {
	if name == "" {
		return Errorf(Invalid, "%s name is empty", what)
	}
	if len(name) > MaxName {
		return Errorf(Invalid, "%s name is %d bytes long, the limit is %d", what, len(name), MaxName)
	}
	for i := range len(name) {
		c := name[i]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || (c < '0' || c > '9') && strings.IndexByte(also, c) < 0) {
			return Errorf(Invalid, "%s name %q is not allowed", what, name).WithHint("%s", hint)
		}
	}
	return nil
}

// checkText reports whether s is valid UTF-8 without U+0000 and its length in
// bytes is within the limits.
func checkText(what, s string, least, most int) error {
	switch {
	case len(s) < least:
		return Errorf(Invalid, "%s is empty", what)
	case len(s) > most:
		return Errorf(TooLarge, "%s is %d bytes long, the limit is %d", what, len(s), most)
	case !utf8.ValidString(s):
		return Errorf(Invalid, "%s is not valid UTF-8", what)
	case strings.IndexByte(s, 0) >= 0:
		return Errorf(Invalid, "%s contains U+0000", what)
	}
	return nil
}
