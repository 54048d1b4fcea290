package filter

import (
	"reflect"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// Check checks a filter against a schema, and returns it with clean values: string,
// int64, float64 and bool, and times in their stored form. A nil filter stays nil.
func Check(f onto.Filter, s *Scope) (onto.Filter, error) {
	return check(f, func(o onto.Operand) (onto.FieldType, error) {
		if o.Func != "" {
			return "", noAggregate(o.Column, o.Func)
		}
		if o.Per != "" {
			return "", noPeriod(o.Column, o, o.Per)
		}
		return s.typeOf(o)
	})
}

func noAggregate(column int, f onto.Func) error {
	return fault(column, "%s is an aggregate, and a condition on single versions cannot use it", f).WithHint("aggregates are for having: put it there")
}

// checker checks filters that are within the limits. TypeOf returns the declared type
// of an operand, Any if it is unknown.
type checker struct {
	typeOf func(onto.Operand) (onto.FieldType, error)
}

func check(f onto.Filter, typeOf func(onto.Operand) (onto.FieldType, error)) (onto.Filter, error) {
	if f == nil {
		return nil, nil
	}
	if err := each(f, func(onto.Condition) {}); err != nil {
		return nil, err
	}
	clean, err := checker{typeOf}.filter(f)
	if err != nil {
		return nil, err
	}
	return clean, nil
}

func (c checker) filter(f onto.Filter) (onto.Filter, error) {
	switch f := f.(type) {
	case onto.And:
		list, err := c.list(f)
		return onto.And(list), err
	case onto.Or:
		list, err := c.list(f)
		return onto.Or(list), err
	case onto.Not:
		of, err := c.filter(f.Of)
		return onto.Not{Of: of}, err
	}
	return c.condition(f.(onto.Condition))
}

func (c checker) list(list []onto.Filter) ([]onto.Filter, error) {
	clean := make([]onto.Filter, len(list))
	for i, f := range list {
		var err error
		if clean[i], err = c.filter(f); err != nil {
			return nil, err
		}
	}
	return clean, nil
}

func (c checker) condition(f onto.Condition) (onto.Filter, error) {
	t, err := c.typeOf(f.Operand)
	if err != nil {
		return nil, err
	}
	if err := checkForm(f); err != nil {
		return nil, err
	}
	if err := checkTest(f, t); err != nil {
		return nil, err
	}
	values := make([]any, len(f.Values))
	for i, v := range f.Values {
		if values[i], err = checkValue(f, t, v); err != nil {
			return nil, err
		}
	}
	f.Operand, f.Values = clone(f.Operand), values
	return f, nil
}

func clone(o onto.Operand) onto.Operand {
	o.Path, o.Under = slices.Clone(o.Path), slices.Clone(o.Under)
	return o
}

// checkForm checks that a condition has the values that its test needs.
func checkForm(c onto.Condition) error {
	want := 0
	switch formOf(c.Test) {
	case unknownForm:
		return fault(c.Operand.Column, "%s: the test %q is unknown", FormatOperand(c.Operand), c.Test)
	case listForm:
		return nil
	case operatorForm, textForm:
		want = 1
	}
	if len(c.Values) != want {
		return fault(c.Operand.Column, "%s: the test %s takes %d values, not %d", FormatOperand(c.Operand), c.Test, want, len(c.Values))
	}
	return nil
}

// checkTest checks that a test makes sense for a type.
func checkTest(c onto.Condition, t onto.FieldType) error {
	name := FormatOperand(c.Operand)
	switch form := formOf(c.Test); {
	case t == onto.Any || c.Test == onto.IsNull || c.Test == onto.IsNotNull:
		return nil
	case form == emptyForm && t != onto.Bool:
		return fault(c.Operand.Column, "%s is %s, and %s() is for bools", name, t, c.Test)
	case form == textForm && (t == onto.Time || t == onto.DateOnly):
		return fault(c.Operand.Column, "%s is %s, and %s() is for strings", name, t, c.Test).WithHint("compare times and dates with >= and <")
	case form == textForm && t == onto.List:
		return fault(c.Operand.Column, "%s is list, and %s() is for strings", name, c.Test).WithHint("%s", elementHint(c))
	case form == textForm && t != onto.String:
		return fault(c.Operand.Column, "%s is %s, and %s() is for strings", name, t, c.Test)
	case t == onto.Object:
		return fault(c.Operand.Column, "%s is object and cannot be compared with a value", name).
			WithHint("compare something inside it, as in %s", spell(inside(c.Operand, "name")))
	case t == onto.List:
		return fault(c.Operand.Column, "%s is list and cannot be compared with a value", name).
			WithHint("compare its elements by %s, or what is inside them by %s", spell(c.Operand.Some()), spell(c.Operand.Some("name")))
	}
	return nil
}

// elementHint is for a test of strings that has a list.
func elementHint(c onto.Condition) string {
	element := spell(c.Operand.Some())
	if c.Test != onto.Contains {
		return "test its elements by " + element
	}
	value := formatValue(c.Values[0])
	return "write " + wording(c.Operand.Column, element+" == "+value, element+".Eq("+value+")")
}

func inside(o onto.Operand, name string) onto.Operand {
	o.Path = slices.Concat(o.Path, []string{name})
	return o
}

// checkValue returns the clean form of a condition's value.
func checkValue(c onto.Condition, t onto.FieldType, v any) (any, error) {
	given := v
	v, err := clean(v)
	if err != nil {
		return nil, uncleanValue(c, given, err)
	}
	if err := refuse(c.Test, v, c.Column); err != nil {
		return nil, err
	}
	if _, isText := v.(string); formOf(c.Test) == textForm && !isText {
		return nil, fault(c.Column, "%s: %s() takes a string, not %s", FormatOperand(c.Operand), c.Test, formatValue(v))
	}
	fitted, ok := fit(t, v)
	if ok {
		return fitted, nil
	}
	return nil, fault(c.Column, "%s does not fit %s, which is %s", formatValue(v), FormatOperand(c.Operand), t).
		WithHint("%s", misfitHint(t, v))
}

// uncleanValue is the error that a value is no scalar, or none that JSON has.
func uncleanValue(c onto.Condition, v any, err error) error {
	hint := onto.HintOf(err).Text
	if kind := reflect.ValueOf(v).Kind(); c.Test == onto.In && !isBytes(v) && (kind == reflect.Slice || kind == reflect.Array) {
		hint = "give the values one by one"
	}
	return fault(c.Column, "%s: %s", FormatOperand(c.Operand), err).WithHint("%s", hint)
}

// misfitHint is for a clean value that does not fit a type.
func misfitHint(t onto.FieldType, v any) string {
	text, isText := v.(string)
	switch {
	case t == onto.Time:
		return "write a time like 2026-02-10T12:34:56Z or a date like 2026-02-10"
	case t == onto.DateOnly:
		return "write a date like 2026-02-10"
	case t == onto.String:
		return `put it in quotes: "` + formatValue(v) + `"`
	case isText && fitsBare(t, text):
		return "write " + shorten(text) + " without quotes"
	}
	return ""
}

// fitsBare reports whether a text would fit a type if it had no quotes.
func fitsBare(t onto.FieldType, text string) bool {
	canonical, err := codec.AppendCanonical(nil, []byte(text))
	if err != nil {
		return false
	}
	v := scalar(canonical)
	_, ok := fit(t, v)
	return ok && v != nil
}

// fit returns a clean value in the form that a field of a type can equal.
func fit(t onto.FieldType, v any) (any, bool) {
	switch v := v.(type) {
	case string:
		if t == onto.Time {
			at, err := parseTime(v)
			return codec.FormatTime(at), err == nil
		}
		if t == onto.DateOnly {
			d, err := onto.ParseDate(v)
			return d.String(), err == nil
		}
		return v, t == onto.Any || t == onto.String
	case bool:
		return v, t == onto.Any || t == onto.Bool
	}
	return v, t == onto.Any || t == onto.Int || t == onto.Float
}

// parseTime reads a time, in UTC if it has no zone; a date is its first moment, and so
// is a minute.
func parseTime(text string) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04", "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05.999999999"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC().Truncate(time.Microsecond), codec.CheckTime(at)
		}
	}
	return codec.ParseTime(text)
}

func formatValue(v any) string {
	w := writer{}
	w.values([]any{v})
	return shorten(w.b.String())
}
