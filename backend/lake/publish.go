package lake

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
)

// proposal is what an attempt wants to publish: objects that nobody else writes,
// and the head that names them.
type proposal struct {
	objects []object
	next    *tip // without its tag, and with its head's body still to be made
	refusal error
}

type object struct {
	key  string
	body []byte
}

// planner makes a proposal on top of a tip, or nil if there is nothing to
// publish. It is asked again, with another attempt, when somebody else was
// faster: whatever it decided may be different then.
type planner func(t *tip, attempt string) (*proposal, error)

// publish publishes what a planner proposes. The swap of the head decides. After
// it has succeeded nothing can turn it into an error; if it cannot be found out
// whether it has, the error is OutcomeUnknown.
func (l *log) publish(ctx context.Context, plan planner) (*tip, error) {
	t, err := l.current(ctx)
	if err != nil {
		return nil, err
	}
	wait, turn := l.waiter(), l.newTurn()
	for {
		t = turn.holdBack(ctx, t)
		attempt, began := l.set.attempt(), time.Now()
		p, err := plan(t, attempt)
		wait.until = wait.until.Add(time.Since(began)) // a long commit is not out of patience before it was tried
		switch {
		case errors.Is(err, errStale):
			if t, err = l.load(ctx); err != nil {
				return nil, err
			}
			continue
		case err != nil:
			return nil, err
		case p == nil: // no swap tells whether the tip is the newest
			now, err := l.refresh(ctx)
			if err != nil || now.head.Sequence == t.head.Sequence {
				return t, err
			}
			t = now
			continue
		}
		done, err := l.try(ctx, t, p)
		switch {
		case err != nil:
			return nil, err
		case done:
			return p.next, nil
		}
		wait.tries = min(wait.tries, turnAfter) // turns do the rest
		if late := wait.pause(ctx); late != nil {
			return nil, onto.Errorf(onto.LockContention, "others were faster %d times: %w", turn.lost+1, late).
				WithHint("try again, or let fewer programs write")
		}
		if t, err = turn.again(ctx); err != nil {
			return nil, err
		}
	}
}

// try uploads the objects of a proposal and then swaps the head. It reports false,
// without an error, if somebody else was faster: the proposal never will be
// published.
func (l *log) try(ctx context.Context, t *tip, p *proposal) (done bool, err error) {
	l.forgetFree(t, p.next.head)
	p.next.body = encodeSealed(p.next.head)
	if err := l.upload(ctx, p.objects); err != nil {
		return false, err // the janitor finds what is left
	}
	switch l.swap(ctx, t, p) {
	case published:
		return true, nil
	case refused:
		l.discard(ctx, p.objects)
		return false, p.refusal
	case gone:
		return false, onto.Errorf(onto.Corrupt, "%s is gone", headKey).WithHint("restore it from a backup before anybody writes")
	case unknown:
		for range l.plantedTimes(discardUnknown) {
			l.discard(ctx, p.objects)
			time.Sleep(300 * time.Millisecond)
		}
		return false, onto.Errorf(onto.OutcomeUnknown, "it is not known whether the commit was published (attempt %s)", p.next.head.Attempt).
			WithHint("look for the commit before you try again")
	}
	l.discard(ctx, p.objects)
	return false, nil
}

// createTimes is how many times the patience an object may take to be written. A
// janitor counts on it.
const createTimes = 30

// upload writes the objects of an attempt side by side. Their keys hold the
// attempt, so one that exists after a try with an unknown outcome is its own.
func (l *log) upload(ctx context.Context, objects []object) error {
	errs := make([]error, len(objects))
	var wg sync.WaitGroup
	for i, o := range objects {
		wg.Go(func() { errs[i] = l.create(ctx, o) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// create writes an object that nobody else writes.
func (l *log) create(ctx context.Context, o object) error {
	if err := o.readable(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, createTimes*l.set.patience)
	defer cancel()
	wait, unsure := l.waiter(), false
	for {
		_, err := l.b.Create(ctx, o.key, o.body)
		switch {
		case err == nil || unsure && errors.Is(err, bucket.ErrExists):
			return nil
		case definite(err):
			return err
		case errors.Is(err, bucket.ErrExists): // its own, if somebody on the way has sent it twice
			if l.holds(ctx, o) {
				return nil
			}
			return onto.Errorf(onto.Unavailable, "%s exists already, with other contents", o.key).WithHint("try again; if it stays so, the storage does not keep its promises: onto doctor s3")
		case !errors.Is(err, bucket.ErrConflict) && !errors.Is(err, bucket.ErrThrottled):
			unsure = true
		}
		if late := wait.pause(ctx); late != nil {
			return errors.Join(err, late)
		}
	}
}

// holds reports whether the storage has an object as it is to be written.
func (l *log) holds(ctx context.Context, o object) bool {
	found, err := l.b.Get(ctx, o.key, bucket.Range{Max: max(1, int64(len(o.body)))}, "")
	return err == nil && bytes.Equal(found.Data, o.body)
}

// verdict is what became of a swap.
type verdict uint8

const (
	published verdict = iota
	lost              // somebody else was faster; it never will be published
	unknown           // it may be, or may become so
	gone              // there is no head any more
	refused           // the storage does not let it
)

// swap tries to replace the head. It repeats the same swap, byte for byte, until
// the answer is certain or its patience is over. It does not end with the
// caller's context: a swap that was sent has to be followed up.
func (l *log) swap(ctx context.Context, t *tip, p *proposal) verdict {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*l.set.patience)
	defer cancel()
	wait, unsure := l.waiter(), false
	for {
		tag, err := l.b.Swap(ctx, headKey, p.next.body, t.tag)
		switch {
		case err == nil:
			return l.won(p, tag)
		case errors.Is(err, bucket.ErrConflict) || errors.Is(err, bucket.ErrThrottled): // nothing happened
		case errors.Is(err, bucket.ErrNotFound):
			return gone
		case definite(err) && !unsure:
			p.refusal = err
			return refused
		case errors.Is(err, bucket.ErrChanged) && l.planted(changedIsLost):
			return lost
		case l.planted(unknownIsLost):
			return lost
		case l.planted(unknownIsWon):
			return l.won(p, "")
		default: // also a head that has changed: somebody on the way may have sent the swap twice
			unsure = true
			if v := l.lookFor(ctx, t, p); v != unknown {
				return v
			}
		}
		if wait.pause(ctx) != nil {
			if unsure {
				return unknown
			}
			return lost
		}
	}
}

// won notes that the proposal is published. Without a tag another head has come
// since.
func (l *log) won(p *proposal, tag bucket.Tag) verdict {
	p.next.tag = tag
	l.advance(p.next)
	return published
}

// lookFor finds out by reading what became of a swap. Only one head has the
// number after the tip's, so a later one tells for certain, if it remembers far
// enough.
func (l *log) lookFor(ctx context.Context, t *tip, p *proposal) verdict {
	h, _, tag, err := l.readHeadOnce(ctx)
	switch {
	case err != nil || h.StoreID != t.head.StoreID || h.Sequence <= t.head.Sequence:
		return unknown // not readable, not yet, or an older head
	case h.Attempt == p.next.head.Attempt:
		return l.won(p, tag)
	}
	made, sure := h.made(p.next.head.Attempt, p.next.head.Sequence)
	switch {
	case made && l.planted(newerTag):
		return l.won(p, tag)
	case made:
		return l.won(p, "")
	case sure:
		return lost
	}
	return unknown
}

// discard removes the objects of an attempt that has lost for certain. What it
// cannot remove is left to the janitor.
func (l *log) discard(ctx context.Context, objects []object) {
	_ = sideBySide(len(objects), func(i int) error { return l.b.Delete(context.WithoutCancel(ctx), objects[i].key) })
}
