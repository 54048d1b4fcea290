package filter

import (
	"fmt"
	"unicode/utf8"

	"github.com/ontologia/onto"
)

// Parse reads a filter. An error points at the column, counted in characters.
//
// Besides conditions, true and false stand for the empty And and the empty Or.
func Parse(text string) (onto.Filter, error) { return parse(text, false) }

// ParseHaving reads a filter on groups: besides what was grouped by, its
// operands are aggregates, as in count > 3 & sum:$.seats >= 10.
func ParseHaving(text string) (onto.Filter, error) { return parse(text, true) }

func parse(text string, having bool) (onto.Filter, error) {
	p, err := newParser(text, having)
	if err != nil {
		return nil, err
	}
	if p.tok.kind == endToken {
		return nil, fault(p.tok.column, "the filter is empty").WithHint(`write a condition like $.tier == "Gold"`)
	}
	f, err := p.or()
	if err != nil {
		return nil, err
	}
	if p.tok.kind != endToken {
		return nil, p.unexpected("& or |", p.joinHint(""))
	}
	return f, nil
}

// parser reads filters by recursive descent.
type parser struct {
	lexer
	having     bool // aggregates are operands
	depth      int  // how many brackets and nots are around
	height     int  // how many And, Or and Not are inside each other in what was read last
	conditions int
	values     int // in the lists of in_
}

func newParser(text string, having bool) (*parser, error) {
	if len(text) > maxText {
		return nil, fault(0, "the text has %d bytes, the limit is %d", len(text), maxText)
	}
	for i, r := range text {
		if _, size := utf8.DecodeRuneInString(text[i:]); r == utf8.RuneError && size == 1 {
			return nil, fault(utf8.RuneCountInString(text[:i])+1, "the text is not valid UTF-8")
		}
	}
	p := &parser{lexer: lexer{rest: text, column: 1}, having: having}
	p.advance()
	return p, nil
}

// comes reports whether the next token is an operator in one of its spellings.
func (p *parser) comes(sign, word string) bool {
	return p.tok.kind == sign || p.word(word)
}

// word reports whether the next token is that name.
func (p *parser) word(name string) bool { return p.tok.kind == nameToken && p.tok.text == name }

func (p *parser) or() (onto.Filter, error) {
	list, err := p.chain("|", "or", p.and)
	if err != nil || len(list) > 1 {
		return onto.Or(list), err
	}
	return list[0], nil
}

func (p *parser) and() (onto.Filter, error) {
	list, err := p.chain("&", "and", p.unary)
	if err != nil || len(list) > 1 {
		return onto.And(list), err
	}
	return list[0], nil
}

// chain reads one part or more with an operator between them.
func (p *parser) chain(sign, word string, part func() (onto.Filter, error)) ([]onto.Filter, error) {
	column := p.tok.column
	var list []onto.Filter
	for highest := 0; ; p.advance() {
		f, err := part()
		if err != nil {
			return nil, err
		}
		list, highest = append(list, f), max(highest, p.height)
		if p.comes(sign, word) {
			continue
		}
		if len(list) > 1 {
			p.height = highest + 1
		}
		if p.height > maxDepth {
			return nil, tooDeep(column)
		}
		return list, nil
	}
}

func (p *parser) unary() (onto.Filter, error) {
	if p.tok.kind == "(" || p.comes("~", "not") {
		return p.nested()
	}
	p.height = 0
	if p.conditions++; p.conditions > maxConditions {
		return nil, tooManyConditions(p.tok.column)
	}
	switch {
	case p.word("true"):
		p.advance()
		return onto.And{}, nil
	case p.word("false"):
		p.advance()
		return onto.Or{}, nil
	}
	return p.condition()
}

// nested reads what is in brackets, or behind a not.
func (p *parser) nested() (onto.Filter, error) {
	open := p.tok
	if p.depth++; p.depth > maxDepth {
		return nil, tooDeep(open.column)
	}
	defer func() { p.depth-- }()
	p.advance()
	if open.kind != "(" {
		of, err := p.unary()
		p.height++
		return onto.Not{Of: of}, err
	}
	f, err := p.or()
	if err != nil {
		return nil, err
	}
	if p.tok.kind != ")" {
		return nil, p.unexpected("& or | or )", p.joinHint(fmt.Sprintf("the bracket of column %d is open", open.column)))
	}
	p.advance()
	return f, nil
}
