package object

import (
	"context"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/parallel"
	"github.com/ontologia/onto/store"
)

// base is what reads of a tenant have in common, whatever they make of the rows.
type base[T any] struct {
	kind   *kind
	tenant string
	moment *time.Time // nil for the newest state of each shard
	find   func(store.View) store.Query[T]
}

// source is a shard at the moment that a read is about.
type source struct {
	shard  *shard
	view   store.View
	commit onto.Commit // that the view shows; zero if the view is not pinned
	empty  bool        // the store does not have the type yet
}

// view is the moment of a shard that a read is about. It is pinned if it matters which one it is.
func (r *base[T]) view(ctx context.Context, s *shard, pin bool) (*source, error) {
	from := &source{shard: s, view: r.at(s), empty: r.kind.lacking(s)}
	if !pin {
		return from, nil
	}
	c, err := from.view.Commit(ctx)
	from.view, from.commit = s.store.At(c.ID), c
	return from, s.explain(err)
}

// at views a shard now, or at the time that the read is about.
func (r *base[T]) at(s *shard) store.View {
	if r.moment != nil {
		return s.store.AsOf(*r.moment)
	}
	return s.store.Now()
}

// sources are the shards that a read asks, at the moments of the cursor if there is one. Otherwise
// the views follow the heads, of which one question shows one moment, unless they are pinned; a time
// is looked up once.
func (r *base[T]) sources(ctx context.Context, shardKeys []string, from *cursor, pin bool) ([]*source, error) {
	shards, err := r.kind.shards(ctx, r.tenant, shardKeys)
	if err != nil {
		return nil, err
	}
	list := make([]*source, len(shards))
	if from != nil {
		return list, from.sources(ctx, r.kind, shards, list)
	}
	pin = pin || r.moment != nil
	ready := func(i int) error {
		err := shards[i].join(ctx, r.kind)
		if err == nil {
			list[i], err = r.view(ctx, shards[i], pin)
		}
		return err
	}
	if pin || slices.ContainsFunc(shards, func(s *shard) bool { return !s.knows(r.kind) }) {
		return list, eachSideBySide(len(shards), ready)
	}
	for i := range shards { // nothing is asked
		if err := ready(i); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// eachSideBySide calls f for each number below n, all at once.
func eachSideBySide(n int, f func(i int) error) error {
	if n == 1 {
		return f(0)
	}
	return parallel.Do(n, n, f)
}

// question checks a clause and the shard keys to which a read is limited.
func (r *base[T]) question(where Clause, shardKeys []string) (*question[T], error) {
	if where == nil {
		where = All()
	}
	q := &question[T]{query: where.clause(), kind: r.kind, find: r.find}
	if q.err != nil {
		return nil, q.err
	}
	if err := q.check(); err != nil {
		return nil, err
	}
	if err := q.limitTo(shardKeys); err != nil {
		return nil, err
	}
	if q.cursor == "" {
		return q, nil
	}
	var err error
	q.from, err = readCursor(q.cursor, r.fingerprint(q, shardKeys))
	return q, err
}

// start returns a checked question and the shards that it asks.
func (r *base[T]) start(ctx context.Context, where Clause, shardKeys []string, pin bool) (*question[T], []*source, error) {
	q, err := r.question(where, shardKeys)
	if err != nil {
		return nil, nil, err
	}
	sources, err := r.sources(ctx, shardKeys, q.from, pin)
	return q, sources, err
}

// page returns the answers up to the limit of a clause, and the cursor for those that follow.
func (r *base[T]) page(ctx context.Context, where Clause, shardKeys []string) (list []found[T], next string, err error) {
	q, sources, err := r.start(ctx, where, shardKeys, true)
	if err != nil {
		return nil, "", err
	}
	if q.perShard > 0 {
		return nil, "", onto.Errorf(onto.Invalid, "a page has no limit per shard").WithHint("use Limit")
	}
	limit := q.limit
	if limit > 0 {
		q.query = q.with(func(q *query) { q.limit = max(0, limit+1) }) // to see whether something follows
	}
	for f, err := range q.merge(ctx, sources, true) {
		if err != nil {
			return nil, "", err
		}
		list = append(list, f)
	}
	if limit == 0 || len(list) <= limit {
		return list, "", nil
	}
	list = list[:limit]
	return list, newCursor(sources, r.fingerprint(q, shardKeys), &list[limit-1].place).String(), nil
}

// count returns how many answers there are on all shards.
func (r *base[T]) count(ctx context.Context, where Clause, shardKeys []string) (int64, error) {
	q, sources, err := r.start(ctx, where, shardKeys, false)
	if err != nil {
		return 0, err
	}
	counts := make([]int64, len(sources))
	err = eachSideBySide(len(sources), func(i int) error {
		if sources[i].empty {
			return nil
		}
		var err error
		counts[i], err = q.ask(sources[i]).Count(ctx)
		return sources[i].shard.explain(err)
	})
	var n int64
	for _, c := range counts {
		n += c
	}
	return n, err
}
