package sqlite

import (
	"context"
	"iter"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/exec"
	"github.com/ontologia/onto/internal/sqlgen"
)

// Aggregate yields the groups that an aggregation asks for.
func (b *Backend) Aggregate(ctx context.Context, a *backend.Aggregation) iter.Seq2[onto.Group, error] {
	return pushed(ctx, b.reader, func(r *reading, push func(onto.Group) error) error {
		groups, err := b.reader.groups(r, a)
		if err != nil {
			return err
		}
		return exec.PushAll(ctx, groups, push)
	})
}

// groups answers an aggregation. SQL computes it if it can.
func (rd *reader) groups(r *reading, a *backend.Aggregation) (iter.Seq2[onto.Group, error], error) {
	question, err := r.aggregation(rd.table(a.Kind), a)
	if err != nil {
		return nil, err
	}
	if question.plain == "" {
		groups, err := r.computed(question, a)
		return groups.Sorted(), err
	}
	return exec.Aggregate(a, r.rows(question), rd.endpoints(r, &a.Query)), nil
}

// aggregation prepares an aggregation.
func (r *reading) aggregation(t *layout.Table, a *backend.Aggregation) (*question, error) {
	q := a.Query
	q.Order, q.After, q.Offset, q.Limit = nil, nil, 0, 0
	question, err := r.question(t, &q, a.Ends(), slices.Concat(a.By, a.Compute)...)
	if err == nil && question.plain == "" && !question.Computes(a) {
		return r.plainQuestion(t, &q, "an unknown aggregate")
	}
	return question, err
}

// computed lets SQL compute the groups.
func (r *reading) computed(a *question, want *backend.Aggregation) (exec.Computed, error) {
	columns, sql := a.groupsSQL(want)
	var groups exec.Computed
	var row []any
	err := r.Each(sql.SQL, sql.Args, func(rows *driver.Rows) error {
		row = row[:0]
		for _, v := range rows.Vals {
			row = append(row, v)
		}
		groups.Add(columns.Read(row, exec.Overflow))
		return nil
	})
	return groups, err
}

// groupsSQL is the statement that computes aggregates.
func (a *question) groupsSQL(want *backend.Aggregation) (*sqlgen.Aggregates, sqlgen.Part) {
	columns := a.Scope.Aggregates(want.By, want.Compute)
	if len(columns.Columns) == 0 { // a statement has one
		columns.Columns = append(columns.Columns, sqlgen.SQL("count(*)"))
	}
	return columns, columns.Statement(a.source.from, slices.Concat(a.source.where, a.Where))
}
