package object

import (
	"context"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// Revision is an object as a commit left it.
type Revision[T any] struct {
	Object  T // zero if Deleted
	Deleted bool
	Commit  onto.Commit // of the shard: when, by whom and why
}

// History yields the revisions of an object, the oldest first, up to the moment of the reader.
// An object that never existed is NotFound. Compute functions are not called: they are about what is
// there now.
func (r Reader[T, I, S]) History(ctx context.Context, key Key[I, S]) iter.Seq2[Revision[T], error] {
	return func(yield func(Revision[T], error) bool) {
		k, err := r.set.key.check(r.set.name(), string(key.ID), string(key.ShardKey))
		var s *shard
		if err == nil {
			s, err = r.set.shard(ctx, r.tenant, string(key.ShardKey))
		}
		var from *source
		if err == nil {
			from, err = r.view(ctx, s, false)
		}
		if err != nil {
			yield(Revision[T]{}, err)
			return
		}
		for v, err := range store.History[T](ctx, from.view, k) {
			if !yield(Revision[T]{v.Value, err == nil && !v.Version.Live(), v.Commit}, s.explain(err)) {
				return
			}
		}
	}
}
