package backendtest_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
)

// leaseMutants lists mistakes with leases.
func leaseMutants() []mutant {
	return []mutant{
		{"epochs do not grow", "optional", leasing(func(b *leaser) {
			b.acquire = func(ctx context.Context, r *backend.LeaseRequest) (onto.Lease, error) {
				l, err := b.Leaser.Acquire(ctx, r)
				l.Epoch = min(l.Epoch, 1)
				return l, err
			}
			b.meant = b.ofOwner
		})},
		{"epochs are not looked at", "optional", leasing(func(b *leaser) { b.meant = b.ofOwner })},
		{"owners are not looked at", "optional", leasing(func(b *leaser) { b.meant = b.ofAnybody })},
		{"a lease is not checked in a stream", "optional", leasing(func(b *leaser) { b.inStream = unchecked })},
		{"a lease is not checked in a draft", "optional", leasing(func(b *leaser) { b.inDraft = unchecked })},
		{"a lease is checked after expectations", "optional", around(func(b backend.Backend) late { return late{through{b}} })},
		{"a lease is checked before the key", "optional", around(func(b backend.Backend) leaseFirst { return leaseFirst{newLeaser(b)} })},
		{"taking a lease extends it", "optional", leasing(func(b *leaser) {
			b.acquire = func(ctx context.Context, r *backend.LeaseRequest) (onto.Lease, error) {
				if l := b.held(ctx, r.Name); l != nil && l.Owner == r.Owner && !l.Expired(b.place.Now()) {
					return b.Leaser.Renew(ctx, *l, r.TTL)
				}
				return b.Leaser.Acquire(ctx, r)
			}
		})},
		{"a lease is not waited for", "optional", leasing(func(b *leaser) {
			b.acquire = func(ctx context.Context, r *backend.LeaseRequest) (onto.Lease, error) {
				return b.Leaser.Acquire(ctx, &backend.LeaseRequest{Name: r.Name, Owner: r.Owner, TTL: r.TTL})
			}
		})},
		{"notes are not kept", "optional", leasing(func(b *leaser) {
			b.acquire = func(ctx context.Context, r *backend.LeaseRequest) (onto.Lease, error) {
				silent := *r
				silent.Note = ""
				return b.Leaser.Acquire(ctx, &silent)
			}
		})},
		{"a migration is no different", "optional", leasing(func(b *leaser) {
			b.acquire = func(ctx context.Context, r *backend.LeaseRequest) (onto.Lease, error) {
				plain := *r
				plain.Purpose = ""
				return b.Leaser.Acquire(ctx, &plain)
			}
		})},
		{"a lease that ran out is lost", "optional", leasing(func(b *leaser) { b.meant = b.unexpired })},
		{"a lease that ran out is not listed", "optional", leasing(func(b *leaser) {
			b.list = func(l onto.Lease) bool { return !l.Expired(b.place.Now()) }
		})},
		{"leases are known to their handle only", "optional", leasing(func(b *leaser) {
			var mine sync.Map
			b.acquire = func(ctx context.Context, r *backend.LeaseRequest) (onto.Lease, error) {
				mine.Store(r.Name, true)
				return b.Leaser.Acquire(ctx, r)
			}
			b.list = func(l onto.Lease) bool {
				_, ok := mine.Load(l.Name)
				return ok
			}
		})},
		{"a break leaves no record", "optional", around(func(b backend.Backend) recordless { return recordless{newLeaser(b)} })},
		{"a break leaves the lease", "optional", around(func(b backend.Backend) toothless { return toothless{newLeaser(b)} })},
		{"a release leaves the lease", "optional", around(func(b backend.Backend) clinging { return clinging{newLeaser(b)} })},
		{"renewing adds to what is left", "optional", around(func(b backend.Backend) additive { return additive{newLeaser(b)} })},
		{"the write lease stops nobody", "optional", leasing(func(b *leaser) { b.inDraft, b.inStream = b.borrowed, b.borrowed })},
		{"the write lease is not waited for", "optional", wrapped(func(b backend.Backend, p *backendtest.Place) backend.Backend {
			l := newLeaser(b)
			l.place = p
			return impatient{l}
		})},
		{"the write lease stops no registration", "optional", around(func(b backend.Backend) pushy { return pushy{newLeaser(b)} })},
	}
}

// leaser is a backend whose leases can be got wrong.
type leaser struct {
	through
	backend.Leaser
	place *backendtest.Place

	acquire           func(context.Context, *backend.LeaseRequest) (onto.Lease, error)
	meant             func(context.Context, onto.Lease) onto.Lease // what a lease that is handed in is taken for
	inDraft, inStream func(context.Context, *onto.Lease) *onto.Lease
	list              func(onto.Lease) bool
}

func newLeaser(b backend.Backend) *leaser {
	l, _ := backend.As[backend.Leaser](b)
	s := &leaser{through: through{b}, Leaser: l, acquire: l.Acquire}
	s.meant = func(_ context.Context, l onto.Lease) onto.Lease { return l }
	s.inDraft = func(_ context.Context, l *onto.Lease) *onto.Lease { return l }
	s.inStream = s.inDraft
	s.list = func(onto.Lease) bool { return true }
	return s
}

// leasing plants a mistake into leases.
func leasing(spoil func(*leaser)) planting {
	return wrapped(func(b backend.Backend, p *backendtest.Place) backend.Backend {
		l := newLeaser(b)
		l.place = p
		spoil(l)
		return l
	})
}

func (b *leaser) Acquire(ctx context.Context, r *backend.LeaseRequest) (onto.Lease, error) {
	return b.acquire(ctx, r)
}

func (b *leaser) Renew(ctx context.Context, l onto.Lease, ttl time.Duration) (onto.Lease, error) {
	return b.Leaser.Renew(ctx, b.meant(ctx, l), ttl)
}

func (b *leaser) Release(ctx context.Context, l onto.Lease) error {
	return b.Leaser.Release(ctx, b.meant(ctx, l))
}

func (b *leaser) Leases(ctx context.Context) ([]onto.Lease, error) {
	list, err := b.Leaser.Leases(ctx)
	return slices.DeleteFunc(list, func(l onto.Lease) bool { return !b.list(l) }), err
}

func (b *leaser) Append(ctx context.Context, d *backend.Draft) (result, error) {
	return b.Backend.Append(ctx, b.carrying(ctx, d, b.inDraft))
}

func (b *leaser) AppendStream(ctx context.Context, d *backend.Draft, w writes) (result, error) {
	return b.Backend.AppendStream(ctx, b.carrying(ctx, d, b.inStream), w)
}

// carrying returns the draft with the lease that it is taken to carry.
func (b *leaser) carrying(ctx context.Context, d *backend.Draft, spoil func(context.Context, *onto.Lease) *onto.Lease) *backend.Draft {
	c := *d
	if d.Lease != nil {
		l := b.meant(ctx, *d.Lease)
		c.Lease = &l
	}
	c.Lease = spoil(ctx, c.Lease)
	return &c
}

// held returns the lease of a name, or nil.
func (b *leaser) held(ctx context.Context, name string) *onto.Lease {
	list, _ := b.Leaser.Leases(ctx)
	for _, l := range list {
		if l.Name == name {
			return &l
		}
	}
	return nil
}

func (b *leaser) ofOwner(ctx context.Context, l onto.Lease) onto.Lease {
	if held := b.held(ctx, l.Name); held != nil && held.Owner == l.Owner {
		return *held
	}
	return l
}

func (b *leaser) ofAnybody(ctx context.Context, l onto.Lease) onto.Lease {
	if held := b.held(ctx, l.Name); held != nil && held.Epoch == l.Epoch {
		return *held
	}
	return l
}

func (b *leaser) unexpired(ctx context.Context, l onto.Lease) onto.Lease {
	if held := b.held(ctx, l.Name); held != nil && held.Expired(b.place.Now()) {
		l.Epoch = -1
	}
	return l
}

// unchecked ignores the write lease, for which others would have to wait.
func unchecked(_ context.Context, l *onto.Lease) *onto.Lease {
	if l != nil && l.Name != onto.WriteLease {
		return nil
	}
	return l
}

func (b *leaser) borrowed(ctx context.Context, l *onto.Lease) *onto.Lease {
	if l == nil {
		return b.held(ctx, onto.WriteLease)
	}
	return l
}

// late reports a failed expectation before a lost lease.
type late struct{ through }

func (b late) Append(ctx context.Context, d *backend.Draft) (result, error) {
	r, err := b.Backend.Append(ctx, d)
	if errors.Is(err, onto.LeaseExpired) {
		if _, failed := b.Backend.Append(ctx, &backend.Draft{Expect: d.Expect}); failed != nil {
			return result{}, failed
		}
	}
	return r, err
}

type leaseFirst struct{ *leaser }

func (b leaseFirst) Append(ctx context.Context, d *backend.Draft) (result, error) {
	if d.Lease != nil {
		if _, err := b.Backend.Append(ctx, &backend.Draft{Lease: d.Lease}); err != nil {
			return result{}, err
		}
	}
	return b.Backend.Append(ctx, d)
}

type recordless struct{ *leaser }

func (b recordless) Breaks(context.Context) ([]onto.LeaseBreak, error) { return nil, nil }

// toothless writes a record and restores the lease.
type toothless struct{ *leaser }

func (b toothless) Break(ctx context.Context, record onto.LeaseBreak) (onto.LeaseBreak, error) {
	record, err := b.Leaser.Break(ctx, record)
	if err == nil {
		_, err = b.Leaser.Acquire(ctx, &backend.LeaseRequest{Name: record.Lease.Name, Owner: record.Lease.Owner, TTL: time.Minute})
	}
	return record, err
}

type clinging struct{ *leaser }

func (b clinging) Release(ctx context.Context, l onto.Lease) error {
	_, err := b.Leaser.Renew(ctx, l, time.Minute)
	return err
}

type additive struct{ *leaser }

func (b additive) Renew(ctx context.Context, l onto.Lease, ttl time.Duration) (onto.Lease, error) {
	first, err := b.Leaser.Renew(ctx, l, 0)
	if err != nil {
		return first, err
	}
	return b.Leaser.Renew(ctx, l, max(0, l.Expires.Sub(first.Expires))+ttl)
}

// pushy registers types while the write lease is held.
type pushy struct{ *leaser }

func (b pushy) Register(ctx context.Context, r *backend.Registration) ([]onto.SchemaVersion, error) {
	held := b.held(ctx, onto.WriteLease)
	if held == nil {
		return b.Backend.Register(ctx, r)
	}
	if err := b.Leaser.Release(ctx, *held); err != nil {
		return nil, err
	}
	list, err := b.Backend.Register(ctx, r)
	_, taken := b.Leaser.Acquire(ctx, &backend.LeaseRequest{Name: held.Name, Owner: held.Owner, TTL: time.Minute})
	return list, errors.Join(err, taken)
}

// impatient fails at once where it should wait for the write lease.
type impatient struct{ *leaser }

func (b impatient) Append(ctx context.Context, d *backend.Draft) (result, error) {
	if held := b.held(ctx, onto.WriteLease); held != nil && d.Lease == nil && !held.Expired(b.place.Now()) {
		return result{}, onto.Errorf(onto.LockContention, "%s holds the write lease", held.Owner)
	}
	return b.Backend.Append(ctx, d)
}
