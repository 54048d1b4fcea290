package bus

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/mailbox"
)

// plan is the parts of a Run.
type plan struct {
	b         *Bus
	handlers  []*Handler
	schedules []*Schedule
}

// plan checks parts before anything starts.
func (b *Bus) plan(parts []Part) (*plan, error) {
	p := &plan{b: b}
	for _, part := range parts {
		if err := part.join(p); err != nil {
			return nil, err
		}
	}
	if len(parts) == 0 {
		return nil, onto.Errorf(onto.Invalid, "there is nothing to run").WithHint("give handlers or schedules")
	}
	return p, nil
}

// Run handles events and fires schedules until the context ends. Then it claims nothing
// more, returns what was not started, waits for handlers that run, for as long as
// Options.Drain says, and returns nil. The contexts of handlers that still run then are
// cancelled; one that ignores that is left behind after a few seconds.
//
// Parts that are not well formed fail with Invalid before anything starts. SchemaOutdated
// of a handler's commit ends Run with that error, as does a store that is closed, damaged
// or read-only, or has to be opened again: the claims are returned. Other troubles of the store are waited for.
func (b *Bus) Run(ctx context.Context, parts ...Part) error {
	return b.run(ctx, parts, false)
}

// RunUntilIdle is Run that also ends when nothing can be claimed now and no handler runs.
// It does not wait for retries, snoozed and delayed events, ticks, or events that another
// process has claimed; schedules fire only what [Schedule.CatchUp] asks for. It returns
// the context's error if that ends first.
func (b *Bus) RunUntilIdle(ctx context.Context, parts ...Part) error {
	if err := b.run(ctx, parts, true); err != nil {
		return err
	}
	return ctx.Err()
}

func (b *Bus) run(ctx context.Context, parts []Part, idle bool) error {
	p, err := b.plan(parts)
	if err != nil {
		return err
	}
	if b.o.Session != "" {
		if !b.named.CompareAndSwap(false, true) {
			return onto.Errorf(onto.Invalid, "a run of session %s is under way", b.o.Session).
				WithHint("give all parts to one Run, or leave Options.Session empty")
		}
		defer b.named.Store(false)
	}
	r := &run{b: b, idle: idle, mail: mailbox.New()}
	for _, h := range p.handlers {
		r.queues = append(r.queues, &queue{h: h, p: b.policy(h), active: map[*delivery]bool{}, due: true})
	}
	slices.SortStableFunc(r.queues, func(x, y *queue) int { return cmp.Compare(y.h.priority, x.h.priority) })
	if r.session, err = b.session(p); err != nil {
		return err
	}
	r.ctx, r.end = context.WithCancel(context.WithoutCancel(ctx))
	defer r.tasks.Wait()
	defer r.end()
	if err := r.schedules(p.schedules); err != nil {
		return err
	}
	r.lookAtClock()
	if !idle {
		b.s.Recheck(r.differs)
	}
	r.loop(ctx)
	return r.err
}

// phase is how far a run has come.
type phase int

const (
	working   phase = iota
	draining        // nothing is claimed any more; handlers that run go on
	cancelled       // their contexts were cancelled
	closing         // those that still run are left behind
	over
)

// grace is how long each phase after draining may take.
const grace = 5 * time.Second

// run is one Run of a bus. It belongs to the goroutine of its loop; other goroutines call
// the backend and the handlers, and mail what came of it.
type run struct {
	b       *Bus
	idle    bool // it ends when there is nothing to do
	session onto.Session
	queues  []*queue // by priority, the highest first
	tickers []*ticker
	solo    *delivery // the suspect that runs, or will run, alone; nil for none
	solos   int       // how many there were

	ctx   context.Context // of calls and handlers: goes on while the run drains
	end   context.CancelFunc
	tasks sync.WaitGroup // goroutines but for those of handlers
	mail  *mailbox.Mailbox
	woken atomic.Bool // something may have been written
	stale bool        // a handler has returned since all looked for events: it may have emitted some by itself

	phase    phase
	deadline time.Time // of the phase
	drained  time.Time // when draining began, by the wall clock
	err      error     // that ends the run

	looked  time.Time // when all handlers last looked for events since something was written
	polled  time.Time // and since the time for it had come
	cleaned time.Time // when old events were last removed; zero for not yet
	pulse
}

// loop runs until everything has ended.
func (r *run) loop(ctx context.Context) {
	done := ctx.Done()
	r.watch()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		for _, f := range r.mail.Take() {
			f()
		}
		pause := r.step()
		if r.phase == over {
			break
		}
		timer.Reset(pause)
		select {
		case <-done:
			done = nil
			r.stop(nil)
		case <-r.mail.Signal():
		case <-timer.C:
		}
	}
	r.leave()
}

// step does everything that can be done now, and returns when to look again.
func (r *run) step() time.Duration {
	now, wall := time.Now(), r.b.o.Now()
	r.audit(now, wall)
	if r.phase == working {
		r.look(now, wall)
		r.retain(now)
	}
	r.tick(wall)
	for _, q := range r.queues {
		r.serve(q, now)
	}
	r.calls(now)
	r.beat(now)
	r.proceed(now)
	return r.pause(time.Now(), wall)
}

// look marks the handlers that may have something to claim.
func (r *run) look(now, wall time.Time) {
	all := now.Sub(r.looked) >= r.breather() && r.woken.Swap(false)
	if all {
		r.looked = now
	}
	if now.Sub(r.polled) >= r.b.o.Poll {
		r.polled, all = now, true
	}
	for _, q := range r.queues {
		if all || !q.next.IsZero() && !wall.Before(q.next) {
			q.due = true
			if !wall.Before(q.next) {
				q.next = time.Time{}
			}
		}
	}
}

// perHandler is how much time is between two looks of all handlers, for each of them. An
// empty claim takes about half of it, so that a process with many handlers has time left
// where much is written.
const perHandler = 200 * time.Microsecond

// breather is the time between two looks of all handlers.
func (r *run) breather() time.Duration { return time.Duration(len(r.queues)) * perHandler }

// proceed goes on to the next phase if it is time for it.
func (r *run) proceed(now time.Time) {
	if r.phase == working {
		if !r.idle || !r.quiet() {
			return
		}
		if r.stale {
			r.stale = false
			r.wake()
			return
		}
		r.stop(nil)
	}
	if r.quiet() {
		r.phase = over
		return
	}
	if now.Before(r.deadline) {
		return
	}
	r.phase++
	r.deadline = now.Add(grace)
	for _, q := range r.queues {
		for d := range q.active {
			switch r.phase {
			case cancelled:
				d.cancel(errDrained)
			case closing:
				delete(q.active, d)
				d.end = ending{what: Abandoned, claim: started(d.Claim)}
				d.took = now.Sub(d.began)
				r.settled(d)
			}
		}
	}
}

// quiet reports whether nothing runs or is to be done. While the run works, that includes
// what could be claimed.
func (r *run) quiet() bool {
	for _, q := range r.queues {
		if q.calling || len(q.active) > 0 || len(q.ended) > 0 {
			return false
		}
		if r.phase == working && (q.due || len(q.waiting) > 0 || len(q.suspects) > 0 || r.solo != nil) {
			return false
		}
	}
	for _, t := range r.tickers {
		if t.busy || r.fires(t) && (t.catching || r.phase != working) {
			return false
		}
	}
	return !r.beating && !(r.phase == working && (r.blind || r.woken.Load()))
}

// stop begins the end of the run, with an error if it is not nil.
func (r *run) stop(err error) {
	if r.err == nil && err != nil {
		r.err = err
	}
	if r.phase != working {
		return
	}
	r.phase = draining
	r.deadline, r.drained = time.Now().Add(r.b.o.Drain), r.b.o.Now()
	for _, q := range r.queues {
		q.give()
		q.suspects = nil
	}
	if r.solo != nil && !r.solo.q.active[r.solo] {
		r.solo = nil
	}
}

// wake lets all handlers look for events.
func (r *run) wake() { r.woken.Store(true) }

// watch waits for writes of this and other processes, if the backend can tell.
func (r *run) watch() {
	if r.b.watcher == nil || r.idle {
		return
	}
	r.tasks.Go(func() {
		var mark int64
		for r.ctx.Err() == nil {
			next, err := r.b.watcher.Await(r.ctx, mark)
			if err != nil {
				select {
				case <-r.ctx.Done():
				case <-time.After(r.b.o.Poll):
				}
				continue
			}
			mark = next
			if !r.woken.Swap(true) {
				r.mail.Ring()
			}
		}
	})
}

// background calls f in a goroutine, and the function that it returns in the loop.
func (r *run) background(f func() func()) {
	r.tasks.Go(func() { r.mail.Post(f()) })
}

// pause is how long there is nothing to do.
func (r *run) pause(now, wall time.Time) time.Duration {
	next := r.b.o.Poll
	at := func(d time.Duration) { next = min(next, d) }
	if r.woken.Load() && r.phase == working {
		wait := r.breather() - now.Sub(r.looked)
		if wait <= 0 {
			return 0
		}
		at(wait)
	}
	if !r.beating {
		at(r.nextBeat.Sub(now))
	}
	if r.phase != working {
		at(r.deadline.Sub(now))
	}
	for _, q := range r.queues {
		if now.Before(q.rest) {
			at(q.rest.Sub(now))
		} else if len(q.ended) > 0 && !q.calling {
			at(q.since.Add(gather).Sub(now))
		}
		if !q.next.IsZero() && !q.due && r.phase == working {
			at(q.next.Sub(wall))
		}
	}
	for _, t := range r.tickers {
		if !t.busy && r.fires(t) {
			at(max(t.next.Sub(wall), t.rest.Sub(now)))
		}
	}
	return max(next, time.Millisecond)
}
