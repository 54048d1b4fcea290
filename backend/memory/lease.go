package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/refusal"
)

// DefaultLockTimeout is how long a write waits for the holder of the write
// lease.
const DefaultLockTimeout = 5 * time.Second

// DefaultMigrationWait is how long a write waits for a migration.
const DefaultMigrationWait = time.Minute

// pace is how often a waiting call looks again. The clock of a store may be moved by
// hand, so there is no better moment to wait for.
const pace = 5 * time.Millisecond

// leases is what a store knows about leases.
type leases struct {
	held   map[string]onto.Lease // by name, also expired ones
	epochs map[string]int64      // by name: of the last lease, one more once it was broken
	breaks []onto.LeaseBreak

	removed int64 // the greatest epoch of the transient leases that have ended
}

// next is the epoch of the next lease of a name.
func (l *leases) next(name string, now time.Time) int64 {
	if backend.TransientLease(name) {
		return max(l.epochs[name], l.removed, now.UnixMicro()-1) + 1
	}
	return l.epochs[name] + 1
}

// end forgets the lease of a name. The next one has a greater epoch than it.
func (l *leases) end(name string) {
	delete(l.held, name)
	if backend.TransientLease(name) {
		l.removed = max(l.removed, l.epochs[name])
		delete(l.epochs, name)
	}
}

// lockFree locks the store as soon as a lease is free. It waits for one time for each
// holder, and for another in any case; for a migration it waits for a third time, if that
// is longer. After an error the store is not locked. An expired
// lease counts as free.
func (b *Backend) lockFree(ctx context.Context, name string, usual, total, migration time.Duration) error {
	began := time.Now()
	until, epoch := began, int64(-1)
	for {
		b.store.mu.Lock()
		err := b.writable(ctx)
		held, taken := b.store.leases.held[name]
		if err == nil && (!taken || held.Expired(b.store.now())) {
			return nil
		}
		b.store.mu.Unlock()
		if err != nil {
			return err
		}
		each, longest := usual, total
		if held.Purpose == onto.MigrationLease {
			each, longest = max(each, migration), max(longest, migration)
		}
		if held.Epoch != epoch {
			until, epoch = time.Now().Add(each), held.Epoch
		}
		left := min(time.Until(until), time.Until(began.Add(longest)))
		if left <= 0 {
			return contention(held)
		}
		if err := pause(ctx, min(left, pace)); err != nil {
			return err
		}
	}
}

// lockWrite locks the store for a change of types or data. It waits for the holder of
// the write lease; whether a draft that carries that lease holds it is checked later.
func (b *Backend) lockWrite(ctx context.Context, carried *onto.Lease) error {
	if carried == nil || carried.Name != onto.WriteLease {
		return b.lockFree(ctx, onto.WriteLease, b.store.lockTimeout, 10*b.store.lockTimeout, b.store.migrationWait)
	}
	b.store.mu.Lock()
	err := b.writable(ctx)
	if err != nil {
		b.store.mu.Unlock()
	}
	return err
}

func contention(held onto.Lease) error {
	until := codec.FormatTime(held.Expires)
	if status := held.Status(); status != "" {
		until += ": " + status
	}
	return onto.Errorf(onto.LockContention, "%s holds the lease %s until %s", held.Owner, held.Name, until).
		WithHint("try again later, or see who holds it").WithCommand("lock", "show")
}

// pause waits unless the context ends.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// checkLease fails if a lease is not held. The store is locked.
func (s *Store) checkLease(want *onto.Lease) error {
	if want == nil {
		return nil
	}
	held, ok := s.leases.held[want.Name]
	switch {
	case !ok:
		return onto.Errorf(onto.LeaseExpired, "the %s was released or broken", want).WithHint("take it again, and look at what has changed")
	case held.Owner != want.Owner || held.Epoch != want.Epoch:
		return onto.Errorf(onto.LeaseExpired, "the %s ran out, and %s has taken it", want, held.Owner).
			WithHint("take it again when it is free, and look at what has changed")
	}
	return nil
}

// Acquire implements [backend.Leaser].
func (b *Backend) Acquire(ctx context.Context, r *backend.LeaseRequest) (onto.Lease, error) {
	if err := b.lockFree(ctx, r.Name, r.Wait, r.Wait, 0); err != nil {
		return onto.Lease{}, err
	}
	s := b.store
	defer s.mu.Unlock()
	now := s.stamp()
	s.leases.epochs[r.Name] = s.leases.next(r.Name, now)
	l := onto.Lease{Name: r.Name, Owner: r.Owner, Epoch: s.leases.epochs[r.Name], Acquired: now, Expires: stored(now.Add(r.TTL)), Purpose: r.Purpose, Note: r.Note}
	s.leases.held[r.Name] = l
	return l, nil
}

// Renew implements [backend.Leaser].
func (b *Backend) Renew(ctx context.Context, l onto.Lease, ttl time.Duration) (onto.Lease, error) {
	s := b.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := cmp.Or(b.writable(ctx), s.checkLease(&l)); err != nil {
		return onto.Lease{}, err
	}
	renewed := s.leases.held[l.Name]
	renewed.Expires, renewed.Note = stored(s.stamp().Add(ttl)), l.Note
	s.leases.held[l.Name] = renewed
	return renewed, nil
}

// Release implements [backend.Leaser].
func (b *Backend) Release(ctx context.Context, l onto.Lease) error {
	s := b.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := cmp.Or(b.writable(ctx), s.checkLease(&l)); err != nil {
		return err
	}
	s.leases.end(l.Name)
	return nil
}

// Leases implements [backend.Leaser].
func (b *Backend) Leases(ctx context.Context) ([]onto.Lease, error) {
	s := b.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := b.usable(ctx); err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Values(s.leases.held), func(a, b onto.Lease) int { return cmp.Compare(a.Name, b.Name) }), nil
}

// Break implements [backend.Leaser].
func (b *Backend) Break(ctx context.Context, record onto.LeaseBreak) (onto.LeaseBreak, error) {
	s := b.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := b.writable(ctx); err != nil {
		return onto.LeaseBreak{}, err
	}
	name := record.Lease.Name
	held, ok := s.leases.held[name]
	if !ok {
		return onto.LeaseBreak{}, refusal.NotHeld(name)
	}
	record.Lease, record.Time = held, s.stamp()
	s.leases.epochs[name]++
	s.leases.end(name)
	s.leases.breaks = append(s.leases.breaks, record)
	return record, nil
}

// Breaks implements [backend.Leaser].
func (b *Backend) Breaks(ctx context.Context) ([]onto.LeaseBreak, error) {
	s := b.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := b.usable(ctx); err != nil {
		return nil, err
	}
	return slices.Clone(s.leases.breaks), nil
}
