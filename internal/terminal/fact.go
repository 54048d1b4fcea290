package terminal

import (
	"strconv"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/store"
)

// Facts is a list of facts of a type.
func Facts(p *Printer, f Format, typ onto.Schema) *List[onto.Fact] {
	columns := []Column{
		{Name: "subject", Whole: true}, {Name: "attribute", Whole: true}, {Name: "value"},
		{Name: "valid_from", Label: "from", Whole: true}, {Name: "valid_until", Label: "until", Whole: true},
		{Name: "fact_kind", Label: "kind", Whole: true}, {Name: "asserted", Whole: true}, {Name: "ref", Whole: true},
	}
	return NewList(p, f, columns, document.NewFact, func(fact onto.Fact) ([]string, error) {
		value, err := valueCell(f, typ, fact)
		return []string{
			fact.Subject, fact.Attribute, value, bound(f, fact.From), bound(f, fact.Until), fact.Kind,
			strconv.FormatInt(fact.Asserted, 10), fact.Ref(),
		}, err
	})
}

// gap is the value of a time about which nothing is known, in a table.
const gap = "(gap)"

// Timeline is a list of segments of the facts of a type.
func Timeline(p *Printer, f Format, typ onto.Schema) *List[store.Segment] {
	columns := []Column{
		{Name: "attribute", Whole: true}, {Name: "valid_from", Label: "from", Whole: true}, {Name: "valid_until", Label: "until", Whole: true},
		{Name: "value"}, {Name: "fact_kind", Label: "kind", Whole: true}, {Name: "asserted", Whole: true}, {Name: "ref", Whole: true},
	}
	doc := func(s store.Segment) document.Segment { return document.NewSegment(typ.Name, s) }
	return NewList(p, f, columns, doc, func(s store.Segment) ([]string, error) {
		cells := []string{s.Attribute, bound(f, s.From), bound(f, s.Until)}
		if s.Gap && f == FormatTable {
			return append(cells, gap, "", "", ""), nil
		}
		if s.Gap {
			return append(cells, "", "", "", ""), nil
		}
		value, err := valueCell(f, typ, s.Fact)
		return append(cells, value, s.Fact.Kind, strconv.FormatInt(s.Fact.Asserted, 10), s.Fact.Ref()), err
	})
}

// valueCell is the value of a fact as a cell: a time as the bounds have it.
func valueCell(f Format, typ onto.Schema, fact onto.Fact) (string, error) {
	text, err := document.Value{Is: fact.Value}.MarshalJSON()
	if err != nil {
		return "", onto.Errorf(onto.Corrupt, "a value cannot be written as JSON: %w", err)
	}
	if field, _ := typ.Attribute(fact.Attribute); field.Type == onto.Time {
		if at, err := codec.ParseTime(Cell(text)); err == nil {
			return bound(f, at), nil
		}
	}
	return Cell(text), nil
}

// bound is one end of the time for which a fact holds: in a table short, and open if
// there is none.
func bound(f Format, t time.Time) string {
	switch {
	case f == FormatTable && t.IsZero():
		return "open"
	case t.IsZero():
		return ""
	case f != FormatTable:
		return codec.FormatTime(t)
	case t.Truncate(24 * time.Hour).Equal(t):
		return t.UTC().Format(time.DateOnly)
	}
	return t.UTC().Format("2006-01-02T15:04:05.999999Z")
}
