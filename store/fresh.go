package store

import (
	"context"
	"errors"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/typelist"
	"github.com/ontologia/onto/store/internal/catalog"
)

// A store knows the types of its catalog. Another program may migrate them at any time;
// later reads could meet types that the catalog does not know, and answers would be
// silently wrong. So each read checks afterwards whether types have changed, which
// costs nothing while they have not. If they have, the store reads them again. An
// answer stays valid if its types have only got further fields; otherwise the read is
// retried with the present ones.

// errRelearned is the error of a read during which its types have changed.
var errRelearned = errors.New("the types have changed")

// mostRelearned is how often a read is retried.
const mostRelearned = 10

// typesChanging is the error of a read that still met changed types after all retries.
func typesChanging() error {
	return onto.Errorf(onto.SchemaOutdated, "the types changed while they were read").WithHint("try again")
}

// stands fails with errRelearned if a read of a type with a catalog may be wrong by
// now.
func (s *Store) stands(ctx context.Context, used *catalog.Catalog, t *catalog.Type) error {
	if s.watcher == nil || s.watcher.TypesSeen() == used.Turn.Load() {
		return nil
	}
	now, err := s.relearn(ctx)
	if err != nil || now == used {
		return err
	}
	names := []onto.TypeName{t.Schema.TypeName(), {Kind: onto.KindEntity, Name: t.Schema.Left}, {Kind: onto.KindEntity, Name: t.Schema.Right}}
	for _, name := range names {
		if !used.ContinuedBy(now, name) {
			return errRelearned
		}
	}
	return nil
}

// relearn returns a catalog of the types as they are now.
func (s *Store) relearn(ctx context.Context) (*catalog.Catalog, error) {
	s.learning.Lock()
	defer s.learning.Unlock()
	c := s.types.Load()
	turn := s.turn()
	if s.watcher != nil && turn == c.Turn.Load() {
		return c, nil
	}
	return s.reread(ctx, c, turn)
}

// turn returns the count of type changes, as of which types that are read next are at least.
// Where it has grown, no commit is known to exist: a restore counts as well, and takes
// commits away.
func (s *Store) turn() int64 {
	if s.watcher == nil {
		return 0
	}
	turn := s.watcher.TypesSeen()
	if c := s.types.Load(); c != nil && c.Turn.Load() != turn {
		s.head.Store(0)
	}
	return turn
}

// relearnAll is relearn also where no read has noticed that types have changed: types that
// another program has registered are known afterwards.
func (s *Store) relearnAll(ctx context.Context) (*catalog.Catalog, error) {
	s.learning.Lock()
	defer s.learning.Unlock()
	c := s.types.Load()
	return s.reread(ctx, c, c.Turn.Load())
}

// reread reads the types in place of those of a catalog.
func (s *Store) reread(ctx context.Context, c *catalog.Catalog, turn int64) (*catalog.Catalog, error) {
	stored, err := s.b.Schemas(ctx)
	if err != nil {
		return nil, err
	}
	if typelist.Hash(stored) == typelist.Hash(c.Stored) {
		c.Turn.Store(turn)
		return c, nil
	}
	next := s.learn(stored)
	next.Turn.Store(turn)
	s.types.Store(next)
	return next, nil
}

// again retries a read until its types have not changed during it.
func again(read func() error) error {
	for range mostRelearned {
		if err := read(); !errors.Is(err, errRelearned) {
			return err
		}
	}
	return typesChanging()
}

// anew is a sequence that is made when its iteration starts, so that it shows the state
// of that time, and again if types have changed meanwhile.
func anew[T any](make func() (iter.Seq2[T, error], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		started, stopped := false, false
		err := again(func() error {
			seq, err := make()
			if err != nil {
				return err
			}
			for v, err := range seq {
				if errors.Is(err, errRelearned) && !started {
					return err
				}
				if errors.Is(err, errRelearned) {
					err = typesChanging()
				}
				if started = true; !yield(v, err) || err != nil {
					stopped = true
					return nil
				}
			}
			return nil
		})
		if err != nil && !stopped {
			yield(none, err)
		}
	}
}

// verified yields a sequence that was made with the reader's catalog as long as that is
// valid. A sequence shows one snapshot, so the check at its start is enough.
func verified[T any](ctx context.Context, r reader, seq iter.Seq2[T, error]) iter.Seq2[T, error] {
	if r.s.watcher == nil {
		return seq
	}
	return func(yield func(T, error) bool) {
		started := false
		for v, err := range seq {
			if !started {
				started = true
				if stale := r.s.stands(ctx, r.catalog(), r.t); stale != nil {
					yield(v, stale)
					return
				}
			}
			if !yield(v, err) {
				return
			}
		}
		if !started {
			if stale := r.s.stands(ctx, r.catalog(), r.t); stale != nil {
				var none T
				yield(none, stale)
			}
		}
	}
}
