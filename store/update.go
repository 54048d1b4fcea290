package store

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/backoff"
	"github.com/ontologia/onto/internal/refusal"
	"github.com/ontologia/onto/store/internal/catalog"
	"github.com/ontologia/onto/store/internal/foldkeep"
	"github.com/ontologia/onto/store/internal/shape"
)

// Key is the key of a thing in its parts, as Get takes it: one part for an entity; left
// and right for a relation, and its instance key if it has one.
type Key []string

// MaxUpdates is how often Update tries before it fails with VersionMismatch.
const MaxUpdates = 100

// Update reads the T with this key, lets change change it, and commits the result as a
// part of the draft, provided that the T has not changed meanwhile. A lost race is
// followed by a pause, which is random and grows, and by another try with what is there
// then: change may be called up to [MaxUpdates] times, so it should do nothing but
// change the value. After the last try the error is a VersionMismatch that says how
// often it was tried; the context ends it earlier. Updates of one T through the same
// Store follow each other, so only other stores and other drafts are raced.
//
// The draft says who and why, and may want and expect more: all of it is committed
// together, or nothing. If what the draft itself was computed from has changed, see
// [onto.Draft.Given], the error is Stale, and change is not called again. A value that is
// left as it is makes no version. With an idempotency key the update is made once: when the
// same draft comes again, the first result comes back and change is not called.
//
// A T that does not exist is NotFound. The error of change is returned as it is and, as
// after a panic, nothing is written. Changing the key is Invalid.
func Update[T any](ctx context.Context, s *Store, d onto.Draft, key Key, change func(*T) error) (onto.Result, error) {
	if change == nil {
		return onto.Result{}, onto.Errorf(onto.Invalid, "the update has no function")
	}
	t, err := s.catalog().OfStruct(reflect.TypeFor[T]())
	if err != nil {
		return onto.Result{}, err
	}
	id, err := t.Identity(key)
	if err != nil {
		return onto.Result{}, err
	}
	if d.IdempotencyKey != "" {
		if res, used, err := s.repeated(ctx, d, updated(id)); used || err != nil {
			return res, err
		}
	}
	queued := s.updates.Join(id)
	defer queued.Leave()
	pause := backoff.Backoff{First: time.Millisecond, Longest: time.Second}
	for tries := 1; ; tries++ {
		if err := queued.Advance(ctx); err != nil {
			return onto.Result{}, err
		}
		value, found, err := read[T](ctx, s.Now(), nil, key)
		if err != nil {
			return onto.Result{}, err
		}
		before := s.written(reflect.ValueOf(&value).Elem())
		if err := change(&value); err != nil {
			return onto.Result{}, err
		}
		res, err := s.replace(ctx, d, &found, before, reflect.ValueOf(&value).Elem())
		switch {
		case !refusal.Outdated(err, d.Fences()):
			return res, err
		case tries == MaxUpdates:
			return res, beaten(id.String(), tries, err).
				WithHint("update it from fewer places at a time, or spread its value over several things")
		}
		if err := pause.Pause(ctx, nil); err != nil {
			return onto.Result{}, err
		}
	}
}

// beaten is the error for what was stale in each of its tries.
func beaten(what string, tries int, err error) *onto.Error {
	lost := onto.Errorf(onto.VersionMismatch, "%s: other writers were first in all of %d tries: %w", what, tries, err)
	if e := (*onto.Error)(nil); errors.As(err, &e) {
		lost.Expectation = e.Expectation
	}
	return lost
}

// written is the write of a struct as it was read, if the program may not know all fields of
// its type: what it writes later decides only what differs.
func (s *Store) written(v reflect.Value) *backend.Write {
	types := s.catalog()
	if t, err := types.OfStruct(v.Type()); err != nil || t.Known == nil {
		return nil
	}
	w, err := types.StructWrite(v, false)
	if err != nil {
		return nil
	}
	return &w
}

// replace commits a draft with a struct in place of the version that was read.
func (s *Store) replace(ctx context.Context, d onto.Draft, found *onto.Version, before *backend.Write, v reflect.Value) (onto.Result, error) {
	types := s.catalog()
	draft, err := s.draft(ctx, types, d)
	if err != nil {
		return onto.Result{}, err
	}
	w, err := types.StructWrite(v, false)
	if err == nil {
		err = types.Writable(ctx, w.Identity)
	}
	if err != nil {
		return onto.Result{}, err
	}
	if w.Identity != found.Identity {
		return onto.Result{}, onto.Errorf(onto.Invalid, "the update of %s made it %s", found.Identity, w.Identity).
			WithHint("a key cannot change: delete the one and ensure the other in one draft")
	}
	if before != nil && w.Known != nil {
		shape.OnlyChanged(&w, before.Fields)
	}
	if draft.IdempotencyKey != "" {
		draft.Digest = markedDigest(draft, updated(w.Identity))
	}
	if draft.Writes, err = backend.SortWrites(append(draft.Writes, w)); err != nil {
		return onto.Result{}, err
	}
	draft.Fence = append(draft.Fence, onto.Expectation{Identity: found.Identity, Commit: found.Commit})
	if foldkeep.HasFacts(draft) {
		return s.tryFacts(ctx, types, draft, true)
	}
	res, err := s.b.Append(ctx, draft)
	return s.finish(ctx, types, res, err)
}

// updated is the mark of an update in a digest.
func updated(id onto.Identity) *backend.Write { return &backend.Write{Identity: id, Op: "update"} }

// markedDigest stands for a draft and for what a function makes of what is there, for which
// there is a mark: what the function writes is not what the caller asked for.
func markedDigest(d *backend.Draft, mark *backend.Write) string {
	h := backend.NewDigest(d)
	for i := range d.Writes {
		h.Add(&d.Writes[i])
	}
	h.Add(mark)
	return h.Sum()
}

// repeated returns the first result of a draft, with what a function made for it, whose
// idempotency key has been used, and whether it has.
func (s *Store) repeated(ctx context.Context, d onto.Draft, mark *backend.Write) (onto.Result, bool, error) {
	if used, err := s.used(ctx, d.IdempotencyKey); err != nil || !used {
		return onto.Result{}, false, err
	}
	types := s.catalog()
	draft, err := s.draft(ctx, types, d)
	if err != nil {
		return onto.Result{}, false, err
	}
	draft.Digest = markedDigest(draft, mark)
	res, _, err := s.first(ctx, types, draft)
	return res, true, err
}

// used reports whether a commit has used an idempotency key.
func (s *Store) used(ctx context.Context, key string) (bool, error) {
	if key == "" {
		return false, nil
	}
	for _, err := range s.b.Commits(ctx, &backend.CommitQuery{Until: backend.Head, Key: key, Limit: 1}) {
		return err == nil, err
	}
	return false, nil
}

// first returns the result of the commit that has used the key of a draft, or why the
// draft is refused whatever it writes; decided is false, and the error Stale, if there is
// no reason.
func (s *Store) first(ctx context.Context, types *catalog.Catalog, draft *backend.Draft) (res onto.Result, decided bool, err error) {
	never := onto.Expectation{Head: true, Commit: -1}
	only := *draft
	only.Writes = nil
	only.Fence = append(slices.Clip(draft.Fence), never) // it is looked at last
	res, err = s.b.Append(ctx, &only)
	e := (*onto.Error)(nil)
	undecided := errors.As(err, &e) && e.Code == onto.Stale && (e.Expectation == nil || *e.Expectation == never)
	res, err = s.finish(ctx, types, res, err)
	return res, !undecided, err
}
