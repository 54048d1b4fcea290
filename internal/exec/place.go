package exec

import (
	"bytes"
	"cmp"
	"encoding/json"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/filter"
)

// PlaceOf returns the place of a version in the answer to a query.
func PlaceOf(q *backend.Query, v *onto.Version, ends Endpoints) (backend.Place, error) {
	order := &backend.Query{Kind: q.Kind, Order: q.Order}
	s := newSelection(order, order.Ends(), ends)
	var r row
	if err := s.read(&r, *v); err != nil {
		return backend.Place{}, err
	}
	p := backend.Place{Values: s.values(&r), Identity: v.Identity}
	for i := range p.Values {
		p.Values[i] = bytes.Clone(p.Values[i]) // a place outlives its version
	}
	if q.Mode == backend.History {
		p.Commit = v.Commit
	}
	return p, nil
}

// values returns what a row is sorted by.
func (s *selection) values(r *row) []json.RawMessage {
	if len(s.q.Order) == 0 {
		return nil
	}
	values := make([]json.RawMessage, len(s.q.Order))
	for i, o := range s.q.Order {
		values[i] = r.fields.Value(o.Operand)
	}
	return values
}

// beyond yields the rows that come after the place the query starts after,
// with what they are sorted by.
func (s *selection) beyond(rows iter.Seq2[*row, error]) iter.Seq2[*row, error] {
	var after *row
	if p := s.q.After; p != nil {
		after = &row{version: onto.Version{Identity: p.Identity, Commit: p.Commit}, values: p.Values}
	}
	return func(yield func(*row, error) bool) {
		for r, err := range rows {
			if err == nil {
				r.values = s.values(r)
				r.fields = filter.Row{}
				if after != nil && s.compare(r, after) <= 0 {
					continue
				}
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// checkAfter refuses a place that belongs to another question.
func (s *selection) checkAfter() error {
	if p := s.q.After; p != nil && len(p.Values) != len(s.q.Order) {
		return onto.Errorf(onto.Invalid, "the place to go on from has %d values, the order has %d", len(p.Values), len(s.q.Order)).
			WithHint("go on with the order that the place was found in")
	}
	return nil
}

// compare is the order of the answer.
func (s *selection) compare(a, b *row) int {
	if c := compareOrdered(s.q.Order, a.values, b.values); c != 0 {
		return c
	}
	if s.q.Mode == backend.History && a.version.Commit != b.version.Commit {
		return cmp.Compare(a.version.Commit, b.version.Commit)
	}
	return a.version.Identity.Compare(b.version.Identity)
}

// compareOrdered compares the values of orders, one after the other. Null comes last,
// also in a descending order.
func compareOrdered(order []onto.Order, a, b []json.RawMessage) int {
	for i := range order {
		c := filter.Compare(a[i], b[i])
		if order[i].Desc && !null(a[i]) && !null(b[i]) {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

// null reports whether a canonical value is missing or null.
func null(v json.RawMessage) bool { return len(v) == 0 || v[0] == 'n' }
