package filtertest

import (
	"strconv"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// filter draws a filter.
func (in *inquirer) filter(depth int) onto.Filter {
	shape := rapid.IntRange(0, 9).Draw(in.T, "filter")
	if depth == 0 || shape < 5 {
		return in.condition()
	}
	switch shape {
	case 5, 6:
		return onto.Not{Of: in.filter(depth - 1)}
	case 7, 8:
		return onto.And(in.filters(depth - 1))
	}
	return onto.Or(in.filters(depth - 1))
}

func (in *inquirer) filters(depth int) []onto.Filter {
	list := make([]onto.Filter, rapid.IntRange(0, 3).Draw(in.T, "parts"))
	for i := range list {
		list[i] = in.filter(depth)
	}
	return list
}

// condition draws an operand, a test that suits its type, and values.
func (in *inquirer) condition() onto.Filter {
	c := onto.Condition{Operand: in.operand(true)}
	typ := in.typeOf(c.Operand)
	c.Test = one(in, "test", testsFor(typ)...)
	switch c.Test {
	case onto.IsNull, onto.IsNotNull, onto.IsTrue, onto.IsFalse:
	case onto.In:
		c.Values = []any{}
		for range one(in, "values", 0, 1, 2, 3, 8) {
			c.Values = append(c.Values, in.value(c.Operand, typ))
		}
	case onto.StartsWith, onto.EndsWith, onto.Contains:
		c.Values = []any{in.part(c.Operand, c.Test)}
	case onto.Equal, onto.NotEqual:
		c.Values = []any{in.value(c.Operand, typ)}
	default:
		v := in.value(c.Operand, typ)
		if _, ok := v.(bool); ok { // bools have no order
			v = drawWord(in.T)
		}
		c.Values = []any{v}
	}
	return c
}

// typeOf returns the type of the field that an operand is, Any inside of one.
func (in *inquirer) typeOf(o onto.Operand) onto.FieldType {
	schema := in.schema
	switch o.Side {
	case onto.LeftSide:
		schema = in.scope.Left
	case onto.RightSide:
		schema = in.scope.Right
	}
	if f := declared(schema, o); f != nil {
		return f.Type
	}
	return onto.Any
}

func testsFor(typ onto.FieldType) []onto.Test {
	all := []onto.Test{onto.IsNull, onto.IsNotNull}
	compare := []onto.Test{onto.Equal, onto.NotEqual, onto.In, onto.Less, onto.AtMost, onto.Greater, onto.AtLeast, onto.Equal, onto.NotEqual}
	text := []onto.Test{onto.StartsWith, onto.EndsWith, onto.Contains}
	truth := []onto.Test{onto.IsTrue, onto.IsFalse}
	switch typ {
	case onto.Any:
		all = append(append(append(all, compare...), text...), truth...)
	case onto.String:
		all = append(append(all, compare...), text...)
	case onto.Int, onto.Float, onto.Time, onto.DateOnly:
		all = append(all, compare...)
	case onto.Bool:
		all = append(append(all, onto.Equal, onto.NotEqual, onto.In), truth...)
	}
	return all
}

// value draws a value that a type can be compared with, often one that some row
// has.
func (in *inquirer) value(o onto.Operand, typ onto.FieldType) any {
	if in.chance("known", 6) {
		if seen := in.seen(o); len(seen) > 0 {
			if v := one(in, "seen", seen...); suits(typ, v) {
				return v
			}
		}
	}
	switch typ {
	case onto.String:
		return drawWord(in.T)
	case onto.Int, onto.Float:
		return number(drawNumber(in.T))
	case onto.Bool:
		return rapid.Bool().Draw(in.T, "bool")
	case onto.Time:
		return drawTime(in.T)
	case onto.DateOnly:
		return drawDate(in.T)
	}
	return scalar(drawScalar(in.T))
}

// scalar reads a scalar of a row or of the generator.
func scalar(text string) any {
	switch text[0] {
	case '"':
		return codec.Unquote([]byte(text))
	case 't', 'f':
		return text == "true"
	}
	return number(text)
}

func suits(typ onto.FieldType, v any) bool {
	switch v := v.(type) {
	case string:
		if typ == onto.DateOnly {
			_, err := onto.ParseDate(v)
			return err == nil
		}
		return typ == onto.Any || typ == onto.String || typ == onto.Time
	case bool:
		return typ == onto.Any || typ == onto.Bool
	}
	return typ == onto.Any || typ == onto.Int || typ == onto.Float
}

// number reads a number.
func number(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	f, _ := strconv.ParseFloat(text, 64)
	return f
}

// part draws a string that often is part of another.
func (in *inquirer) part(o onto.Operand, t onto.Test) string {
	whole, _ := in.value(o, onto.String).(string)
	runes := []rune(whole)
	if len(runes) == 0 || in.chance("whole", 3) {
		return whole
	}
	from, to := 0, len(runes)
	if t != onto.StartsWith {
		from = rapid.IntRange(0, len(runes)-1).Draw(in.T, "from")
	}
	if t != onto.EndsWith {
		to = rapid.IntRange(from, len(runes)).Draw(in.T, "to")
	}
	return string(runes[from:to])
}
