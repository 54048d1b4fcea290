package sqlite

import (
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/sqlgen"
	"github.com/ontologia/onto/internal/typelist"
)

// question is a query that is being compiled to a statement.
type question struct {
	sqlgen.Question
	t      *layout.Table
	source source

	// plain says why the statement only reads and the process does everything else; ""
	// if SQL does everything.
	plain string
}

// question prepares a query that uses these endpoints. The operands are computed as
// well.
func (r *reading) question(t *layout.Table, q *backend.Query, ends backend.Ends, operands ...onto.Operand) (*question, error) {
	a, err := r.plainQuestion(t, q, "")
	if err != nil {
		return nil, err
	}
	search, err := r.search(a)
	if err != nil {
		return nil, err
	}
	if a.plain = whyPlain(q, search); a.plain != "" {
		return a, nil
	}
	if err := r.joinEndpoints(a, ends); err != nil {
		return nil, err
	}
	a.Scope.Own = sqlgen.Document{Column: a.source.fields, Schema: q.Schema, Obeyed: a.isCurrent(), Facts: q.Kind == onto.KindFact}
	a.Compile()
	if search != nil {
		a.Where, a.Searches = append(a.Where, *search), true
	}
	return a, nil
}

// plainQuestion prepares a query whose statement only reads.
func (r *reading) plainQuestion(t *layout.Table, q *backend.Query, why string) (*question, error) {
	from, err := r.source(t, q)
	if err != nil {
		return nil, err
	}
	a := &question{t: t, source: from, plain: why}
	a.Query, a.Rows, a.Scope.Dialect = q, from.keys, sqlgen.SQLite{}
	for _, n := range sqlgen.Narrow(q) {
		a.source.narrowed = true
		a.source.where = append(a.source.where, a.Scope.Dialect.Among(raw(from.keys+"."+n.Column), n.Keys))
	}
	return a, nil
}

// isCurrent reports whether the rows are those of the projection, which have the types of
// the present schema.
func (a *question) isCurrent() bool { return a.source.row == "c" }

// whyPlain says why SQL cannot answer a question; "" if it can.
func whyPlain(q *backend.Query, search *sqlgen.Part) string {
	switch {
	case len(q.Search) > 0 && search == nil:
		return "there is no index of words for this moment"
	case q.After != nil && len(q.After.Values) != len(q.Order):
		return "the place to go on from is of another order"
	}
	return ""
}

// joinEndpoints adds the endpoints that the question uses.
func (r *reading) joinEndpoints(a *question, looked backend.Ends) error {
	if !looked.Any() {
		return nil
	}
	left, right, err := r.endTypes(a.Query)
	if err != nil {
		return err
	}
	types := map[onto.Side]string{onto.LeftSide: left, onto.RightSide: right}
	for _, e := range sqlgen.Ends(a.Query, looked) {
		name, _ := typeInSQL(types[e.Side], e.Schema)
		a.source.from = sqlgen.Join("", a.source.from, a.source.ends.join(&e, name, a.source.keys+"."+e.Key))
		*a.Scope.Document(e.Side) = sqlgen.Document{Column: e.Alias + "." + a.source.ends.fields, Schema: e.Schema, Obeyed: a.isCurrent()}
	}
	return nil
}

// endTypes returns the types of a relation's endpoints.
func (r *reading) endTypes(q *backend.Query) (left, right string, err error) {
	relation := q.Schema
	if relation == nil && (q.Left == nil || q.Right == nil) {
		all, err := layout.ReadSchemas(r.Conn)
		if err != nil {
			return "", "", err
		}
		if i := typelist.LastOf(all, q.TypeName()); i >= 0 {
			relation = &all[i].Schema
		}
	}
	left, right = q.EndTypes(relation)
	return left, right, nil
}

// search is the condition that a version has the words, by the index of words;
// nil if there is no such condition or no such index.
func (r *reading) search(a *question) (*sqlgen.Part, error) {
	if len(a.Query.Search) == 0 || !a.isCurrent() || a.Query.Schema == nil {
		return nil, nil
	}
	name, ok, err := r.searchTable(a.Query.Schema)
	if err != nil || !ok {
		return nil, err
	}
	columns := a.t.Columns[1:]
	part := sqlgen.SQL("(?) IN (SELECT ? FROM ? w CROSS JOIN ? f ON f.id = w.docid WHERE w.words MATCH ?)",
		raw("c."+strings.Join(columns, ", c.")), raw("f."+strings.Join(columns, ", f.")),
		raw(name), raw(a.t.History), matchText(a.Query.Search))
	return &part, nil
}

// matchText is words in the language of FTS4. They are letters and digits only,
// and quoted, so none is an operator.
func matchText(words []backend.Word) string {
	terms := make([]string, len(words))
	for i, w := range words {
		terms[i] = `"` + w.Text + `"`
		if w.Prefix {
			terms[i] = `"` + w.Text + `*"`
		}
	}
	return strings.Join(terms, " ")
}
