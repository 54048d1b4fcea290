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

// The defaults of leases.
const (
	DefaultLeaseTTL  = 30 * time.Second
	DefaultLeaseWait = 5 * time.Second
)

// LeaseOptions change how a lease is taken. The zero value is the default.
type LeaseOptions struct {
	TTL   time.Duration // how long it lasts unless it is renewed; 0 for DefaultLeaseTTL
	Wait  time.Duration // how long to wait for its holder; 0 for DefaultLeaseWait, negative for not at all
	Owner string        // the holder's name; "" for the store's runtime
	Note  string        // for those who meet the lease; see also Lease.SetNote

	purpose onto.LeasePurpose
}

// Lease is a lease that this program has taken. It may be used concurrently.
//
// A lease expires, so that a program that died does not block others for long. An
// expired lease stays its holder's until it is taken over: Renew and drafts that carry
// it succeed until then and fail with LeaseExpired from then on. So what a lease
// protects is safe if each draft carries it, and Keep only makes losing it less likely.
type Lease struct {
	held  *lease.Held
	store string // see Store.origin
}

// maxLeaseTTL is how long a lease may last without being renewed.
const maxLeaseTTL = 366 * 24 * time.Hour

// Lease takes the lease of a name. While it has another holder, Lease waits, then fails
// with LockContention. With onto.WriteLease all other commits wait, and fail with
// LockContention after a while, until it is released or expires; the holder commits
// with drafts that carry it.
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
	origin, err := s.origin(ctx)
	if err != nil {
		return nil, err
	}
	held, err := lease.Take(ctx, leaser, r)
	if err != nil {
		return nil, err
	}
	return &Lease{held, origin}, nil
}

// checkLease refuses the lease of another store. A copy of that store counts its own leases,
// so that one of them may have the same name, owner and epoch.
func (s *Store) checkLease(ctx context.Context, l *onto.Lease) error {
	if l == nil {
		return nil
	}
	own, err := s.isOrigin(ctx, l.Store)
	if err != nil || own {
		return err
	}
	return onto.Errorf(onto.LeaseExpired, "the %s is of another store, or from before this one was restored", l).WithHint("take it on this store")
}

// apply checks the options and makes a request of them.
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
	if err := checkNote(r.Name, o.Note); err != nil {
		return err
	}
	r.Purpose, r.Note = o.purpose, o.Note
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

// leaserOf returns the backend's leases.
func leaserOf(b backend.Backend) (backend.Leaser, error) {
	if l, ok := backend.As[backend.Leaser](b); ok {
		return l, nil
	}
	return nil, onto.Errorf(onto.UnsupportedOperation, "this storage keeps no leases").WithHint("use another backend")
}

// Current returns the lease as it was last renewed, for Draft.Lease.
func (l *Lease) Current() onto.Lease {
	current := l.held.Current()
	current.Store = l.store
	return current
}

// Renew extends the lease to its whole time from now on. It fails with LeaseExpired if
// it is not held any more.
func (l *Lease) Renew(ctx context.Context) error { return l.held.Renew(ctx) }

// SetNote renews the lease with a note that says how far its holder is, such as "40% of
// 1,200,000". It is listed with the lease, and is part of the errors of those who wait for
// it in vain.
func (l *Lease) SetNote(ctx context.Context, note string) error {
	if err := checkNote(l.Current().Name, note); err != nil {
		return err
	}
	l.held.SetNote(note)
	return l.held.Renew(ctx)
}

func checkNote(name, note string) error {
	if len(note) > onto.MaxLeaseNote || !utf8.ValidString(note) || strings.IndexByte(note, 0) >= 0 {
		return onto.Errorf(onto.Invalid, "the note of the lease %s is not text of at most %d bytes", name, onto.MaxLeaseNote)
	}
	return nil
}

// Release ends the lease. It fails with LeaseExpired if it is not held any more.
func (l *Lease) Release(ctx context.Context) error { return l.held.Release(ctx) }

// Keep renews the lease whenever a third of its time is over. It blocks, and returns
// nil once the context ends or the lease is released, and LeaseExpired once it is lost.
// If renewing fails otherwise, it is retried until the lease expires, and then reported
// as LeaseExpired too.
//
// If the time of day and the monotonic clock have diverged by more than five minutes
// since the lease was renewed, the machine has slept, or the clock was set. Then the
// lease may have another holder, and Keep finds out at once.
//
// A stream of the same program that takes longer than the lease lasts blocks its
// renewal, and also its takeover. The lease that its draft carries decides, not Keep.
func (l *Lease) Keep(ctx context.Context) error { return l.held.Keep(ctx) }

// Leases returns the leases that were taken and not released, by name, also expired
// ones.
func (s *Store) Leases(ctx context.Context) ([]onto.Lease, error) {
	leaser, err := leaserOf(s.b)
	if err != nil {
		return nil, err
	}
	origin, err := s.origin(ctx)
	if err != nil {
		return nil, err
	}
	list, err := leaser.Leases(ctx)
	for i := range list {
		list[i].Store = origin
	}
	return list, err
}

// BreakLease ends a lease of any holder, and records it. The holder learns of it when
// it uses the lease: work that does not use the lease goes on. It fails with NotFound
// if the lease is not held.
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
	origin, err := s.origin(ctx)
	if err != nil {
		return onto.LeaseBreak{}, err
	}
	record, err := leaser.Break(ctx, onto.LeaseBreak{
		Lease: onto.Lease{Name: name}, Runtime: s.opts.Runtime, Actor: actor, Reason: reason,
	})
	if err == nil {
		record.Lease.Store = origin
	}
	return record, err
}

// LeaseBreaks returns the records of leases that were ended by force, oldest first.
func (s *Store) LeaseBreaks(ctx context.Context) ([]onto.LeaseBreak, error) {
	leaser, err := leaserOf(s.b)
	if err != nil {
		return nil, err
	}
	origin, err := s.origin(ctx)
	if err != nil {
		return nil, err
	}
	list, err := leaser.Breaks(ctx)
	for i := range list {
		list[i].Lease.Store = origin
	}
	return list, err
}
