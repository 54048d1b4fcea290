package protocol

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/lease"
)

// Leases takes and judges the leases of one lake, for one process.
type Leases struct {
	log  *Publisher
	seen lease.Watch
}

// NewLeases is the leases of the lake that a publisher publishes to.
func NewLeases(p *Publisher) *Leases { return &Leases{log: p} }

// Acquire takes a lease as soon as it is free: first its lock, then a head that names
// it. The head makes every swap fail that was prepared before.
func (l *Leases) Acquire(ctx context.Context, r *backend.LeaseRequest) (onto.Lease, error) {
	look := l.log.looker(r.Wait)
	for {
		h, err := l.look(ctx, r.Name)
		if err != nil {
			return onto.Lease{}, err
		}
		if !l.free(h) {
			if late := look.Pause(ctx, func() error { return lease.Contention(h.lease) }); late != nil {
				return onto.Lease{}, late
			}
			continue
		}
		take := l.take
		if backend.TransientLease(r.Name) {
			take = l.takeTransient
		}
		taken, done, err := take(ctx, r, h)
		if done || err != nil {
			return taken, err
		}
	}
}

// take takes a lease that is free. It reports false if another was faster.
func (l *Leases) take(ctx context.Context, r *backend.LeaseRequest, h *holding) (onto.Lease, bool, error) {
	epoch, err := l.nextEpoch(ctx, r.Name, h)
	if err != nil {
		return onto.Lease{}, false, err
	}
	taken := lease.Grant(r, epoch, l.log.stamp())
	k := l.newLock(&taken, r.TTL)
	done, err := l.writeLock(ctx, h, k)
	if err == nil && !done {
		return onto.Lease{}, false, nil
	}
	if err == nil {
		err = l.announce(ctx, r.Name, epoch)
	}
	if err != nil {
		l.abandon(ctx, h.key, k)
		return onto.Lease{}, false, err
	}
	return taken, true, nil
}

// newLock is the lock of a lease.
func (l *Leases) newLock(lease *onto.Lease, ttl time.Duration) *lock {
	return &lock{
		Owner: lease.Owner, Acquired: codec.FormatTime(lease.Acquired), Expires: codec.FormatTime(lease.Expires),
		TTL: max(1, ttl.Milliseconds()), Epoch: lease.Epoch, Attempt: l.log.set.Attempt(),
		Purpose: string(lease.Purpose), Note: lease.Note,
	}
}

// stamp is the time as leases keep it.
func (l *Log) stamp() time.Time { return l.set.Now().UTC().Truncate(time.Microsecond) }

// nextEpoch is the epoch of the next holder: larger than any before. If the lock was
// removed, the epoch is taken from the time.
func (l *Leases) nextEpoch(ctx context.Context, name string, h *holding) (int64, error) {
	epoch := max(h.epoch, l.seen.Epoch(h.key))
	if h.epoch == 0 {
		t, err := l.log.Refresh(ctx)
		if err != nil {
			return 0, err
		}
		now := l.log.stamp()
		if now.UnixMicro() > maxNumber {
			return 0, onto.Errorf(onto.Invalid, "the clock of this machine says %d, and leases are numbered by a time before 2256", now.Year()).
				WithHint("set the clock and its date; nothing was written")
		}
		epoch = max(epoch, t.Head.Locks[name], now.UnixMicro()-1)
		if backend.TransientLease(name) {
			epoch = max(epoch, t.Head.lastTransient())
		}
	}
	return epochAfter(h.key, epoch)
}

// epochAfter is the epoch after another one. It fails beyond maxNumber, which could not
// be read again.
func epochAfter(key string, epoch int64) (int64, error) {
	if epoch >= maxNumber {
		return 0, badLock(key, "no epoch can follow %d", epoch)
	}
	return epoch + 1, nil
}

// announce publishes a head that names a lease and its epoch.
func (l *Leases) announce(ctx context.Context, name string, epoch int64) error {
	_, err := l.log.Publish(ctx, func(t *Tip, attempt string) (*Proposal, error) {
		if t.Head.Locks[name] > epoch {
			return nil, onto.Errorf(onto.LeaseExpired, "the lease %s ran out before it could be published, and another holder has taken it", name).
				WithHint("take it for longer")
		}
		return l.proposeLock(t, attempt, name, epoch), nil
	})
	return err
}

// retract publishes a head without a lease that was ended, up to an epoch.
func (l *Leases) retract(ctx context.Context, name string, epoch int64) error {
	_, err := l.log.Publish(ctx, func(t *Tip, attempt string) (*Proposal, error) {
		now := t.Head.Locks[name]
		if now > epoch || now != epoch && backend.TransientLease(name) {
			return nil, errTaken
		}
		p := l.proposeLock(t, attempt, name, 0)
		if h := p.next.Head; backend.TransientLease(name) {
			h.Ended = max(h.Ended, epoch)
		}
		return p, nil
	})
	if errors.Is(err, errTaken) {
		return nil
	}
	return err
}

// errTaken is returned by a planner: the lease has another holder by now.
var errTaken = onto.Errorf(onto.LeaseExpired, "the lease was taken again")

// proposeLock is a head with another epoch of a lease; 0 if it is free. It changes
// nothing else.
func (l *Leases) proposeLock(t *Tip, attempt, name string, epoch int64) *Proposal {
	p := l.log.Propose(t, nil, nil, attempt)
	h := p.next.Head
	h.Locks = maps.Clone(h.Locks)
	if h.Locks == nil {
		h.Locks = map[string]int64{}
	}
	if h.Locks[name] = epoch; epoch == 0 {
		delete(h.Locks, name)
	}
	return p
}

// abandon frees a lock that was written for a lease that could not be taken. If that
// fails, too, the lock expires.
func (l *Leases) abandon(ctx context.Context, key string, k *lock) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.log.set.Patience)
	defer cancel()
	h, err := l.readLockAt(ctx, key, "", 0)
	if err == nil && h.attempt == k.Attempt {
		_, _ = l.writeLock(ctx, h, l.freed(k, k.Epoch))
	}
}

// freed is the lock after a lease has ended.
func (l *Leases) freed(k *lock, epoch int64) *lock {
	f := *k
	f.Epoch, f.Attempt, f.Released = epoch, l.log.set.Attempt(), l.log.now()
	f.Purpose, f.Note = "", ""
	return &f
}

// Renew extends a lease. If others may have found it expired already, a head tells
// them: clocks are assumed to agree within a third of the time that a lease lasts.
func (l *Leases) Renew(ctx context.Context, want onto.Lease, ttl time.Duration) (onto.Lease, error) {
	for {
		h, err := l.look(ctx, want.Name)
		var renewed onto.Lease
		if err == nil {
			renewed, err = lease.Extend(want, h.lease, l.log.stamp(), ttl)
		}
		if err != nil {
			return onto.Lease{}, err
		}
		done, err := l.writeLock(ctx, h, l.newLock(&renewed, ttl))
		if err == nil && !done {
			continue
		}
		if late := h.lease.Expires.Add(-h.ttl / 3); err == nil && !l.log.stamp().Before(late) {
			err = l.confirm(ctx, want.Name, want.Epoch)
		}
		if err != nil {
			return onto.Lease{}, err
		}
		return renewed, nil
	}
}

// Release ends a lease. It does no harm if the head still names it, so it is no error
// if that cannot be changed.
func (l *Leases) Release(ctx context.Context, want onto.Lease) error {
	if backend.TransientLease(want.Name) {
		return l.releaseTransient(ctx, want)
	}
	for tried := false; ; tried = true {
		h, err := l.readLock(ctx, want.Name, 0)
		if err != nil {
			return err
		}
		if tried && h.lease == nil && h.epoch == want.Epoch {
			break // by this call, or by another that had the same lease
		}
		if err := lease.Check(want, h.lease); err != nil {
			return err
		}
		done, err := l.writeLock(ctx, h, l.freed(l.newLock(h.lease, h.ttl), want.Epoch))
		if err != nil {
			return err
		}
		if done {
			break
		}
	}
	_ = l.retract(ctx, want.Name, want.Epoch)
	return nil
}

// List returns the leases that the head names and that were not released, by
// name. The write lease is one of them also if its holder was killed before a head named it.
func (l *Leases) List(ctx context.Context) ([]onto.Lease, error) {
	t, err := l.log.Refresh(ctx)
	if err != nil {
		return nil, err
	}
	names := map[string]int64{onto.WriteLease: 0}
	maps.Copy(names, t.Head.Locks)
	sorted := slices.Sorted(maps.Keys(names))
	found := make([]*holding, len(sorted))
	err = SideBySide(len(sorted), func(i int) (err error) {
		found[i], err = l.holding(ctx, t, sorted[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	var list []onto.Lease
	for _, h := range found {
		if h.lease != nil {
			list = append(list, *h.lease)
		}
	}
	return list, nil
}
