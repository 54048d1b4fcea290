package duck

import (
	"context"
	"strings"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/sqlgen"
)

// Explain tells how a query or an aggregation is answered. One of the two is
// nil.
func (e *Engine) Explain(ctx context.Context, q *backend.Query, a *backend.Aggregation, own, left, right *Source) (backend.Explanation, error) {
	var x backend.Explanation
	err := e.use(ctx, func(c *conn) error {
		sql, exists := explained(q, a, own, left, right, &x)
		if !exists {
			return nil
		}
		x.Statement = sql.SQL
		return c.each(ctx, sqlgen.SQL("EXPLAIN ?", sql), func(r *rows) error {
			x.Plan = append(x.Plan, strings.Split(strings.TrimRight(r.text(1), "\n"), "\n")...)
			return nil
		})
	})
	return x, err
}

// explained is the statement that is asked, and says what is done after it. It
// reports false if there are no rows to ask about.
func explained(q *backend.Query, a *backend.Aggregation, own, left, right *Source, x *backend.Explanation) (sqlgen.Part, bool) {
	if a == nil {
		question := newQuestion(q, q.Ends(), own, left, right)
		x.Process = question.Process()
		return question.statement(), question.own.exists()
	}
	question := newAggregation(a, own, left, right)
	x.Process = question.Process()
	if question.computes(a) {
		if len(a.By) > 0 {
			x.Process = append(x.Process, "sort the groups")
		}
		return question.groups(question.Scope.Aggregates(a.By, a.Compute)), true
	}
	x.Process = append(x.Process, "group and compute")
	return question.statement(), question.own.exists()
}
