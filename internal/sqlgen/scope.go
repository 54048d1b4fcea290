package sqlgen

import (
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// Scope is what a filter's operands refer to in a statement.
type Scope struct {
	Dialect          Dialect
	Own, Left, Right Document
}

// Document is a JSON object in a row of a statement.
type Document struct {
	Column string       // where it is, such as c.fields; "" if there is none
	Schema *onto.Schema // whose names may be written into the statement; nil for none
	Obeyed bool         // all rows have the types of the schema
	Facts  bool         // they are facts, and have the types of the fields that all facts have

	// Typed, if not nil, gives the column that holds the same as a path of the
	// document, and its type. It reports false if there is none.
	Typed func(path []string) (column string, t onto.FieldType, ok bool)
}

// Where is the condition that a filter is true; a nil filter always is. It may
// be NULL in place of false.
func (s *Scope) Where(f onto.Filter) Part {
	c := compiler{Scope: s}
	return c.filter(f)
}

// compiler compiles one filter.
type compiler struct {
	*Scope
	aliases int // used so far
}

func (c *compiler) filter(f onto.Filter) Part {
	switch f := f.(type) {
	case onto.And:
		return All(c.filters(f)...)
	case onto.Or:
		if p, ok := c.nullOr(f); ok {
			return p
		}
		return Either(c.filters(f)...)
	case onto.Not:
		return not(c.filter(f.Of))
	case onto.Condition:
		return c.condition(f)
	}
	return SQL("TRUE")
}

func (c *compiler) filters(list []onto.Filter) []Part {
	parts := make([]Part, len(list))
	for i, f := range list {
		parts[i] = c.filter(f)
	}
	return parts
}

// nullable is a dialect that can tell with one look at a value whether it is null or
// stands in a relation to another one, see [Dialect.Compare].
type nullable interface {
	NullOr(v Value, t onto.Test, with any) (Part, bool)
}

// nullOr is a condition that a value is null or compares with another one, if the dialect
// has one for that: the condition of a bound that need not be there.
func (c *compiler) nullOr(f onto.Or) (Part, bool) {
	d, ok := c.Dialect.(nullable)
	if !ok || len(f) != 2 {
		return Part{}, false
	}
	null, isNull := f[0].(onto.Condition)
	other, isOther := f[1].(onto.Condition)
	if !isNull || !isOther || null.Test != onto.IsNull || len(other.Values) != 1 || null.Operand.Any || other.Operand.Any ||
		null.Operand.Side != other.Operand.Side || !slices.Equal(null.Operand.Path, other.Operand.Path) {
		return Part{}, false
	}
	return d.NullOr(c.value(other.Operand), other.Test, other.Values[0])
}

// not is true where the condition is false or NULL.
func not(p Part) Part { return SQL("((?) IS NOT TRUE)", p) }

func (c *compiler) condition(f onto.Condition) Part {
	v := c.value(f.Operand)
	if !f.Operand.Any {
		return c.test(v, f.Test, f.Values)
	}
	c.aliases++
	return c.Dialect.Some(v, "e"+strconv.Itoa(c.aliases), func(element Value) Part {
		element.Path = f.Operand.Under
		return c.test(element, f.Test, f.Values)
	})
}

// value finds what an operand leads to.
func (s *Scope) value(o onto.Operand) Value {
	d := s.Document(o.Side)
	v := Value{Document: SQL("NULL"), Path: o.Path, Per: o.Per}
	if d.Column != "" {
		v.Document = Part{SQL: d.Column}
	}
	if d.Typed != nil && !o.Any {
		if column, t, ok := d.Typed(o.Path); ok {
			v.Column, v.Type = Part{SQL: column}, t
			return v
		}
	}
	if d.Schema == nil {
		return v
	}
	f, always, ok := d.Schema.Lookup(o.Path)
	if ok {
		v.Literal, ok = codec.WordPath(o.Path)
	}
	if !ok {
		return v
	}
	if d.Obeyed || d.Facts && onto.ReservedAttribute(o.Path[0]) && o.Path[0] != onto.FactValue {
		v.Type, v.Required = f.Type, always && o.Side == onto.OwnSide
	}
	return v
}

// Document is the document of a side.
func (s *Scope) Document(side onto.Side) *Document {
	switch side {
	case onto.LeftSide:
		return &s.Left
	case onto.RightSide:
		return &s.Right
	}
	return &s.Own
}

func (s *Scope) test(v Value, t onto.Test, values []any) Part {
	switch t {
	case onto.IsNull, onto.IsNotNull:
		return s.Dialect.IsNull(v, t == onto.IsNull)
	case onto.IsTrue, onto.IsFalse:
		return s.Dialect.Compare(v, onto.Equal, t == onto.IsTrue)
	case onto.In:
		return s.in(v, values)
	}
	if len(values) != 1 {
		return SQL("FALSE")
	}
	if _, ok := values[0].(bool); ok && t != onto.Equal && t != onto.NotEqual {
		return SQL("FALSE") // bools have no order
	}
	switch t {
	case onto.Equal, onto.Less, onto.AtMost, onto.Greater, onto.AtLeast:
		return s.Dialect.Compare(v, t, values[0])
	case onto.NotEqual:
		return All(s.Dialect.IsNull(v, false), not(s.Dialect.Compare(v, onto.Equal, values[0])))
	}
	if text, ok := values[0].(string); ok {
		return s.textTest(v, t, text)
	}
	return SQL("FALSE")
}

func (s *Scope) in(v Value, values []any) Part {
	switch len(values) {
	case 0:
		return SQL("FALSE")
	case 1:
		return s.Dialect.Compare(v, onto.Equal, values[0])
	}
	return s.Dialect.In(v, values)
}

func (s *Scope) textTest(v Value, t onto.Test, text string) Part {
	switch {
	case text == "":
		return s.Dialect.IsString(v)
	case t == onto.StartsWith:
		return s.Dialect.Between(v, text, following(text))
	case t == onto.EndsWith:
		return s.Dialect.EndsWith(v, text)
	case t == onto.Contains:
		return s.Dialect.Contains(v, text)
	}
	return SQL("FALSE")
}

// following returns the least text, by code point, that is greater than all
// that begin with the prefix, or "" if there is none.
func following(prefix string) string {
	for prefix != "" {
		r, size := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-size]
		switch r {
		case utf8.MaxRune:
			continue
		case surrogates - 1:
			return prefix + string(rune(afterSurrogates))
		}
		return prefix + string(r+1)
	}
	return ""
}

// The code points from surrogates up to afterSurrogates occur in no text.
const (
	surrogates      = 0xD800
	afterSurrogates = 0xE000
)
