package backend

import (
	"context"
	"time"
)

// Clocks of machines that share a store differ a little, and now and then one is wrong by
// days or years. What it has stored must not hold up the others until its time comes, so
// there is a limit to how far ahead the end of a lease can be.

// MaxLease is the longest lease of a claim of an event or of a work item, and the longest
// time for which the rate of a source can be used up. These are renewed while they are
// needed. Leases with names, see [Leaser], may be longer.
const MaxLease = time.Hour

// Ahead reports whether a stored time, which was at most MaxLease ahead of the clock that
// it was taken from, is further ahead of this one: one of the two clocks is wrong. What
// it was to be the end of has ended.
func Ahead(at, now time.Time) bool { return at.After(now.Add(MaxLease)) }

// Dated is a backend that knows which times were stored before it was opened.
type Dated interface {
	// Newest returns the newest time of a commit, an event, a work item that was enqueued or
	// the last attempt at one that was stored when the handle was opened; zero if there was none. It tells whether the clock, by
	// which the handle has stored times since, can be right.
	Newest(ctx context.Context) (time.Time, error)
}

// Ages measures how old what a backend has stored is.
type Ages struct {
	opened time.Time // what the clock showed when the handle was opened
	begun  time.Time // the same moment, by a clock that cannot be set
}

// OpenAges begins to measure when a handle is opened. Now is the time of the clock.
func OpenAges(now time.Time) Ages { return Ages{opened: now, begun: time.Now()} }

// Today is what ages are measured against: the time of the clock, or, if that is earlier, the
// newest time that was stored before the handle was opened, and what has passed since. A
// clock that is ahead makes nothing old.
func (a Ages) Today(ctx context.Context, b Backend, now time.Time) (time.Time, error) {
	newest := time.Time{}
	if d, ok := As[Dated](b); ok {
		var err error
		if newest, err = d.Newest(ctx); err != nil {
			return now, err
		}
	}
	if newest.IsZero() {
		newest = a.opened
	}
	if at := newest.Add(time.Since(a.begun)); at.Before(now) {
		return at, nil
	}
	return now, nil
}

// Behind returns by how much a clock is behind the newest time that a backend had stored
// when it was opened; 0 if that is not more than MaxLease, or not known.
func Behind(ctx context.Context, b Backend, now time.Time) (time.Duration, error) {
	d, ok := As[Dated](b)
	if !ok {
		return 0, nil
	}
	newest, err := d.Newest(ctx)
	if err != nil || !Ahead(newest, now) {
		return 0, err
	}
	return newest.Sub(now), nil
}
