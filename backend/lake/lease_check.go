package lake

import (
	"context"
	"maps"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
)

// What follows makes leases count for commits. A planner asks it on top of the
// tip that it decides on: if the swap of the head then succeeds, no lease was
// taken, taken over or broken in between, since each of that publishes a head.

// mayWrite fails unless a draft may be committed on top of a tip. Who does not
// carry the write lease is stopped while somebody holds it, with LockContention;
// who carries a lease that is not held is refused with LeaseExpired. Where nobody
// has taken the write lease and none is carried, nothing is asked.
func (l *log) mayWrite(ctx context.Context, t *tip, carried *onto.Lease) error {
	if carried == nil || carried.Name != onto.WriteLease {
		if err := l.writable(ctx, t); err != nil {
			return err
		}
	}
	return l.carries(ctx, t, carried)
}

// writable fails with LockContention while somebody holds the write lease.
func (l *log) writable(ctx context.Context, t *tip) error {
	epoch, taken := t.head.Locks[onto.WriteLease]
	if !taken || l.planted(ignoreLease) {
		return nil
	}
	h, err := l.readLock(ctx, onto.WriteLease, epoch)
	switch {
	case err != nil:
		return err
	case h.lease == nil:
		l.locks.noteFree(onto.WriteLease, t.head.Sequence)
	case !l.expired(h):
		return contention(h.lease)
	}
	return nil
}

// carries fails with LeaseExpired if a lease is not held. Nil is fine.
func (l *log) carries(ctx context.Context, t *tip, carried *onto.Lease) error {
	if carried == nil || l.planted(ownClock) && !carried.Expired(l.set.now()) {
		return nil
	}
	h, err := l.readLock(ctx, carried.Name, t.head.Locks[carried.Name])
	if err != nil {
		return err
	}
	if t.head.Locks[carried.Name] != carried.Epoch && !l.planted(unnamedLease) && h.lease != nil && h.lease.Epoch == carried.Epoch {
		h.lease = nil // an old copy: who holds a lease is named by the head
	}
	return backend.CheckLease(*carried, h.lease)
}

// awaitWrite waits until nobody holds the write lease, then fails with
// LockContention. A tip that does not name the lease is enough to go on.
func (l *log) awaitWrite(ctx context.Context, t *tip, wait time.Duration) error {
	look := l.looker(wait)
	for {
		err := l.writable(ctx, t)
		if onto.CodeOf(err) != onto.LockContention {
			return err
		}
		if more, late := look.again(ctx); late != nil {
			return late
		} else if !more {
			return err
		}
	}
}

func contention(held *onto.Lease) error {
	return onto.Errorf(onto.LockContention, "%s holds the lease %s until %s", held.Owner, held.Name, codec.FormatTime(held.Expires)).
		WithHint("try again later, or see who holds it with: onto lock show")
}

// looker paces looks at a lock that somebody else holds.
type looker struct {
	l     *log
	until time.Time
	pace  time.Duration
}

// slowest is how long a look waits for the next at most. A clock may be moved by
// hand and a lease may end at any time, so there is no better moment to wait for.
const slowest = 250 * time.Millisecond

func (l *log) looker(wait time.Duration) looker {
	return looker{l: l, until: time.Now().Add(wait), pace: 5 * time.Millisecond}
}

// again waits for the next look, longer each time. It reports false if time is
// over, and fails if the context ends.
func (k *looker) again(ctx context.Context) (bool, error) {
	left := time.Until(k.until)
	if left <= 0 {
		return false, ctx.Err()
	}
	half := int64(k.pace) / 2
	timer := time.NewTimer(min(left, time.Duration(half+k.l.set.jitter(half))))
	defer timer.Stop()
	k.pace = min(2*k.pace, slowest)
	select {
	case <-timer.C:
		return true, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// noteFree notes that a lease was found free after a head was read.
func (w *watch) noteFree(name string, sequence int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.free == nil {
		w.free = map[string]int64{}
	}
	w.free[name] = sequence
}

// forgetFree drops from the next head the leases that were found free since the
// head before it was read, so that nobody has to look at them any more.
func (l *log) forgetFree(t *tip, next *head) {
	l.locks.mu.Lock()
	defer l.locks.mu.Unlock()
	for name, sequence := range l.locks.free {
		found := sequence == t.head.Sequence || l.planted(freeForever)
		if epoch, ok := next.Locks[name]; ok && found && epoch == t.head.Locks[name] {
			next.Locks = maps.Clone(next.Locks)
			delete(next.Locks, name)
		}
	}
}
