package exec

import (
	"encoding/json"
	"iter"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/filter"
)

// Computed is groups that another engine has computed, in any order.
type Computed []computed

// computed is a group, or an error in its place.
type computed struct {
	onto.Group
	err error
}

// Add adds a group. With an error it has only By.
func (c *Computed) Add(g onto.Group, err error) { *c = append(*c, computed{g, err}) }

// Sorted yields the groups in the order of what they are grouped by.
func (c Computed) Sorted() iter.Seq2[onto.Group, error] {
	slices.SortFunc(c, func(a, b computed) int { return CompareGroups(a.By, b.By) })
	return func(yield func(onto.Group, error) bool) {
		for _, g := range c {
			if !yield(g.Group, g.err) || g.err != nil {
				return
			}
		}
	}
}

// GroupQuery selects among groups.
type GroupQuery struct {
	By, Compute   []onto.Operand
	Having        onto.Filter  // nil for all
	Order         []onto.Order // of what is in By or Compute; before the order they come in
	Offset, Limit int          // 0 for none
}

// SelectGroups answers a query for groups.
func SelectGroups(q *GroupQuery, groups iter.Seq2[onto.Group, error]) iter.Seq2[onto.Group, error] {
	return func(yield func(onto.Group, error) bool) {
		places, err := q.places()
		if err != nil {
			yield(onto.Group{}, err)
			return
		}
		found := q.having(groups)
		if len(places) > 0 {
			compare := func(a, b onto.Group) int {
				return compareOrdered(q.Order, pick(a, places), pick(b, places))
			}
			found = sorted(found, compare, reach(q.Offset, q.Limit))
		}
		page(found, q.Offset, q.Limit)(yield)
	}
}

// having yields the groups that the query selects.
func (q *GroupQuery) having(groups iter.Seq2[onto.Group, error]) iter.Seq2[onto.Group, error] {
	return func(yield func(onto.Group, error) bool) {
		having := filter.CompileHaving(q.Having, q.By, q.Compute)
		for g, err := range groups {
			if err == nil && !having.MatchGroup(&g) {
				continue
			}
			if !yield(g, err) || err != nil {
				return
			}
		}
	}
}

// places returns where the value of each order stands in a group: among By, or
// after them among Compute.
func (q *GroupQuery) places() ([]int, error) {
	at := map[string]int{}
	for i, o := range q.By {
		at[filter.FormatOperand(o)] = i
	}
	for i, o := range q.Compute {
		at[filter.FormatOperand(o)] = len(q.By) + i
	}
	places := make([]int, len(q.Order))
	for i, o := range q.Order {
		place, ok := at[filter.FormatOperand(o.Operand)]
		if !ok {
			return nil, onto.Errorf(onto.Invalid, "groups have no %s to sort by", filter.FormatOperand(o.Operand)).
				WithHint("group by it, or compute it")
		}
		places[i] = place
	}
	return places, nil
}

// pick returns the values of a group that it is sorted by.
func pick(g onto.Group, places []int) []json.RawMessage {
	values := make([]json.RawMessage, len(places))
	for i, place := range places {
		if place < len(g.By) {
			values[i] = g.By[place]
		} else {
			values[i] = g.Values[place-len(g.By)]
		}
	}
	return values
}
