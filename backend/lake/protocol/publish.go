package protocol

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
)

// Publisher publishes heads of one lake, for one process.
type Publisher struct {
	*Log
	kept durableHeads
	free freeLeases
}

// NewPublisher is the publisher of a log.
func NewPublisher(l *Log) *Publisher { return &Publisher{Log: l} }

// Proposal is what an attempt wants to publish: objects that no other attempt
// writes, and the head that names them.
type Proposal struct {
	objects []Object
	next    *Tip  // without its tag, and with its head's body still to be made
	Once    bool  // a planner would not recognise its effect: it must not be planned again if it may have been published
	Refusal error // why it was not published, or may not have been
}

// Object is an object that is to be written, or removed.
type Object struct {
	Key  string
	Body []byte
}

// round is the manifest of the round that a proposal adds to the log, or nil.
func (p *Proposal) round() *Manifest {
	if m := p.next.Manifest; m != nil && m.Attempt == p.next.Head.Attempt {
		return m
	}
	return nil
}

// sound fails if what a proposal publishes could not be read again. The numbers of a
// damaged lake may be at their limits.
func (p *Proposal) sound() error {
	if err := p.next.Head.check(); err != nil {
		return Damaged(HeadKey, "no head can follow it: %w", err)
	}
	if m := p.round(); m != nil {
		if err := m.check(); err != nil {
			return Damaged(m.Entry().Path, "it could not be read again: %w", err)
		}
	}
	if c := p.next.Catalog; c.Attempt == p.next.Head.Attempt {
		if err := c.check(); err != nil {
			return Damaged(p.next.Head.Catalog, "it could not be read again: %w", err)
		}
	}
	return nil
}

// Planner makes a proposal on top of a tip, or nil if there is nothing to publish. It
// is called again, with another attempt, after a lost swap: its decision may be
// different then. If its last proposal was no round and not Once, that one may have
// been published after all, many heads ago: then its effect is there already, or may be
// repeated.
type Planner func(t *Tip, attempt string) (*Proposal, error)

// Publish publishes what a planner proposes. The swap of the head decides. After a
// successful swap no error is returned; if the outcome of a swap cannot be found out,
// the error is OutcomeUnknown. With any other error nothing of the planner's was or
// will be published.
func (l *Publisher) Publish(ctx context.Context, plan Planner) (*Tip, error) {
	t, err := l.current(ctx)
	if err != nil {
		return nil, err
	}
	wait, turn := l.Waiter(), l.newTurn()
	var doubt *Proposal // the last that may be published, many heads ago
	for {
		if err := l.checkClock(); err != nil {
			return nil, err
		}
		t = turn.holdBack(ctx, t)
		attempt, began := l.set.Attempt(), time.Now()
		p, err := plan(t, attempt)
		wait.until = wait.until.Add(time.Since(began)) // a long commit must not be out of patience before its first try
		switch {
		case errors.Is(err, ErrStale) || errors.Is(err, ErrReplaced):
			if t, err = l.Load(ctx); err != nil {
				return nil, doubted(doubt, err)
			}
			continue
		case err != nil:
			return nil, doubted(doubt, err)
		case p == nil: // without a swap it is not known whether the tip is the newest
			now, err := l.Refresh(ctx)
			if err != nil || now.Head.Sequence == t.Head.Sequence {
				return t, doubted(doubt, err)
			}
			t = now
			continue
		}
		became, err := l.try(ctx, t, p)
		switch {
		case err != nil:
			return nil, doubted(doubt, err)
		case became == published:
			return p.next, nil
		case became == overrun:
			doubt = p
		}
		wait.Tries = min(wait.Tries, turnAfter) // turns do the rest
		if late := wait.Wait(ctx); late != nil {
			late = onto.Errorf(onto.LockContention, "others were faster %d times: %w", turn.lost+1, late).
				WithHint("try again, or let fewer programs write")
			if doubt != nil {
				late = doubt.unsettled()
			}
			return nil, late
		}
		if t, err = turn.again(ctx); err != nil {
			return nil, doubted(doubt, err)
		}
	}
}

// doubted is the error of a publication one of whose proposals may be published. A
// planner's refusal is returned as it is; a storage error becomes OutcomeUnknown.
func doubted(p *Proposal, err error) error {
	if code := onto.CodeOf(err); p == nil || err == nil || code != "" && code != onto.Unavailable {
		return err
	}
	return p.unsettled()
}

// unsettled is the error for a proposal with an unknown outcome.
func (p *Proposal) unsettled() error {
	err := onto.Errorf(onto.OutcomeUnknown, "it is not known whether the commit was published (attempt %s)", p.next.Head.Attempt)
	if p.Refusal != nil {
		err = onto.Errorf(onto.OutcomeUnknown, "it is not known whether the commit was published (attempt %s): %w", p.next.Head.Attempt, p.Refusal)
	}
	if errors.Is(p.Refusal, bucket.ErrUnsynced) {
		return err.WithHint("%s", UnsyncedHint)
	}
	return err.WithHint("look for the commit before you try again")
}

// try uploads the objects of a proposal and then swaps the head. Without an error the
// verdict is published, lost or overrun. Objects are discarded only if a head that was
// read back proves that the proposal is lost; otherwise they are left to the janitor.
func (l *Publisher) try(ctx context.Context, t *Tip, p *Proposal) (verdict, error) {
	l.free.forget(t, p.next.Head)
	if err := p.sound(); err != nil {
		return lost, err
	}
	p.next.body = encodeSealed(p.next.Head)
	if len(p.next.body) > MaxSmall {
		return lost, onto.Errorf(onto.TooLarge, "%s would have %d bytes, and %d is the limit", HeadKey, len(p.next.body), MaxSmall)
	}
	if err := l.upload(ctx, p.objects); err != nil {
		if onto.CodeOf(err) == onto.Full {
			l.Discard(ctx, p.objects) // they would take the room that is missing; no head that names them was sent
		}
		return lost, err
	}
	v := l.swap(ctx, t, p)
	switch {
	case v == lost:
		l.Discard(ctx, p.objects)
	case v == refused:
		if onto.CodeOf(p.Refusal) == onto.Full { // a local disk says so, and is trusted
			l.Discard(ctx, p.objects)
		}
		return v, p.Refusal
	case v == gone:
		return v, headGone(bucket.ErrNotFound)
	case v == unknown || v == overrun && p.Once:
		return v, p.unsettled()
	}
	return v, nil
}

// createTimes is how many times the patience an object may take to be written. A
// janitor counts on it.
const createTimes = 30

// upload writes the objects of an attempt side by side. Their keys hold the attempt, so
// an object that exists after a try with an unknown outcome was written by that try.
func (l *Publisher) upload(ctx context.Context, objects []Object) error {
	errs := make([]error, len(objects))
	var wg sync.WaitGroup
	for i, o := range objects {
		wg.Go(func() { errs[i] = l.Create(ctx, o) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Create writes an object that no other attempt writes. If the storage says that it
// exists, or does not answer, it is read back.
func (l *Publisher) Create(ctx context.Context, o Object) error {
	if err := o.readable(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, createTimes*l.set.Patience)
	defer cancel()
	wait := l.Waiter()
	for {
		_, err := l.b.Create(ctx, o.Key, o.Body)
		if err == nil || Definite(err) {
			return err
		}
		if errors.Is(err, bucket.ErrExists) {
			found, failed := l.b.Get(ctx, o.Key, bucket.Range{Max: max(1, int64(len(o.Body)))}, "")
			switch {
			case failed == nil && bytes.Equal(found.Data, o.Body):
				return l.b.Sync(ctx, o.Key)
			case failed == nil:
				err = onto.Errorf(onto.Unavailable, "%s exists already, with other contents", o.Key).
					WithHint("try again; if it stays so, find out whether the storage keeps its promises").WithCommand("doctor", "s3")
			}
		}
		if late := wait.Wait(ctx); late != nil {
			return errors.Join(err, late)
		}
	}
}

// verdict is what became of a swap.
type verdict uint8

const (
	published verdict = iota
	lost              // another attempt made the head of its number: it will never be published
	overrun           // it will never be published from now on, but may have been, and no head remembers
	refused           // the storage refuses it
	gone              // there is no head any more
	pending           // the head is still the previous one: it may be published yet
	unknown           // it may be published already, or yet
)

// swapTimes is how many times the patience a swap may take, reading back included.
const swapTimes = 3

// swap tries to replace the head. It repeats the same swap, byte for byte, until its
// patience is over. Only success is trusted. Any other answer, 404, 409, 412 or 503,
// may come from a proxy, belong to a request that was sent twice, or be late: the head
// is read back to decide, unless the disk has failed to sync it. The caller's context
// ends it only while nothing was sent: the outcome of a swap that was sent has to be
// found out.
func (l *Publisher) swap(caller context.Context, t *Tip, p *Proposal) verdict {
	if p.Refusal = caller.Err(); p.Refusal != nil {
		return refused
	}
	ctx := context.WithoutCancel(caller)
	again, cancel := context.WithTimeout(ctx, (swapTimes-1)*l.set.Patience)
	defer cancel()
	send, cancel := context.WithTimeout(caller, (swapTimes-1)*l.set.Patience)
	defer cancel()
	wait, old, corrected := l.Waiter(), t.tag, false
	for first := true; ; first, send = false, again {
		made, err := l.b.Swap(send, HeadKey, p.next.body, old)
		switch {
		case err == nil:
			l.kept.add(p.next.Head)
			return l.won(p, made)
		case errors.Is(err, bucket.ErrUnsynced): // reading would show what a power failure may undo
			p.Refusal = err
			return unknown
		}
		v, tag := l.lookFor(ctx, t, p)
		if v == published {
			if p.Refusal = l.Durable(ctx, p.next); p.Refusal != nil {
				v = unknown
			}
		}
		switch {
		case v != pending && v != unknown && v != gone || Definite(p.Refusal):
			return v
		case first && Definite(err):
			p.Refusal = err
			return refused
		case v == pending && tag != old && !corrected: // in case it was given a wrong tag
			old, corrected = tag, true
			continue
		}
		if wait.Wait(again) != nil {
			if v != gone {
				v = unknown
			}
			return v
		}
	}
}

// won notes that the proposal is published. Without a tag another head has come
// since.
func (l *Publisher) won(p *Proposal, tag bucket.Tag) verdict {
	p.next.tag = tag
	l.advance(p.next)
	return published
}

// lookFor finds out by reading what became of a swap. Only one head has the number
// after the tip's, so a later head decides, if it remembers far enough back; otherwise
// the log decides. If the head is still the tip's, its tag is returned.
func (l *Publisher) lookFor(ctx context.Context, t *Tip, p *Proposal) (verdict, bucket.Tag) {
	ctx, cancel := context.WithTimeout(ctx, l.set.Patience)
	defer cancel()
	h, body, tag, _, err := l.readHeadOnce(ctx)
	switch {
	case errors.Is(err, bucket.ErrNotFound):
		return gone, ""
	case err != nil || h.StoreID != t.Head.StoreID || h.Sequence < t.Head.Sequence:
		return unknown, "" // not readable, or an older head
	case h.Attempt == t.Head.Attempt:
		return pending, tag
	case h.Sequence == t.Head.Sequence:
		return unknown, "" // of another history
	case h.Attempt == p.next.Head.Attempt:
		return l.won(p, tag), ""
	}
	made, sure := h.made(p.next.Head.Attempt, p.next.Head.Sequence)
	switch {
	case made:
		return l.won(p, ""), ""
	case sure:
		return lost, ""
	}
	return l.settle(ctx, p, h, body, tag), ""
}

// settle finds out what became of a swap that no head remembers any more. The log
// decides about a round: a commit is in one round only.
func (l *Publisher) settle(ctx context.Context, p *Proposal, h *Head, body []byte, tag bucket.Tag) verdict {
	m := p.round()
	if m == nil {
		return overrun
	}
	now, err := l.tipOf(ctx, h, body, tag)
	switch {
	case err != nil:
		return unknown
	case now.Head.CommitID < m.First:
		return lost
	}
	e, _, err := l.entryOf(ctx, now, m.First)
	switch {
	case err != nil:
		return unknown
	case e.Path == m.Entry().Path:
		return l.won(p, "")
	}
	return lost
}

// Discard removes the objects of an attempt that a head that was read back proves to be
// lost. What it cannot remove in time is left to the janitor.
func (l *Publisher) Discard(ctx context.Context, objects []Object) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.set.Patience)
	defer cancel()
	_ = SideBySide(len(objects), func(i int) error { return l.b.Delete(ctx, objects[i].Key) })
}
