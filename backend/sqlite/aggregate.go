package sqlite

import (
	"context"
	"iter"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/exec"
	"github.com/ontologia/onto/internal/sqlgen"
)

// Aggregate yields the groups that an aggregation asks for.
func (b *Backend) Aggregate(ctx context.Context, a *backend.Aggregation) iter.Seq2[onto.Group, error] {
	return exec.Pushed(func(push func(onto.Group) error) error {
		return b.read(ctx, a.Mode == backend.State, func(r *reading) error {
			groups, err := b.groups(ctx, r, a)
			if err != nil {
				return err
			}
			return pushAll(ctx, groups, push)
		})
	})
}

// groups answers an aggregation. SQL computes it if it can, and if there are no
// rows that cannot be read, which fail in process.
func (b *Backend) groups(ctx context.Context, r *reading, a *backend.Aggregation) (iter.Seq2[onto.Group, error], error) {
	question, err := r.aggregation(b.table(a.Kind), a)
	if err != nil {
		return nil, err
	}
	if question.plain == "" {
		list, ok, err := r.computed(ctx, question, a)
		if ok || err != nil {
			return yieldAll(list), err
		}
		if question, err = r.plainQuestion(question.t, question.Query, "rows that cannot be read"); err != nil {
			return nil, err
		}
	}
	return exec.Aggregate(a, r.rows(ctx, question), b.endpoints(r, &a.Query)), nil
}

// result is a group, or why there is none.
type result struct {
	onto.Group
	err error
}

func yieldAll(list []result) iter.Seq2[onto.Group, error] {
	return func(yield func(onto.Group, error) bool) {
		for _, r := range list {
			if !yield(r.Group, r.err) || r.err != nil {
				return
			}
		}
	}
}

// aggregation prepares an aggregation.
func (r *reading) aggregation(t *table, a *backend.Aggregation) (*question, error) {
	q := a.Query
	q.Order, q.After, q.Offset, q.Limit = nil, nil, 0, 0
	if slices.ContainsFunc(a.Compute, unknownFunc) {
		return r.plainQuestion(t, &q, "an unknown aggregate")
	}
	return r.question(t, &q, a.Ends(), slices.Concat(a.By, a.Compute)...)
}

func unknownFunc(o onto.Operand) bool {
	switch o.Func {
	case onto.FuncCount, onto.FuncSum, onto.FuncAvg, onto.FuncMin, onto.FuncMax, onto.FuncAvgLen:
		return false
	}
	return true
}

// computed lets SQL compute the groups, and sorts them. It reports false if rows
// are among them of which the JSON cannot be read.
func (r *reading) computed(ctx context.Context, a *question, want *backend.Aggregation) ([]result, bool, error) {
	columns := a.Scope.Aggregates(want.By, want.Compute)
	sql := r.groupsSQL(a, columns)
	rows, err := r.query(ctx, sql.SQL, sql.Args...)
	if err != nil {
		return nil, false, err
	}
	var list []result
	readable, row := true, make([]any, len(rows.vals))
	err = each(rows, func() error {
		for i, v := range rows.vals {
			row[i] = v
		}
		unreadable, _ := row[len(row)-1].(int64)
		readable = readable && unreadable == 0
		g, err := columns.Read(row, exec.Overflow)
		list = append(list, result{g, err})
		return nil
	})
	slices.SortFunc(list, func(a, b result) int { return exec.CompareGroups(a.By, b.By) })
	return list, readable, err
}

// groupsSQL is the statement that computes aggregates. Its last column tells
// whether there are rows that cannot be read. The limit, which is none, keeps
// SQLite from merging the two SELECTs: then JSON is looked into once for each
// row, and what is sorted to form groups is short.
func (r *reading) groupsSQL(a *question, columns *sqlgen.Aggregates) sqlgen.Part {
	from := sqlgen.SQL("? WHERE ?", a.source.from, sqlgen.All(slices.Concat(a.source.where, a.Where)...))
	inputs, unreadable := columns.Inputs, sqlgen.SQL("count(NULL)")
	if r.mayBeUnreadable(a) {
		inputs = append(inputs, sqlgen.SQL("c.fields IS NULL AS unreadable"))
		unreadable = sqlgen.SQL("sum(unreadable)")
	}
	if len(inputs) > 0 {
		from = sqlgen.SQL("(SELECT ? FROM ? LIMIT -1)", sqlgen.Join(", ", inputs...), from)
	}
	sql := sqlgen.SQL("SELECT ? FROM ?", sqlgen.Join(", ", append(columns.Columns, unreadable)...), from)
	if len(columns.GroupBy) > 0 {
		sql = sqlgen.SQL("? GROUP BY ?", sql, sqlgen.Join(", ", columns.GroupBy...))
	}
	return sql
}
