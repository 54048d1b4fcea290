package protocol

import (
	"context"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/backoff"
	"github.com/ontologia/onto/internal/lease"
)

// What follows enforces leases on commits. A planner checks them on top of the tip that
// it decides on: if the swap of the head then succeeds, no lease was taken, taken over
// or broken in between, since each of these publishes a head.

// MayWrite fails unless a draft may be committed on top of a tip: with LockContention
// while another holder has the write lease, with LeaseExpired if it carries a lease
// that is not held. If the write lease is not taken and no lease is carried, no request
// is made.
func (l *Leases) MayWrite(ctx context.Context, t *Tip, carried *onto.Lease) error {
	if !lease.KeepsOut(carried) {
		if err := l.writable(ctx, t); err != nil {
			return err
		}
	}
	return l.Carries(ctx, t, carried)
}

// writable fails with LockContention while the write lease is held.
func (l *Leases) writable(ctx context.Context, t *Tip) error {
	held, err := l.holder(ctx, t)
	if err == nil && held != nil {
		err = lease.Contention(held)
	}
	return err
}

// holder is the write lease if it is held on top of a tip, or nil.
func (l *Leases) holder(ctx context.Context, t *Tip) (*onto.Lease, error) {
	epoch, taken := t.Head.Locks[onto.WriteLease]
	if !taken {
		return nil, nil
	}
	h, err := l.readLock(ctx, onto.WriteLease, epoch)
	switch {
	case err != nil:
		return nil, err
	case h.lease == nil:
		l.log.free.note(onto.WriteLease, t.Head.Sequence)
	case !l.expired(h):
		return h.lease, nil
	}
	return nil, nil
}

// Holder is the lease for which a write waits that was refused on top of a tip. Where it has
// ended by now, it is one of the epoch that the tip names.
func (l *Leases) Holder(ctx context.Context, t *Tip) (*onto.Lease, error) {
	held, err := l.holder(ctx, t)
	if err == nil && held == nil {
		held = &onto.Lease{Name: onto.WriteLease, Epoch: t.Head.Locks[onto.WriteLease]}
	}
	return held, err
}

// Carries fails with LeaseExpired if a lease is not held. Nil is fine.
func (l *Leases) Carries(ctx context.Context, t *Tip, carried *onto.Lease) error {
	if carried == nil {
		return nil
	}
	h, err := l.holding(ctx, t, carried.Name)
	if err != nil {
		return err
	}
	if t.Head.Locks[carried.Name] != carried.Epoch && h.lease != nil && h.lease.Epoch == carried.Epoch {
		h.lease = nil // a stale copy: the head names the leases that are held
	}
	return lease.Check(*carried, h.lease)
}

// Keep renews the lease that a draft carries, which may be nil, until stop is called. If the
// lease is lost, that is found when the draft is published.
func (l *Leases) Keep(ctx context.Context, carried *onto.Lease) (stop func()) {
	if carried != nil {
		h, err := l.look(ctx, carried.Name)
		if err == nil && lease.Check(*carried, h.lease) == nil {
			end := lease.Resume(l, *h.lease, h.ttl).Keeping(ctx, func() {})
			return func() { _ = end() }
		}
	}
	return func() {}
}

// AwaitWrite waits until the write lease is free. At the deadline it fails with
// LockContention. A tip that does not name the lease ends the wait.
func (l *Leases) AwaitWrite(ctx context.Context, t *Tip, wait time.Duration) error {
	look := l.log.looker(wait)
	for {
		err := l.writable(ctx, t)
		if onto.CodeOf(err) != onto.LockContention {
			return err
		}
		if late := look.Pause(ctx, func() error { return err }); late != nil {
			return late
		}
	}
}

// looker paces reads of a lock that is held. A clock may be moved by hand and a lease
// may end at any time, so there is no better moment to wait for.
func (l *Log) looker(wait time.Duration) backoff.Backoff {
	return backoff.Backoff{First: 5 * time.Millisecond, Longest: 250 * time.Millisecond, Until: time.Now().Add(wait), Jitter: l.set.Jitter}
}
