package filter

import (
	"encoding/json"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// Row is the input of a filter: canonical JSON objects. Left and Right are nil if there
// is no such endpoint.
type Row struct{ Own, Left, Right json.RawMessage }

// Value returns the canonical value that an operand without Any leads to, or nil if it
// is missing or null. For an aggregate it is the input.
func (r *Row) Value(o onto.Operand) json.RawMessage { return r.value(&o) }

func (r *Row) value(o *onto.Operand) json.RawMessage {
	v := notNull(codec.Find(r.side(o.Side), o.Path))
	if o.Per != "" {
		return periodOf(o.Per, v)
	}
	return v
}

func (r *Row) side(s onto.Side) json.RawMessage {
	switch s {
	case onto.LeftSide:
		return r.Left
	case onto.RightSide:
		return r.Right
	}
	return r.Own
}

// Match reports whether a checked filter is true for a row. For many rows, use
// Compile.
func Match(f onto.Filter, r *Row) bool { return Compile(f).Match(r) }

// MatchGroup reports whether a checked filter on groups is true for one. For
// many groups, use CompileHaving.
func MatchGroup(f onto.Filter, by, compute []onto.Operand, g *onto.Group) bool {
	return CompileHaving(f, by, compute).MatchGroup(g)
}

// Matcher is a filter prepared for many rows or groups. It may be used
// concurrently.
type Matcher struct{ root node }

// Compile prepares a checked filter for rows. A nil filter is true. A filter that Check
// would refuse has no defined meaning, but does no harm.
func Compile(f onto.Filter) *Matcher { return compile(f, nil) }

// CompileHaving prepares a checked filter on groups for groups that have these
// values.
func CompileHaving(f onto.Filter, by, compute []onto.Operand) *Matcher {
	columns := map[string]int{}
	for i, o := range slices.Concat(by, compute) {
		columns[FormatOperand(o)] = i
	}
	return compile(f, columns)
}

// Match reports whether the filter is true for a row.
func (m *Matcher) Match(r *Row) bool { return m.root.match(input{row: r}) }

// MatchGroup reports whether the filter is true for a group.
func (m *Matcher) MatchGroup(g *onto.Group) bool { return m.root.match(input{group: g}) }

// input is what is matched: a row or a group.
type input struct {
	row   *Row
	group *onto.Group
}

// node is a part of a prepared filter.
type node interface{ match(in input) bool }

type (
	allOf    []node
	someOf   []node
	negation struct{ of node }
)

func (n allOf) match(in input) bool {
	for _, part := range n {
		if !part.match(in) {
			return false
		}
	}
	return true
}

func (n someOf) match(in input) bool {
	for _, part := range n {
		if part.match(in) {
			return true
		}
	}
	return false
}

func (n negation) match(in input) bool { return !n.of.match(in) }

// compile prepares a filter. Columns tell where a group has its values; they
// are nil for rows.
func compile(f onto.Filter, columns map[string]int) *Matcher {
	if f == nil {
		return &Matcher{allOf{}}
	}
	if err := each(f, func(onto.Condition) {}); err != nil {
		return &Matcher{someOf{}}
	}
	return &Matcher{prepare(f, columns)}
}

func prepare(f onto.Filter, columns map[string]int) node {
	switch f := f.(type) {
	case onto.And:
		return allOf(prepareAll(f, columns))
	case onto.Or:
		return someOf(prepareAll(f, columns))
	case onto.Not:
		return negation{prepare(f.Of, columns)}
	case onto.Condition:
		return prepareCondition(f, columns)
	}
	return someOf{}
}

func prepareAll(list []onto.Filter, columns map[string]int) []node {
	nodes := make([]node, len(list))
	for i, f := range list {
		nodes[i] = prepare(f, columns)
	}
	return nodes
}

func prepareCondition(c onto.Condition, columns map[string]int) node {
	p, ok := newPredicate(c)
	if !ok {
		return someOf{}
	}
	if columns != nil {
		at, ok := columns[FormatOperand(c.Operand)]
		if !ok {
			return someOf{}
		}
		return column{at, p}
	}
	if c.Operand.Any {
		return &element{c.Operand, p}
	}
	return &field{c.Operand, p}
}

// field tests a value of a row.
type field struct {
	operand onto.Operand
	p       *predicate
}

func (n *field) match(in input) bool { return n.p.holds(in.row.value(&n.operand)) }

// element tests the elements of a list in a row.
type element struct {
	operand onto.Operand
	p       *predicate
}

func (n *element) match(in input) bool {
	list := in.row.value(&n.operand)
	if list == nil || list[0] != '[' {
		return false
	}
	for v := range codec.Elements(list) {
		if n.p.holds(notNull(codec.Find(v, n.operand.Under))) {
			return true
		}
	}
	return false
}

// column tests a value of a group.
type column struct {
	at int // first those of By, then those of Values
	p  *predicate
}

func (n column) match(in input) bool {
	by := in.group.By
	if n.at < len(by) {
		return n.p.holds(notNull(by[n.at]))
	}
	return n.p.holds(notNull(in.group.Values[n.at-len(by)]))
}
