package backend

import (
	"github.com/ontologia/onto"
	"github.com/ontologia/onto/filter"
)

// Ends is the endpoints of a relation that a question looks at.
type Ends struct{ Left, Right bool }

// Any reports whether it looks at one of them.
func (e Ends) Any() bool { return e.Left || e.Right }

// look adds what an operand looks at.
func (e *Ends) look(o onto.Operand) {
	e.Left = e.Left || o.Side == onto.LeftSide
	e.Right = e.Right || o.Side == onto.RightSide
}

// Ends returns the endpoints that the filter and the order look at. Entities
// have none.
func (q *Query) Ends() Ends {
	var e Ends
	if q.Kind == onto.KindEntity {
		return e
	}
	e.Left, e.Right = filter.UsesEndpoints(q.Where)
	for _, o := range q.Order {
		e.look(o.Operand)
	}
	return e
}

// Ends returns the endpoints that the query and the operands look at. Entities
// have none.
func (a *Aggregation) Ends() Ends {
	e := a.Query.Ends()
	if a.Kind == onto.KindEntity {
		return e
	}
	for _, list := range [][]onto.Operand{a.By, a.Compute} {
		for _, o := range list {
			e.look(o)
		}
	}
	return e
}

// EndTypes returns the types of the endpoints: those that the query tells,
// otherwise those of the relation's own type; "" for a type that is nil.
func (q *Query) EndTypes(relation *onto.Schema) (left, right string) {
	if relation != nil {
		left, right = relation.Left, relation.Right
	}
	if q.Left != nil {
		left = q.Left.Name
	}
	if q.Right != nil {
		right = q.Right.Name
	}
	return left, right
}
