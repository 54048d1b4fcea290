package store

import (
	"context"
	"iter"
	"sync/atomic"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// freshness tells whether types are still those of a catalog. A store knows the
// types as they were when it was opened. After a later migration, what is read
// could be of types that it does not know: answers would be wrong without a sign
// of it. So each read finds out afterwards whether types have changed, which costs
// nothing while they have not. The zero value watches nothing.
type freshness struct {
	watcher backend.TypeWatcher                    // nil if the backend is none
	turn    atomic.Int64                           // the change of types that was looked at
	strange atomic.Pointer[map[onto.TypeName]bool] // types that differ from those of the catalog; nil for none

	b     backend.Backend
	types *catalog
}

// watch notes which change of the types the catalog is of.
func (f *freshness) watch(b backend.Backend, types *catalog) {
	f.b, f.types = b, types
	f.watcher, _ = backend.As[backend.TypeWatcher](b)
	if f.watcher != nil {
		f.turn.Store(f.watcher.TypesSeen())
	}
}

// check fails with SchemaOutdated if a type differs by now from that of the
// catalog, or one of its endpoints does.
func (f *freshness) check(ctx context.Context, t *typ) error {
	if f.watcher == nil {
		return nil
	}
	if now := f.watcher.TypesSeen(); now != f.turn.Load() {
		if err := f.recheck(ctx, now); err != nil {
			return err
		}
	}
	changed := f.strange.Load()
	if changed == nil {
		return nil
	}
	names := []onto.TypeName{t.Schema.TypeName(), {Kind: onto.KindEntity, Name: t.Schema.Left}, {Kind: onto.KindEntity, Name: t.Schema.Right}}
	for _, name := range names {
		if (*changed)[name] {
			e := onto.Errorf(onto.SchemaOutdated, "type %s has changed since this program opened the store", name.Name)
			f.types.explain(ctx, f.b, e)
			return e.WithHint("open the store again with the present types")
		}
	}
	return nil
}

// recheck finds out which types differ by now.
func (f *freshness) recheck(ctx context.Context, turn int64) error {
	stored, err := f.b.Schemas(ctx)
	if err != nil {
		return err
	}
	now := map[onto.TypeName]string{}
	for _, v := range stored {
		now[v.Schema.TypeName()] += backend.TypesHash([]onto.SchemaVersion{v})
	}
	known := map[onto.TypeName]string{}
	for _, v := range f.types.stored {
		known[v.Schema.TypeName()] += backend.TypesHash([]onto.SchemaVersion{v})
	}
	changed := map[onto.TypeName]bool{}
	for name, hash := range known {
		if now[name] != hash {
			changed[name] = true
		}
	}
	if len(changed) > 0 {
		f.strange.Store(&changed)
	}
	f.turn.Store(turn)
	return nil
}

// freshly yields a sequence if the type is still the one that the catalog has.
// A sequence shows one moment, so its start tells.
func freshly[T any](ctx context.Context, f *freshness, t *typ, seq iter.Seq2[T, error]) iter.Seq2[T, error] {
	if f.watcher == nil {
		return seq
	}
	return func(yield func(T, error) bool) {
		started := false
		for v, err := range seq {
			if !started {
				started = true
				if stale := f.check(ctx, t); stale != nil {
					yield(v, stale)
					return
				}
			}
			if !yield(v, err) {
				return
			}
		}
		if !started {
			if stale := f.check(ctx, t); stale != nil {
				var none T
				yield(none, stale)
			}
		}
	}
}
