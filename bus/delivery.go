package bus

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/backoff"
)

// Why the context of a handler ended.
var (
	errTimeout = errors.New("the handler has used up its time")
	errLost    = errors.New("the claim was lost")
	errDrained = errors.New("the run ends")
)

// delivery is a claim from when it is made until it is settled. It belongs to the loop of
// its run, but for what is marked.
type delivery struct {
	onto.Claim // as it was claimed
	q          *queue
	until      time.Time // when its lease ends, by the monotonic clock
	starting   bool      // of a suspect: its start is being settled, or it runs

	// Since it was started:
	began      time.Time
	cancel     context.CancelCauseFunc
	overdue    bool        // its time is used up, and it has not returned
	committing atomic.Bool // its handler has returned; set by its goroutine

	// Since it has ended:
	end    ending
	took   time.Duration
	commit int64 // that its handler made; 0 for none
}

// start runs the handler in a goroutine of its own, which mails how it ended.
func (r *run) start(d *delivery) {
	q := d.q
	d.began = time.Now()
	q.active[d] = true
	r.started(d)
	ctx, cancel := context.WithCancelCause(r.ctx)
	d.cancel = cancel
	ctx, stop := context.WithTimeoutCause(ctx, q.h.timeout, errTimeout)
	go func() {
		var end ending
		var res result
		defer func() {
			stop()
			cancel(nil)
			took := time.Since(d.began)
			r.mail.Post(func() {
				if q.active[d] { // not abandoned
					d.end, d.took, d.commit = end, took, res.commit
					r.finished(d, res.emitted)
				}
			})
		}()
		// Replaced unless the handler ends its goroutine with runtime.Goexit.
		end = q.p.failed(d.Claim, errors.New("the handler has ended its goroutine"))
		end, res = r.work(ctx, d)
	}()
}

// result is what the commit of a handler did.
type result struct {
	commit  int64
	emitted bool
}

// work calls the handler, commits what it wants, and tells what becomes of the claim. It
// is called by the goroutine of a delivery.
func (r *run) work(ctx context.Context, d *delivery) (ending, result) {
	p := &d.q.p
	draft, err := guard(ctx, d)
	d.committing.Store(true)
	switch cause := context.Cause(ctx); {
	case cause == errLost:
		return lost(d.Claim, errLost), result{}
	case cause == errTimeout:
		if err == nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			return p.failed(d.Claim, fmt.Errorf("the handler took longer than its timeout of %v", d.q.h.timeout)), result{}
		}
		return p.failed(d.Claim, fmt.Errorf("the handler took longer than its timeout of %v: %w", d.q.h.timeout, err)), result{}
	case cause != nil && err != nil:
		return returned(d.Claim, 0, err), result{}
	case err != nil:
		return p.handled(d.Claim, err), result{}
	case plain(draft):
		return acked(d.Claim), result{}
	}
	return r.commit(d, draft)
}

// guard calls the handler. A panic is an error with the stack.
func guard(ctx context.Context, d *delivery) (draft onto.Draft, err error) {
	defer caught(&err)
	c := started(d.Claim)
	return d.q.h.call(ctx, &c)
}

// caught turns a panic of the program's code into an error with the stack. It is to be
// deferred.
func caught(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("panic: %v\n%s", v, text(errors.New(string(debug.Stack())), maxStack))
	}
}

// plain reports whether a draft wants nothing, so that the ack needs no commit.
func plain(d onto.Draft) bool {
	for range d.Intents() {
		return false
	}
	return len(d.Emitted()) == 0 && len(d.Acks) == 0 && len(d.Expectations()) == 0 && len(d.Fences()) == 0 && d.Lease == nil && d.Advance == nil && d.IdempotencyKey == ""
}

// unknownTries is how often a commit with an unknown outcome is repeated, which is safe:
// the ack in it counts once.
const unknownTries = 3

// commit makes the commit of a handler, with the ack in it.
func (r *run) commit(d *delivery, draft onto.Draft) (ending, result) {
	draft.Acks = append(draft.Acks[:len(draft.Acks):len(draft.Acks)], started(d.Claim))
	pause := backoff.Backoff{First: 100 * time.Millisecond, Longest: time.Second}
	unknown := false
	for try := 1; ; try++ {
		res, err := r.append(draft)
		code := onto.CodeOf(err)
		switch {
		case err == nil:
			end := acked(d.Claim)
			end.do = 0
			return end, result{res.ID, len(draft.Emitted()) > 0}
		case unknown && code == onto.LeaseExpired && r.ackedBefore(d):
			end := acked(d.Claim)
			end.do = 0
			return end, result{emitted: len(draft.Emitted()) > 0}
		case r.ctx.Err() != nil:
			return ending{what: Abandoned, claim: d.Claim, err: err}, result{}
		case code != onto.OutcomeUnknown || try == unknownTries || pause.Pause(r.ctx, nil) != nil:
			return d.q.p.committed(d.Claim, err, draft.Lease != nil), result{}
		}
		unknown = true
	}
}

// append commits a draft. Its values are encoded by code of the program, which may panic.
func (r *run) append(draft onto.Draft) (res onto.Result, err error) {
	defer caught(&err)
	return r.b.s.Commit(r.ctx, draft)
}

// ackedBefore reports whether the claim of a delivery was acked.
func (r *run) ackedBefore(d *delivery) bool {
	for e, err := range r.b.port.Events(r.ctx, &backend.EventQuery{ID: d.ID}) {
		if err != nil {
			return false
		}
		for _, c := range e.Claims {
			if c.Handler == d.Handler {
				return !c.Acked.IsZero() && c.Session == d.Session && c.Claimed.Equal(d.Claimed)
			}
		}
	}
	return false
}

// finished is called by the loop when the goroutine of a delivery has ended.
func (r *run) finished(d *delivery, emitted bool) {
	q := d.q
	delete(q.active, d)
	r.stale = true
	if d.overdue {
		q.stuck--
	} else {
		q.pace.add(d.took)
	}
	if r.solo == d {
		r.solo = nil
	}
	if r.idle {
		r.wake() // the handler may have emitted elsewhere, and nothing else tells of it
	}
	switch end := &d.end; {
	case end.fatal != nil:
		r.stop(end.fatal)
	case end.what == Returned && end.err != nil && r.phase == working:
		r.trouble(q, end.err)
	case end.what == Acked && end.do == 0:
		q.troubles = 0
		q.due = q.due || d.OrderingKey != ""
		if emitted {
			r.wake()
		}
	}
	if d.end.do == 0 {
		r.settled(d)
		return
	}
	q.end(d)
}
