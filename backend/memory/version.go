package memory

import (
	"bytes"
	"context"
	"iter"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/exec"
	"github.com/ontologia/onto/internal/refusal"
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
	v, ok := now.newest(id, now.reach(at))
	if !ok {
		return onto.Version{}, refusal.NoVersion(id)
	}
	return handOut(v), nil
}

// Firsts implements [backend.Backend].
func (b *Backend) Firsts(ctx context.Context, q *backend.FirstsQuery) ([]int64, error) {
	now, err := b.moment(ctx)
	if err != nil {
		return nil, err
	}
	firsts := make([]int64, len(q.IDs))
	for i, id := range q.IDs {
		firsts[i] = now.first(id, now.reach(q.At))
	}
	return firsts, nil
}

// first returns the commit with which an identity's life as of a commit began, 0 if it
// does not live then.
func (l log) first(id onto.Identity, at int64) int64 {
	began := int64(0)
	for _, v := range l.versions {
		switch {
		case v.Identity != id || v.Commit > at:
		case !v.Live():
			began = 0
		case began == 0:
			began = v.Commit
		}
	}
	return began
}

// handOut returns the version with fields of its own.
func handOut(v onto.Version) onto.Version {
	v.Fields = bytes.Clone(v.Fields)
	return v
}

// Diff implements [backend.Backend].
func (b *Backend) Diff(ctx context.Context, q *backend.DiffQuery) iter.Seq2[onto.Change, error] {
	return each(ctx, b, func(l log) ([]onto.Change, error) {
		before, after := l.current(l.reach(q.From)), l.current(l.reach(q.To))
		var list []onto.Change
		for id, v := range after {
			if q.Kind != "" && id.TypeName() != q.TypeName() {
				continue
			}
			if c, differs := change(before[id], v); differs {
				list = append(list, c)
			}
		}
		slices.SortFunc(list, func(a, b onto.Change) int { return a.Identity.Compare(b.Identity) })
		return list, nil
	})
}

// change compares two versions of an identity. Before may be nil; after is not,
// since an identity that has a version keeps having one.
func change(before, after *onto.Version) (onto.Change, bool) {
	now := handOut(*after)
	if before == nil {
		return exec.Difference(nil, &now)
	}
	then := handOut(*before)
	return exec.Difference(&then, &now)
}
