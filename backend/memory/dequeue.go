package memory

import (
	"context"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// Dequeue implements [backend.WorkQueue].
func (b *Backend) Dequeue(ctx context.Context, r *backend.WorkRequest) (backend.WorkTaken, error) {
	s := b.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := b.writable(ctx); err != nil {
		return backend.WorkTaken{}, err
	}
	now := s.stamp()
	got := backend.WorkTaken{Verdicts: s.finish(r.Finish, now), Lost: s.work.lose(now)}
	due := s.work.due(now)
	d := dequeuing{WorkRequest: r, work: &s.work, now: now, busy: s.work.busy()}
	for _, i := range s.work.inOrder() {
		switch {
		case len(got.Items)+len(got.GivenUp) >= r.Limit || !d.ready(i) || !d.room(i) || d.allowed(i).After(now):
		case r.Worn(&i.WorkItem):
			a := d.giveUp(i)
			got.GivenUp = append(got.GivenUp, backend.WorkState{WorkItem: copyItem(i.WorkItem), Attempts: []onto.WorkAttempt{a}})
		default:
			d.take(i)
			got.Items = append(got.Items, copyItem(i.WorkItem))
		}
	}
	got.Next = d.next()
	if len(got.Items)+len(got.GivenUp) > 0 {
		s.work.tried = now
	}
	if got.Lost > 0 || due || len(got.Items)+len(got.GivenUp) > 0 {
		s.wrote()
	}
	return got, nil
}

// lose returns the items whose leases have ended, and counts them.
func (w *work) lose(now time.Time) int {
	lost := 0
	for _, i := range w.items {
		if i.Status == onto.WorkInProgress && (!i.Until.After(now) || backend.Ahead(i.Until, now)) {
			i.end(onto.AttemptLost, onto.WorkPending, now)
			lost++
		}
	}
	return lost
}

// due takes NotBefore from the pending items whose time has come, or whose delay began by a
// clock that was ahead.
func (w *work) due(now time.Time) (changed bool) {
	for _, i := range w.items {
		ended := !i.NotBefore.After(now) || i.Attempt > 0 && backend.Ahead(i.Updated, now)
		if i.Status == onto.WorkPending && !i.NotBefore.IsZero() && ended {
			i.NotBefore, changed = time.Time{}, true
		}
	}
	return changed
}

// busy counts the items in progress of each source.
func (w *work) busy() map[backend.WorkSource]int {
	busy := map[backend.WorkSource]int{}
	for _, i := range w.items {
		if i.Status == onto.WorkInProgress {
			busy[i.source()]++
		}
	}
	return busy
}

// dequeuing is a request at work.
type dequeuing struct {
	*backend.WorkRequest
	work *work
	now  time.Time
	busy map[backend.WorkSource]int // items in progress
}

// wants reports whether an item is pending and the request is for it.
func (d *dequeuing) wants(i *workItem) bool {
	return i.Status == onto.WorkPending && (d.Systems == nil || slices.Contains(d.Systems, i.System)) && (!d.OnlyRun || d.Run == i.Run)
}

// ready reports whether an item could be taken if its source had no limits.
func (d *dequeuing) ready(i *workItem) bool { return d.wants(i) && i.NotBefore.IsZero() }

// limit returns the limit of an item's source.
func (d *dequeuing) limit(i *workItem) backend.WorkLimit {
	l, named := d.Limits[i.source()]
	if !named {
		l = d.Most
	}
	l.Every, l.Burst = l.Every.Truncate(time.Microsecond), max(1, l.Burst)
	return l
}

// room reports whether an item's source may have one more in progress.
func (d *dequeuing) room(i *workItem) bool {
	most := d.limit(i).Concurrent
	return most == 0 || d.busy[i.source()] < most
}

// allowed returns when the rate of an item's source allows one more: now, or later.
func (d *dequeuing) allowed(i *workItem) time.Time {
	l, ahead := d.limit(i), d.work.freeAt(i, d.now).Sub(d.now)
	if l.Every == 0 || ahead <= 0 || (ahead-1)/l.Every < time.Duration(l.Burst-1) { // ahead is at most Burst-1 times Every
		return d.now
	}
	return d.now.Add(ahead - time.Duration(l.Burst-1)*l.Every)
}

// freeAt is the time that is kept for the rate of an item's source, or now if that is later.
func (w *work) freeAt(i *workItem, now time.Time) time.Time {
	free := w.free[i.source()]
	if free.Before(now) || backend.Ahead(free, now) {
		return now
	}
	return free
}

// take puts an item into progress.
func (d *dequeuing) take(i *workItem) {
	i.Status, i.Updated, i.Owner, i.Until = onto.WorkInProgress, d.now, d.Worker, stored(d.now.Add(d.Lease))
	i.begin(onto.WorkAttempt{Worker: d.Worker, Run: d.Run, Started: d.now, Status: onto.AttemptRunning})
	d.busy[i.source()]++
	if every := d.limit(i).Every; every > 0 {
		d.work.free[i.source()] = d.work.freeAt(i, d.now).Add(every)
	}
}

// giveUp fails an item that was tried too often.
func (d *dequeuing) giveUp(i *workItem) onto.WorkAttempt {
	var last *onto.WorkAttempt
	if n := len(i.attempts); n > 0 {
		last = &i.attempts[n-1]
	}
	i.begin(d.GiveUp(&i.WorkItem, last, d.now))
	a := i.end(onto.AttemptFailed, onto.WorkFailed, d.now)
	i.Error = a.Error
	return *a
}

// next returns when more can be taken, or the zero time.
func (d *dequeuing) next() time.Time {
	var next time.Time
	at := func(t time.Time) {
		if t.After(d.now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, i := range d.work.items {
		switch {
		case i.Status == onto.WorkInProgress:
			at(i.Until)
		case d.ready(i) && d.room(i):
			at(d.allowed(i))
		case d.wants(i):
			at(i.NotBefore)
		}
	}
	return next
}
