package sqlgen

import (
	"encoding/json"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// Question is a query that is being compiled. It knows which parts of the query SQL
// does, and which are left for the process: at first all.
type Question struct {
	Query *backend.Query
	Scope Scope  // what its operands refer to
	Rows  string // the alias of the columns of the identity and of the commit

	Where []Part // the filter, as far as SQL evaluates it
	Keys  []Key  // what the order sorts by, if SQL sorts

	Filters  bool // SQL evaluates the filter exactly
	Searches bool // SQL evaluates the search exactly
	Sorts    bool // SQL puts the rows in order, and starts after the place
}

// Compile leaves the filter and the order to SQL as far as the dialect can do them
// exactly. Parts of a filter that it cannot express are left out, which selects more
// rows.
func (q *Question) Compile() {
	q.Filters, q.Searches = true, len(q.Query.Search) == 0
	for _, f := range conjuncts(q.Query.Where) {
		if q.says(f) {
			q.Where = append(q.Where, q.Scope.Where(f))
		} else {
			q.Filters = false
		}
	}
	if q.Sorts = q.sorts(); q.Sorts {
		q.Keys = q.Scope.Keys(q.Query.Order)
	}
}

// conjuncts is the filters that must all be true for a filter to be true.
func conjuncts(f onto.Filter) []onto.Filter {
	and, ok := f.(onto.And)
	if !ok {
		if f == nil {
			return nil
		}
		return []onto.Filter{f}
	}
	var list []onto.Filter
	for _, each := range and {
		list = append(list, conjuncts(each)...)
	}
	return list
}

// says reports whether SQL can express a filter exactly.
func (q *Question) says(f onto.Filter) bool {
	unsaid := func(f onto.Filter) bool { return !q.says(f) }
	switch f := f.(type) {
	case onto.And:
		return !slices.ContainsFunc(f, unsaid)
	case onto.Or:
		return !slices.ContainsFunc(f, unsaid)
	case onto.Not:
		return q.says(f.Of)
	case onto.Condition:
		return q.Scope.Dialect.Knows(f.Operand)
	}
	return false
}

// sorts reports whether SQL can put the rows in order and compare them with the
// place, which must be one of this order.
func (q *Question) sorts() bool {
	order, after := q.Query.Order, q.Query.After
	if after != nil && len(after.Values) != len(order) {
		return false
	}
	for i, o := range order {
		var place json.RawMessage
		if after != nil {
			place = after.Values[i]
		}
		if !q.Scope.Dialect.Sorts(q.Scope.value(o.Operand), place) {
			return false
		}
	}
	return true
}

// Whole reports whether SQL does everything.
func (q *Question) Whole() bool { return q.Filters && q.Searches && q.Sorts }

// Rest is the query that is left for the process: what SQL has sorted comes in
// its order, after the place.
func (q *Question) Rest() *backend.Query {
	rest := *q.Query
	if q.Filters {
		rest.Where = nil
	}
	if q.Searches {
		rest.Search = nil
	}
	if q.Sorts {
		rest.Order, rest.After = nil, nil
	}
	return &rest
}

// Process names the steps that are left for the process.
func (q *Question) Process() []string {
	var list []string
	rest := q.Rest()
	for _, step := range []struct {
		name string
		left bool
	}{
		{"filter", rest.Where != nil},
		{"search", len(rest.Search) > 0},
		{"sort", len(rest.Order) > 0},
		{"page", !q.Whole() && (rest.After != nil || rest.Offset > 0 || rest.Limit > 0)},
	} {
		if step.left {
			list = append(list, step.name)
		}
	}
	return list
}

// Computes reports whether SQL does all that comes before the groups of an
// aggregation, and can compute them.
func (q *Question) Computes(a *backend.Aggregation) bool {
	d := q.Scope.Dialect
	unknown := func(o onto.Operand) bool { return !d.Knows(o) }
	if !q.Whole() || slices.ContainsFunc(a.By, unknown) {
		return false
	}
	for _, o := range a.Compute {
		switch o.Func {
		case onto.FuncCount:
			continue
		case onto.FuncCountDistinct, onto.FuncSum, onto.FuncAvg, onto.FuncMin, onto.FuncMax, onto.FuncAvgLen:
		default:
			return false
		}
		if unknown(o) || !d.Computes(q.Scope.value(o), o.Func) {
			return false
		}
	}
	return true
}

// Tie is the columns of the order of the mode, which are never NULL.
func (q *Question) Tie() []string {
	columns := KeyColumns(q.Query.Kind)
	if q.Query.Mode == backend.History {
		return append([]string{"commit_id"}, columns...)
	}
	return columns
}

// Places is what the keys hold at the place to start after; nil if there is
// none.
func (q *Question) Places() []any {
	if q.Query.After == nil {
		return nil
	}
	return q.Scope.Places(q.Query.Order, q.Query.After.Values)
}

// After is the condition that a row comes after the place, where the keys hold
// these values. There is none if there is no place.
func (q *Question) After(keys []Key, places []any) []Part {
	if q.Query.After == nil {
		return nil
	}
	return []Part{After(keys, places, q.afterTie())}
}

// afterTie is the condition that a row comes after the place in the order of the
// mode. The place may be one of another type.
func (q *Question) afterTie() Part {
	place, values := q.Query.After, []any(nil)
	if q.Query.Mode == backend.History {
		values = append(values, place.Commit)
	}
	order := q.Query.TypeName().Compare(place.Identity.TypeName())
	if order == 0 {
		values = append(values, KeyValues(&place.Identity)...)
	}
	var columns []Part
	for _, c := range q.Tie()[:len(values)] {
		columns = append(columns, Part{SQL: q.Rows + "." + c})
	}
	switch {
	case order <= 0 && len(columns) == 0:
		return SQL("FALSE")
	case order <= 0:
		return q.Scope.Dialect.Beyond(columns, values)
	case len(columns) == 0:
		return SQL("TRUE")
	}
	return SQL("? >= ?", columns[0], values[0])
}
