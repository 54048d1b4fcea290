// Package jq runs jq programs that turn one JSON object into another.
//
// A program is a pure function of its input: whatever depends on the clock, the
// time zone, the environment or further input is refused when it is compiled.
// Only the last digit of functions such as pow and sin may differ between
// processors.
//
// Programs are kept in stores, and a store may be untrusted: a program must not bring
// down the process. What one operator or function handles is limited in size and depth
// (limits.go). The interpreter has no such limits, so the program's operators are
// replaced by functions that have (bound.go), and so are the functions that it calls
// (bounded.jq, library.jq). Between the steps of the interpreter, a program that does
// not end is stopped with its context, and one that takes too much memory soon after it
// has exceeded [MaxMemory] (watch.go). A program cannot catch such a stop.
//
// Of the functions of jq that are pure, only tostream, fromstream, truncate_stream
// and JOIN are not defined: they are for streams of input and for tables, not for
// one object.
package jq

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/itchyny/gojq"
)

// MaxProgram is how many bytes a program may have.
const MaxProgram = 64 << 10

// Program is a compiled program. It may be used concurrently.
type Program struct {
	code *gojq.Code
}

// Compile reads a program. The error says what is wrong, and where if it can be
// told: at which line and column, or at which name.
func Compile(text string) (*Program, error) {
	switch {
	case len(text) > MaxProgram:
		return nil, fmt.Errorf("the program has %d bytes, the limit is %d", len(text), MaxProgram)
	case !utf8.ValidString(text):
		return nil, errors.New("the program is not valid UTF-8")
	case strings.TrimSpace(text) == "":
		return nil, errors.New("the program is empty")
	}
	query, err := gojq.Parse(text)
	if err != nil {
		return nil, located(text, err)
	}
	if query.Term == nil && query.Right == nil {
		return nil, errors.New("the program has no expression, only comments or definitions")
	}
	for _, check := range []func(*gojq.Query) error{checkDepth, checkPure, checkCalls} {
		if err := check(query); err != nil {
			return nil, err
		}
	}
	bound(query)
	if err := link(query); err != nil {
		return nil, err
	}
	code, err := gojq.Compile(query, options()...)
	if err != nil {
		return nil, err
	}
	return &Program{code}, nil
}

// located says at which line and column a program cannot be parsed.
func located(text string, err error) error {
	var parse *gojq.ParseError
	if !errors.As(err, &parse) {
		return err
	}
	offset := min(max(parse.Offset-len(parse.Token), 0), len(text))
	if !strings.HasPrefix(text[offset:], parse.Token) { // a token that was read in another form
		offset = min(parse.Offset, len(text))
	}
	before := text[:offset]
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	what := err.Error()
	if what == "unexpected EOF" {
		what = "the program ends too early"
	}
	return fmt.Errorf("line %d, column %d: %s", line, column, what)
}

// Run applies the program to a canonical JSON object and returns what it makes
// of it, which must be one object, as canonical JSON. Integers are exact. An
// error of a context that has ended is in the chain of the error.
func (p *Program) Run(ctx context.Context, fields []byte) (out []byte, err error) {
	defer func() {
		if r := recover(); r != nil { // a fault of the interpreter must not end the process
			out, err = nil, fmt.Errorf("the program cannot be run: %v", r)
		}
	}()
	w := watch{Context: ctx, done: ctx.Done()}
	results := p.code.RunWithContext(&w, decode(fields), &w)
	first, ok := results.Next()
	if !ok {
		return nil, errors.New("the program returned nothing, not an object")
	}
	if err, failed := first.(error); failed {
		return nil, w.explain(err)
	}
	second, more := results.Next()
	if err, failed := second.(error); more && failed {
		return nil, w.explain(err)
	}
	if more {
		return nil, fmt.Errorf("the program returned more than one value: %s, then %s", gojq.Preview(first), gojq.Preview(second))
	}
	object, ok := first.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the program returned %s %s, not an object", gojq.TypeOf(first), gojq.Preview(first))
	}
	return encode(object, len(fields))
}

// explain words an error of a run.
func (w *watch) explain(err error) error {
	if cause := w.Err(); cause != nil && (errors.Is(err, cause) || errors.Is(err, stopped{})) {
		return fmt.Errorf("the program was stopped: %w", cause)
	}
	text := ""
	if raised, ok := err.(gojq.ValueError); ok { // its text can be of any size
		if text, ok = raised.Value().(string); !ok {
			text = gojq.Preview(raised.Value())
		}
	} else {
		text = err.Error()
	}
	return fmt.Errorf("the program failed: %s", shorten(text))
}

// shorten cuts a text that is long for a message.
func shorten(text string) string {
	const most = 300
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	cut := most
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
