package memory

import (
	"context"
	"encoding/json"
	"iter"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/exec"
)

// Scan implements [backend.Backend].
func (b *Backend) Scan(ctx context.Context, q *backend.Query) iter.Seq2[onto.Version, error] {
	return each(ctx, b, func(l log) ([]onto.Version, error) {
		return all(exec.Select(q, l.rows(q), l.endpoints(q)))
	})
}

// Aggregate implements [backend.Backend].
func (b *Backend) Aggregate(ctx context.Context, a *backend.Aggregation) iter.Seq2[onto.Group, error] {
	return each(ctx, b, func(l log) ([]onto.Group, error) {
		return all(exec.Aggregate(a, l.rows(&a.Query), l.endpoints(&a.Query)))
	})
}

// all collects a sequence.
func all[T any](items iter.Seq2[T, error]) ([]T, error) {
	var list []T
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	return list, nil
}

// rows yields the versions of a query's type, mode, moment and keys, in the
// order of its mode.
func (l log) rows(q *backend.Query) iter.Seq2[onto.Version, error] {
	list := l.state(q)
	if q.Mode == backend.History {
		list = l.history(q)
	}
	return func(yield func(onto.Version, error) bool) {
		for _, v := range list {
			if !yield(handOut(v), nil) {
				return
			}
		}
	}
}

// state returns the live versions a query is about, in order of identity.
func (l log) state(q *backend.Query) []onto.Version {
	var list []onto.Version
	for id, v := range l.current(l.reach(q.At)) {
		if v.Live() && about(q, id) {
			list = append(list, *v)
		}
	}
	slices.SortFunc(list, func(a, b onto.Version) int { return a.Identity.Compare(b.Identity) })
	return list
}

// history returns all versions a query is about, in the order of the log.
func (l log) history(q *backend.Query) []onto.Version {
	var list []onto.Version
	for _, v := range l.versions {
		if !about(q, v.Identity) || v.Commit <= q.Since || v.Commit > l.reach(q.At) {
			continue
		}
		if q.Identity != nil && v.Identity != *q.Identity {
			continue
		}
		list = append(list, v)
	}
	return list
}

// about reports whether an identity has a query's type and keys.
func about(q *backend.Query, id onto.Identity) bool {
	return id.TypeName() == q.TypeName() &&
		(q.Keys == nil || slices.Contains(q.Keys, id.Key)) &&
		(q.LeftKeys == nil || slices.Contains(q.LeftKeys, id.Left)) &&
		(q.RightKeys == nil || slices.Contains(q.RightKeys, id.Right))
}

// endpoints returns how to find the endpoints of a query's relations: as of the
// query's moment, in a history as of each version's own commit.
func (l log) endpoints(q *backend.Query) exec.Endpoints {
	left, right := l.endpointTypes(q)
	return func(v *onto.Version) (json.RawMessage, json.RawMessage, error) {
		at := l.reach(q.At)
		if q.Mode == backend.History {
			at = v.Commit
		}
		return l.fields(onto.EntityID(left, v.Left), at), l.fields(onto.EntityID(right, v.Right), at), nil
	}
}

// endpointTypes returns the types of a relation's endpoints: those a query
// tells, otherwise those the relation's type was registered with.
func (l log) endpointTypes(q *backend.Query) (left, right string) {
	schema := l.schemaOf(onto.Identity{Kind: q.Kind, Type: q.Type})
	left, right = schema.Left, schema.Right
	if q.Left != nil {
		left = q.Left.Name
	}
	if q.Right != nil {
		right = q.Right.Name
	}
	return left, right
}

// fields returns the fields of an identity as of a commit, or nil if it did
// not exist.
func (l log) fields(id onto.Identity, at int64) json.RawMessage {
	v, ok := l.newest(id, at)
	if !ok || !v.Live() {
		return nil
	}
	return v.Fields
}

// newest returns the newest version of an identity as of a commit.
func (l log) newest(id onto.Identity, at int64) (onto.Version, bool) {
	for _, v := range slices.Backward(l.versions) {
		if v.Identity == id && v.Commit <= at {
			return v, true
		}
	}
	return onto.Version{}, false
}
