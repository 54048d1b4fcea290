package filter

import (
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// funcs are the aggregates that take a path.
func funcs() []onto.Func {
	return []onto.Func{onto.FuncSum, onto.FuncAvg, onto.FuncMin, onto.FuncMax, onto.FuncAvgLen, onto.FuncCountDistinct}
}

// useAggregates is the hint for an unknown one.
const useAggregates = "use count, count_distinct, sum, avg, min, max or avg_len"

// ParseOperand reads a path, as $.a."b c" or left.$.a, or an aggregate of one,
// as count or sum:$.a, or the period of a time, as $.a.month().
func ParseOperand(text string) (onto.Operand, error) {
	p, err := newParser(text, true)
	if err != nil {
		return onto.Operand{}, err
	}
	o, err := p.wholeOperand()
	if err != nil {
		return onto.Operand{}, err
	}
	return o, p.end(o)
}

// ParseOrder reads an operand, and :desc or :asc after it.
func ParseOrder(text string) (onto.Order, error) {
	p, err := newParser(text, true)
	if err != nil {
		return onto.Order{}, err
	}
	o, err := p.wholeOperand()
	if err != nil {
		return onto.Order{}, err
	}
	order := onto.Order{Operand: o}
	if p.tok.kind == ":" {
		p.advance()
		if order.Desc = p.word("desc"); !order.Desc && !p.word("asc") {
			return onto.Order{}, p.unexpected("asc or desc", p.directionHint(o))
		}
		p.advance()
	} else if p.tok.kind == nameToken {
		return onto.Order{}, p.unexpected("the end", p.directionHint(o))
	}
	return order, p.end(o)
}

// wholeOperand reads an operand that no test may follow.
func (p *parser) wholeOperand() (onto.Operand, error) {
	o, call, err := p.operand()
	if err == nil && call.kind != "" {
		err = fault(call.column, "%s() is a test, expected only a path", call)
	}
	return o, err
}

func (p *parser) end(o onto.Operand) error {
	switch {
	case p.tok.kind == ":" && o.Func == onto.FuncCount:
		return fault(p.tok.column, "count takes no path")
	case p.tok.kind == ",":
		return p.unexpected("the end", "give one path at a time; repeat the flag")
	case p.tok.kind != endToken:
		return p.unexpected("the end", "")
	}
	return nil
}

// operand reads an operand. If a call of a test follows, it returns its name and stops
// at its bracket.
func (p *parser) operand() (o onto.Operand, call token, err error) {
	o.Column = p.tok.column
	if err := p.root(&o); err != nil {
		return o, call, err
	}
	for p.tok.kind == "." && call.kind == "" {
		p.advance()
		if call, err = p.step(&o); err != nil {
			return o, call, err
		}
	}
	if len(o.Path) == 0 && o.Func != onto.FuncCount {
		err = p.unexpected("a dot and a field's name after $", "write $.name")
		if call.kind != "" {
			err = fault(call.column, "expected a field before %s()", call)
		}
	}
	return o, call, err
}

// root reads what an operand begins with, up to its $.
func (p *parser) root(o *onto.Operand) error {
	if p.tok.kind == nameToken {
		if err := p.aggregate(o); err != nil || o.Func == onto.FuncCount {
			return err
		}
	}
	if p.word("left") || p.word("right") {
		o.Side = onto.Side(p.tok.text)
		p.advance()
		if p.tok.kind != "." {
			return p.unexpected(".$ after "+string(o.Side), "write "+string(o.Side)+".$.name")
		}
		p.advance()
	}
	if p.tok.kind != "$" {
		return p.unexpected("a path like $.name", p.pathHint(o.Side))
	}
	p.advance()
	return nil
}

// aggregate reads count, or the name of another aggregate and its colon.
func (p *parser) aggregate(o *onto.Operand) error {
	f := onto.Func(p.tok.text)
	if f != onto.FuncCount && !slices.Contains(funcs(), f) {
		return p.unknownAggregate()
	}
	if !p.having {
		return noAggregate(p.tok.column, f)
	}
	o.Func = f
	p.advance()
	if f == onto.FuncCount {
		return nil
	}
	if p.tok.kind != ":" {
		return p.unexpected(": after "+string(f), "write "+string(f)+":$.name")
	}
	p.advance()
	return nil
}

// unknownAggregate is the error that a name is used like an aggregate, if it is.
func (p *parser) unknownAggregate() error {
	q := *p
	if q.advance(); q.tok.kind != ":" || p.word("left") || p.word("right") {
		return nil
	}
	q.advance()
	if q.atPath() || p.having && !q.tok.fold("asc", "desc") {
		return fault(p.tok.column, "there is no aggregate %s", p.tok).WithHint(useAggregates)
	}
	return nil
}

// step reads what follows a dot: a name, any() or any_path(), or the name of a
// test, which it returns.
func (p *parser) step(o *onto.Operand) (call token, err error) {
	at := p.tok
	if at.kind != nameToken && at.kind != textToken {
		return call, p.unexpected("a name", "put names that are not plain words in quotes")
	}
	p.advance()
	if at.kind == nameToken && p.tok.kind == "(" {
		if at.text == "any" || at.text == "any_path" {
			return call, p.some(o, at)
		}
		if slices.Contains(onto.Periods(), onto.Period(at.text)) {
			return call, p.period(o, at)
		}
		return at, nil
	}
	name, err := at.name()
	switch {
	case err != nil:
		return call, err
	case o.Func == onto.FuncCount:
		return call, fault(at.column, "count takes no path")
	case o.Any:
		return call, fault(at.column, "no path can follow any()").WithHint("write .any_path(%s)", quote(segment(shorten(name))))
	case o.Per != "":
		return call, fault(at.column, "no path can follow %s()", o.Per)
	}
	if o.Path = append(o.Path, name); len(o.Path) > maxNames {
		return call, tooManyNames(o.Column)
	}
	return call, nil
}

// name is the name that a token stands for.
func (t token) name() (string, error) {
	if t.kind == nameToken {
		return t.text, nil
	}
	quoted, err := t.canonical()
	if err != nil {
		return "", err
	}
	return codec.Unquote(quoted), nil
}

func tooManyNames(column int) error {
	return fault(column, "the path has more than %d names", maxNames).WithHint("no value lies that deep")
}

// some reads the brackets of any() or any_path("a.b").
func (p *parser) some(o *onto.Operand, method token) error {
	if len(o.Path) == 0 {
		return fault(method.column, "expected a field before %s()", method)
	}
	if o.Any {
		return fault(method.column, "%s() cannot follow any()", method).
			WithHint(`to look inside the elements, write .any_path("name")`)
	}
	o.Any = true
	p.advance()
	if method.text == "any_path" {
		if p.tok.kind != textToken {
			return p.unexpected("a path in quotes", `write any_path("name"), or any() for the elements themselves`)
		}
		under, err := p.tok.path()
		if err != nil {
			return err
		}
		o.Under = under
		p.advance()
	}
	if p.tok.kind != ")" {
		hint := ""
		if method.text == "any" && p.tok.kind == textToken {
			hint = "to look inside the elements, write any_path(" + p.tok.String() + ")"
		}
		return p.unexpected(")", hint)
	}
	p.advance()
	return nil
}

// period reads the brackets of day(), week(), month() or year().
func (p *parser) period(o *onto.Operand, method token) error {
	switch {
	case len(o.Path) == 0:
		return fault(method.column, "expected a field before %s()", method)
	case o.Any || o.Per != "":
		return fault(method.column, "%s() follows a field, and nothing else", method)
	case !p.having:
		return noPeriod(method.column, *o, onto.Period(method.text))
	}
	o.Per = onto.Period(method.text)
	if p.advance(); p.tok.kind != ")" {
		return p.unexpected(")", "")
	}
	p.advance()
	return nil
}

// path reads the path that a text token holds: names with dots between them.
func (t token) path() ([]string, error) {
	text, err := t.name()
	if err != nil {
		return nil, err
	}
	in := lexer{rest: text, column: t.column + 1}
	if strings.Contains(t.text, `\`) {
		in.column, in.still = t.column, true
	}
	var names []string
	for {
		in.advance()
		if in.tok.kind != nameToken && in.tok.kind != textToken {
			return nil, in.unexpected("a name", "write names with dots between them, without $")
		}
		name, err := in.tok.name()
		if err != nil {
			return nil, err
		}
		if names = append(names, name); len(names) > maxNames {
			return nil, tooManyNames(t.column)
		}
		if in.advance(); in.tok.kind == endToken {
			return names, nil
		}
		if in.tok.kind != "." {
			return nil, in.unexpected(". or the end of the path", "")
		}
	}
}
