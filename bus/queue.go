package bus

import (
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// How far a handler plans.
const (
	// lookahead is how much work is claimed beyond what runs: events that wait here could
	// be handled by another process.
	lookahead = 20 * time.Millisecond
	// gather is how long an ended delivery waits for others, so that one write settles many.
	gather = 2 * time.Millisecond
)

// queue is what one handler has claimed. It belongs to the loop of its run.
type queue struct {
	h *Handler
	p policy

	waiting  []*delivery        // to be started, in order
	suspects []*delivery        // whose claims were lost before: to be started alone
	alone    int                // the number of the last of them that was, in the run
	active   map[*delivery]bool // running, also those that are overdue
	stuck    int                // of these, how many are overdue
	ended    []*delivery        // to be settled
	since    time.Time          // when the first of these ended

	calling  bool      // a call of the backend is under way
	claiming bool      // it claims
	due      bool      // there may be something to claim
	next     time.Time // when there is, by the wall clock; zero for not known
	taken    int       // claimed in this pass
	pace     pace      // how long the handler takes
	troubles int       // failures of the store in a row
	rest     time.Time // nothing is started or claimed before
}

// pace is how long a handler takes, the last deliveries counting most; 0 if not known.
type pace time.Duration

func (p *pace) add(took time.Duration) {
	if *p == 0 {
		*p = pace(took)
	}
	*p = max(1, (7**p+pace(took))/8)
}

// ahead is how many events to claim beyond those that can run: at most two claims of
// them, so that one is worked on while the other is made.
func (q *queue) ahead(limit int) int {
	if q.pace == 0 {
		return 0
	}
	return int(min(2*int64(limit), int64(q.h.concurrency)*int64(lookahead)/int64(q.pace)))
}

// room is how many events to claim now. Suspects take up none, since they may wait long
// for those of other handlers, but only so many are held.
func (q *queue) room(o *Options) int {
	ahead := q.ahead(o.ClaimLimit)
	if len(q.waiting) > ahead/2 {
		return 0
	}
	held := len(q.waiting) + q.running()
	return max(0, min(o.ClaimLimit-len(q.suspects), o.MaxPerPass-q.taken, q.h.concurrency+ahead-held))
}

// running is how many handlers run that are not overdue. Those that are count no more, so
// that handlers which never return do not hold up all others.
func (q *queue) running() int { return len(q.active) - q.stuck }

// end puts a delivery among those to be settled.
func (q *queue) end(d *delivery) {
	q.due = q.due || d.OrderingKey != "" && d.end.do == backend.Ack // for the next event of the key
	if len(q.ended) == 0 {
		q.since = time.Now()
	}
	q.ended = append(q.ended, d)
}

// give returns everything that was not started. Suspects stay claimed until their leases
// end, so that the next claim on them tells that they are.
func (q *queue) give() {
	q.ended = slices.DeleteFunc(q.ended, func(d *delivery) bool { return d.end.do == backend.Start })
	for _, d := range q.waiting {
		d.end = returned(d.Claim, 0, nil)
		q.end(d)
	}
	q.waiting = nil
}

// serve starts deliveries.
func (r *run) serve(q *queue, now time.Time) {
	if r.phase != working || r.blind || now.Before(q.rest) {
		return
	}
	if r.solo != nil && r.solo.q == q {
		r.serveAlone(q)
		return
	}
	if r.solo == nil && len(q.suspects) > 0 && r.turn(q, now) {
		r.solo, q.suspects = q.suspects[0], q.suspects[1:]
		r.solos++
		q.alone = r.solos
		r.serveAlone(q)
		return
	}
	for len(q.waiting) > 0 && q.running() < q.h.concurrency {
		d := q.waiting[0]
		if !now.Before(d.until) {
			r.renew = true // first see whether the claim is still held
			return
		}
		q.waiting[0], q.waiting = nil, q.waiting[1:]
		r.start(d)
	}
}

// turn reports whether the next suspect is one of this handler: handlers take turns.
func (r *run) turn(q *queue, now time.Time) bool {
	return !slices.ContainsFunc(r.queues, func(o *queue) bool {
		return len(o.suspects) > 0 && o.alone < q.alone && !now.Before(o.rest)
	})
}

// serveAlone starts a suspect once nothing else of its handler runs, after what has
// ended, what waits and the start itself are settled. So a handler that ends the process
// takes no other event of its handler along, and no other suspect of the process.
func (r *run) serveAlone(q *queue) {
	d := r.solo
	if q.running() > 0 || q.calling || d.starting {
		return
	}
	d.starting = true
	q.give()
	d.end = ending{do: backend.Start, claim: started(d.Claim)}
	q.end(d)
	r.call(q, 0)
}

// calls starts claims and settlements. Handlers of higher priority claim first, up to
// MaxPerPass in a pass; those of one priority claim side by side.
func (r *run) calls(now time.Time) {
	if r.phase == working && !r.blind && !r.claims(now) {
		for _, q := range r.queues { // the next pass
			q.taken = 0
		}
		r.claims(now)
	}
	for _, q := range r.queues {
		if len(q.ended) == 0 || q.calling || now.Before(q.rest) {
			continue
		}
		quiet := q.running() == 0 && len(q.waiting) == 0
		if quiet || r.phase != working || len(q.ended) >= r.b.o.ClaimLimit || now.Sub(q.since) >= gather {
			r.call(q, 0)
		}
	}
}

// claims lets handlers claim. It returns false if the pass is over: those that could claim
// have claimed as much as they may.
func (r *run) claims(now time.Time) bool {
	eager, spent := 0, 0
	level, found := 0, false
	for _, q := range r.queues {
		if !q.claiming && !r.eager(q, now) {
			continue
		}
		eager++
		switch {
		case q.taken >= r.b.o.MaxPerPass && !q.claiming:
			spent++
		case found && q.h.priority < level:
		default:
			level, found = q.h.priority, true
			if !q.calling {
				r.call(q, q.room(&r.b.o))
			}
		}
	}
	return eager > 0 && spent < eager
}

// eager reports whether a handler may claim.
func (r *run) eager(q *queue, now time.Time) bool {
	if !q.due || now.Before(q.rest) || r.solo != nil && r.solo.q == q {
		return false
	}
	return q.taken >= r.b.o.MaxPerPass || q.room(&r.b.o) > 0
}

// call settles what has ended, and claims up to limit events, in one call of the backend.
func (r *run) call(q *queue, limit int) {
	batch := q.ended
	settle := make([]backend.Settlement, len(batch))
	for i, d := range batch {
		settle[i] = q.p.settlement(&d.end)
	}
	q.ended, q.since, q.calling, q.claiming = nil, time.Time{}, true, limit > 0
	if limit > 0 {
		q.due = false
	}
	r.background(func() func() {
		began := time.Now()
		var got backend.Claimed
		var err error
		if limit > 0 {
			got, err = r.b.port.Claim(r.ctx, &backend.ClaimRequest{
				Namespace: r.b.o.Namespace, Handler: q.h.name, Types: q.h.types, Session: r.session.ID,
				Limit: limit, Lease: r.b.o.ClaimLease, Settle: settle,
			})
		} else {
			got.Verdicts, err = r.b.port.Settle(r.ctx, settle)
		}
		return func() {
			q.calling, q.claiming = false, false
			if err != nil {
				q.due = q.due || limit > 0
				if limit > 0 && len(got.Verdicts) == len(batch) { // the claim failed after that
					r.verdicts(q, batch, got.Verdicts)
				} else {
					q.again(batch)
				}
				r.trouble(q, err)
				return
			}
			q.troubles = 0
			r.verdicts(q, batch, got.Verdicts)
			r.claimed(q, limit, began, &got)
		}
	})
}

// again puts back what a call has not settled.
func (q *queue) again(batch []*delivery) {
	if len(batch) > 0 {
		q.ended, q.since = append(batch, q.ended...), time.Now()
	}
}

// verdicts takes the answers for what was settled.
func (r *run) verdicts(q *queue, batch []*delivery, verdicts []error) {
	for i, d := range batch {
		switch err := verdicts[i]; {
		case err != nil:
			d.end.what, d.end.err = Lost, err
		case d.end.do == backend.Start:
			r.start(d) // also while the run drains: its start counts
			continue
		case d.end.do == backend.Release, d.end.do == backend.Return:
			if at := r.b.o.Now().Add(d.end.delay); q.next.IsZero() || at.Before(q.next) {
				q.next = at
			}
		case d.end.do == backend.Bury:
			r.wake() // by its notice, or the next event of its key
		}
		if r.solo == d {
			r.solo = nil
		}
		r.settled(d)
	}
}

// claimed takes what was claimed.
func (r *run) claimed(q *queue, limit int, began time.Time, got *backend.Claimed) {
	if limit == 0 {
		return
	}
	q.taken += len(got.Claims)
	q.due = q.due || len(got.Claims) == limit
	q.next = got.Next // it knows what was settled before
	for i := range got.Claims {
		d := &delivery{Claim: got.Claims[i], q: q, until: began.Add(r.b.o.ClaimLease)}
		if !d.Lost {
			q.waiting = append(q.waiting, d)
			continue
		}
		for o := range q.active {
			if o.ID == d.ID {
				o.cancel(errLost) // its claim has run out, and this one replaces it
			}
		}
		if end, ok := q.p.poisoned(d.Claim); ok {
			d.end = end
			q.end(d)
		} else {
			q.suspects = append(q.suspects, d)
		}
	}
	if r.phase != working {
		q.give()
	}
}

// drop removes a delivery that was not started, whose claim was lost.
func (q *queue) drop(d *delivery) bool {
	for _, list := range []*[]*delivery{&q.waiting, &q.suspects} {
		for i, o := range *list {
			if o == d {
				*list = append((*list)[:i:i], (*list)[i+1:]...)
				return true
			}
		}
	}
	return false
}

// trouble lets a handler rest after the store has failed, or ends the run if the store
// will not recover.
func (r *run) trouble(q *queue, err error) {
	if final(err) {
		if r.phase != working { // what could not be claimed may still be settled, once
			q.ended = nil // the claims run out
		}
		r.stop(err)
		return
	}
	q.troubles++
	delay := q.p.backoff(min(q.troubles, 30) - 1)
	q.rest = time.Now().Add(delay)
	r.troubled(q.h.name, delay, err)
}

// final reports whether an error of the bus ends a run.
func final(err error) bool {
	switch onto.CodeOf(err) {
	case onto.Invalid, onto.Unsupported, onto.UnsupportedOperation, onto.SchemaOutdated, onto.TooLarge, onto.NotFound:
		return true
	}
	return hopeless(err)
}
