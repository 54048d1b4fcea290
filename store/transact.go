package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/backoff"
	"github.com/ontologia/onto/internal/refusal"
	"github.com/ontologia/onto/store/internal/catalog"
	"github.com/ontologia/onto/store/internal/foldkeep"
	"github.com/ontologia/onto/store/internal/queue"
)

// Transact calls a function that reads and writes through a [Tx], and commits what it wrote
// as a part of the draft, provided that what it read has not changed meanwhile. A lost race
// is followed by a pause, which is random and grows, and by another try with what is there
// then: the function may be called up to [MaxUpdates] times, so it should do nothing but
// read and write through its Tx. After the last try the error is a VersionMismatch that says
// how often it was tried; the context ends it earlier. After a lost race, transactions and
// updates of the same things through the same Store follow each other.
//
// The draft says who and why, and may want and expect more: all of it is committed together,
// or nothing. A thing that both the draft and the function write is a Conflict, unless both
// want the same. If what the draft was computed from has changed, see [onto.Draft.Given], the
// error is Stale, and there is no other try. With an idempotency key the transaction is made
// once: when the same draft comes again, the first result comes back and the function is not
// called.
//
// The error of the function is returned as it is and, as after a panic, nothing is written.
// If there is nothing to write, to acknowledge or to expect, no commit is made, and At is
// the commit as of which the function has read, whatever has changed since.
//
// The commit is one of its own. A handler of the bus that calls Transact makes it without
// the ack of the event: if the process ends in between, the event is handled again. To have
// both in one commit, read from [Store.Pin], and say with [onto.Draft.Given] in the draft of
// the claim what was read.
func Transact(ctx context.Context, s *Store, d onto.Draft, do func(tx *Tx) error) (onto.Result, error) {
	if do == nil {
		return onto.Result{}, onto.Errorf(onto.Invalid, "the transaction has no function")
	}
	if d.IdempotencyKey != "" {
		if res, used, err := s.repeated(ctx, d, &transacted); used || err != nil {
			return res, err
		}
	}
	line := queue.Line{Queues: &s.updates}
	defer line.Leave()
	pause := backoff.Backoff{First: time.Millisecond, Longest: time.Second}
	for tries := 1; ; tries++ {
		tx, draft, err := s.tryTx(ctx, d, do)
		if err != nil {
			return onto.Result{}, err
		}
		if draft == nil {
			return onto.Result{At: tx.at}, nil
		}
		res, err := s.appendTx(ctx, tx.made.Catalog, draft, tries > 1)
		switch {
		case !refusal.Outdated(err, d.Fences()):
			return res, err
		case tries == MaxUpdates:
			return onto.Result{}, beaten("the transaction", tries, err).
				WithHint("run it from fewer places at a time, or let it read less: what is asked with Find is the whole store")
		}
		if err := pause.Pause(ctx, nil); err != nil {
			return onto.Result{}, err
		}
		if err := line.Advance(ctx, tx.contested(err)); err != nil {
			return onto.Result{}, err
		}
	}
}

// transacted is the mark of a transaction in a digest.
var transacted = backend.Write{Op: "transaction"}

// tryTx calls the function of a transaction, and returns what is to be committed; nil for
// nothing.
func (s *Store) tryTx(ctx context.Context, d onto.Draft, do func(tx *Tx) error) (*Tx, *backend.Draft, error) {
	view, err := s.Pin(ctx)
	if err != nil {
		return nil, nil, err
	}
	types, err := s.relearn(ctx) // if they have changed by then
	if err != nil {
		return nil, nil, err
	}
	tx := &Tx{s: s, view: view, made: types.Drafting(d.IdempotencyKey)}
	tx.at, _ = view.point.Commit()
	draft, err := s.drafted(ctx, tx.made, d)
	if err != nil {
		return nil, nil, err
	}
	tx.base = len(draft.Writes)
	if draft.IdempotencyKey != "" {
		draft.Digest = markedDigest(draft, &transacted)
	}
	if err := tx.call(do); err != nil {
		return nil, nil, err
	}
	if err := s.emit(draft, tx.events); err != nil {
		return nil, nil, err
	}
	if draft.Writes, err = backend.SortWrites(append(draft.Writes, tx.writes...)); err != nil {
		return nil, nil, err
	}
	if idle(draft) {
		return tx, nil, nil
	}
	tx.fence(draft)
	return tx, draft, nil
}

// call calls the function of the transaction, which ends with it.
func (tx *Tx) call(do func(tx *Tx) error) error {
	defer func() { tx.ended = true }()
	return do(tx)
}

// idle reports whether a draft wants nothing, and there is nothing to be checked.
func idle(d *backend.Draft) bool {
	return len(d.Writes)+len(d.Acks)+len(d.Expect)+len(d.Fence) == 0 && d.Advance == nil && d.Lease == nil && d.Causation == 0
}

// fence adds to a draft what the transaction has read.
func (tx *Tx) fence(draft *backend.Draft) {
	tx.settle()
	if tx.head {
		draft.Fence = append(draft.Fence, onto.Expectation{Head: true, Commit: tx.at})
		return
	}
	draft.Fence = append(draft.Fence, tx.reads...)
}

// appendTx commits the draft of a try; again says that the one before was stale.
func (s *Store) appendTx(ctx context.Context, types *catalog.Catalog, draft *backend.Draft, again bool) (onto.Result, error) {
	if foldkeep.HasFacts(draft) {
		return s.tryFacts(ctx, types, draft, again)
	}
	res, err := s.b.Append(ctx, draft)
	return s.finish(ctx, types, res, err)
}

// contested returns what others may be at work on after a try that was stale: what it has
// read, the zero Identity for the whole store, and what has changed, which may be the state
// of a fold.
func (tx *Tx) contested(err error) []onto.Identity {
	ids := make([]onto.Identity, 0, len(tx.reads)+1)
	for i := range tx.reads {
		ids = append(ids, tx.reads[i].Identity)
	}
	if e := (*onto.Error)(nil); errors.As(err, &e) && e.Expectation != nil {
		ids = append(ids, e.Expectation.Identity)
	}
	slices.SortFunc(ids, onto.Identity.Compare)
	return slices.Compact(ids)
}
