package object

import (
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/filter"
)

// Clause is what a read is about: conditions, an order and a part of the answer. [Where]
// begins one that has conditions, and [All] one that has none. It is a value and can be used
// many times. The conditions of a clause are checked against the type of the set before
// anything is asked: paths that lead to no field and values of another type are Invalid.
type Clause interface{ clause() *query }

// query is the content of a clause. It is never changed.
type query struct {
	any    []onto.And // one of them holds; none stands for no condition
	search string
	order  []onto.Order

	limit, perShard, offset int
	cursor                  string
	err                     error
}

// with returns a changed copy.
func (q *query) with(change func(*query)) *query {
	changed := *q
	change(&changed)
	return &changed
}

// and returns a copy with a condition added to the last alternative.
func (q *query) and(f onto.Filter, err error) *query {
	return q.with(func(q *query) {
		if q.err == nil {
			q.err = err
		}
		if len(q.any) == 0 {
			q.any = []onto.And{{f}}
			return
		}
		q.any = slices.Clone(q.any)
		last := &q.any[len(q.any)-1]
		*last = append((*last)[:len(*last):len(*last)], f)
	})
}

// or returns a copy with a further alternative, to which conditions are added from then on.
func (q *query) or() *query {
	return q.with(func(q *query) { q.any = append(q.any[:len(q.any):len(q.any)], onto.And{}) })
}

// words returns a copy with words to search for, all of which must occur.
func (q *query) words(text string) *query {
	return q.with(func(q *query) {
		if strings.TrimSpace(text) == "" && q.err == nil {
			q.err = onto.Errorf(onto.Invalid, "the text to search for is empty").WithHint("leave out Search to find all objects")
		}
		q.search = strings.TrimSpace(q.search + " " + text)
	})
}

// filter is the condition of the clause; nil for none.
func (q *query) filter() onto.Filter {
	if len(q.any) == 0 {
		return nil
	}
	var or onto.Or
	for _, and := range q.any {
		or = append(or, and)
	}
	return or
}

// All is the clause of all objects.
func All() Selection { return Selection{&query{}} }

// Where begins a clause with conditions:
//
//	object.Where().Key("sender").Equal("ana").And().Key("sent").GreaterThan(monday).OrderByDesc("sent").Limit(20)
//
// And binds tighter than Or. Conditions that need parentheses are a [onto.Filter].
func Where() Start {
	return Start{step[Condition]{&query{}, func(q *query) Condition { return Condition{Selection{q}} }}}
}

// Start is a clause that expects a condition, or words to search for.
type Start struct{ step[Condition] }

// Search asks for the objects in whose texts all the words occur. A star after a word stands
// for any ending. The set needs WithTextSearch. A search joins conditions by And only.
func (s Start) Search(text string) Search { return Search{Selection{s.q.words(text)}} }

// Condition is a clause with conditions that are joined by And so far.
type Condition struct{ Selection }

// And goes on with a condition that must hold as well.
func (c Condition) And() Start {
	return Start{step[Condition]{c.q, func(q *query) Condition { return Condition{Selection{q}} }}}
}

// Or goes on with an alternative to all conditions before it, up to the Or before it.
func (c Condition) Or() NextEither { return nextEither(c.q.or()) }

// Either is a clause with alternatives.
type Either struct{ Selection }

// And goes on with a condition that must hold as well in the last alternative.
func (e Either) And() NextEither { return nextEither(e.q) }

// Or goes on with a further alternative.
func (e Either) Or() NextEither { return nextEither(e.q.or()) }

// NextEither is a clause with alternatives that expects a condition.
type NextEither struct{ step[Either] }

func nextEither(q *query) NextEither {
	return NextEither{step[Either]{q, func(q *query) Either { return Either{Selection{q}} }}}
}

// Search is a clause with words to search for.
type Search struct{ Selection }

// And goes on with a condition that must hold as well.
func (s Search) And() NextSearch {
	return NextSearch{step[Search]{s.q, func(q *query) Search { return Search{Selection{q}} }}}
}

// NextSearch is a clause with words to search for that expects a condition, or further words.
type NextSearch struct{ step[Search] }

// Search asks for further words.
func (s NextSearch) Search(text string) Search { return Search{Selection{s.q.words(text)}} }

// step is a clause that expects a condition; after it, it is a C.
type step[C any] struct {
	q    *query
	next func(*query) C
}

// Key begins a condition on the value at a path, such as "sender" or "address.city".
func (s step[C]) Key(path string) Operator[C] {
	o, err := operand(path)
	return Operator[C]{s, o, err}
}

// Filter adds a condition that was built otherwise.
func (s step[C]) Filter(f onto.Filter) C {
	if f == nil {
		return s.next(s.q.and(onto.And{}, onto.Errorf(onto.Invalid, "the filter is nil")))
	}
	return s.next(s.q.and(f, nil))
}

// operand is the value at a path in dot notation.
func operand(path string) (onto.Operand, error) {
	o, err := filter.ParseOperand("$." + path)
	if err != nil || o.Func != "" || o.Side != onto.OwnSide {
		return o, onto.Errorf(onto.Invalid, "%q is not a path", path).WithHint("write the names of fields with dots between them: address.city")
	}
	o.Column = 0 // it was not read from a text that the caller has
	return o, nil
}

// Operator is a clause that expects a test of a value. A value that is missing fails every
// test but IsNull.
type Operator[C any] struct {
	step    step[C]
	operand onto.Operand
	err     error
}

func (o Operator[C]) test(f onto.Filter) C { return o.step.next(o.step.q.and(f, o.err)) }

// Equal tests for equality.
func (o Operator[C]) Equal(value any) C { return o.test(o.operand.Eq(value)) }

// NotEqual tests for another value.
func (o Operator[C]) NotEqual(value any) C { return o.test(o.operand.Ne(value)) }

// LessThan tests for a lesser value.
func (o Operator[C]) LessThan(value any) C { return o.test(o.operand.Lt(value)) }

// LessThanOrEqual tests for a value that is not greater.
func (o Operator[C]) LessThanOrEqual(value any) C { return o.test(o.operand.Le(value)) }

// GreaterThan tests for a greater value.
func (o Operator[C]) GreaterThan(value any) C { return o.test(o.operand.Gt(value)) }

// GreaterThanOrEqual tests for a value that is not less.
func (o Operator[C]) GreaterThanOrEqual(value any) C { return o.test(o.operand.Ge(value)) }

// In tests for one of the values, or of the elements of a slice.
func (o Operator[C]) In(values ...any) C { return o.test(o.operand.In(values...)) }

// NotIn tests for a value that is none of these. A missing value is no such value.
func (o Operator[C]) NotIn(values ...any) C {
	return o.test(onto.And{o.operand.IsNotNull(), onto.Not{Of: o.operand.In(values...)}})
}

// Contains tests for a text that the given one is part of.
func (o Operator[C]) Contains(text string) C { return o.test(o.operand.Contains(text)) }

// StartsWith tests for a text that begins with the given one.
func (o Operator[C]) StartsWith(text string) C { return o.test(o.operand.StartsWith(text)) }

// EndsWith tests for a text that ends with the given one.
func (o Operator[C]) EndsWith(text string) C { return o.test(o.operand.EndsWith(text)) }

// IsNull tests that there is no value.
func (o Operator[C]) IsNull() C { return o.test(o.operand.IsNull()) }

// IsNotNull tests that there is a value.
func (o Operator[C]) IsNotNull() C { return o.test(o.operand.IsNotNull()) }

// Selection is a clause whose conditions are complete. Its methods return a changed copy.
type Selection struct{ q *query }

func (p Selection) clause() *query { return p.q }

// OrderBy sorts by the value at a path, the least first. Further calls sort what is equal;
// what is equal in all of them, and everything without an order, is sorted by shard key and id.
func (p Selection) OrderBy(path string) Selection { return p.sort(path, false) }

// OrderByDesc sorts by the value at a path, the greatest first.
func (p Selection) OrderByDesc(path string) Selection { return p.sort(path, true) }

// Order sorts by values that were chosen otherwise, after what it is sorted by already.
func (p Selection) Order(order ...onto.Order) Selection {
	return Selection{p.q.with(func(q *query) { q.order = append(q.order[:len(q.order):len(q.order)], order...) })}
}

func (p Selection) sort(path string, desc bool) Selection {
	o, err := operand(path)
	return Selection{p.q.with(func(q *query) {
		if q.err == nil {
			q.err = err
		}
		q.order = append(q.order[:len(q.order):len(q.order)], onto.Order{Operand: o, Desc: desc})
	})}
}

// Limit asks for at most n objects, of all shards together. 0 means all.
func (p Selection) Limit(n int) Selection { return Selection{p.q.with(func(q *query) { q.limit = n })} }

// LimitPerShard asks each shard for at most n objects, so that up to n times the number of
// shards come back. 0 means all.
func (p Selection) LimitPerShard(n int) Selection {
	return Selection{p.q.with(func(q *query) { q.perShard = n })}
}

// Offset leaves out the first n objects. A cursor is cheaper than a large offset.
func (p Selection) Offset(n int) Selection {
	return Selection{p.q.with(func(q *query) { q.offset = n })}
}

// Cursor goes on where the page ended that gave the cursor, and shows the same moment.
func (p Selection) Cursor(cursor string) Selection {
	return Selection{p.q.with(func(q *query) { q.cursor = cursor })}
}
