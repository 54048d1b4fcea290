package filter

import (
	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/suggest"
)

// form says how many values a test takes and how it is written.
type form uint8

const (
	unknownForm  form = iota
	operatorForm      // x == 1
	listForm          // x.in_([1, 2])
	textForm          // x.startswith("a")
	emptyForm         // x.is_null()
)

func formOf(t onto.Test) form {
	switch t {
	case onto.Equal, onto.NotEqual, onto.Less, onto.AtMost, onto.Greater, onto.AtLeast:
		return operatorForm
	case onto.In:
		return listForm
	case onto.StartsWith, onto.EndsWith, onto.Contains:
		return textForm
	case onto.IsNull, onto.IsNotNull, onto.IsTrue, onto.IsFalse:
		return emptyForm
	}
	return unknownForm
}

// ordered reports whether a test asks what is less or greater.
func ordered(t onto.Test) bool {
	return t == onto.Less || t == onto.AtMost || t == onto.Greater || t == onto.AtLeast
}

// condition reads an operand and a test.
func (p *parser) condition() (onto.Filter, error) {
	o, call, err := p.operand()
	if err != nil {
		return nil, err
	}
	c := onto.Condition{Operand: o}
	if call.kind != "" {
		err = p.call(&c, call)
	} else {
		err = p.comparison(&c)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (p *parser) comparison(c *onto.Condition) error {
	c.Test = onto.Test(p.tok.kind)
	if formOf(c.Test) != operatorForm {
		return p.noTest(c.Operand)
	}
	p.advance()
	c.Column = p.tok.column
	v, err := p.literal(c.Test)
	c.Values = []any{v}
	return err
}

// noTest is the error that no test follows an operand.
func (p *parser) noTest(o onto.Operand) error {
	if p.tok.kind == ":" && o.Func == onto.FuncCount {
		return fault(p.tok.column, "count takes no path")
	}
	return p.unexpected("a test after "+shorten(FormatOperand(o)), p.testHint(o))
}

// call reads the brackets of a test and what is in them.
func (p *parser) call(c *onto.Condition, method token) error {
	c.Test = onto.Test(method.text)
	p.advance()
	var err error
	switch formOf(c.Test) {
	case listForm:
		c.Column = p.tok.column
		err = p.list(c)
	case textForm:
		c.Column = p.tok.column
		err = p.text(c)
	case emptyForm:
	default:
		return unknownTest(method)
	}
	if err != nil {
		return err
	}
	if p.tok.kind != ")" {
		return p.unexpected(")", "")
	}
	p.advance()
	return nil
}

func unknownTest(method token) error {
	err := fault(method.column, "there is no test %s()", method)
	names := []string{
		"in_", "startswith", "endswith", "contains", "is_null", "is_not_null", "is_true", "is_false", "any", "any_path",
	}
	if len(method.text) <= onto.MaxName {
		if near := suggest.Name(method.text, names); near != "" {
			return err.WithHint("did you mean %s()?", near)
		}
	}
	return err.WithHint("use in_, startswith, endswith, contains, is_null, is_not_null, is_true or is_false")
}

// text reads the value of a test for a text.
func (p *parser) text(c *onto.Condition) error {
	if p.tok.kind != textToken {
		return p.unexpected("a text in quotes", "")
	}
	v, err := p.literal(c.Test)
	c.Values = []any{v}
	return err
}

// list reads the values of in_.
func (p *parser) list(c *onto.Condition) error {
	if p.tok.kind != "[" {
		return p.unexpected("a list", `write in_(["a", "b"])`)
	}
	c.Values = []any{}
	p.advance()
	for p.tok.kind != "]" || len(c.Values) > 0 {
		if p.values++; p.values > maxValues {
			return tooManyValues(p.tok.column)
		}
		v, err := p.literal(c.Test)
		if err != nil {
			return err
		}
		if c.Values = append(c.Values, v); p.tok.kind == "]" {
			break
		}
		if p.tok.kind != "," {
			return p.unexpected(", or ]", "")
		}
		p.advance()
	}
	p.advance()
	return nil
}

// literal reads a value to compare with.
func (p *parser) literal(test onto.Test) (any, error) {
	at := p.tok
	var v any
	switch {
	case at.kind == textToken || at.kind == numberToken:
		canonical, err := at.canonical()
		if err != nil {
			return nil, err
		}
		v = scalar(canonical)
	case p.word("true"), p.word("false"):
		v = at.text == "true"
	case p.word("null"):
	case at.kind == "[" || at.kind == "{":
		return nil, fault(at.column, "a list or an object is no value to compare with").
			WithHint("for one of several values, use in_([…]); for elements of a list, use any()")
	case p.atPath():
		return nil, fault(at.column, "two paths cannot be compared").WithHint("compare each with a value")
	default:
		return nil, p.unexpected("a value", p.valueHint(test))
	}
	if err := refuse(test, v, at.column); err != nil {
		return nil, err
	}
	p.advance()
	return v, nil
}
