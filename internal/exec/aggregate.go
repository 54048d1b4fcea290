package exec

import (
	"bytes"
	"cmp"
	"encoding/json"
	"iter"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/filter"
)

// Aggregate answers an aggregation over versions as in Select. It keeps one
// entry for each group.
func Aggregate(a *backend.Aggregation, rows iter.Seq2[onto.Version, error], ends Endpoints) iter.Seq2[onto.Group, error] {
	return func(yield func(onto.Group, error) bool) {
		groups, err := gather(a, rows, ends)
		if err != nil {
			yield(onto.Group{}, err)
			return
		}
		for _, g := range groups {
			group, err := g.result(a.Compute)
			if !yield(group, err) || err != nil {
				return
			}
		}
	}
}

// group is a group under construction.
type group struct {
	by    []json.RawMessage
	tally []tally // one for each operand to compute
}

// gather returns the groups in the order of what they are grouped by.
func gather(a *backend.Aggregation, versions iter.Seq2[onto.Version, error], ends Endpoints) ([]*group, error) {
	if err := checkCompute(a.Compute); err != nil {
		return nil, err
	}
	s := newSelection(&a.Query, a.Ends(), ends)
	groups := map[string]*group{}
	if len(a.By) == 0 {
		groups[""] = newGroup(nil, a.Compute)
	}
	var name []byte
	for r, err := range s.matching(versions) {
		if err != nil {
			return nil, err
		}
		name = appendName(name[:0], a.By, &r.fields)
		g := groups[string(name)]
		if g == nil {
			g = newGroup(groupedBy(a.By, &r.fields), a.Compute)
			groups[string(name)] = g
		}
		for i, o := range a.Compute {
			g.tally[i].add(&r.fields, o)
		}
	}
	list := make([]*group, 0, len(groups))
	for _, g := range groups {
		list = append(list, g)
	}
	slices.SortFunc(list, func(a, b *group) int { return CompareGroups(a.by, b.by) })
	return list, nil
}

func checkCompute(compute []onto.Operand) error {
	for _, o := range compute {
		if newTally(o.Func) == nil {
			return onto.Errorf(onto.Invalid, "there is no aggregate %q", o.Func).
				WithHint("use count, count_distinct, sum, avg, min, max or avg_len")
		}
	}
	return nil
}

// appendName appends what distinguishes a group from the others. Canonical text holds
// no line feeds.
func appendName(dst []byte, by []onto.Operand, r *filter.Row) []byte {
	for _, o := range by {
		dst = append(append(dst, r.Value(o)...), '\n')
	}
	return dst
}

// groupedBy returns the values of a new group, which outlives its versions.
func groupedBy(by []onto.Operand, r *filter.Row) []json.RawMessage {
	values := make([]json.RawMessage, len(by))
	for i, o := range by {
		values[i] = bytes.Clone(r.Value(o))
	}
	return values
}

func newGroup(by []json.RawMessage, compute []onto.Operand) *group {
	g := &group{by: by, tally: make([]tally, len(compute))}
	for i, o := range compute {
		g.tally[i] = newTally(o.Func)
	}
	return g
}

// result computes the aggregates.
func (g *group) result(compute []onto.Operand) (onto.Group, error) {
	out := onto.Group{By: g.by, Values: make([]json.RawMessage, len(compute))}
	for i, t := range g.tally {
		v, fits := t.result()
		if !fits {
			return onto.Group{}, Overflow(compute[i])
		}
		out.Values[i] = v
	}
	return out, nil
}

// Overflow is the error for an aggregate whose value is outside int64 or, where
// one of the numbers is no integer, outside float64.
func Overflow(o onto.Operand) error {
	return onto.Errorf(onto.TooLarge, "%s is outside the range of numbers", filter.FormatOperand(o)).
		WithHint("compute the avg instead, or filter so that less is added")
}

// CompareGroups is the order of groups. Lists and objects, which are equal in the order
// of versions, are sorted by their text.
func CompareGroups(a, b []json.RawMessage) int {
	for i := range a {
		if c := cmp.Or(filter.Compare(a[i], b[i]), bytes.Compare(a[i], b[i])); c != 0 {
			return c
		}
	}
	return 0
}
