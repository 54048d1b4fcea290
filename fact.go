package onto

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/segment"
)

// Fact is one belief: an attribute of a subject has a value, for some time. Facts are
// never overwritten. A later fact on the same attribute speaks in place of an earlier
// one, for the time that both are about; an attribute marked many has all their values.
type Fact struct {
	Type      string
	Subject   string
	Attribute string
	ID        string // tells facts on one attribute apart; to be asserted, "" has one made
	Kind      string // the domain's word for what happened, such as accepted; "" for a plain assertion

	Value       any       // what JSON can hold; as read: string, int64, float64, bool, []any, map[string]any
	From, Until time.Time // when it holds: from From on, before Until; zero for no bound

	// As read.
	Asserted int64 // the commit that asserted it
	Seq      int64 // its place among the facts of that commit
	Commit   int64 // the commit that made its newest version
	Revoked  any   // what was noted when it was revoked, true for nothing; nil if it was not
}

// Identity returns the identity of the fact.
func (f Fact) Identity() Identity { return FactID(f.Type, f.Subject, f.Attribute, f.ID) }

// Holds reports whether the fact is about a time.
func (f Fact) Holds(at time.Time) bool {
	return (f.From.IsZero() || !at.Before(f.From)) && (f.Until.IsZero() || at.Before(f.Until))
}

// Decode decodes the value into what dst points to, as encoding/json does.
func (f Fact) Decode(dst any) error {
	text, err := codec.AppendValue(nil, reflect.ValueOf(f.Value))
	if err == nil {
		err = codec.Decode(text, dst)
	}
	if err != nil {
		return Errorf(Invalid, "%s: the value does not fit: %w", f.Identity(), err)
	}
	return nil
}

// Ref is the identity of a fact as one word, Type/subject/attribute/id. Characters
// other than letters, digits, dots, dashes and underscores are escaped as %XX.
func (f Fact) Ref() string { return f.Identity().FactRef() }

// FactRef is the identity of a fact as one word, see [Fact.Ref].
func (id Identity) FactRef() string {
	return strings.Join([]string{id.Type, segment.Escape(id.Left), segment.Escape(id.Right), segment.Escape(id.Instance)}, "/")
}

// ParseFactRef reads what FactRef writes.
func ParseFactRef(ref string) (Identity, error) {
	parts := strings.Split(ref, "/")
	if len(parts) != 4 {
		return Identity{}, Errorf(Invalid, "%.200q does not refer to a fact", ref).
			WithHint("write Type/subject/attribute/id, as the answers to questions about facts do")
	}
	for i, part := range parts {
		name, err := segment.Unescape(part)
		if err != nil {
			return Identity{}, Errorf(Invalid, "%.200q does not refer to a fact: %w", ref, err).
				WithHint("characters other than letters, digits and ._- are written as %%XX, in capitals")
		}
		parts[i] = name
	}
	id := FactID(parts[0], parts[1], parts[2], parts[3])
	return id, id.Check()
}

// The fields that every type of facts has beside its attributes.
const (
	FactFrom     = "valid_from"  // the start of the time that it holds; absent for no bound
	FactUntil    = "valid_until" // the end, which is not part of it; absent for no bound
	FactKind     = "kind"        // absent for a plain assertion
	FactSeq      = "seq"         // orders the facts of one commit; absent for 0
	FactAsserted = "asserted"    // the commit that asserted it, in every version but the first
	FactRevoked  = "revoked"     // what was noted when it was revoked
	FactValue    = "value"       // the value, if the attribute is no field; only in types that are open
)

// FactFields returns the fields that a type of facts has beside its attributes, sorted
// by name. No attribute can have one of these names.
func FactFields(open bool) []Field {
	list := []Field{
		{Name: FactAsserted, Type: Int}, {Name: FactKind, Type: String}, {Name: FactRevoked, Type: Any},
		{Name: FactSeq, Type: Int}, {Name: FactFrom, Type: Time}, {Name: FactUntil, Type: Time},
	}
	if open {
		list = append(list, Field{Name: FactValue, Type: Any})
	}
	for i := range list {
		list[i].Optional = true
	}
	return list
}

// ReservedAttribute reports whether a name is that of a field that facts have beside
// their attributes.
func ReservedAttribute(name string) bool {
	switch name {
	case FactFrom, FactUntil, FactKind, FactSeq, FactAsserted, FactRevoked, FactValue:
		return true
	}
	return false
}

// Attributes returns the fields of a type of facts that are attributes, sorted by name.
func (s Schema) Attributes() []Field {
	var list []Field
	for _, f := range s.Fields {
		if !ReservedAttribute(f.Name) {
			list = append(list, f)
		}
	}
	return list
}

// Attribute returns the field that holds the values of an attribute, which is another
// one for attributes that only an open type allows.
func (s Schema) Attribute(name string) (Field, bool) {
	if f, ok := s.Field(name); ok && !ReservedAttribute(name) {
		return f, true
	}
	if s.Open && !ReservedAttribute(name) {
		return s.Field(FactValue)
	}
	return Field{}, false
}

// withFactFields returns the schema of facts with the fields that all of them have.
func (s Schema) withFactFields() Schema {
	if s.Kind != KindFact {
		return s
	}
	s.Fields = slices.Clone(s.Fields)
	for _, f := range FactFields(s.Open) {
		if !slices.ContainsFunc(s.Fields, func(o Field) bool { return o.Name == f.Name }) {
			s.Fields = append(s.Fields, f)
		}
	}
	s.SortFields()
	return s
}

func (s Schema) checkFacts() error {
	if s.Key != "" || s.Right != "" || s.InstanceKey != "" {
		return Errorf(Invalid, "%s: facts have a subject, but no key, right end or instance key", s.Name)
	}
	if s.Left != "" {
		if err := CheckName(s.Name+": subject type", s.Left); err != nil {
			return err
		}
	}
	for _, f := range s.Fields {
		switch i := slices.IndexFunc(FactFields(true), func(o Field) bool { return o.Name == f.Name }); {
		case i >= 0 && (f.Name == FactValue && !s.Open || f.Many || !f.Equal(FactFields(true)[i])):
			return reserved(s.Name, f.Name)
		case i < 0 && (!f.Optional || f.Default != nil):
			return Errorf(Invalid, "%s.%s: an attribute is optional and has no default", s.Name, f.Name).
				WithHint("a fact tells one attribute; what is not known has no fact")
		}
	}
	for _, f := range FactFields(s.Open) {
		if _, ok := s.Field(f.Name); !ok {
			return Errorf(Invalid, "%s: facts need the field %s", s.Name, f.Name).WithHint("make the type with onto.Untyped")
		}
	}
	if len(s.Attributes()) == 0 && !s.Open {
		return Errorf(Invalid, "%s: facts need an attribute", s.Name).WithHint("declare one, or mark the type as open")
	}
	return nil
}

func reserved(typ, name string) error {
	return Errorf(Invalid, "%s.%s: no attribute can have this name: it is a field that facts have anyway", typ, name).
		WithHint("these names are taken: valid_from, valid_until, kind, seq, asserted, revoked, value")
}

// FactOf reads a fact out of a version.
func FactOf(v *Version) (Fact, error) {
	f := Fact{
		Type: v.Type, Subject: v.Left, Attribute: v.Right, ID: v.Instance, Asserted: v.Commit, Commit: v.Commit,
	}
	if v.Kind != KindFact {
		return f, Errorf(Invalid, "%s is no fact", v.Identity)
	}
	if len(v.Fields) == 0 {
		return f, nil
	}
	var buf [256]byte
	fields, err := codec.AppendCanonical(buf[:0], v.Fields)
	if err == nil && fields[0] != '{' {
		err = fmt.Errorf("found %s, want an object", codec.KindOf(fields))
	}
	var other any // the value of an attribute that is not declared
	if err == nil {
		err = f.readAll(fields, &other)
	}
	if err != nil {
		return f, Errorf(Corrupt, "%s at commit %d: %w", v.Identity, v.Commit, err)
	}
	if f.Value == nil {
		f.Value = other
	}
	return f, nil
}

// readAll reads the fields of a fact, a canonical object.
func (f *Fact) readAll(fields []byte, other *any) error {
	for name, text := range codec.Pairs(fields) {
		if err := f.read(string(name), text, other); err != nil {
			return err
		}
	}
	return nil
}

// read reads one member of the fields of a fact. A null is the same as nothing.
func (f *Fact) read(name string, text []byte, other *any) error {
	kind := codec.KindOf(text)
	if kind == codec.Null {
		return nil
	}
	want, err := kind, error(nil)
	switch name {
	case FactKind, FactFrom, FactUntil:
		want = codec.String
	case FactSeq, FactAsserted:
		want = codec.Int
	}
	switch {
	case kind != want:
		err = fmt.Errorf("found %s, want %s", kind, want)
	case name == FactKind:
		f.Kind = codec.Unquote(text)
	case name == FactSeq:
		f.Seq, err = strconv.ParseInt(string(text), 10, 64)
	case name == FactAsserted:
		f.Asserted, err = strconv.ParseInt(string(text), 10, 64)
	case name == FactRevoked:
		f.Revoked, err = codec.Plain(text)
	case name == FactFrom:
		f.From, err = codec.ParseTime(codec.Unquote(text))
	case name == FactUntil:
		f.Until, err = codec.ParseTime(codec.Unquote(text))
	case name == FactValue:
		*other, err = codec.Plain(text)
	case name == f.Attribute:
		f.Value, err = codec.Plain(text)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Revocation is how a fact ends.
type Revocation struct {
	At   time.Time // it held before
	Note any       // why, or by whom: what JSON can hold; nil for nothing
}

// Assert adds facts that the draft says. A fact with an ID that is known already
// changes nothing if it says the same, and is a Conflict otherwise, also after the known
// one was retracted. Of several facts on one attribute, the last speaks where they
// overlap.
func (d Draft) Assert(facts ...Fact) Draft {
	things := make([]any, len(facts))
	for i, f := range facts {
		things[i] = f
	}
	return d.put(things, false)
}

// Retract adds facts that were wrong: from this commit on they are not believed, and
// never were. One that never was is NotFound; one that is retracted already changes
// nothing. Reverting the commit undoes it.
func (d Draft) Retract(facts ...Identity) Draft {
	things := make([]any, len(facts))
	for i, id := range facts {
		things[i] = id
	}
	return d.Delete(things...)
}

// Revoke adds a fact that was right, and held only before a time. It cannot make the
// fact hold longer than it did. The note says why, or by whom; nil for nothing.
func (d Draft) Revoke(fact Identity, at time.Time, note any) Draft {
	d.last = &intents{values: []Intent{{Op: Put, Identity: fact, Revoke: &Revocation{at, note}}}, before: d.last}
	return d
}

// About makes a struct a type of facts about an S when it is embedded: its fields are
// attributes. S is the entity type of the subjects, or string if these are any texts.
type About[S any] struct {
	Subject string `json:"-"`
}

func (a About[S]) subject() (about, subject reflect.Type) {
	return reflect.TypeOf(a), reflect.TypeFor[S]()
}

// aboutOf returns the type of the subjects of a type that is an About.
func aboutOf(t reflect.Type) (subject reflect.Type, ok bool) {
	if t.Kind() != reflect.Struct {
		return nil, false
	}
	a, ok := reflect.Zero(t).Interface().(interface {
		subject() (about, subject reflect.Type)
	})
	if !ok {
		return nil, false
	}
	about, subject := a.subject()
	return subject, about == t
}

func (r *typeReader) readAbout(subject reflect.Type, index []int) error {
	switch {
	case r.bound.Link != nil:
		return bothEmbedded(r.schema.Name)
	case r.bound.About != nil:
		return Errorf(Invalid, "%s has two subjects", r.schema.Name).WithHint("embed one onto.About")
	}
	r.bound.About = index
	r.schema.Kind = KindFact
	switch {
	case subject.Kind() == reflect.String:
		return nil // free
	case subject.Kind() == reflect.Struct && subject.Name() != "":
		r.schema.Left = subject.Name()
		return nil
	}
	return Errorf(Invalid, "%s: facts are about entities, whose type is a named struct, or about any text, not about a %v", r.schema.Name, subject).
		WithHint("write onto.About[Person], or onto.About[string]")
}

func bothEmbedded(name string) error {
	return Errorf(Invalid, "%s embeds onto.Link and onto.About", name).WithHint("a relation has a Link, a type of facts has an About")
}

// readFacts checks and completes the fields of a type of facts.
func (r *typeReader) readFacts() error {
	if r.schema.Kind != KindFact {
		return nil
	}
	if r.schema.Key != "" || r.schema.InstanceKey != "" {
		return Errorf(Invalid, "%s: facts have a subject, but no key and no instance key", r.schema.Name)
	}
	for i, f := range r.schema.Fields {
		if ReservedAttribute(f.Name) {
			return reserved(r.schema.Name, f.Name)
		}
		if f.Default == nil {
			r.schema.Fields[i].Optional = true
		}
	}
	return nil
}
