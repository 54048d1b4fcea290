package jq

import (
	"fmt"
	"math"
	"strings"

	"github.com/itchyny/gojq"
)

// function is a Go function that programs call by way of bounded.jq. It gets the
// input and the arguments after the first, which is the state of the run.
type function func(w *watch, v any, args []any) any

// functions are what bounded.jq and bound need besides the interpreter's own. A
// check returns its input.
var functions = map[string]function{
	"__whole":     check(func(w *watch, _ any, args []any) { w.whole(args[0]) }),
	"__sortable":  check(func(w *watch, _ any, args []any) { w.sortable(args[0]) }),
	"__sum":       check(func(w *watch, _ any, args []any) { w.sum(args[0], args[1]) }),
	"__total":     check(func(w *watch, v any, _ []any) { w.sum(values(v)...) }),
	"__product":   check(func(w *watch, _ any, args []any) { w.product(args[0], args[1]) }),
	"__joint":     check(func(w *watch, v any, args []any) { joint(w, values(v), args[0]) }),
	"__parts":     check(func(w *watch, _ any, args []any) { parts(w, args[0], args[1]) }),
	"__letters":   check(func(w *watch, v any, _ []any) { parts(w, v, "") }),
	"__cells":     check(func(w *watch, v any, _ []any) { cells(w, v) }),
	"__readable":  check(func(w *watch, v any, _ []any) { readable(w, v) }),
	"__digits":    check(func(w *watch, v any, _ []any) { digits(w, v) }),
	"__order":     check(func(w *watch, _ any, args []any) { order(w, args[0]) }),
	"__path":      check(func(w *watch, _ any, args []any) { w.path(args[0]) }),
	"__subscript": check(func(w *watch, v any, _ []any) { subscript(w, v) }),
	"__timeformat": check(func(w *watch, _ any, args []any) {
		if f, ok := args[0].(string); ok && len(f) > maxFormat {
			w.stop("a format of times has more than %d bytes", maxFormat)
		}
	}),

	"__equal":     func(w *watch, _ any, args []any) any { return w.compare(args[0], args[1]) == 0 },
	"__notequal":  func(w *watch, _ any, args []any) any { return w.compare(args[0], args[1]) != 0 },
	"__greater":   func(w *watch, _ any, args []any) any { return w.compare(args[0], args[1]) > 0 },
	"__less":      func(w *watch, _ any, args []any) any { return w.compare(args[0], args[1]) < 0 },
	"__greatereq": func(w *watch, _ any, args []any) any { return w.compare(args[0], args[1]) >= 0 },
	"__lesseq":    func(w *watch, _ any, args []any) any { return w.compare(args[0], args[1]) <= 0 },

	"__json":     func(w *watch, v any, _ []any) any { return asJSON(w, v) },
	"__text":     func(w *watch, v any, _ []any) any { return asText(w, v) },
	"__concat":   func(w *watch, _ any, args []any) any { return concatenate(w, args) },
	"__contains": func(w *watch, _ any, args []any) any { return contains(w, args[0], args[1]) },
	"__without":  func(w *watch, _ any, args []any) any { return without(w, args[0].([]any), args[1].([]any)) },
	"__indices":  func(w *watch, v any, args []any) any { return find(w, "indices", v, args[0]) },
	"__index":    func(w *watch, v any, args []any) any { return find(w, "index", v, args[0]) },
	"__rindex":   func(w *watch, v any, args []any) any { return find(w, "rindex", v, args[0]) },

	"__setpath":  func(w *watch, v any, args []any) any { return setPath(w, v, args[0], args[1]) },
	"__delpaths": func(w *watch, v any, args []any) any { return deletePaths(w, v, args[0]) },
	"__edit":     func(_ *watch, v any, _ []any) any { return newEditor(v) },
	"__current":  func(w *watch, v any, args []any) any { return v.(*editor).current(w, args[0]) },
	"__put":      func(w *watch, v any, args []any) any { return args[0].(*editor).put(w, args[1], v) },
	"__drop":     func(_ *watch, v any, args []any) any { return v.(*editor).drop(args[0]) },
	"__edited":   func(w *watch, v any, _ []any) any { return v.(*editor).edited(w) },
}

func check(f func(w *watch, v any, args []any)) function {
	return func(w *watch, v any, args []any) any {
		f(w, v, args)
		return v
	}
}

// options gives the functions to the compiler.
func options() []gojq.CompilerOption {
	list := []gojq.CompilerOption{gojq.WithVariables([]string{runVariable})}
	for name, f := range functions {
		list = append(list, gojq.WithFunction(name, 1, maxArgs, callable(f)))
	}
	expressions := &expressions{}
	match := func(w *watch, v any, args []any) any {
		return expressions.match(w, v, args[0], args[1], args[2] == true)
	}
	return append(list, gojq.WithFunction("__match", 4, 4, callable(match)))
}

func callable(f function) func(any, []any) any {
	return func(v any, args []any) (result any) {
		defer func() {
			if r := recover(); r != nil {
				if _, ok := r.(stopped); !ok {
					panic(r)
				}
				result = stopped{}
			}
		}()
		return f(args[0].(*watch), v, args[1:])
	}
}

// values returns what a list or an object holds.
func values(v any) []any {
	switch v := v.(type) {
	case []any:
		return v
	case map[string]any:
		list := make([]any, 0, len(v))
		for _, e := range v {
			list = append(list, e)
		}
		return list
	}
	return nil
}

// asJSON is a value as JSON, as the interpreter writes it.
func asJSON(w *watch, v any) any {
	w.whole(v)
	text, err := gojq.Marshal(v)
	if err != nil {
		return err
	}
	return string(text)
}

// asText is a text as it is, and anything else as JSON.
func asText(w *watch, v any) any {
	if text, ok := v.(string); ok {
		return text
	}
	return asJSON(w, v)
}

func concatenate(w *watch, args []any) any {
	w.sum(args...)
	var b strings.Builder
	for _, a := range args {
		text, ok := a.(string)
		if !ok {
			return fmt.Errorf("cannot add: %s and %s", described(b.String()), described(a))
		}
		b.WriteString(text)
	}
	return b.String()
}

// described is a value in a message, as the interpreter has it.
func described(v any) string {
	if v == nil {
		return "null"
	}
	return gojq.TypeOf(v) + " (" + gojq.Preview(v) + ")"
}

// joint stops the run if a list is too much to be joined.
func joint(w *watch, list []any, separator any) {
	size := 0
	for _, v := range list {
		if size += shallow(v) + shallow(separator); size > MaxValue {
			w.tooLarge()
		}
	}
}

// parts stops the run if a text falls into too many parts.
func parts(w *watch, v, separator any) {
	text, ok := v.(string)
	sep, isText := separator.(string)
	if ok && isText && len(text) > maxParts && strings.Count(text, sep) > maxParts {
		w.stop("a text falls into more than %d parts", maxParts)
	}
}

// cells stops the run if a table is too large to be transposed: its lines are padded to
// the longest.
func cells(w *watch, v any) {
	lines, _ := v.([]any)
	longest := 0
	for _, line := range lines {
		if line, ok := line.([]any); ok {
			longest = max(longest, len(line))
		}
	}
	if longest > 0 && len(lines) > maxParts/longest {
		w.stop("a table has more than %d cells", maxParts)
	}
}

// readable stops the run if a text is JSON of too many values, or with numbers
// that are too long.
func readable(w *watch, v any) {
	text, _ := v.(string)
	if len(text) > MaxValue {
		w.tooLarge()
	}
	parts, digits, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{' || c == ',':
			if parts++; parts > maxParts {
				w.stop("a text is JSON of more than %d values", maxParts)
			}
			digits = 0
		case c >= '0' && c <= '9':
			if digits++; digits > maxDigits {
				w.stop("a number has more than %d digits", maxDigits)
			}
		}
	}
}

// digits stops the run if a text is a number that is too long.
func digits(w *watch, v any) {
	text, _ := v.(string)
	if len(text) > maxDigits && strings.Trim(text, "+-.eE0123456789") == "" {
		w.stop("a number has more than %d digits", maxDigits)
	}
}

func order(w *watch, v any) {
	if n, ok := number(v); ok && math.Abs(n) > maxOrder {
		w.stop("a Bessel function has an order above %d", maxOrder)
	}
}

// path stops the run if a path is too long, or one of its steps takes too long.
func (w *watch) path(v any) {
	path, _ := v.([]any)
	if len(path) > maxNesting {
		w.stop("a path has more than %d steps", maxNesting)
	}
	for _, step := range path {
		subscript(w, step)
	}
}

// subscript stops the run if an index is a list that takes long to find in another one.
// Lists in lists are found by indices.
func subscript(w *watch, v any) {
	const most = 64
	if list, ok := v.([]any); ok && w.measure(list, 0, 0) > most {
		w.stop("an index is a list of more than %d bytes of JSON; use indices", most)
	}
}
