package lease

import (
	"context"
	"sync"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/backoff"
)

// Leaser stores leases, as far as a holder needs it; see [backend.Leaser].
type Leaser interface {
	Acquire(ctx context.Context, r *backend.LeaseRequest) (onto.Lease, error)
	Renew(ctx context.Context, l onto.Lease, ttl time.Duration) (onto.Lease, error)
	Release(ctx context.Context, l onto.Lease) error
}

// Held is a lease that this program has taken. It may be used concurrently.
type Held struct {
	// Wall is the time of day, without a monotonic part: it may jump.
	Wall func() time.Time

	leaser Leaser
	ttl    time.Duration

	mu       sync.Mutex // guards what follows
	current  onto.Lease
	renewed  time.Time // when it was last known to be held, by both clocks
	seen     time.Time // the same by Wall
	note     string    // that the lease should have
	released bool
}

// Take takes a lease. While it has another holder, Take waits as the request says, then
// fails with LockContention.
func Take(ctx context.Context, leaser Leaser, r *backend.LeaseRequest) (*Held, error) {
	h := &Held{leaser: leaser, ttl: r.TTL, note: r.Note, Wall: func() time.Time { return time.Now().Round(0) }}
	var err error
	h.renewed, h.seen = time.Now(), h.Wall() // read before: the call may take long
	if h.current, err = leaser.Acquire(ctx, r); err != nil {
		return nil, err
	}
	return h, nil
}

// Resume keeps a lease that was taken elsewhere, for a time that was its own from the
// beginning. It is due at once: when it was renewed is not known.
func Resume(leaser Leaser, l onto.Lease, ttl time.Duration) *Held {
	h := &Held{leaser: leaser, ttl: ttl, current: l, note: l.Note, Wall: func() time.Time { return time.Now().Round(0) }}
	h.renewed, h.seen = time.Now().Add(-ttl/3), h.Wall()
	return h
}

// TTL is how long the lease lasts unless it is renewed.
func (h *Held) TTL() time.Duration { return h.ttl }

// Current returns the lease as it was last renewed.
func (h *Held) Current() onto.Lease {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.current
}

// Renew extends the lease to its whole time from now on. It fails with LeaseExpired if
// it is not held any more.
func (h *Held) Renew(ctx context.Context) error {
	now, wall := time.Now(), h.Wall() // read before: the call may take long
	h.mu.Lock()
	want := h.current
	want.Note = h.note
	h.mu.Unlock()
	renewed, err := h.leaser.Renew(ctx, want, h.ttl)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.current, h.renewed, h.seen = renewed, now, wall
	return nil
}

// SetNote gives the lease a note, which is stored with the next renewal. Keep renews soon
// for a note that is new.
func (h *Held) SetNote(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.note = text
}

// Release ends the lease. It fails with LeaseExpired if it is not held any more.
func (h *Held) Release(ctx context.Context) error {
	if err := h.leaser.Release(ctx, h.Current()); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.released = true
	return nil
}

// KeepPace is how often Keep checks the clocks, at least.
const KeepPace = 5 * time.Second

const (
	keepRetry = time.Second     // how soon Keep retries, at the latest
	maxDrift  = 5 * time.Minute // how far the clocks may diverge
)

// Keep renews the lease when it is due. It blocks, and returns nil once the context
// ends or the lease is released, and LeaseExpired once it is lost. If renewing fails
// otherwise, it is retried until the lease expires, and then reported as LeaseExpired
// too.
func (h *Held) Keep(ctx context.Context) error {
	pause := h.pace()
	for {
		if backoff.Sleep(ctx, pause) != nil {
			return nil
		}
		if pause = h.pace(); !h.Due() {
			continue
		}
		err := h.Renew(ctx)
		switch {
		case err == nil:
		case ctx.Err() != nil || h.isReleased():
			return nil
		case onto.CodeOf(err) == onto.LeaseExpired || onto.CodeOf(err) == onto.Closed:
			return err
		case h.age() >= h.ttl:
			return onto.Errorf(onto.LeaseExpired, "the %s could not be renewed in time: %w", h.Current(), err).
				WithHint("take it again, and look at what has changed")
		default:
			pause = min(h.ttl/12, keepRetry)
		}
	}
}

// Keeping does the same in the background, until stop is called, which returns the
// result of Keep. When the lease is lost, lost is called.
func (h *Held) Keeping(ctx context.Context, lost func()) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		err := h.Keep(ctx)
		if err != nil {
			lost()
		}
		ended <- err
	}()
	return func() error {
		cancel()
		return <-ended
	}
}

func (h *Held) pace() time.Duration { return min(h.ttl/3, KeepPace) }

// Due reports whether it is time to renew: a third of the lease's time is over, its note is
// another than the stored one, or the
// time of day and the monotonic clock have diverged since it was renewed. Then the
// machine has slept, or the clock was set, and the lease may have another holder.
func (h *Held) Due() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	passed := time.Since(h.renewed)
	drift := h.Wall().Sub(h.seen) - passed
	return passed >= h.ttl/3 || h.note != h.current.Note || drift.Abs() > maxDrift || h.released
}

// age is how long ago the lease was last known to be held.
func (h *Held) age() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Since(h.renewed)
}

func (h *Held) isReleased() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.released
}
