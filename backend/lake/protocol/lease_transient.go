package protocol

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/lease"
)

// What follows is about transient leases, of which nothing stays. The key of their lock has the
// epoch, so no key is used twice: a lock can be removed without a condition, and the removal may
// arrive at any time. Who holds such a lease is what the head says: it names the epoch, and the
// lock of that epoch has the holder. A swap of the head decides between those who want it.

// transientFolder begins the keys of the locks of transient leases.
const transientFolder = locksFolder + "object."

// transientKey is the key of the lock of a transient lease.
func transientKey(name string, epoch int64) string {
	return locksFolder + name + "-" + strconv.FormatInt(epoch, 10) + ".json"
}

// parseTransientKey reads such a key. It reports false for any other.
func parseTransientKey(key string) (name string, epoch int64, ok bool) {
	text := strings.TrimSuffix(strings.TrimPrefix(key, locksFolder), ".json")
	i := strings.LastIndexByte(text, '-')
	if i < 0 {
		return "", 0, false
	}
	epoch, err := strconv.ParseInt(text[i+1:], 10, 64)
	name = text[:i]
	return name, epoch, err == nil && epoch > 0 && backend.TransientLease(name) && onto.CheckLeaseName(name) == nil && transientKey(name, epoch) == key
}

// look reads the lock of a lease, of which a transient one has none unless the newest head names
// it.
func (l *Leases) look(ctx context.Context, name string) (*holding, error) {
	if !backend.TransientLease(name) {
		return l.readLock(ctx, name, 0)
	}
	wait := l.log.Waiter()
	for {
		t, err := l.log.Refresh(ctx)
		if err != nil {
			return nil, err
		}
		h, err := l.holding(ctx, t, name)
		if err != nil || h.epoch == 0 || h.tag != "" {
			return h, err
		}
		// It has ended since the head was read, or was removed by hand.
		if late := wait.Wait(ctx); late != nil {
			return h, ctx.Err()
		}
	}
}

// holding reads the lock of a lease that a tip may name.
func (l *Leases) holding(ctx context.Context, t *Tip, name string) (*holding, error) {
	epoch := t.Head.Locks[name]
	if !backend.TransientLease(name) {
		return l.readLock(ctx, name, epoch)
	}
	if err := onto.CheckLeaseName(name); err != nil {
		return nil, err
	}
	if epoch == 0 {
		return &holding{key: lockKey(name)}, nil
	}
	h, err := l.readLockAt(ctx, transientKey(name, epoch), name, 0)
	if err == nil && h.tag != "" && h.epoch != epoch {
		err = badLock(h.key, "it has the epoch %d", h.epoch)
	}
	if err != nil {
		return nil, err
	}
	h.epoch = epoch
	return h, nil
}

// lastTransient is the greatest epoch of all transient leases, held or ended.
func (h *Head) lastTransient() int64 {
	last := h.Ended
	for name, epoch := range h.Locks {
		if backend.TransientLease(name) {
			last = max(last, epoch)
		}
	}
	return last
}

// takeTransient takes a transient lease that is free. It reports false if another was faster.
func (l *Leases) takeTransient(ctx context.Context, r *backend.LeaseRequest, h *holding) (onto.Lease, bool, error) {
	if h.lease != nil { // it has run out: from here on its holder cannot renew it
		done, err := l.writeLock(ctx, h, l.freed(l.newLock(h.lease, h.ttl), h.epoch))
		if err != nil || !done {
			return onto.Lease{}, false, err
		}
	}
	now, err := l.nextEpoch(ctx, r.Name, &holding{key: h.key})
	if err != nil {
		return onto.Lease{}, false, err
	}
	taken, k, err := l.createLock(ctx, r, now)
	if err != nil {
		return onto.Lease{}, false, err
	}
	key := transientKey(taken.Name, taken.Epoch)
	switch err := l.succeed(ctx, r.Name, h.epoch, taken.Epoch); {
	case err == nil:
		if h.tag != "" {
			l.remove(ctx, h.key)
		}
		return taken, true, nil
	case errors.Is(err, errTaken) && onto.CodeOf(err) != onto.OutcomeUnknown:
		l.remove(ctx, key)
		return onto.Lease{}, false, nil
	default:
		l.abandon(ctx, key, k)
		return onto.Lease{}, false, err
	}
}

// createLock writes the lock of a transient lease with the first epoch, from one on, that no
// other has used.
func (l *Leases) createLock(ctx context.Context, r *backend.LeaseRequest, epoch int64) (onto.Lease, *lock, error) {
	for {
		taken := lease.Grant(r, epoch, l.log.stamp())
		k, h := l.newLock(&taken, r.TTL), &holding{key: transientKey(r.Name, epoch)}
		done, err := l.writeLock(ctx, h, k)
		if err != nil || done {
			return taken, k, err
		}
		if epoch, err = epochAfter(h.key, epoch); err != nil {
			return onto.Lease{}, nil, err
		}
	}
}

// succeed publishes a head that names a transient lease, unless it no longer names the epoch
// before, or one as great has ended meanwhile.
func (l *Leases) succeed(ctx context.Context, name string, before, epoch int64) error {
	_, err := l.log.Publish(ctx, func(t *Tip, attempt string) (*Proposal, error) {
		switch now := t.Head.Locks[name]; {
		case now == epoch:
			return nil, nil // by a try that seemed to have failed
		case now != before || epoch <= t.Head.Ended:
			return nil, errTaken
		}
		return l.proposeLock(t, attempt, name, epoch), nil
	})
	return err
}

// confirm publishes a head that names a lease again which is held.
func (l *Leases) confirm(ctx context.Context, name string, epoch int64) error {
	if !backend.TransientLease(name) {
		return l.announce(ctx, name, epoch)
	}
	_, err := l.log.Publish(ctx, func(t *Tip, attempt string) (*Proposal, error) {
		if t.Head.Locks[name] != epoch {
			return nil, errTaken
		}
		return l.proposeLock(t, attempt, name, epoch), nil
	})
	return err
}

// releaseTransient ends a transient lease. The head says so; the lock is removed afterwards.
func (l *Leases) releaseTransient(ctx context.Context, want onto.Lease) error {
	h, err := l.look(ctx, want.Name)
	if err != nil {
		return err
	}
	if err := lease.Check(want, h.lease); err != nil {
		return err
	}
	if err := l.retract(ctx, want.Name, want.Epoch); err != nil {
		return err
	}
	l.remove(ctx, h.key)
	return nil
}

// remove removes the lock of a transient lease that has ended, or never began. If that fails, the
// janitor does it.
func (l *Leases) remove(ctx context.Context, key string) {
	l.seen.Forget(key)
	_ = l.log.b.Delete(ctx, key)
}
