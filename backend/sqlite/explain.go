package sqlite

import (
	"context"
	"strings"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/sqlgen"
)

// Explain tells how a query or an aggregation is answered.
func (b *Backend) Explain(ctx context.Context, q *backend.Query, a *backend.Aggregation) (backend.Explanation, error) {
	var e backend.Explanation
	if q == nil {
		q = &a.Query
	}
	err := b.reader.read(ctx, func(r *reading) error {
		statements, err := b.reader.explained(r, q, a, &e)
		if err != nil {
			return err
		}
		var texts []string
		for _, sql := range statements {
			texts = append(texts, sql.SQL)
			plan, err := r.QueryPlan(sql.SQL, sql.Args...)
			if err != nil {
				return err
			}
			e.Plan = append(e.Plan, plan...)
		}
		e.Statement = strings.Join(texts, ";\n")
		return nil
	})
	return e, err
}

// explained is the statements that are run, and says what is done after them.
func (rd *reader) explained(r *reading, q *backend.Query, a *backend.Aggregation, e *backend.Explanation) ([]sqlgen.Part, error) {
	if n, ok := rd.near(q); ok && a == nil {
		return []sqlgen.Part{{SQL: n.statement, Args: n.args}}, nil
	}
	if a == nil {
		question, err := r.question(rd.table(q.Kind), q, q.Ends())
		if err != nil {
			return nil, err
		}
		if question.keepsOrder() {
			if statements, ok := rd.explainKept(r, question, e); ok {
				return statements, nil
			}
		}
		answer := question.versions()
		e.Process = question.left()
		if answer.skip > 0 || answer.take > 0 {
			e.Process = append(e.Process, "page")
		}
		return answer.statements, nil
	}
	question, err := r.aggregation(rd.table(a.Kind), a)
	if err != nil {
		return nil, err
	}
	e.Process = question.left()
	if question.plain != "" {
		e.Process = append(e.Process, "group and compute")
		return question.versions().statements, nil
	}
	if len(a.By) > 0 {
		e.Process = append(e.Process, "sort the groups")
	}
	_, sql := question.groupsSQL(a)
	return []sqlgen.Part{sql}, nil
}

// explainKept is explained for a page of an order that is remembered, or will be. It
// reports false if the order is known to be too long.
func (rd *reader) explainKept(r *reading, a *question, e *backend.Explanation) ([]sqlgen.Part, bool) {
	ordered, page := a.ordered(), r.versionsOf(a, keysOf(&a.Query.After.Identity))
	known, ok := rd.kept.get(r.nameOf(ordered))
	switch {
	case !ok:
		e.Process = append(e.Process, "remember the order for further pages", "page")
		return []sqlgen.Part{ordered, page}, true
	case known.tooLong:
		return nil, false
	}
	e.Process = append(e.Process, "take the order that an earlier page has remembered", "page")
	return []sqlgen.Part{page}, true
}

// left says what is left for the process, and why.
func (a *question) left() []string {
	if a.plain == "" {
		return nil
	}
	return append([]string{a.plain}, a.Process()...)
}

var _ backend.Explainer = (*Backend)(nil)
