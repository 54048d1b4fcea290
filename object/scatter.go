package object

import (
	"context"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/parallel"
	"github.com/ontologia/onto/store"
)

// base is what reads of a tenant have in common, whatever they make of the rows.
type base[T any] struct {
	kind   *kind
	tenant string
	moment *time.Time // nil for now
	find   func(store.View) store.Query[T]
}

// source is a shard at the moment that a read is about.
type source struct {
	shard  *shard
	view   store.View
	commit onto.Commit // that the view shows; zero if the view is not pinned
	empty  bool        // the store does not have the type yet
}

// view is the moment of a shard that a read is about. It is pinned if several questions are
// about it.
func (r *base[T]) view(ctx context.Context, s *shard, pin bool) (*source, error) {
	if err := s.join(ctx, r.kind); err != nil {
		return nil, err
	}
	from := &source{shard: s, view: s.store.Now(), empty: r.kind.lacking(s)}
	if r.moment != nil {
		from.view = s.store.AsOf(*r.moment)
	}
	if !pin {
		return from, nil
	}
	c, err := from.view.Commit(ctx)
	from.view, from.commit = s.store.At(c.ID), c
	return from, s.explain(err)
}

// sources are the shards that a read asks, each at one moment: that of the cursor, if there is
// one.
func (r *base[T]) sources(ctx context.Context, shardKeys []string, from *cursor) ([]*source, error) {
	shards, err := r.kind.shards(ctx, r.tenant, shardKeys)
	if err != nil {
		return nil, err
	}
	list := make([]*source, len(shards))
	if from != nil {
		return list, from.sources(ctx, r.kind, shards, list)
	}
	err = parallel.Do(len(shards), len(shards), func(i int) (err error) {
		list[i], err = r.view(ctx, shards[i], true)
		return err
	})
	return list, err
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
func (r *base[T]) start(ctx context.Context, where Clause, shardKeys []string) (*question[T], []*source, error) {
	q, err := r.question(where, shardKeys)
	if err != nil {
		return nil, nil, err
	}
	sources, err := r.sources(ctx, shardKeys, q.from)
	return q, sources, err
}

// page returns the answers up to the limit of a clause, and the cursor for those that follow.
func (r *base[T]) page(ctx context.Context, where Clause, shardKeys []string) (list []found[T], next string, err error) {
	q, sources, err := r.start(ctx, where, shardKeys)
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
	q, sources, err := r.start(ctx, where, shardKeys)
	if err != nil {
		return 0, err
	}
	counts := make([]int64, len(sources))
	err = parallel.Do(len(sources), len(sources), func(i int) error {
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
