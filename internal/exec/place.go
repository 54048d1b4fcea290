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
	p, err := Placer(q, ends)(v)
	for i := range p.Values {
		p.Values[i] = bytes.Clone(p.Values[i]) // a place outlives its version
	}
	if q.Mode != backend.History {
		p.Commit = 0
	}
	return p, err
}

// Placer prepares PlaceOf for many versions. The values of a place share the memory of the
// fields of its version, and the commit is that of the version in every mode.
func Placer(q *backend.Query, ends Endpoints) func(v *onto.Version) (backend.Place, error) {
	order := &backend.Query{Kind: q.Kind, Order: q.Order}
	s := newSelection(order, order.Ends(), ends)
	return func(v *onto.Version) (backend.Place, error) {
		p := backend.Place{Identity: v.Identity, Commit: v.Commit}
		if len(order.Order) == 0 {
			return p, nil
		}
		var r row
		if err := s.read(&r, *v); err != nil {
			return backend.Place{}, err
		}
		p.Values = s.values(&r)
		return p, nil
	}
}

// ComparePlaces is the order of answers: by the values of the order, then by identity. A value
// that a place lacks is null.
func ComparePlaces(order []onto.Order, a, b *backend.Place) int {
	for i := range order {
		if c := compareValue(order[i], valueAt(a.Values, i), valueAt(b.Values, i)); c != 0 {
			return c
		}
	}
	return a.Identity.Compare(b.Identity)
}

func valueAt(values []json.RawMessage, i int) json.RawMessage {
	if i < len(values) {
		return values[i]
	}
	return nil
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

// compareOrdered compares the values of orders, one after the other.
func compareOrdered(order []onto.Order, a, b []json.RawMessage) int {
	for i := range order {
		if c := compareValue(order[i], a[i], b[i]); c != 0 {
			return c
		}
	}
	return 0
}

// compareValue compares two values of an order. Null comes last, also in a descending one.
func compareValue(o onto.Order, a, b json.RawMessage) int {
	c := filter.Compare(a, b)
	if o.Desc && !null(a) && !null(b) {
		c = -c
	}
	return c
}

// null reports whether a canonical value is missing or null.
func null(v json.RawMessage) bool { return len(v) == 0 || v[0] == 'n' }
