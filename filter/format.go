package filter

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// Format writes a filter so that Parse reads it back, with as few brackets as possible.
// An empty And is true and an empty Or is false; nil is true. A filter that Check would
// refuse is still legible, and cut short with … beyond the limits.
func Format(f onto.Filter) string {
	w := writer{}
	w.filter(f, inOr, 1)
	return w.b.String()
}

// FormatOperand writes an operand so that ParseOperand reads it back.
func FormatOperand(o onto.Operand) string {
	w := writer{}
	w.operand(o)
	return w.b.String()
}

// place is where a filter is written; what binds less tightly than its place
// needs brackets.
type place uint8

const (
	inOr place = iota // or outermost
	inAnd
	inNot
)

type writer struct {
	b      strings.Builder
	leaves int
}

func (w *writer) filter(f onto.Filter, in place, depth int) {
	switch f := f.(type) {
	case onto.Condition:
		w.leaves++
		w.condition(f)
	case onto.And:
		w.list(f, inAnd, in, depth)
	case onto.Or:
		w.list(f, inOr, in, depth)
	case onto.Not:
		w.b.WriteByte('~')
		w.list([]onto.Filter{f.Of}, inNot, inNot, depth)
	default:
		w.leaves++
		w.b.WriteString(strconv.FormatBool(f == nil))
	}
}

// list writes what is in an And, an Or or a Not, which is its own place.
func (w *writer) list(list []onto.Filter, own, in place, depth int) {
	switch {
	case len(list) == 0:
		w.leaves++
		w.b.WriteString(strconv.FormatBool(own == inAnd))
		return
	case depth > maxDepth:
		w.b.WriteString("…")
		return
	case len(list) == 1:
		w.filter(list[0], in, depth+1)
		return
	}
	if in > own {
		w.b.WriteByte('(')
		defer w.b.WriteByte(')')
	}
	for i, f := range list {
		if i > 0 {
			w.b.WriteString([...]string{inOr: " | ", inAnd: " & "}[own])
		}
		if w.leaves >= maxConditions {
			w.b.WriteString("…")
			return
		}
		w.filter(f, own, depth+1)
	}
}

func (w *writer) condition(c onto.Condition) {
	w.operand(c.Operand)
	switch formOf(c.Test) {
	case operatorForm:
		fmt.Fprintf(&w.b, " %s ", c.Test)
		w.values(c.Values)
	case listForm:
		w.b.WriteString(".in_([")
		w.values(c.Values)
		w.b.WriteString("])")
	default:
		fmt.Fprintf(&w.b, ".%s(", c.Test)
		w.values(c.Values)
		w.b.WriteByte(')')
	}
}

func (w *writer) values(values []any) {
	for i, v := range values {
		if i > 0 {
			w.b.WriteString(", ")
		}
		canonical, err := canonicalOf(v)
		if err != nil { // Check refuses it
			canonical = quote(fmt.Sprint(v))
		}
		w.b.Write(canonical)
	}
}

// quote writes a text as JSON, without what JSON cannot hold.
func quote(s string) []byte {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	quoted, _ := codec.AppendString(nil, s)
	return quoted
}

func (w *writer) operand(o onto.Operand) {
	w.b.WriteString(string(o.Func))
	if o.Func == onto.FuncCount {
		return
	}
	if o.Func != "" {
		w.b.WriteByte(':')
	}
	if o.Side != onto.OwnSide {
		w.b.WriteString(string(o.Side) + ".")
	}
	w.b.WriteByte('$')
	for _, name := range o.Path {
		w.b.WriteByte('.')
		w.b.WriteString(segment(name))
	}
	switch {
	case o.Any && len(o.Under) == 0:
		w.b.WriteString(".any()")
	case o.Any:
		names := make([]string, len(o.Under))
		for i, name := range o.Under {
			names[i] = segment(name)
		}
		fmt.Fprintf(&w.b, ".any_path(%s)", quote(strings.Join(names, ".")))
	}
	if o.Per != "" {
		fmt.Fprintf(&w.b, ".%s()", o.Per)
	}
}

// segment writes a name as part of a path.
func segment(name string) string {
	plain := name != "" && isLetter(name[0])
	for i := range len(name) {
		plain = plain && (isLetter(name[i]) || isDigit(name[i]))
	}
	if plain {
		return name
	}
	return string(quote(name))
}
