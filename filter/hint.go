package filter

import (
	"slices"
	"strings"

	"github.com/ontologia/onto"
)

// The hints here are for syntax of other languages, and cost nothing unless there is an
// error.

// ahead is a lexer one token further.
func ahead(l lexer) lexer {
	l.advance()
	return l
}

// fold reports whether a token is one of the words, in capitals or not.
func (t token) fold(words ...string) bool {
	return t.kind == nameToken && slices.Contains(words, strings.ToLower(t.text))
}

// pathHint is for where a path should stand, after a side if there is one.
func (p *parser) pathHint(side onto.Side) string {
	next := ahead(p.lexer)
	switch at := p.tok; {
	case side != onto.OwnSide:
		if at.kind == nameToken || at.kind == textToken {
			return "write " + string(side) + ".$." + at.String()
		}
	case at.kind == ".":
		if next.tok.kind == nameToken || next.tok.kind == textToken {
			return "write $." + next.tok.String()
		}
	case at.fold("not") && at.text != "not":
		return "write not"
	case at.kind == nameToken && next.tok.kind == "." && ahead(next).tok.kind == "$":
		return "write left.$ or right.$ for an endpoint"
	case at.kind == nameToken:
		return "write $." + at.String() + " for the field"
	case at.kind == textToken || at.kind == numberToken:
		return p.turnedHint()
	}
	return ""
}

// turnedHint is for a value in the place of a path, and perhaps the path in the place
// of the value.
func (p *parser) turnedHint() string {
	q := *p
	q.advance()
	test := onto.Test(q.tok.kind)
	if formOf(test) != operatorForm {
		return ""
	}
	if q.advance(); q.atOperand() {
		if o, call, err := q.operand(); err == nil && call.kind == "" {
			return "put the path first: " + shorten(FormatOperand(o)) + " " + string(turned(test)) + " " + p.tok.String()
		}
	}
	if p.tok.kind == textToken {
		if name, err := p.tok.name(); err == nil {
			return "write $." + segment(shorten(name)) + " for the field"
		}
	}
	return `put a path first, as in $.name == "x"`
}

// turned is the test with its sides swapped.
func turned(t onto.Test) onto.Test {
	switch t {
	case onto.Less:
		return onto.Greater
	case onto.AtMost:
		return onto.AtLeast
	case onto.Greater:
		return onto.Less
	case onto.AtLeast:
		return onto.AtMost
	}
	return t
}

// atPath reports whether a path begins here.
func (p *parser) atPath() bool {
	return p.tok.kind == "$" || (p.word("left") || p.word("right")) && ahead(p.lexer).tok.kind == "."
}

// atOperand reports whether a path or an aggregate of one begins here.
func (p *parser) atOperand() bool {
	q := *p
	if slices.Contains(funcs(), onto.Func(p.tok.text)) {
		q.advance() // to the colon
		q.advance()
	}
	return p.word("count") || q.atPath()
}

// joinHint is for where & or | should stand.
func (p *parser) joinHint(otherwise string) string {
	if p.tok.fold("and", "or") {
		return "write " + strings.ToLower(p.tok.text)
	}
	return otherwise
}

// testHint is for where a test of an operand should stand.
func (p *parser) testHint(o onto.Operand) string {
	path := shorten(FormatOperand(o))
	if p.tok.kind == numberToken {
		return `put names that are not plain words in quotes, as in $."content-type"`
	}
	if hint := p.wordHint(path); hint != "" {
		return hint
	}
	switch {
	case p.atJoint() && endsInTest(o):
		return "add (): " + path + "()"
	case o.Func != "":
		return "compare it, as in > 3"
	}
	return `write .is_true(), .is_not_null() or compare it, as in == "x"`
}

// atJoint reports whether a condition may end here.
func (p *parser) atJoint() bool {
	return slices.Contains([]string{endToken, ")", "&", "|"}, p.tok.kind) || p.tok.fold("and", "or")
}

// endsInTest reports whether the last name of a path would be a test if it had
// brackets.
func endsInTest(o onto.Operand) bool {
	last := len(o.Path) - 1
	return last > 0 && !o.Any && formOf(onto.Test(o.Path[last])) == emptyForm
}

// wordHint is for test words of other languages.
func (p *parser) wordHint(path string) string {
	switch {
	case p.tok.fold("in"):
		return "write " + path + ".in_([…])"
	case p.tok.fold("not"):
		return "put ~ before the path, as in ~" + path + ".in_([…])"
	case p.tok.fold("between"):
		return "write " + path + " >= … & " + path + " <= …"
	case p.tok.fold("like", "ilike"):
		return "write .startswith, .endswith or .contains"
	case p.tok.fold("is"):
		return isHint(path, ahead(p.lexer))
	}
	return ""
}

// isHint is for what follows the word is.
func isHint(path string, l lexer) string {
	test, operator := "is_", "=="
	if l.tok.fold("not") {
		test, operator = "is_not_", "!="
		l.advance()
	}
	if test += strings.ToLower(l.tok.text); formOf(onto.Test(test)) == emptyForm {
		return "write " + path + "." + test + "()"
	}
	return "write " + operator
}

// valueHint is for where the value of a test should stand.
func (p *parser) valueHint(test onto.Test) string {
	switch {
	case p.tok.fold("true", "false"):
		return "write " + strings.ToLower(p.tok.text) + `, or "` + p.tok.String() + `" for a text`
	case p.tok.fold("null"):
		return onto.HintOf(refuse(test, nil, p.tok.column)).Text
	case p.tok.kind == nameToken:
		return `put texts in double quotes: "` + p.tok.String() + `"`
	case test == onto.In && p.tok.kind == "]":
		return "leave out the last comma"
	}
	return ""
}

// directionHint is for where asc or desc should stand.
func (p *parser) directionHint(o onto.Operand) string {
	path := shorten(FormatOperand(o))
	switch {
	case p.tok.fold("asc", "ascending", "up"):
		return "write " + path + ":asc"
	case p.tok.fold("desc", "descending", "down"):
		return "write " + path + ":desc"
	}
	return "write " + path + ":asc or " + path + ":desc"
}
