package store

import (
	"context"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/internal/exec"
)

// Groups is a question for aggregates over the things of a query. Its methods
// return a changed copy.
type Groups struct {
	q           question
	by, compute []onto.Operand
	having      []onto.Filter
	order       []onto.Order
	offset      int
	limit       int
}

// GroupBy asks for one group per combination of the values. Without any, all
// things are one group. The query's own order, limit and offset do not matter.
func (q Query[T]) GroupBy(by ...onto.Operand) Groups { return Groups{q: q.question, by: by} }

// Compute returns aggregates over all the things of the query.
func (q Query[T]) Compute(ctx context.Context, aggregates ...onto.Operand) (onto.Group, error) {
	for g, err := range q.GroupBy().Compute(aggregates...).All(ctx) {
		return g, err
	}
	return onto.Group{}, nil
}

// OfVersions asks for groups of all versions up to the view's moment that
// commits after since made, as Query.Versions does.
func (g Groups) OfVersions(since int64) Groups {
	g.q.history, g.q.since = true, since
	return g
}

// Compute adds aggregates to compute for each group.
func (g Groups) Compute(aggregates ...onto.Operand) Groups {
	g.compute = append(g.compute[:len(g.compute):len(g.compute)], aggregates...)
	return g
}

// Having asks only for groups for which all the filters are true. They test
// what is grouped by and what is computed: onto.Count().Gt(3).
func (g Groups) Having(filters ...onto.Filter) Groups {
	g.having = append(g.having[:len(g.having):len(g.having)], filters...)
	return g
}

// OrderBy sorts by what is grouped by or computed. Without it, and where that
// is equal, groups come in the order of what they are grouped by.
func (g Groups) OrderBy(order ...onto.Order) Groups {
	g.order = append(g.order[:len(g.order):len(g.order)], order...)
	return g
}

// Offset leaves out the first n groups.
func (g Groups) Offset(n int) Groups {
	g.offset = n
	return g
}

// Limit asks for at most n groups. 0 means all.
func (g Groups) Limit(n int) Groups {
	g.limit = n
	return g
}

// All yields the groups.
func (g Groups) All(ctx context.Context) iter.Seq2[onto.Group, error] {
	return anew(func() (iter.Seq2[onto.Group, error], error) {
		a, sel, err := g.ask(ctx)
		if err != nil {
			return nil, err
		}
		return exec.SelectGroups(sel, g.q.reader().aggregate(ctx, a)), nil
	})
}

// Explain tells how the question will be answered, if the backend supports that.
func (g Groups) Explain(ctx context.Context) (backend.Explanation, error) {
	a, sel, err := g.ask(ctx)
	if err != nil {
		return backend.Explanation{}, err
	}
	e, err := g.q.reader().explain(ctx, nil, a)
	if sel.Having != nil {
		e.Process = append(e.Process, "having "+filter.Format(sel.Having))
	}
	if len(sel.Order) > 0 {
		e.Process = append(e.Process, "sort groups")
	}
	return e, err
}

// ask checks the question and splits it into the backend's part and what is done with
// its groups.
func (g *Groups) ask(ctx context.Context) (*backend.Aggregation, *exec.GroupQuery, error) {
	if g.limit < 0 || g.offset < 0 {
		return nil, nil, onto.Errorf(onto.Invalid, "limit %d or offset %d is negative", g.limit, g.offset)
	}
	if g.q.after != nil {
		return nil, nil, onto.Errorf(onto.Invalid, "groups have no place to start after").WithHint("page them with limit and offset")
	}
	if g.q.cursor != "" {
		return nil, nil, onto.Errorf(onto.Invalid, "groups have no cursor").WithHint("page them with limit and offset")
	}
	g.q.order, g.q.offset, g.q.limit = nil, 0, 0
	ask, err := g.q.ask(ctx)
	if err != nil {
		return nil, nil, err
	}
	a := &backend.Aggregation{Query: *ask}
	scope := g.q.v.scope(g.q.t)
	if a.By, err = checkOperands(scope, g.by, false); err != nil {
		return nil, nil, err
	}
	if a.Compute, err = checkOperands(scope, g.compute, true); err != nil {
		return nil, nil, err
	}
	if len(a.By)+len(a.Compute) == 0 {
		return nil, nil, onto.Errorf(onto.Invalid, "there is nothing to group by and nothing to compute").WithHint("compute onto.Count()")
	}
	sel, err := g.selection(scope, a)
	return a, sel, err
}

// checkOperands checks what to group by or what to compute.
func checkOperands(scope *filter.Scope, operands []onto.Operand, aggregates bool) ([]onto.Operand, error) {
	var list []onto.Operand
	for _, o := range operands {
		checked, err := filter.CheckOperand(o, scope)
		switch {
		case err != nil:
			return nil, err
		case aggregates && checked.Func == "":
			return nil, onto.Errorf(onto.Invalid, "%s is not an aggregate", filter.FormatOperand(o)).
				WithHint("compute its sum, avg, min, max, count_distinct or avg_len, or group by it")
		case !aggregates && checked.Func != "":
			return nil, onto.Errorf(onto.Invalid, "%s is an aggregate; groups are made by values", filter.FormatOperand(o))
		}
		list = append(list, checked)
	}
	return list, nil
}

// selection checks what is done with the groups.
func (g Groups) selection(scope *filter.Scope, a *backend.Aggregation) (*exec.GroupQuery, error) {
	sel := &exec.GroupQuery{By: a.By, Compute: a.Compute, Offset: g.offset, Limit: g.limit}
	for _, o := range g.order {
		if err := among(o.Operand, a); err != nil {
			return nil, err
		}
		sel.Order = append(sel.Order, o)
	}
	if len(g.having) == 0 {
		return sel, nil
	}
	having, err := filter.CheckHaving(onto.And(g.having), scope, a.By, a.Compute)
	sel.Having = having
	return sel, err
}

// among reports an order by something that the groups do not have.
func among(o onto.Operand, a *backend.Aggregation) error {
	name := filter.FormatOperand(o)
	for _, list := range [][]onto.Operand{a.By, a.Compute} {
		for _, has := range list {
			if filter.FormatOperand(has) == name {
				return nil
			}
		}
	}
	return onto.Errorf(onto.Invalid, "groups cannot be sorted by %s: it is neither grouped by nor computed", name).
		WithHint("compute it as well")
}
