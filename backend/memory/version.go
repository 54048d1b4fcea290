package memory

import (
	"bytes"
	"context"
	"iter"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// current returns the newest version of every identity as of a commit.
func (l log) current(at int64) map[onto.Identity]*onto.Version {
	newest := map[onto.Identity]*onto.Version{}
	for i, v := range l.versions {
		if v.Commit <= at {
			newest[v.Identity] = &l.versions[i]
		}
	}
	return newest
}

// Get implements [backend.Backend].
func (b *Backend) Get(ctx context.Context, id onto.Identity, at int64) (onto.Version, error) {
	now, err := b.moment(ctx)
	if err != nil {
		return onto.Version{}, err
	}
	for _, v := range slices.Backward(now.versions) {
		if v.Identity == id && v.Commit <= now.reach(at) {
			return handOut(v), nil
		}
	}
	return onto.Version{}, backend.NoVersion(id)
}

// handOut returns the version with fields of its own.
func handOut(v onto.Version) onto.Version {
	v.Fields = bytes.Clone(v.Fields)
	return v
}

// Scan implements [backend.Backend].
func (b *Backend) Scan(ctx context.Context, q *backend.Query) iter.Seq2[onto.Version, error] {
	return each(ctx, b, func(l log) []onto.Version {
		if q.Mode == backend.History {
			return first(l.history(q), q.Limit)
		}
		return first(l.state(q), q.Limit)
	})
}

// state returns the live versions a query asks for, in order of identity.
func (l log) state(q *backend.Query) []onto.Version {
	var list []onto.Version
	for id, v := range l.current(l.reach(q.At)) {
		if !v.Live() || id.Kind != q.Kind || id.Type != q.Type {
			continue
		}
		if q.After != nil && id.Compare(*q.After) <= 0 {
			continue
		}
		list = append(list, handOut(*v))
	}
	slices.SortFunc(list, func(a, b onto.Version) int { return a.Identity.Compare(b.Identity) })
	return list
}

// history returns all versions a query asks for, in the order of the log.
func (l log) history(q *backend.Query) []onto.Version {
	var list []onto.Version
	for _, v := range l.versions {
		if v.Kind != q.Kind || v.Type != q.Type || v.Commit <= q.Since || v.Commit > l.reach(q.At) {
			continue
		}
		if q.Identity != nil && v.Identity != *q.Identity {
			continue
		}
		list = append(list, handOut(v))
	}
	return list
}

// Diff implements [backend.Backend].
func (b *Backend) Diff(ctx context.Context, q *backend.DiffQuery) iter.Seq2[onto.Change, error] {
	return each(ctx, b, func(l log) []onto.Change {
		before, after := l.current(l.reach(q.From)), l.current(l.reach(q.To))
		var list []onto.Change
		for id, v := range after {
			if q.Kind != "" && (id.Kind != q.Kind || id.Type != q.Type) {
				continue
			}
			if c, differs := change(before[id], v); differs {
				list = append(list, c)
			}
		}
		slices.SortFunc(list, func(a, b onto.Change) int { return a.Identity.Compare(b.Identity) })
		return list
	})
}

// change compares two versions of an identity. Before may be nil; after is not,
// since an identity that has a version keeps having one.
func change(before, after *onto.Version) (onto.Change, bool) {
	now := handOut(*after)
	if before == nil {
		return backend.Difference(nil, &now)
	}
	then := handOut(*before)
	return backend.Difference(&then, &now)
}
