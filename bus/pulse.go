package bus

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"os"
	"reflect"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
)

// sleepGap is how far wall and monotonic clock may come apart between two looks. Beyond
// it, the machine has slept, or its clock was set: leases may have ended unnoticed.
const sleepGap = 5 * time.Minute

// pulse is the sign of life of a run.
type pulse struct {
	beating  bool
	alive    bool // the session is registered
	renew    bool // beat at once
	blind    bool // nothing is started or claimed before the next beat
	nextBeat time.Time

	mono, wall time.Time // of the last look at the clocks
}

// session describes a run.
func (b *Bus) session(p *plan) (onto.Session, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	s := onto.Session{ID: b.o.Session, Namespace: b.o.Namespace}
	if s.ID == "" {
		s.ID = fmt.Sprintf("%s-%d-%s", host, os.Getpid(), rand.Text()[:8])
	}
	names := []string{}
	for _, h := range p.handlers {
		names = append(names, h.name)
	}
	about := map[string]any{"host": host, "pid": os.Getpid(), "handlers": names}
	maps.Copy(about, b.o.Metadata)
	s.Metadata, err = codec.AppendValue(nil, reflect.ValueOf(about))
	return s, err
}

// lookAtClock tells of a clock that is behind what is stored. Events are handled all the same;
// what this run stores ends early for others.
func (r *run) lookAtClock() {
	behind, err := backend.Behind(r.ctx, r.b.s.Backend(), r.b.o.Now())
	if err == nil && behind > 0 { // the loop tells of errors
		r.behind(behind)
	}
}

// audit compares the clocks.
func (r *run) audit(now, wall time.Time) {
	wall = wall.Round(0) // without its monotonic reading
	first := r.mono.IsZero()
	gap := wall.Sub(r.wall) - now.Sub(r.mono)
	r.mono, r.wall = now, wall
	if !first && gap.Abs() <= sleepGap {
		return
	}
	r.blind, r.renew = true, true
	if !first {
		r.slept(gap)
		for _, t := range r.tickers {
			t.skip(wall)
		}
	}
}

// beat says that the session is alive, and renews what is claimed.
func (r *run) beat(now time.Time) {
	if r.beating || r.phase >= closing || !r.renew && now.Before(r.nextBeat) {
		return
	}
	r.beating, r.renew = true, false
	held := map[[2]string]*delivery{}
	b := &backend.Beat{Session: r.session, Lease: r.b.o.ClaimLease}
	add := func(d *delivery) {
		held[[2]string{d.ID, d.Handler}] = d
		b.Claims = append(b.Claims, d.Claim)
	}
	for _, q := range r.queues {
		for d := range q.active {
			if !r.late(d, now) {
				add(d)
			}
		}
		for _, list := range [][]*delivery{q.waiting, q.suspects, q.ended} {
			for _, d := range list {
				add(d)
			}
		}
	}
	if r.solo != nil && !r.solo.starting {
		add(r.solo)
	}
	r.background(func() func() {
		began := time.Now()
		gone, err := r.b.port.Beat(r.ctx, b)
		return func() {
			r.beating = false
			if err != nil {
				r.missed(err)
				return
			}
			r.alive, r.blind = true, r.renew
			r.nextBeat = began.Add(r.b.heartbeat())
			for i := range gone {
				name := [2]string{gone[i].ID, gone[i].Handler}
				r.gone(held[name])
				delete(held, name)
			}
			for _, d := range held {
				d.until = began.Add(r.b.o.ClaimLease)
			}
		}
	})
}

// heartbeat is the time between two beats: short enough that a lease outlasts two that
// are missed.
func (b *Bus) heartbeat() time.Duration { return min(b.o.Heartbeat, b.o.ClaimLease/3) }

// late reports whether the handler of a delivery should have returned. Its claim is not
// renewed any more.
func (r *run) late(d *delivery, now time.Time) bool {
	if d.overdue {
		return true
	}
	if d.committing.Load() || now.Sub(d.began) <= d.q.h.timeout {
		return false
	}
	d.overdue = true
	d.q.stuck++
	if r.solo == d {
		r.solo = nil
	}
	r.overdue(d, now)
	return true
}

// gone takes notice of a claim that is not held any more.
func (r *run) gone(d *delivery) {
	switch {
	case d == nil:
	case d.q.active[d]:
		d.cancel(errLost)
	case d.q.drop(d), d == r.solo && !d.starting:
		if d == r.solo {
			r.solo = nil
		}
		d.end = lost(d.Claim, errLost)
		r.settled(d)
	}
}

// missed is a beat that failed.
func (r *run) missed(err error) {
	if final(err) {
		r.blind = false
		r.nextBeat = time.Now().Add(r.b.heartbeat())
		r.stop(err)
		return
	}
	delay := min(time.Second, r.b.heartbeat())
	r.nextBeat = time.Now().Add(delay)
	r.renew = false
	r.troubled("", delay, err)
}

// leave ends the session.
func (r *run) leave() {
	if !r.alive || r.err != nil && hopeless(r.err) {
		return
	}
	ctx, cancel := context.WithTimeout(r.ctx, grace)
	defer cancel()
	if _, err := r.b.port.Beat(ctx, &backend.Beat{Session: r.session, End: true}); err != nil {
		r.troubled("", 0, err)
	}
}
