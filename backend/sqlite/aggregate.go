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
	return pushed(ctx, b.reader, a.Mode == backend.State, func(r *reading, push func(onto.Group) error) error {
		groups, err := b.reader.groups(r, a)
		if err != nil {
			return err
		}
		return exec.PushAll(ctx, groups, push)
	})
}

// groups answers an aggregation. SQL computes it if it can, and if there are no
// unreadable rows: these fail in process.
func (rd *reader) groups(r *reading, a *backend.Aggregation) (iter.Seq2[onto.Group, error], error) {
	question, err := r.aggregation(rd.table(a.Kind), a)
	if err != nil {
		return nil, err
	}
	if question.plain == "" {
		groups, readable, err := r.computed(question, a)
		if readable || err != nil {
			return groups.Sorted(), err
		}
		if question, err = r.plainQuestion(question.t, question.Query, "rows that cannot be read"); err != nil {
			return nil, err
		}
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

// computed lets SQL compute the groups. It reports false if they include rows with
// unreadable JSON.
func (r *reading) computed(a *question, want *backend.Aggregation) (exec.Computed, bool, error) {
	columns, sql := r.groupsSQL(a, want)
	var groups exec.Computed
	var row []any
	readable := true
	err := r.Each(sql.SQL, sql.Args, func(rows *driver.Rows) error {
		row = row[:0]
		for _, v := range rows.Vals {
			row = append(row, v)
		}
		unreadable, _ := row[len(row)-1].(int64)
		readable = readable && unreadable == 0
		groups.Add(columns.Read(row, exec.Overflow))
		return nil
	})
	return groups, readable, err
}

// groupsSQL is the statement that computes aggregates. Its last column tells
// whether there are rows that cannot be read.
func (r *reading) groupsSQL(a *question, want *backend.Aggregation) (*sqlgen.Aggregates, sqlgen.Part) {
	columns, unreadable := a.Scope.Aggregates(want.By, want.Compute), sqlgen.SQL("count(NULL)")
	if r.mayBeUnreadable(a) {
		columns.Inputs = append(columns.Inputs, sqlgen.SQL("c.fields IS NULL AS unreadable"))
		unreadable = sqlgen.SQL("sum(unreadable)")
	}
	columns.Columns = append(columns.Columns, unreadable)
	return columns, columns.Statement(a.source.from, slices.Concat(a.source.where, a.Where))
}
