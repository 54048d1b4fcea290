package store

import (
	"context"
	"iter"
	"reflect"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// Entry is a version together with the commit that made it.
type Entry struct {
	Version onto.Version
	Commit  onto.Commit
}

// Versioned is an Entry whose fields are a Go struct, present or past. Value is zero for a
// delete.
type Versioned[T any] struct {
	Value T
	Entry
}

// History yields the versions of an identity for which the filters are true,
// oldest first, deletes included. It yields NotFound if the identity has none.
func (s *Store) History(ctx context.Context, id onto.Identity, where ...onto.Filter) iter.Seq2[Entry, error] {
	return s.Now().History(ctx, id, where...)
}

// History is Store.History up to the view's moment.
func (v View) History(ctx context.Context, id onto.Identity, where ...onto.Filter) iter.Seq2[Entry, error] {
	t, err := v.typ(id.Kind, id.Type)
	if err == nil {
		err = t.CheckIdentity(id)
	}
	if err != nil {
		return failed[Entry](err)
	}
	q := v.FindKind(id.Kind, id.Type).Where(where...)
	q.identity = &id
	return func(yield func(Entry, error) bool) {
		none := true
		for p, err := range q.Versions(ctx, 0) {
			none = false
			if !yield(p.Entry, err) || err != nil {
				return
			}
		}
		if none {
			v.noHistory(ctx, id, where, yield)
		}
	}
}

// noHistory distinguishes an identity without versions from one whose versions the
// filters exclude.
func (v View) noHistory(ctx context.Context, id onto.Identity, where []onto.Filter, yield func(Entry, error) bool) {
	at, err := v.resolve(ctx)
	if len(where) > 0 && err == nil {
		err = again(func() error {
			v := v.current()
			t, err := v.typ(id.Kind, id.Type)
			if err == nil {
				_, err = reader{v, t}.get(ctx, id, at)
			}
			return err
		})
		if onto.CodeOf(err) != onto.NotFound {
			if err != nil {
				yield(Entry{}, err)
			}
			return
		}
	}
	yield(Entry{}, onto.Errorf(onto.NotFound, "%s does not exist and never did", id))
}

// History yields the versions of the T with this key, oldest first: all those of a store, or
// those up to the moment of a view. The key is as in Get. A version that the Go type cannot hold
// is SchemaOutdated, as for [Query.All].
func History[T any, V *Store | View](ctx context.Context, of V, key ...string) iter.Seq2[Versioned[T], error] {
	v, ok := any(of).(View)
	if !ok {
		v = any(of).(*Store).Now()
	}
	s := v.s
	t, err := s.catalog().OfStruct(reflect.TypeFor[T]())
	if err != nil {
		return failed[Versioned[T]](err)
	}
	id, err := t.Identity(key)
	if err != nil {
		return failed[Versioned[T]](err)
	}
	return func(yield func(Versioned[T], error) bool) {
		for e, err := range v.History(ctx, id) {
			p := Versioned[T]{Entry: e}
			if err == nil {
				t, err = s.catalog().OfStruct(reflect.TypeFor[T]()) // it may be outdated by now
			}
			last := err != nil
			if err == nil && e.Version.Live() {
				err = t.Decode(&e.Version, &p.Value)
				last = ends(err)
			}
			if !yield(p, err) || last {
				return
			}
		}
	}
}

// failed is a sequence that has only an error.
func failed[T any](err error) iter.Seq2[T, error] {
	return later(func() (iter.Seq2[T, error], error) { return nil, err })
}

// Changes yields what a commit changed, in order of identity. Each change's
// Before is the state right before the commit. Both versions of a fact that was changed
// name the commit that asserted it.
func (s *Store) Changes(ctx context.Context, commit int64) iter.Seq2[onto.Change, error] {
	return later(func() (iter.Seq2[onto.Change, error], error) {
		if commit < 1 {
			return nil, onto.Errorf(onto.NotFound, "commit %d does not exist: ids start at 1", commit)
		}
		if _, err := s.At(commit).resolve(ctx); err != nil {
			return nil, err
		}
		return likened(s.b.Diff(ctx, &backend.DiffQuery{From: commit - 1, To: commit})), nil
	})
}
