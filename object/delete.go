package object

import (
	"context"
	"sync/atomic"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// Delete deletes the objects with these keys. What does not exist is not an error. Shards
// commit as for Insert.
func (t Tenant[T, I, S]) Delete(ctx context.Context, keys ...Key[I, S]) error {
	b := bulk{set: t.set.kind, tenant: t.tenant}
	for _, key := range keys {
		k, err := t.set.key.check(t.set.name(), string(key.ID), string(key.ShardKey))
		if err == nil {
			err = b.add(ctx, string(key.ShardKey), k, nil)
		}
		if err != nil {
			return err
		}
	}
	return b.commit(ctx, func(p *part, d onto.Draft) (onto.Result, error) { return p.remove(ctx, d) })
}

// DeleteWhere deletes the objects that a clause is about, and returns how many it has deleted.
// Each shard deletes in one commit what matches at the commit before it. A clause with an order or a
// part of the answer is Invalid. Shards commit as for Insert.
func (t Tenant[T, I, S]) DeleteWhere(ctx context.Context, where Clause, shardKeys ...S) (int64, error) {
	q, err := t.question(where, texts(shardKeys))
	if err != nil {
		return 0, err
	}
	if len(q.order) > 0 || q.limit > 0 || q.perShard > 0 || q.offset > 0 || q.cursor != "" {
		return 0, onto.Errorf(onto.Invalid, "a delete takes conditions, and no order, limit, offset or cursor").
			WithHint("select the objects first, and delete them by their keys")
	}
	shards, err := t.set.shards(ctx, t.tenant, texts(shardKeys))
	if err != nil {
		return 0, err
	}
	b := bulk{set: t.set.kind, tenant: t.tenant}
	for _, s := range shards {
		if err := s.join(ctx, t.set.kind); err != nil {
			return 0, err
		}
		b.part(s)
	}
	var deleted atomic.Int64
	err = b.commit(ctx, func(p *part, d onto.Draft) (onto.Result, error) {
		res, err := q.delete(ctx, p.shard, d)
		deleted.Add(int64(res.Operations))
		return res, err
	})
	return deleted.Load(), err
}

// freely is how often a delete is tried beside other writers before they have to wait.
const freely = 3

// delete deletes what matches on a shard.
func (q *question[T]) delete(ctx context.Context, s *shard, d onto.Draft) (onto.Result, error) {
	if d.IdempotencyKey != "" {
		for c, err := range s.store.Commits(ctx, store.CommitOptions{Key: d.IdempotencyKey}) {
			if err == nil {
				err = q.checkDelete(ctx, s, c)
			}
			return onto.Result{Commit: c, At: c.ID, Repeated: true}, err
		}
	}
	for range freely {
		res, err := q.deleteOnce(ctx, s, d)
		if onto.CodeOf(err) != onto.Stale {
			return res, err
		}
	}
	lease, err := s.store.Lease(ctx, onto.WriteLease, nil)
	if err != nil {
		return onto.Result{}, err
	}
	kept := hold(ctx, lease, LockInfo{}) // reading may take longer than the lease lasts
	defer kept.Unlock(context.WithoutCancel(ctx))
	current := lease.Current()
	d.Lease = &current
	return q.deleteOnce(ctx, s, d)
}

// checkDelete refuses the idempotency key of a commit that did something else than to delete objects
// of the set.
func (q *question[T]) checkDelete(ctx context.Context, s *shard, c onto.Commit) error {
	for change, err := range s.store.Changes(ctx, c.ID) {
		if err != nil {
			return err
		}
		if change.Type != q.kind.name() || change.After != nil && change.After.Live() {
			return onto.Errorf(onto.IdempotencyConflict, "idempotency key %q was used for something else by commit %d", c.IdempotencyKey, c.ID).
				WithHint("use a new key for each operation")
		}
	}
	return nil
}

// deleteOnce deletes what matches at the head, provided that it is still the head then.
func (q *question[T]) deleteOnce(ctx context.Context, s *shard, d onto.Draft) (onto.Result, error) {
	head, err := s.store.Head(ctx)
	if err != nil {
		return onto.Result{}, err
	}
	from := &source{shard: s, view: s.store.At(head.ID)}
	return s.store.CommitStream(ctx, d.GivenHead(head.ID), func(yield func(any, error) bool) {
		for f, err := range q.rows(ctx, from, false) {
			if !yield(f.version.Identity, err) || err != nil {
				return
			}
		}
	})
}
