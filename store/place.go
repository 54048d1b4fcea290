package store

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/exec"
)

// Place is where an answer stands in the order of its query: what it is sorted by, in
// canonical JSON with nil for null, then its identity. Versions are sorted by the commit and
// the identity. A place names no store and no moment, so the same query can go on from it in
// another store.
type Place = backend.Place

// StartAfter asks only for what comes after a place, whether or not something stands there. The
// place may be of another store, or of this one at another time, with the same type and order; one
// that does not fit the query is Invalid. It goes neither with After nor with Offset.
func (q Query[T]) StartAfter(p Place) Query[T] {
	p.Values = slices.Clone(p.Values)
	q.after = &p
	return q
}

// PlaceOf returns the place of a version that the query has found. For many versions, use
// Placer.
func (q Query[T]) PlaceOf(ctx context.Context, v *onto.Version) (Place, error) {
	place, err := q.Placer(ctx)
	if err != nil {
		return Place{}, err
	}
	return place(v)
}

// Placer returns a function that finds the places of versions that the query finds. A place
// shares memory with its version. Where the order names ends of a relation, these are read at
// the moment of the query: that of the view, which should not be the head if the rows are to
// be compared with it later.
func (q Query[T]) Placer(ctx context.Context) (func(v *onto.Version) (Place, error), error) {
	if q.cursor, q.after = "", nil; len(q.order) == 0 {
		return func(v *onto.Version) (Place, error) { return Place{Identity: v.Identity, Commit: v.Commit}, nil }, q.err
	}
	var place func(*onto.Version) (Place, error)
	err := again(func() error {
		ask, err := q.ask(ctx)
		if err == nil {
			place = exec.Placer(ask, q.reader().endpoints(ctx, ask))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return func(v *onto.Version) (Place, error) {
		p, err := place(v)
		p.Values = compared(p.Values)
		return p, err
	}, nil
}

// ComparePlaces compares two places in the order of the query's answers, which is that of All.
// Places of stores with the same type can be compared.
func (q Query[T]) ComparePlaces(a, b Place) int { return exec.ComparePlaces(q.order, &a, &b) }

// startAfter fills in the place to start after.
func (q *question) startAfter(ask *backend.Query) error {
	p := *q.after
	var ok bool
	wrong := ""
	switch p.Values, ok = canonicalValues(p.Values); {
	case p.Identity == (onto.Identity{}):
		wrong = "has no identity"
	case p.Identity.Kind != ask.Kind || p.Identity.Type != ask.Type:
		wrong = "is of " + p.Identity.TypeName().String()
	case p.Identity.Check() != nil:
		wrong = "has an identity that cannot be"
	case p.Commit < 0:
		wrong = "has a negative commit"
	case !ok:
		wrong = "has a value that is not JSON"
	case len(p.Values) != len(ask.Order):
		wrong = "is from another order"
	}
	if wrong != "" {
		return onto.Errorf(onto.Invalid, "the place to start after does not fit this query of %s: it %s", ask.Type, wrong).
			WithHint("take it from the same query, with the same order")
	}
	if ask.Mode != backend.History {
		p.Commit = 0
	}
	ask.After = &p
	return nil
}

// compared leaves out of values what the order does not compare: lists and objects are equal
// in it.
func compared(values []json.RawMessage) []json.RawMessage {
	for i, v := range values {
		if v != nil && codec.KindOf(v) >= codec.List {
			values[i] = json.RawMessage("[]")
		}
	}
	return values
}

// canonicalValues returns values of a place in canonical form, nil for null, or whether they
// have none.
func canonicalValues(values []json.RawMessage) (list []json.RawMessage, ok bool) {
	for _, v := range values {
		if v == nil {
			list = append(list, nil)
			continue
		}
		canonical, err := codec.AppendCanonical(nil, v)
		if err != nil {
			return nil, false
		}
		if codec.KindOf(canonical) == codec.Null {
			canonical = nil
		}
		list = append(list, canonical)
	}
	return list, true
}
