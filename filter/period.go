package filter

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// periodOf is the first day of the period that a canonical value is in, as a canonical
// text; nil if the value is no time or date in its stored form.
func periodOf(p onto.Period, canonical []byte) json.RawMessage {
	at, ok := storedMoment(canonical)
	if !ok {
		return nil
	}
	year, month, day := at.Date()
	switch p {
	case onto.PerDay:
	case onto.PerWeek:
		day -= (int(at.Weekday()) + 6) % 7 // back to Monday
	case onto.PerMonth:
		day = 1
	case onto.PerYear:
		month, day = time.January, 1
	default:
		return nil
	}
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC).AppendFormat(nil, `"`+time.DateOnly+`"`)
}

// storedMoment is the time that a canonical value is in its stored form, or the first moment
// of a date.
func storedMoment(canonical []byte) (time.Time, bool) {
	if len(canonical) < 2 || canonical[0] != '"' {
		return time.Time{}, false
	}
	text := string(canonical[1 : len(canonical)-1])
	switch len(text) {
	case len(time.DateOnly):
		d, err := onto.ParseDate(text)
		return d.Time(), err == nil
	case len(codec.TimeLayout):
		at, err := codec.ParseTime(text)
		return at, err == nil && codec.FormatTime(at) == text
	}
	return time.Time{}, false
}

// noPeriod is the error that a condition on single versions, or their order, has a
// period.
func noPeriod(column int, o onto.Operand, p onto.Period) error {
	o.Per, o.Func = "", ""
	return fault(column, "%s() makes groups, and is for nothing else", p).WithHint("%s",
		wording(column, "to group by it, use --group-by; to find times, compare "+spell(o)+` >= "2026-02-01"`, "group by it; to find times, compare "+spell(o)))
}

// checkPeriod checks the period of an operand whose field is of type t.
func (s *Scope) checkPeriod(o onto.Operand, t onto.FieldType) error {
	field := o
	field.Per, field.Func = "", ""
	switch known := s != nil && s.Schema != nil; {
	case !slices.Contains(onto.Periods(), o.Per):
		return fault(o.Column, "%s: the period %q is unknown", FormatOperand(field), o.Per).WithHint("use day, week, month or year")
	case o.Func != "" && o.Func != onto.FuncCountDistinct:
		return fault(o.Column, "%s: %s takes no period", FormatOperand(o), o.Func).WithHint("only count_distinct takes one, or group by it")
	case known && t == onto.Any:
		return fault(o.Column, "%s: its field is not declared as time or date, and only these have a %s", FormatOperand(o), o.Per).
			WithHint("%s", s.timesHint(o))
	case known && t != onto.Time && t != onto.DateOnly:
		return fault(o.Column, "%s: the field is %s, and only times and dates have a %s", FormatOperand(o), t, o.Per).WithHint("%s", s.timesHint(o))
	}
	return nil
}
