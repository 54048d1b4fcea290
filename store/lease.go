package store

import (
	"context"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// What leases are like unless options say otherwise.
const (
	DefaultLeaseTTL  = 30 * time.Second
	DefaultLeaseWait = 5 * time.Second
)

// LeaseOptions change how a lease is taken. The zero value is the default.
type LeaseOptions struct {
	TTL   time.Duration // how long it lasts unless it is renewed; 0 for DefaultLeaseTTL
	Wait  time.Duration // how long to wait for its holder; 0 for DefaultLeaseWait, negative for not at all
	Owner string        // who takes it; "" for the store's runtime
}

// Lease is a lease that this program has taken. It may be used concurrently.
//
// A lease ends by itself, so that a program that died keeps nobody waiting for
// long. A lease that ran out stays its holder's until somebody takes it: Renew
// and drafts that carry it succeed until then and fail with LeaseExpired from
// then on, however late they come. So what a lease protects is safe if each
// draft carries it, and Keep only makes losing it less likely.
type Lease struct {
	leaser backend.Leaser
	ttl    time.Duration
	wall   func() time.Time // without a monotonic part

	mu       sync.Mutex // guards what follows
	current  onto.Lease
	renewed  time.Time // when it was last known to be held, by both clocks
	seen     time.Time // the same by wall
	released bool
}

// maxLeaseTTL is how long a lease may last without being renewed.
const maxLeaseTTL = 366 * 24 * time.Hour

// Lease takes the lease of a name. While somebody else holds it, Lease waits,
// then fails with LockContention. With onto.WriteLease everybody else's commits
// wait, and fail with LockContention after a while, until it is released or runs
// out; the holder commits with drafts that carry it.
func (s *Store) Lease(ctx context.Context, name string, opts *LeaseOptions) (*Lease, error) {
	leaser, err := s.leaser()
	if err == nil {
		err = onto.CheckLeaseName(name)
	}
	if err != nil {
		return nil, err
	}
	r := &backend.LeaseRequest{Name: name, Owner: s.opts.Runtime, TTL: DefaultLeaseTTL, Wait: DefaultLeaseWait}
	if err := opts.apply(r); err != nil {
		return nil, err
	}
	l := &Lease{leaser: leaser, ttl: r.TTL, wall: wallTime}
	l.renewed, l.seen = time.Now(), l.wall() // before: it may take long until this returns
	if l.current, err = leaser.Acquire(ctx, r); err != nil {
		return nil, err
	}
	return l, nil
}

// apply checks the options and puts them into a request.
func (o *LeaseOptions) apply(r *backend.LeaseRequest) error {
	if o == nil {
		return nil
	}
	if o.TTL < 0 || o.TTL > maxLeaseTTL {
		return onto.Errorf(onto.Invalid, "a lease cannot last %s", o.TTL).WithHint("let it last up to %s", maxLeaseTTL)
	}
	if len(o.Owner) > onto.MaxKey || !utf8.ValidString(o.Owner) || strings.IndexByte(o.Owner, 0) >= 0 {
		return onto.Errorf(onto.Invalid, "the owner of the lease %s is not text of at most %d bytes", r.Name, onto.MaxKey)
	}
	if o.TTL > 0 {
		r.TTL = o.TTL
	}
	if o.Wait != 0 {
		r.Wait = max(0, o.Wait)
	}
	if o.Owner != "" {
		r.Owner = o.Owner
	}
	return nil
}

// leaser returns what keeps the leases.
func (s *Store) leaser() (backend.Leaser, error) {
	if l, ok := backend.As[backend.Leaser](s.b); ok {
		return l, nil
	}
	return nil, onto.Errorf(onto.Unsupported, "this storage keeps no leases").WithHint("use another backend")
}

// wallTime is the time of day, which may jump.
func wallTime() time.Time { return time.Now().Round(0) }

// Current returns the lease as it was last renewed, for Draft.Lease.
func (l *Lease) Current() onto.Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current
}

// Renew lets the lease last its whole time from now on. It fails with
// LeaseExpired if it is not held any more.
func (l *Lease) Renew(ctx context.Context) error {
	now, wall := time.Now(), l.wall() // before: it may take long until this returns
	renewed, err := l.leaser.Renew(ctx, l.Current(), l.ttl)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current, l.renewed, l.seen = renewed, now, wall
	return nil
}

// Release ends the lease. It fails with LeaseExpired if it is not held any more.
func (l *Lease) Release(ctx context.Context) error {
	if err := l.leaser.Release(ctx, l.Current()); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.released = true
	return nil
}

const (
	keepPace  = 5 * time.Second // how often Keep looks at the clocks, at least
	keepRetry = time.Second     // how soon Keep tries again, at the latest
	maxDrift  = 5 * time.Minute // how far the clocks may part
)

// Keep renews the lease whenever a third of its time is over. It blocks, and
// returns nil once the context ends or the lease is released, and LeaseExpired
// once it is lost. If renewing fails otherwise, it is tried again until the time
// of the lease is over, and then reported as LeaseExpired too.
//
// If the time of day and the monotonic clock have gone apart by more than five
// minutes since the lease was renewed, the machine has slept, or somebody has
// set the clock. Then the lease may be somebody else's, and Keep finds out at
// once.
//
// A stream of the same program that takes longer than the lease lasts keeps it
// from being renewed, and everybody from taking it. Its draft carries the lease,
// and that decides, not Keep.
func (l *Lease) Keep(ctx context.Context) error {
	pause := l.pace()
	for {
		if !sleep(ctx, pause) {
			return nil
		}
		if pause = l.pace(); !l.due() {
			continue
		}
		err := l.Renew(ctx)
		switch {
		case err == nil:
		case ctx.Err() != nil || l.isReleased():
			return nil
		case onto.CodeOf(err) == onto.LeaseExpired || onto.CodeOf(err) == onto.Closed:
			return err
		case l.age() >= l.ttl:
			return onto.Errorf(onto.LeaseExpired, "the %s could not be renewed in time: %w", l.Current(), err).
				WithHint("take it again, and look at what has changed")
		default:
			pause = min(l.ttl/12, keepRetry)
		}
	}
}

func (l *Lease) pace() time.Duration { return min(l.ttl/3, keepPace) }

// sleep waits and reports whether the context has not ended.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// due reports whether it is time to renew.
func (l *Lease) due() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	passed := time.Since(l.renewed)
	drift := l.wall().Sub(l.seen) - passed
	return passed >= l.ttl/3 || drift.Abs() > maxDrift || l.released
}

// age is how long ago the lease was last known to be held.
func (l *Lease) age() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(l.renewed)
}

func (l *Lease) isReleased() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.released
}

// Leases returns the leases that were taken and not released, by name, also
// those that have run out.
func (s *Store) Leases(ctx context.Context) ([]onto.Lease, error) {
	leaser, err := s.leaser()
	if err != nil {
		return nil, err
	}
	return leaser.Leases(ctx)
}

// BreakLease ends a lease whoever holds it, and keeps a record of that. Its
// holder learns of it when he uses the lease: what he does without it goes on.
// It fails with NotFound if nobody holds the lease.
func (s *Store) BreakLease(ctx context.Context, name string, actor onto.Actor, reason string) (onto.LeaseBreak, error) {
	leaser, err := s.leaser()
	if err == nil {
		err = onto.CheckLeaseName(name)
	}
	if err == nil {
		err = actor.Check()
	}
	if err != nil {
		return onto.LeaseBreak{}, err
	}
	if len(reason) > onto.MaxComment || !utf8.ValidString(reason) || strings.IndexByte(reason, 0) >= 0 {
		return onto.LeaseBreak{}, onto.Errorf(onto.Invalid, "the reason is not text of at most %d bytes", onto.MaxComment)
	}
	return leaser.Break(ctx, onto.LeaseBreak{
		Lease: onto.Lease{Name: name}, Runtime: s.opts.Runtime, Actor: actor, Reason: reason,
	})
}

// LeaseBreaks returns the records of leases that were ended by force, oldest first.
func (s *Store) LeaseBreaks(ctx context.Context) ([]onto.LeaseBreak, error) {
	leaser, err := s.leaser()
	if err != nil {
		return nil, err
	}
	return leaser.Breaks(ctx)
}
