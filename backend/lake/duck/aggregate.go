package duck

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/exec"
	"github.com/ontologia/onto/internal/sqlgen"
)

// Aggregate yields the groups that an aggregation asks for. It means what
// Aggregate of backend.Backend means.
func (e *Engine) Aggregate(ctx context.Context, a *backend.Aggregation, own, left, right *Source) iter.Seq2[onto.Group, error] {
	return exec.Pushed(func(push func(onto.Group) error) error {
		var list []result
		err := e.finish(ctx, func(c *conn) error {
			question := newAggregation(a, own, left, right)
			if question.computes(a) {
				found, err := question.computed(ctx, c, a)
				if err == nil {
					list = found
				}
				if !errors.Is(err, errRange) { // then the process finds out which number it is
					return err
				}
			}
			rest := *a
			rest.Query = *question.Rest()
			return pushAll(ctx, exec.Aggregate(&rest, question.rows(ctx, c), question.endpoints()), func(g onto.Group) error {
				list = append(list, result{g, nil})
				return nil
			})
		})
		if stopped := pushResults(ctx, list, push); stopped != nil {
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

// result is a group, or why there is none.
type result struct {
	onto.Group
	err error
}

func pushResults(ctx context.Context, list []result, push func(onto.Group) error) error {
	for _, r := range list {
		if err := cmp.Or(ctx.Err(), r.err); err != nil {
			return err
		}
		if err := push(r.Group); err != nil {
			return err
		}
	}
	return nil
}

// computed lets SQL compute the groups, and sorts them.
func (a *question) computed(ctx context.Context, c *conn, want *backend.Aggregation) ([]result, error) {
	columns := a.Scope.Aggregates(want.By, want.Compute)
	var list []result
	err := c.each(ctx, a.groups(columns), func(r *rows) error {
		row := make([]any, len(r.columns))
		for i := range row {
			row[i] = r.value(i)
		}
		g, err := columns.Read(row, exec.Overflow)
		list = append(list, result{g, err})
		return nil
	})
	slices.SortFunc(list, func(a, b result) int { return exec.CompareGroups(a.By, b.By) })
	return list, err
}

// groups is the statement that computes aggregates.
func (a *question) groups(columns *sqlgen.Aggregates) sqlgen.Part {
	from := sqlgen.SQL("? WHERE ?", a.from(), sqlgen.All(a.Where...))
	if len(columns.Inputs) > 0 {
		from = sqlgen.SQL("(SELECT ? FROM ?)", sqlgen.Join(", ", columns.Inputs...), from)
	}
	sql := sqlgen.SQL("SELECT ? FROM ?", sqlgen.Join(", ", columns.Columns...), from)
	if len(columns.GroupBy) > 0 {
		sql = sqlgen.SQL("? GROUP BY ?", sql, sqlgen.Join(", ", columns.GroupBy...))
	}
	return sql
}
