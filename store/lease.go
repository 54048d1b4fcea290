package store

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/lease"
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
type Lease struct{ held *lease.Held }

// maxLeaseTTL is how long a lease may last without being renewed.
const maxLeaseTTL = 366 * 24 * time.Hour

// Lease takes the lease of a name. While somebody else holds it, Lease waits,
// then fails with LockContention. With onto.WriteLease everybody else's commits
// wait, and fail with LockContention after a while, until it is released or runs
// out; the holder commits with drafts that carry it.
func (s *Store) Lease(ctx context.Context, name string, opts *LeaseOptions) (*Lease, error) {
	leaser, err := leaserOf(s.b)
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
	held, err := lease.Take(ctx, leaser, r)
	if err != nil {
		return nil, err
	}
	return &Lease{held}, nil
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

// leaserOf returns what keeps the leases.
func leaserOf(b backend.Backend) (backend.Leaser, error) {
	if l, ok := backend.As[backend.Leaser](b); ok {
		return l, nil
	}
	return nil, onto.Errorf(onto.Unsupported, "this storage keeps no leases").WithHint("use another backend")
}

// Current returns the lease as it was last renewed, for Draft.Lease.
func (l *Lease) Current() onto.Lease { return l.held.Current() }

// Renew lets the lease last its whole time from now on. It fails with
// LeaseExpired if it is not held any more.
func (l *Lease) Renew(ctx context.Context) error { return l.held.Renew(ctx) }

// Release ends the lease. It fails with LeaseExpired if it is not held any more.
func (l *Lease) Release(ctx context.Context) error { return l.held.Release(ctx) }

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
func (l *Lease) Keep(ctx context.Context) error { return l.held.Keep(ctx) }

// Leases returns the leases that were taken and not released, by name, also
// those that have run out.
func (s *Store) Leases(ctx context.Context) ([]onto.Lease, error) {
	leaser, err := leaserOf(s.b)
	if err != nil {
		return nil, err
	}
	return leaser.Leases(ctx)
}

// BreakLease ends a lease whoever holds it, and keeps a record of that. Its
// holder learns of it when he uses the lease: what he does without it goes on.
// It fails with NotFound if nobody holds the lease.
func (s *Store) BreakLease(ctx context.Context, name string, actor onto.Actor, reason string) (onto.LeaseBreak, error) {
	leaser, err := leaserOf(s.b)
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
	leaser, err := leaserOf(s.b)
	if err != nil {
		return nil, err
	}
	return leaser.Breaks(ctx)
}
