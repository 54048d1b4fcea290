package document

import "github.com/ontologia/onto/store"

// Segment is a time for which one fact speaks, or none.
type Segment struct {
	Type       string  `json:"type"`
	Subject    string  `json:"subject"`
	Attribute  string  `json:"attribute"`
	ValidFrom  *string `json:"valid_from"`  // of the segment; null for no bound
	ValidUntil *string `json:"valid_until"` // likewise
	Gap        bool    `json:"gap"`         // nothing is known of this time
	Value      Value   `json:"value"`       // this and the rest are null in a gap
	FactID     *string `json:"fact_id"`
	Kind       *string `json:"fact_kind"`
	Asserted   *int64  `json:"asserted"`
	CommitID   *int64  `json:"commit_id"`
	Ref        *string `json:"ref"`
}

// NewSegment describes a segment of the timeline of a type.
func NewSegment(typ string, s store.Segment) Segment {
	doc := Segment{
		Type: typ, Subject: s.Subject, Attribute: s.Attribute, Gap: s.Gap,
		ValidFrom: storedTime(s.From), ValidUntil: storedTime(s.Until),
	}
	if s.Gap {
		return doc
	}
	ref := s.Fact.Ref()
	doc.Value, doc.Kind = Value{s.Fact.Value}, OrNull(s.Fact.Kind)
	doc.FactID, doc.Asserted, doc.CommitID, doc.Ref = &s.Fact.ID, &s.Fact.Asserted, &s.Fact.Commit, &ref
	return doc
}
