package duck

import (
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/sqlgen"
)

// question is a query on its way to a statement.
type question struct {
	engine  *Engine // for another connection; nil for none
	q       *backend.Query
	own     view
	ends    []end // that exist
	scope   sqlgen.Scope
	dialect sqlgen.DuckDB
	where   []sqlgen.Part // what the filter says, as far as SQL can tell
	keys    []sqlgen.Key  // what the order sorts by, if SQL sorts

	filters  bool // SQL lets through exactly what the filter does
	sorts    bool // SQL puts the rows in order, and starts after the place
	withEnds bool // the rows have the fields of endpoints, for the process
	last     ended

	unordered bool // nobody minds the order
	divisions int  // how often the answer was divided to be asked for in parts
}

// newQuestion prepares a query that looks at these endpoints.
func newQuestion(q *backend.Query, looked backend.Ends, own, left, right *Source) *question {
	a := &question{q: q}
	a.own = view{Source: own, at: own.reach(q.At), fields: map[string]bool{}}
	if q.Mode == backend.History {
		a.own.since = q.Since
	}
	a.narrow()
	a.scope = sqlgen.Scope{Dialect: a.dialect, Own: a.own.document("v", q.Schema)}
	sources := map[onto.Side]*Source{onto.LeftSide: left, onto.RightSide: right}
	for _, e := range sqlgen.Ends(q, looked) {
		a.lookAt(e, sources[e.Side])
	}
	a.filter()
	a.sort()
	a.withEnds = !a.filters || !a.sorts
	return a
}

// end is an endpoint that the question looks at.
type end struct {
	sqlgen.End
	*view
}

// lookAt adds an endpoint, if it has any rows.
func (a *question) lookAt(e sqlgen.End, s *Source) {
	v := &view{Source: s, fields: map[string]bool{}}
	if !v.exists() {
		return
	}
	v.at = min(a.own.at, s.Head)
	if e.Keys != nil {
		v.narrow("entity_key", e.Keys)
	}
	a.ends = append(a.ends, end{e, v})
	*a.scope.Document(e.Side) = v.document(e.Alias, e.Schema)
}

// narrow narrows down the identities.
func (a *question) narrow() {
	for _, n := range sqlgen.Narrow(a.q) {
		a.own.narrow(n.Column, n.Keys)
	}
	if a.q.Mode == backend.History && a.q.Identity != nil {
		a.own.keys = append(a.own.keys, a.identityTerm(a.q.Identity))
	}
}

// identityTerm is the condition that a row is about an identity.
func (a *question) identityTerm(id *onto.Identity) sqlgen.Part {
	if id.TypeName() != a.q.TypeName() {
		return sqlgen.SQL("FALSE")
	}
	if id.Kind == onto.KindEntity {
		return sqlgen.SQL("entity_key = ?", id.Key)
	}
	return sqlgen.SQL("left_key = ? AND right_key = ? AND instance_key = ?", id.Left, id.Right, id.Instance)
}

// filter compiles the filter. What SQL cannot say is left out, which lets more
// rows through, and then the process filters.
func (a *question) filter() {
	a.filters = len(a.q.Search) == 0
	for _, f := range conjuncts(a.q.Where) {
		if a.says(f) {
			a.where = append(a.where, a.scope.Where(f))
		} else {
			a.filters = false
		}
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

// says reports whether SQL can say a filter exactly.
func (a *question) says(f onto.Filter) bool {
	says := func(list []onto.Filter) bool {
		return !slices.ContainsFunc(list, func(f onto.Filter) bool { return !a.says(f) })
	}
	switch f := f.(type) {
	case onto.And:
		return says(f)
	case onto.Or:
		return says(f)
	case onto.Not:
		return a.says(f.Of)
	case onto.Condition:
		return a.dialect.Knows(f.Operand)
	}
	return false
}

// sort leaves the order to SQL if all of it is about typed columns.
func (a *question) sort() {
	q := a.q
	if q.After != nil && len(q.After.Values) != len(q.Order) {
		return
	}
	for i, o := range q.Order {
		v := a.scope.Value(o.Operand)
		if !a.dialect.Sorts(v) || q.After != nil && !comparable(v.Type, q.After.Values[i]) {
			return
		}
	}
	a.sorts, a.keys = true, a.scope.Keys(q.Order)
}

// comparable reports whether a canonical value of a place can be compared with
// a column of a type exactly.
func comparable(t onto.FieldType, canonical []byte) bool {
	if len(canonical) == 0 || canonical[0] == 'n' {
		return true
	}
	kind := codec.KindOf(canonical)
	switch t {
	case onto.Int:
		return kind == codec.Int
	case onto.Float:
		return kind == codec.Float || kind == codec.Int && len(canonical) <= exactDigits
	case onto.Bool:
		return kind == codec.Bool
	}
	return kind == codec.String
}

// exactDigits is how long an integer is that every float64 can be.
const exactDigits = 15
