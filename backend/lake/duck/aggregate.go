package duck

import (
	"context"
	"errors"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/exec"
	"github.com/ontologia/onto/internal/sqlgen"
)

// Aggregate yields the groups that an aggregation asks for. It means what
// Aggregate of backend.Backend means.
func (e *Engine) Aggregate(ctx context.Context, a *backend.Aggregation, own, left, right *Source) iter.Seq2[onto.Group, error] {
	return exec.Pushed(func(push func(onto.Group) error) error {
		var groups exec.Computed
		err := e.finish(ctx, func(c *conn) error {
			question := newAggregation(a, own, left, right)
			if question.computes(a) {
				found, err := question.computed(ctx, c, a)
				if err == nil {
					groups = found
				}
				if !errors.Is(err, errRange) { // the process finds out which number it is
					return err
				}
			}
			rest := *a
			rest.Query = *question.Rest()
			return exec.PushAll(ctx, exec.Aggregate(&rest, question.rows(ctx, c), question.endpoints()), func(g onto.Group) error {
				groups.Add(g, nil)
				return nil
			})
		})
		if stopped := exec.PushAll(ctx, groups.Sorted(), push); stopped != nil {
			return stopped
		}
		return err
	})
}

// newAggregation prepares an aggregation.
func newAggregation(a *backend.Aggregation, own, left, right *Source) *question {
	q := a.Query
	q.Order, q.After, q.Offset, q.Limit = nil, nil, 0, 0
	question := newQuestion(&q, a.Ends(), own, left, right)
	question.withEnds, question.unordered = true, true
	return question
}

// computes reports whether SQL can compute all that an aggregation asks for.
func (a *question) computes(want *backend.Aggregation) bool {
	return a.own.exists() && a.Computes(want)
}

// computed lets SQL compute the groups.
func (a *question) computed(ctx context.Context, c *conn, want *backend.Aggregation) (exec.Computed, error) {
	columns := a.Scope.Aggregates(want.By, want.Compute)
	var groups exec.Computed
	err := c.each(ctx, a.groups(columns), func(r *rows) error {
		row := make([]any, len(r.columns))
		for i := range row {
			row[i] = r.value(i)
		}
		groups.Add(columns.Read(row, exec.Overflow))
		return nil
	})
	return groups, err
}

// groups is the statement that computes aggregates.
func (a *question) groups(columns *sqlgen.Aggregates) sqlgen.Part {
	return columns.Statement(a.from(), a.Where)
}
