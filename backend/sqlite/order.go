package sqlite

import (
	"math"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/sqlgen"
)

// smallPage is how many rows SQLite sorts efficiently while it searches for the first
// of them: a page of 1,000, and the row that tells whether there is another page. For
// more it is faster to sort them all, and to cut the page out of the result.
const smallPage = 1000 + 1

// answer is statements that yield the versions of a question, one after the other, and
// the window to take of them.
type answer struct {
	statements []sqlgen.Part
	skip       int // so many of the first
	take       int // at most so many; 0 for all
}

// versions is how the versions of a question are found.
func (a *question) versions() answer {
	q := a.Query
	if a.plain != "" {
		return answer{statements: []sqlgen.Part{a.statement(nil, nil, 0, 0)}}
	}
	keys, places, offset := a.Keys, a.Places(), max(0, q.Offset)
	switch {
	case a.followsIndex():
		return answer{a.alongIndex(keys, places, offset+q.Limit), offset, q.Limit}
	case len(keys) > 0 && (q.Limit <= 0 || q.Limit+offset > smallPage):
		return answer{[]sqlgen.Part{a.statement(a.After(keys, places), keys, 0, 0)}, offset, q.Limit}
	}
	return answer{statements: []sqlgen.Part{a.statement(a.After(keys, places), keys, offset, q.Limit)}}
}

// statement selects versions, sorted by the keys and then in the order of the
// mode.
func (a *question) statement(further []sqlgen.Part, keys []sqlgen.Key, skip, take int) sqlgen.Part {
	s := &a.source
	statement := sqlgen.Select{
		Columns: sqlgen.SQL("?, ?.commit_id, ?.op, ?.schema_version_id, ?, ?",
			raw(a.t.List(s.keys)), raw(s.row), raw(s.row), raw(s.row), raw(s.output), raw(a.t.Sum(s.row))),
		From: s.from, Where: slices.Concat(s.where, a.Where, further),
		Keys: keys, Order: s.order, Skip: skip, Take: take,
	}
	return statement.Statement(a.Scope.Dialect)
}

// followsIndex reports whether the page is found by going along an index until it is
// full. With a filter that could fetch every row in the order of the index, which is
// slower than sorting.
func (a *question) followsIndex() bool {
	q, s := a.Query, a.Scope.Own.Schema
	if a.source.narrowed || len(a.Where) > 0 || len(q.Order) == 0 || q.Limit <= 0 || q.Limit+q.Offset > smallPage || !a.Scope.Own.Obeyed || s == nil {
		return false
	}
	o := q.Order[0].Operand
	if o.Side != onto.OwnSide {
		return false
	}
	f, _, ok := s.Lookup(o.Path)
	_, sortable := least(f.Type)
	return ok && f.Index && sortable
}

// alongIndex is the rows with a value, for which the index is followed from its least
// value or from the place on, and then those without.
func (a *question) alongIndex(keys []sqlgen.Key, places []any, most int) []sqlgen.Part {
	first := keys[0]
	present, absent := first, []sqlgen.Part{sqlgen.SQL("? IS NULL", first.Expression)}
	present.Nullable = false
	var list []sqlgen.Part
	if places == nil || places[0] != nil {
		there := append([]sqlgen.Key{present}, keys[1:]...)
		further := a.After(there, places)
		if places == nil { // a place is a bound itself, and SQLite would start at the first one it reads
			f, _, _ := a.Scope.Own.Schema.Lookup(a.Query.Order[0].Operand.Path)
			from, _ := least(f.Type)
			further = []sqlgen.Part{sqlgen.SQL("? >= ?", first.Expression, from)}
		}
		list = append(list, a.statement(further, there, 0, most))
	} else {
		absent = append(absent, a.After(keys[1:], places[1:])...)
	}
	if !first.Nullable {
		return list
	}
	return append(list, a.statement(absent, keys[1:], 0, most))
}

// least is a lower bound of all values of a type. It reports false for types that are
// not sorted by the value alone.
func least(t onto.FieldType) (any, bool) {
	switch t {
	case onto.String, onto.Time, onto.DateOnly:
		return "", true
	case onto.Int:
		return int64(math.MinInt64), true
	case onto.Float:
		return -math.MaxFloat64, true
	case onto.Bool:
		return int64(0), true
	}
	return nil, false
}
