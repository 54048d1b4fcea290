// Package lease has the rules of leases: which lease is held and by which holder, when
// one may be taken over, and how a holder keeps its own. Backends add the storage.
package lease

import (
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
)

// KeepsOut reports whether a lease, which may be nil, is the one that excludes all
// writers but its holder.
func KeepsOut(l *onto.Lease) bool { return l != nil && l.Name == onto.WriteLease }

// OfMigration reports whether a lease, which may be nil, is that of a migration.
func OfMigration(l *onto.Lease) bool { return KeepsOut(l) && l.Purpose == onto.MigrationLease }

// Check fails with LeaseExpired if a lease is not held, given the stored lease of its
// name: nil if it is free. The epoch decides and the expiry does not: an expired lease
// stays its holder's until it is taken over. The owner counts too, since a store that was
// restored may give an epoch again.
func Check(want onto.Lease, stored *onto.Lease) error {
	switch {
	case stored == nil:
		return onto.Errorf(onto.LeaseExpired, "the %s was released or broken", want).WithHint("take it again, and look at what has changed")
	case stored.Owner != want.Owner || stored.Epoch != want.Epoch:
		return onto.Errorf(onto.LeaseExpired, "the %s ran out, and %s has taken it", want, stored.Owner).
			WithHint("take it again when it is free, and look at what has changed")
	}
	return nil
}

// Grant is the lease for a request.
func Grant(r *backend.LeaseRequest, epoch int64, now time.Time) onto.Lease {
	return onto.Lease{
		Name: r.Name, Owner: r.Owner, Epoch: epoch, Acquired: now, Expires: now.Add(r.TTL).Truncate(time.Microsecond),
		Purpose: r.Purpose, Note: r.Note,
	}
}

// NextEpoch is the epoch that follows another one of a lease of this name, or which its name had.
// Those of transient leases, see [backend.TransientLease], are not before the time.
func NextEpoch(name string, epoch int64, now time.Time) int64 {
	if backend.TransientLease(name) {
		epoch = max(epoch, now.UnixMicro()-1)
	}
	return epoch + 1
}

// Extend is a held lease as it is stored after a renewal.
func Extend(want onto.Lease, stored *onto.Lease, now time.Time, ttl time.Duration) (onto.Lease, error) {
	if err := Check(want, stored); err != nil {
		return onto.Lease{}, err
	}
	extended := *stored
	extended.Expires, extended.Note = now.Add(ttl).Truncate(time.Microsecond), want.Note
	return extended, nil
}

// Contention is the error for a lease with another holder.
func Contention(held *onto.Lease) error {
	text := ""
	if status := held.Status(); status != "" {
		text = ": " + status
	}
	return onto.Errorf(onto.LockContention, "%s holds the lease %s until %s%s", held.Owner, held.Name, codec.FormatTime(held.Expires), text).
		WithHint("try again later, or see who holds it").WithCommand("lock", "show")
}
