// Package sqlgen turns filters, orders and aggregates into SQL. What is the
// same for all engines is in the compiler; what differs is a [Dialect], one
// file each.
//
// No user input becomes part of a statement's text: values and paths are bound. The one
// exception is a name that the schema has, in the place where an index needs to see it.
package sqlgen

import "strings"

// Part is a piece of SQL with the values of its placeholders, in order.
type Part struct {
	SQL  string
	Args []any
}

// constant is SQL in the program's source. A variable does not become one without a
// conversion.
type constant string

// SQL fills the placeholders of a text, which must be a constant: a Part takes
// the place of its ?, any other value is bound there.
func SQL(text constant, fill ...any) Part {
	b := newBuilder(len(text), fill)
	for _, f := range fill {
		before, after, _ := strings.Cut(string(text), "?")
		b.sql.WriteString(before)
		b.add(f)
		text = constant(after)
	}
	b.sql.WriteString(string(text))
	return b.part()
}

// Join puts parts together with a text between them.
func Join(between constant, parts ...Part) Part {
	size, args := len(parts)*len(between), 0
	for _, p := range parts {
		size, args = size+len(p.SQL), args+len(p.Args)
	}
	b := builder{args: make([]any, 0, args)}
	b.sql.Grow(size)
	for i, p := range parts {
		if i > 0 {
			b.sql.WriteString(string(between))
		}
		b.add(p)
	}
	return b.part()
}

// All is the condition that each of the parts is true.
func All(parts ...Part) Part { return combine(" AND ", "TRUE", parts) }

// Either is the condition that one of the parts is true.
func Either(parts ...Part) Part { return combine(" OR ", "FALSE", parts) }

func combine(between, none constant, parts []Part) Part {
	switch len(parts) {
	case 0:
		return SQL(none)
	case 1:
		return parts[0]
	}
	return SQL("(?)", Join(between, parts...))
}

type builder struct {
	sql  strings.Builder
	args []any
}

// newBuilder makes room for what will be filled in.
func newBuilder(size int, fill []any) *builder {
	args := 0
	for _, f := range fill {
		if p, ok := f.(Part); ok {
			size, args = size+len(p.SQL), args+len(p.Args)
		} else {
			size, args = size+1, args+1
		}
	}
	b := &builder{args: make([]any, 0, args)}
	b.sql.Grow(size)
	return b
}

func (b *builder) add(v any) {
	if p, ok := v.(Part); ok {
		b.sql.WriteString(p.SQL)
		b.args = append(b.args, p.Args...)
		return
	}
	b.sql.WriteByte('?')
	b.args = append(b.args, v)
}

func (b *builder) part() Part { return Part{b.sql.String(), b.args} }
