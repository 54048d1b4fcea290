package filter

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// The kinds of tokens. Those of operators and brackets are the token itself.
const (
	endToken    = "the end"
	nameToken   = "name"
	textToken   = "text"
	numberToken = "number"
	badToken    = "bad"
)

type token struct {
	kind   string
	text   string // as it stands in the filter
	column int
	still  bool // all of it counts as one column
}

// lexer splits a filter into tokens. Invalid text becomes a bad token, and failed says
// why.
type lexer struct {
	rest   string
	column int // of rest
	tok    token
	failed *onto.Error
	still  bool // the column stays, since the filter shows something else than rest
}

// advance reads the next token into tok. It stops at a bad one.
func (l *lexer) advance() {
	if l.tok.kind == badToken {
		return
	}
	blank := len(l.rest) - len(strings.TrimLeft(l.rest, " \t\r\n"))
	l.skip(blank)
	kind, length := l.next()
	l.tok = token{kind, l.rest[:length], l.column, l.still}
	l.skip(length)
}

func (l *lexer) skip(length int) {
	if !l.still {
		l.column += utf8.RuneCountInString(l.rest[:length])
	}
	l.rest = l.rest[length:]
}

// next tells the kind and the length in bytes of the next token.
func (l *lexer) next() (kind string, length int) {
	if l.rest == "" {
		return endToken, 0
	}
	switch c := l.rest[0]; {
	case isLetter(c):
		return nameToken, l.run(func(c byte) bool { return isLetter(c) || isDigit(c) })
	case isDigit(c) || c == '-':
		return numberToken, l.run(func(c byte) bool {
			return isLetter(c) || isDigit(c) || c == '.' || c == '+' || c == '-'
		})
	case c == '"':
		return l.quoted()
	}
	for _, s := range []string{
		"==", "!=", "<=", ">=", "<>", "&&", "||", "<", ">", "&", "|", "~", "$", ".", ",", ":", "(", ")", "[", "]", "{", "}",
	} {
		if strings.HasPrefix(l.rest, s) {
			return l.sign(s)
		}
	}
	return l.unknown()
}

func (l *lexer) run(in func(byte) bool) int {
	n := 1
	for n < len(l.rest) && in(l.rest[n]) {
		n++
	}
	return n
}

func (l *lexer) quoted() (string, int) {
	for i := 1; i < len(l.rest); i++ {
		switch l.rest[i] {
		case '\\':
			i++
		case '"':
			return textToken, i + 1
		}
	}
	return l.bad(fault(l.column, "the text that begins here has no end").WithHint(`close it with "`))
}

func (l *lexer) sign(s string) (string, int) {
	instead := ""
	switch s {
	case "&&", "||":
		instead = s[:1]
	case "<>":
		instead = "!="
	default:
		return s, len(s)
	}
	return l.bad(fault(l.column, "%s is unknown", s).WithHint("write %s", instead))
}

func (l *lexer) unknown() (string, int) {
	r, _ := utf8.DecodeRuneInString(l.rest)
	err := fault(l.column, "unexpected %q", r)
	switch r {
	case '=':
		err = err.WithHint("write == to compare")
	case '!':
		err = err.WithHint("write ~ for not")
	case '\'', '“', '”', '‘', '’', '`':
		err = err.WithHint(`put texts in plain double quotes: "Gold"`)
	case '+':
		err = err.WithHint("write the number without +")
	}
	if unicode.IsLetter(r) {
		err = err.WithHint("put names that are not plain words in quotes")
	}
	return l.bad(err)
}

func (l *lexer) bad(err *onto.Error) (string, int) {
	l.failed = err
	return badToken, 0
}

// unexpected is the error that something else should stand here. The hint may
// be empty.
func (l *lexer) unexpected(want, hint string) error {
	if l.failed != nil {
		return l.failed
	}
	return fault(l.tok.column, "expected %s, found %s", want, l.tok).WithHint("%s", hint)
}

// String names a token for messages.
func (t token) String() string {
	if t.kind == endToken {
		return t.kind
	}
	return shorten(t.text)
}

func isLetter(c byte) bool { return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// canonical returns the canonical JSON of a text or a number token.
func (t token) canonical() ([]byte, error) {
	canonical, err := codec.AppendCanonical(nil, []byte(t.text))
	if err == nil {
		return canonical, nil
	}
	column, message := t.column, err.Error()
	if e := (*codec.SyntaxError)(nil); errors.As(err, &e) {
		message = e.Msg
		if !t.still {
			column += utf8.RuneCountInString(t.text[:e.Offset])
		}
	}
	return nil, fault(column, "%s", message)
}

// shorten cuts a text from the input down to what a message can bear.
func shorten(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	end := most
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
