package duck

import (
	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/sqlgen"
)

// question is a query that is being compiled to a statement.
type question struct {
	sqlgen.Question
	engine *Engine // for another connection; nil for none
	own    view
	ends   []end // that exist
	last   ended

	withEnds  bool // the rows have the fields of endpoints, for the process
	unordered bool // the order does not matter
	divisions int  // how often the answer was split to be asked for in parts
}

// newQuestion prepares a query that uses these endpoints.
func newQuestion(q *backend.Query, looked backend.Ends, own, left, right *Source) *question {
	a := &question{Question: sqlgen.Question{Query: q, Rows: "v"}}
	a.own = view{Source: own, at: own.reach(q.At), fields: map[string]bool{}}
	if q.Mode == backend.History {
		a.own.since = q.Since
	}
	a.narrow()
	a.Scope = sqlgen.Scope{Dialect: sqlgen.DuckDB{}, Own: a.own.document("v", q.Schema)}
	sources := map[onto.Side]*Source{onto.LeftSide: left, onto.RightSide: right}
	for _, e := range sqlgen.Ends(q, looked) {
		a.lookAt(e, sources[e.Side])
	}
	a.Compile()
	a.withEnds = !a.Whole()
	return a
}

// end is an endpoint that the question uses.
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
	*a.Scope.Document(e.Side) = v.document(e.Alias, e.Schema)
}

// narrow narrows down the identities.
func (a *question) narrow() {
	for _, n := range sqlgen.Narrow(a.Query) {
		a.own.narrow(n.Column, n.Keys)
	}
	if a.Query.Mode == backend.History && a.Query.Identity != nil {
		a.own.keys = append(a.own.keys, a.identityTerm(a.Query.Identity))
	}
}

// identityTerm is the condition that a row is about an identity.
func (a *question) identityTerm(id *onto.Identity) sqlgen.Part {
	if id.TypeName() != a.Query.TypeName() {
		return sqlgen.SQL("FALSE")
	}
	var terms []sqlgen.Part
	for i, column := range sqlgen.KeyColumns(id.Kind) {
		terms = append(terms, sqlgen.SQL("? = ?", raw(column), sqlgen.KeyValues(id)[i]))
	}
	return sqlgen.All(terms...)
}
