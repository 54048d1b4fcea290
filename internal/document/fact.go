package document

import (
	"reflect"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// Fact is a fact as an answer to a query.
type Fact struct {
	Type       string  `json:"type"`
	Subject    string  `json:"subject"`
	Attribute  string  `json:"attribute"`
	FactID     string  `json:"fact_id"`
	Value      Value   `json:"value"`
	ValidFrom  *string `json:"valid_from"`  // null for no bound
	ValidUntil *string `json:"valid_until"` // likewise
	Kind       *string `json:"fact_kind"`   // the field kind; null for a plain assertion
	Asserted   int64   `json:"asserted"`    // the commit that asserted it
	CommitID   int64   `json:"commit_id"`   // the commit that made its newest version
	Revoked    Value   `json:"revoked"`     // the note; null if it was not revoked
	Ref        string  `json:"ref"`
}

// NewFact describes a fact.
func NewFact(f onto.Fact) Fact {
	return Fact{
		Type: f.Type, Subject: f.Subject, Attribute: f.Attribute, FactID: f.ID, Value: Value{f.Value},
		ValidFrom: storedTime(f.From), ValidUntil: storedTime(f.Until), Kind: OrNull(f.Kind),
		Asserted: f.Asserted, CommitID: f.Commit, Revoked: Value{f.Revoked}, Ref: f.Ref(),
	}
}

// Value is a value of a fact, which is nil for none.
type Value struct{ Is any }

// MarshalJSON is the canonical JSON of the value.
func (v Value) MarshalJSON() ([]byte, error) { return codec.AppendMember(nil, reflect.ValueOf(v.Is)) }

// Asserted is the references to the facts of a draft that have an id.
func Asserted(d onto.Draft) []string {
	var refs []string
	for in := range d.Intents() {
		if f, ok := in.Value.(onto.Fact); ok && f.ID != "" {
			refs = append(refs, f.Ref())
		}
	}
	return refs
}
