package store

import (
	"context"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// A store knows the types as they were when it was opened. If somebody migrates
// it later, what is read could be of types that it does not know: answers would
// be wrong without a sign of it. So each read finds out afterwards whether types
// have changed, which costs nothing while they have not.

// seenTypes notes which change of the types is known.
func (s *Store) seenTypes() {
	s.watcher, _ = backend.As[backend.TypeWatcher](s.b)
	if s.watcher != nil {
		s.turn.Store(s.watcher.TypesSeen())
	}
}

// fresh fails with SchemaOutdated if a type is another by now than the store
// knows, or one of its endpoints is.
func (s *Store) fresh(ctx context.Context, t *typ) error {
	if s.watcher == nil {
		return nil
	}
	if now := s.watcher.TypesSeen(); now != s.turn.Load() {
		if err := s.recheck(ctx, now); err != nil {
			return err
		}
	}
	changed := s.strange.Load()
	if changed == nil {
		return nil
	}
	names := []onto.TypeName{t.Schema.TypeName(), {Kind: onto.KindEntity, Name: t.Schema.Left}, {Kind: onto.KindEntity, Name: t.Schema.Right}}
	for _, name := range names {
		if (*changed)[name] {
			e := onto.Errorf(onto.SchemaOutdated, "type %s has changed since this program opened the store", name.Name)
			e.Differences = s.drift(ctx)
			for _, d := range e.Differences {
				e.Message += "; " + d.String()
			}
			return e.WithHint("open the store again with the present types")
		}
	}
	return nil
}

// recheck finds out which types are others by now.
func (s *Store) recheck(ctx context.Context, turn int64) error {
	stored, err := s.b.Schemas(ctx)
	if err != nil {
		return err
	}
	now := map[onto.TypeName]string{}
	for _, v := range stored {
		now[v.Schema.TypeName()] += backend.TypesHash([]onto.SchemaVersion{v})
	}
	known := map[onto.TypeName]string{}
	for _, v := range s.stored {
		known[v.Schema.TypeName()] += backend.TypesHash([]onto.SchemaVersion{v})
	}
	changed := map[onto.TypeName]bool{}
	for name, hash := range known {
		if now[name] != hash {
			changed[name] = true
		}
	}
	if len(changed) > 0 {
		s.strange.Store(&changed)
	}
	s.turn.Store(turn)
	return nil
}

// freshly yields a sequence if the type is still the one that the store knows.
// A sequence shows one moment, so its start tells.
func freshly[T any](ctx context.Context, s *Store, t *typ, seq iter.Seq2[T, error]) iter.Seq2[T, error] {
	if s.watcher == nil {
		return seq
	}
	return func(yield func(T, error) bool) {
		started := false
		for v, err := range seq {
			if !started {
				started = true
				if stale := s.fresh(ctx, t); stale != nil {
					yield(v, stale)
					return
				}
			}
			if !yield(v, err) {
				return
			}
		}
		if !started {
			if stale := s.fresh(ctx, t); stale != nil {
				var none T
				yield(none, stale)
			}
		}
	}
}
