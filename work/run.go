package work

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/mailbox"
)

// phase is how far a run has come.
type phase int

const (
	working   phase = iota
	draining        // nothing is taken any more; attempts that run go on
	cancelled       // their contexts were cancelled
	over            // those that still run are left behind
)

// grace is how long attempts whose contexts were cancelled may take to end.
const grace = 5 * time.Second

// run is one Run. It belongs to the goroutine of its loop; other goroutines make attempts
// and call the backend, and mail what came of it.
type run struct {
	q       *Queue
	runner  *Runner
	systems []string // of the connectors, in order
	o       RunOptions
	id      string
	request backend.WorkRequest
	p       policy

	ctx   context.Context // of calls and attempts: goes on while the run drains
	end   context.CancelFunc
	tasks sync.WaitGroup // goroutines but for those of attempts
	mail  *mailbox.Mailbox

	jobs    map[*job]bool // attempts that run
	ended   []*job        // attempts whose end is not stored
	left    []*job        // attempts whose end cannot be stored
	calling bool          // a call to the backend is under way
	due     bool          // there may be something to take
	next    time.Time     // when there may be something again; zero for never
	rest    time.Time     // no call before, since the last one failed
	pauses  int           // calls that failed in a row
	taken   int           // items
	empty   int           // answers in a row that had none

	phase    phase
	deadline time.Time // of the phase
	stopped  bool      // the run ends before all is done
	err      error     // that ends the run

	record onto.WorkRun
	sum    Summary
	shown  time.Time // when Progress was last called
	saved  time.Time // when the figures were last stored
}

// run works until everything has ended.
func (r *run) run(ctx context.Context) (Summary, error) {
	var release func()
	var err error
	r.ctx, r.end = context.WithCancel(context.WithoutCancel(ctx))
	defer r.end()
	if release, err = r.begin(ctx); err != nil {
		return Summary{}, err
	}
	defer release()
	if behind, err := backend.Behind(ctx, r.q.s.Backend(), time.Now()); err == nil && behind > 0 {
		r.observe(Observation{What: Behind, Delay: behind})
		r.o.Log.Warn("the clock is behind what is stored", "run", r.id, "by", behind)
	}
	r.q.s.Recheck(r.differs)
	r.loop(ctx)
	r.end()
	r.tasks.Wait()
	for _, f := range r.mail.Take() {
		f()
	}
	r.leave()
	err = r.finish(context.WithoutCancel(ctx))
	if r.o.Progress != nil {
		r.o.Progress(r.sum.clone())
	}
	return r.sum.clone(), err
}

// differs tells that the store is not as it was. Another goroutine calls it.
func (r *run) differs(f onto.Finding) {
	r.o.Log.Error("the store is not as it was when it was last known to be good", "finding", f.Code, "message", f.Message)
	r.mail.Post(func() { r.observe(Observation{What: Differs, Err: errors.New(f.String())}) })
}

func (r *run) loop(ctx context.Context) {
	done := ctx.Done()
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
}

// step does everything that can be done now, and returns when to look again.
func (r *run) step() time.Duration {
	now := time.Now()
	if !r.next.IsZero() && !now.Before(r.next) {
		r.due, r.next = true, time.Time{}
	}
	if !r.calling && !now.Before(r.rest) {
		r.call(now)
	}
	r.report(now)
	r.proceed(now)
	return r.pause(time.Now())
}

// call stores what has ended, renews leases and takes items, if any of these is to be done.
func (r *run) call(now time.Time) {
	ended := r.ended
	renew := r.renewals(now)
	want := 0
	if r.phase == working && (r.due || len(ended) > 0) {
		want = r.o.Workers - len(r.jobs)
		if r.o.MaxItems > 0 {
			want = min(want, r.o.MaxItems-r.taken)
		}
	}
	if len(ended) == 0 && len(renew) == 0 && want <= 0 {
		return
	}
	r.calling, r.ended = true, nil
	s := &settlement{ended: ended, renewed: renew, want: want, idle: len(r.jobs) == 0}
	r.tasks.Go(func() {
		r.settle(s)
		r.mail.Post(func() {
			r.calling = false
			r.stored(s)
			if s.err == nil && s.asked {
				r.received(s)
			}
		})
	})
}

// received starts attempts at what was taken.
func (r *run) received(s *settlement) {
	got := &s.got
	r.pauses = 0
	r.sum.Recovered += int64(got.Lost)
	r.taken += len(got.Items)
	r.due = len(got.Items)+len(got.GivenUp) == s.want
	r.next = time.Time{}
	r.empty++
	if len(got.Items) > 0 {
		r.empty = 0
	}
	if !got.Next.IsZero() {
		now := time.Now()
		if r.o.MaxWait > 0 && got.Next.Sub(now) > r.o.MaxWait && len(got.Items) == 0 && r.quiet() {
			r.stopped = true
			r.stop(nil)
			return
		}
		poll := r.o.Poll << min(r.empty/4, 3) // others may add items, the less likely the longer none came
		r.next = now.Add(max(time.Millisecond, min(poll, got.Next.Sub(now))))
	}
	for n := range got.GivenUp {
		w := &got.GivenUp[n]
		r.settled(&job{item: w.WorkItem, end: givenUp(&w.Attempts[len(w.Attempts)-1])}, nil)
	}
	for n := range got.Items {
		j := &job{item: got.Items[n], until: s.at.Add(r.o.Lease)}
		if r.phase != working {
			j.end = returned(nil)
			r.ended = append(r.ended, j)
			continue
		}
		r.start(j)
	}
}

// trouble waits after the backend has failed, or ends the run if that does not help.
func (r *run) trouble(err error) {
	if hopeless(err) {
		r.left, r.ended = append(r.left, r.ended...), nil // nothing more can be stored
		r.stop(err)
		return
	}
	if r.ctx.Err() != nil {
		return
	}
	r.pauses++
	delay := min(100*time.Millisecond<<min(r.pauses-1, 10), 5*time.Second)
	r.rest = time.Now().Add(delay)
	r.troubled(delay, err)
}

// proceed goes on to the next phase if it is time for it.
func (r *run) proceed(now time.Time) {
	if r.phase == working && r.quiet() {
		if r.o.MaxItems > 0 && r.taken >= r.o.MaxItems {
			r.stopped = true
			r.phase = over
		} else if !r.due && r.next.IsZero() {
			r.phase = over
		}
		return
	}
	if r.phase == working {
		return
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
	if r.phase == cancelled {
		for j := range r.jobs {
			j.cancel(errDrained)
		}
	}
}

// quiet reports whether no attempt runs or has to be stored.
func (r *run) quiet() bool { return !r.calling && len(r.jobs) == 0 && len(r.ended) == 0 }

// stop begins the end of the run, with an error if it is not nil.
func (r *run) stop(err error) {
	if r.err == nil && err != nil {
		r.err = err
	}
	if r.phase != working {
		return
	}
	r.stopped = true
	r.phase, r.deadline = draining, time.Now().Add(r.o.Drain)
	if len(r.jobs) > 0 {
		r.observe(Observation{What: Stopping, Delay: r.o.Drain})
	}
}

// leave tells of what is left behind.
func (r *run) leave() {
	left := slices.Concat(r.left, r.ended)
	for j := range r.jobs {
		j.took = time.Since(j.began)
		left = append(left, j)
	}
	for _, j := range left {
		j.end = ending{what: Abandoned, err: errDrained}
		r.settled(j, nil)
	}
	r.jobs, r.ended, r.left = nil, nil, nil
}

// pause is how long there is nothing to do.
func (r *run) pause(now time.Time) time.Duration {
	next := r.o.Lease / 4
	at := func(t time.Time) {
		if !t.IsZero() {
			next = min(next, t.Sub(now))
		}
	}
	if r.phase != working {
		at(r.deadline)
	}
	if now.Before(r.rest) {
		at(r.rest)
	} else if r.phase == working && !r.calling {
		at(r.next)
	}
	for j := range r.jobs {
		if !r.calling && !j.overdue(now) {
			at(j.until.Add(-r.o.Lease / 2))
		}
	}
	return max(next, time.Millisecond)
}

// report tells how far the run has come.
func (r *run) report(now time.Time) {
	const every, keep = 200 * time.Millisecond, 10 * time.Second
	r.sum.Active = len(r.jobs)
	if r.o.Progress != nil && now.Sub(r.shown) >= every {
		r.shown = now
		r.o.Progress(r.sum.clone())
	}
	if now.Sub(r.saved) >= keep && !r.calling && r.phase == working {
		r.saved, r.calling = now, true
		record := r.figures()
		r.tasks.Go(func() {
			err := r.q.port.SaveRun(r.ctx, record, false)
			r.mail.Post(func() {
				r.calling = false
				if err != nil {
					r.trouble(err)
				}
			})
		})
	}
}
