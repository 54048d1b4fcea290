package ask

import (
	"github.com/ontologia/onto"
	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/store"
)

// check checks the texts of a query against the schema, each by itself, so that an
// error names its flag.
func (a *asked) check(s *store.Store, schema onto.Schema, groups *groupFlags) error {
	return a.checkTexts(scopeOf(a.view(s), schema), groups)
}

// checkTexts is check for what the texts may refer to.
func (a *asked) checkTexts(scope *filter.Scope, groups *groupFlags) error {
	for i, f := range a.where {
		if _, err := filter.Check(f, scope); err != nil {
			return inFilter("where", a.queryFlags.where[i], err)
		}
	}
	if groups != nil {
		return groups.check(a.queryFlags, scope)
	}
	for i, o := range a.order {
		if _, err := filter.CheckOrder(o.Operand, scope); err != nil {
			return inFilter("order-by", a.orderBy[i], err)
		}
	}
	return nil
}

// check is the same for what to group by and to compute.
func (g *groupFlags) check(q *queryFlags, scope *filter.Scope) error {
	for _, o := range g.by {
		if _, err := filter.CheckOperand(o, scope); err != nil {
			return inFilter("group-by", filter.FormatOperand(o), err)
		}
	}
	for _, o := range g.compute {
		if _, err := filter.CheckOperand(o, scope); err != nil {
			return inFilter("agg", filter.FormatOperand(o), err)
		}
	}
	if _, err := filter.CheckHaving(g.having, scope, g.by, g.compute); err != nil {
		return inFilter("having", q.having, err)
	}
	return nil
}

// scopeOf is what the texts of a query may refer to.
func scopeOf(v store.View, schema onto.Schema) *filter.Scope {
	scope := &filter.Scope{Schema: &schema}
	if left, err := v.Type(schema.Left); err == nil && schema.Left != "" {
		scope.Left = &left
	}
	if right, err := v.Type(schema.Right); err == nil && schema.Right != "" {
		scope.Right = &right
	}
	return scope
}
