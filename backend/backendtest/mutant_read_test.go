package backendtest_test

import (
	"context"
	"encoding/json"
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

type versions = iter.Seq2[onto.Version, error]

// all reads a sequence to its end.
func all[T any](seq iter.Seq2[T, error]) ([]T, error) {
	var list []T
	for item, err := range seq {
		if err != nil {
			return list, err
		}
		list = append(list, item)
	}
	return list, nil
}

// replay yields a list and then its error.
func replay[T any](list []T, err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, item := range list {
			if !yield(item, nil) {
				return
			}
		}
		if err != nil {
			var none T
			yield(none, err)
		}
	}
}

type asOfLate struct{ backend.Backend }

func (b asOfLate) Get(ctx context.Context, id onto.Identity, at int64) (onto.Version, error) {
	if at >= 0 {
		at++
	}
	return b.Backend.Get(ctx, id, at)
}

// eternal takes the first version of all for the beginning of every life.
type eternal struct{ backend.Backend }

func (b eternal) Firsts(ctx context.Context, q *backend.FirstsQuery) ([]int64, error) {
	list, err := b.Backend.Firsts(ctx, q)
	for i := range list {
		if list[i] == 0 {
			continue
		}
		history := &backend.Query{Kind: q.Kind, Type: q.Type, Mode: backend.History, At: q.At, Identity: &q.IDs[i], Limit: 1}
		for v, err := range b.Scan(ctx, history) {
			if err != nil {
				return nil, err
			}
			list[i] = v.Commit
		}
	}
	return list, err
}

// undying tells of lives that have ended.
type undying struct{ backend.Backend }

func (b undying) Firsts(ctx context.Context, q *backend.FirstsQuery) ([]int64, error) {
	list, err := b.Backend.Firsts(ctx, q)
	for i := range list {
		if v, err := b.Get(ctx, q.IDs[i], q.At); list[i] == 0 && err == nil {
			list[i] = v.Commit
		}
	}
	return list, err
}

// anyCommits does not choose commits.
type anyCommits struct{ backend.Backend }

func (b anyCommits) Commits(ctx context.Context, q *backend.CommitQuery) iter.Seq2[onto.Commit, error] {
	all := *q
	all.IDs = nil
	return b.Backend.Commits(ctx, &all)
}

type hiddenDelete struct{ backend.Backend }

func (b hiddenDelete) Scan(ctx context.Context, q *backend.Query) versions {
	list, err := all(b.Backend.Scan(ctx, q))
	return replay(slices.DeleteFunc(list, func(v onto.Version) bool { return !v.Live() }), err)
}

// undead takes the newest put of each identity for its state.
type undead struct{ backend.Backend }

func (b undead) Scan(ctx context.Context, q *backend.Query) versions {
	if q.Mode == backend.History || q.After != nil || q.Limit > 0 {
		return b.Backend.Scan(ctx, q)
	}
	history := *q
	history.Mode = backend.History
	list, err := all(b.Backend.Scan(ctx, &history))
	newest := map[onto.Identity]onto.Version{}
	for _, v := range list {
		if v.Live() {
			newest[v.Identity] = v
		}
	}
	list = list[:0]
	for _, v := range newest {
		list = append(list, v)
	}
	slices.SortFunc(list, func(a, b onto.Version) int { return a.Identity.Compare(b.Identity) })
	return replay(list, err)
}

type inclusive struct{ backend.Backend }

func (b inclusive) Scan(ctx context.Context, q *backend.Query) versions {
	if q.After == nil {
		return b.Backend.Scan(ctx, q)
	}
	whole := *q
	whole.After, whole.Limit = nil, 0
	list, err := all(b.Backend.Scan(ctx, &whole))
	list = slices.DeleteFunc(list, func(v onto.Version) bool { return v.Identity.Compare(q.After.Identity) < 0 })
	if q.Limit > 0 {
		list = list[:min(q.Limit, len(list))]
	}
	return replay(list, err)
}

type generous struct{ backend.Backend }

func (b generous) Scan(ctx context.Context, q *backend.Query) versions {
	more := *q
	if more.Limit > 0 {
		more.Limit++
	}
	return b.Backend.Scan(ctx, &more)
}

type shuffled struct {
	backend.Backend
	order func(a, b onto.Version) int
}

func (b shuffled) Scan(ctx context.Context, q *backend.Query) versions {
	if q.Mode == backend.History || q.Limit > 0 {
		return b.Backend.Scan(ctx, q)
	}
	list, err := all(b.Backend.Scan(ctx, q))
	slices.SortStableFunc(list, b.order)
	return replay(list, err)
}

type scattered struct{ backend.Backend }

func (b scattered) Scan(ctx context.Context, q *backend.Query) versions {
	if q.Mode != backend.History {
		return b.Backend.Scan(ctx, q)
	}
	list, err := all(b.Backend.Scan(ctx, q))
	slices.SortStableFunc(list, func(a, b onto.Version) int { return a.Identity.Compare(b.Identity) })
	return replay(list, err)
}

// backward limits first and turns around afterwards.
type backward struct{ backend.Backend }

func (b backward) Commits(ctx context.Context, q *backend.CommitQuery) iter.Seq2[onto.Commit, error] {
	oldest := *q
	oldest.Newest = false
	list, err := all(b.Backend.Commits(ctx, &oldest))
	if q.Newest {
		slices.Reverse(list)
	}
	return replay(list, err)
}

type early struct{ backend.Backend }

func (b early) Resolve(ctx context.Context, p onto.Point) (onto.Commit, error) {
	if t, ok := p.Time(); ok {
		p = onto.AtTime(t.Add(-time.Nanosecond))
	}
	return b.Backend.Resolve(ctx, p)
}

type hasty struct{ backend.Backend }

func (b hasty) Resolve(ctx context.Context, p onto.Point) (onto.Commit, error) {
	found, err := b.Backend.Resolve(ctx, p)
	if _, ok := p.Time(); !ok || err != nil {
		return found, err
	}
	for c, err := range b.Commits(ctx, &backend.CommitQuery{Until: backend.Head}) {
		if err != nil || c.Time.Equal(found.Time) {
			return c, err
		}
	}
	return found, nil
}

// restating lists the changes of the commits one after the other.
type restating struct{ backend.Backend }

func (b restating) Diff(ctx context.Context, q *backend.DiffQuery) iter.Seq2[onto.Change, error] {
	from, to := q.From, q.To
	head, err := b.Resolve(ctx, onto.Point{})
	if to == backend.Head || to > head.ID {
		to = head.ID
	}
	if from == backend.Head {
		from = head.ID
	}
	newest := map[onto.Identity]onto.Change{}
	for n := from; n < to && err == nil; n++ {
		step := *q
		step.From, step.To = n, n+1
		var list []onto.Change
		list, err = all(b.Backend.Diff(ctx, &step))
		for _, c := range list {
			if first, ok := newest[c.Identity]; ok {
				c.Before = first.Before
			}
			newest[c.Identity] = c
		}
	}
	var list []onto.Change
	for _, c := range newest {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b onto.Change) int { return a.Identity.Compare(b.Identity) })
	return replay(list, err)
}

type reticent struct{ backend.Backend }

func (b reticent) Diff(ctx context.Context, q *backend.DiffQuery) iter.Seq2[onto.Change, error] {
	return edit(b.Backend.Diff(ctx, q), func(c *onto.Change) {
		if !c.After.Live() {
			c.After = nil
		}
	})
}

type imprecise struct{ backend.Backend }

func (b imprecise) Resolve(ctx context.Context, p onto.Point) (onto.Commit, error) {
	c, err := b.Backend.Resolve(ctx, p)
	if text, jsonErr := json.Marshal(c.Metadata); jsonErr == nil && c.Metadata != nil {
		c.Metadata = nil
		_ = json.Unmarshal(text, &c.Metadata)
	}
	return c, err
}

// shared hands out the same bytes each time.
type shared struct {
	backend.Backend
	seen *sync.Map
}

func newShared(b backend.Backend) shared { return shared{b, new(sync.Map)} }

func (b shared) Get(ctx context.Context, id onto.Identity, at int64) (onto.Version, error) {
	v, err := b.Backend.Get(ctx, id, at)
	if err != nil {
		return v, err
	}
	return b.cached(v), nil
}

func (b shared) Scan(ctx context.Context, q *backend.Query) versions {
	return edit(b.Backend.Scan(ctx, q), func(v *onto.Version) { *v = b.cached(*v) })
}

func (b shared) cached(v onto.Version) onto.Version {
	type key struct {
		onto.Identity
		commit int64
	}
	found, _ := b.seen.LoadOrStore(key{v.Identity, v.Commit}, v)
	return found.(onto.Version)
}

// restive looks up each row when it is yielded.
type restive struct{ backend.Backend }

func (b restive) Scan(ctx context.Context, q *backend.Query) versions {
	return func(yield func(onto.Version, error) bool) {
		for v, err := range b.Backend.Scan(ctx, q) {
			if err == nil && q.Mode == backend.State && q.At == backend.Head {
				v, err = b.Get(ctx, v.Identity, backend.Head)
			}
			if !yield(v, err) {
				return
			}
		}
	}
}

// torn shows the last row of a commit only when its append is about to return.
type torn struct {
	backend.Backend
	appending atomic.Int64
}

func (b *torn) Append(ctx context.Context, d *backend.Draft) (result, error) {
	b.appending.Add(1)
	defer b.appending.Add(-1)
	r, err := b.Backend.Append(ctx, d)
	for start := time.Now(); time.Since(start) < time.Millisecond; { // long enough for a reader
		runtime.Gosched()
	}
	return r, err
}

func (b *torn) Scan(ctx context.Context, q *backend.Query) versions {
	if q.Mode == backend.History || b.appending.Load() == 0 {
		return b.Backend.Scan(ctx, q)
	}
	head, err := b.Resolve(ctx, onto.Point{})
	list, _ := all(b.Backend.Scan(ctx, q))
	if n := len(list); n > 0 && list[n-1].Commit == head.ID && err == nil {
		list[n-1], err = b.Get(ctx, list[n-1].Identity, head.ID-1)
	}
	return replay(list, err)
}

// leaky sends rows from a goroutine that does not notice when the consumer has stopped.
type leaky struct{ backend.Backend }

func (b leaky) Scan(ctx context.Context, q *backend.Query) versions {
	return func(yield func(onto.Version, error) bool) {
		type row struct {
			v   onto.Version
			err error
		}
		rows := make(chan row)
		go func() {
			defer close(rows)
			for v, err := range b.Backend.Scan(ctx, q) {
				rows <- row{v, err}
			}
		}()
		for r := range rows {
			if !yield(r.v, r.err) {
				return
			}
		}
	}
}

// deaf continues a scan that was cancelled.
type deaf struct{ backend.Backend }

func (b deaf) Scan(ctx context.Context, q *backend.Query) versions {
	return b.Backend.Scan(context.WithoutCancel(ctx), q)
}

// open ignores Close.
type open struct{ backend.Backend }

func (b open) Close() error { return nil }
