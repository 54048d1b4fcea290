package sqlite

import (
	"context"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/lease"
	"github.com/ontologia/onto/internal/refusal"
)

// A lease is a row of locks, the original program's table, and an epoch in onto_leases. It is
// held while both the owner of its row and the epoch of its name match. A row that is deleted,
// as the original's documentation has it, releases the lease. Of a transient lease that has
// ended nothing stays; the greatest epoch of all of them is kept under a name that no lease can
// have.

var _ backend.Leaser = (*Backend)(nil)

// checkLease fails if a draft's lease, which may be nil, is not held.
func checkLease(c *driver.Conn, l *onto.Lease) error {
	if l == nil {
		return nil
	}
	held, err := readLease(c, l.Name)
	if err != nil {
		return err
	}
	return lease.Check(*l, held)
}

const (
	leaseList = `l.lock_name, l.owner_id, coalesce(e.epoch, 0), l.acquired_at, l.expires_at, e.purpose, e.note`
	breakList = `name, owner_id, epoch, acquired_at, expires_at, purpose, note, broken_at, runtime_id, actor_kind, actor_id, reason`
	leaseFrom = `locks l LEFT JOIN onto_leases e ON e.name = l.lock_name`
)

// leaseAt reads the columns of a lease, which start at column i.
func leaseAt(r *driver.Rows, i int) onto.Lease {
	return onto.Lease{
		Name: r.Text(i), Owner: r.Text(i + 1), Epoch: r.Int(i + 2),
		Acquired: layout.StoredTime(r.Text(i + 3)), Expires: layout.StoredTime(r.Text(i + 4)),
		Purpose: onto.LeasePurpose(r.Text(i + 5)), Note: r.Text(i + 6),
	}
}

// readLease returns the stored lease of a name, or nil if it is not taken.
func readLease(c *driver.Conn, name string) (*onto.Lease, error) {
	r, ok, err := c.QueryRow(`SELECT `+leaseList+` FROM `+leaseFrom+` WHERE l.lock_name = ?`, name)
	if err != nil || !ok {
		return nil, err
	}
	l := leaseAt(r, 0)
	return &l, nil
}

// removedLeases is the name with the greatest epoch of the transient leases that have ended.
const removedLeases = "object.*"

// nextEpoch gives a name its next epoch and returns it. What it is taken for is kept
// with it.
func nextEpoch(w *driver.Conn, name string, now time.Time, purpose onto.LeasePurpose, note string) (int64, error) {
	known := []any{name, name}
	if backend.TransientLease(name) {
		known[1] = removedLeases
	}
	last, err := w.QueryInt(`SELECT coalesce(max(epoch), 0) FROM onto_leases WHERE name IN (?, ?)`, known...)
	if err != nil {
		return 0, err
	}
	epoch := lease.NextEpoch(name, last, now)
	return epoch, w.Exec(`INSERT OR REPLACE INTO onto_leases (name, epoch, purpose, note) VALUES (?, ?, ?, ?)`,
		name, epoch, layout.OrNull(string(purpose)), layout.OrNull(note))
}

// endLease removes a lease that has this epoch.
func endLease(w *driver.Conn, name string, epoch int64) error {
	if err := w.Exec(`DELETE FROM locks WHERE lock_name = ?`, name); err != nil || !backend.TransientLease(name) {
		return err
	}
	if err := w.Exec(`DELETE FROM onto_leases WHERE name = ?`, name); err != nil {
		return err
	}
	return w.Exec(`INSERT INTO onto_leases (name, epoch) VALUES (?, ?)
		ON CONFLICT DO UPDATE SET epoch = max(epoch, excluded.epoch)`, removedLeases, epoch)
}

// changeLeases runs f in a write transaction. It does not wait for any lease.
func (wr *writer) changeLeases(ctx context.Context, until time.Time, f func(w *driver.Conn) error) error {
	return wr.writeAs(ctx, until, starter{lease: &onto.Lease{Name: onto.WriteLease}, damaged: true}, func(w *driver.Conn, _ state) error { return f(w) })
}

// Acquire takes a lease that is free or has expired.
func (b *Backend) Acquire(ctx context.Context, r *backend.LeaseRequest) (onto.Lease, error) {
	wait := driver.WaitUntil(time.Now().Add(r.Wait))
	until := b.deadline() // for the write lock, which also a request without waiting needs
	if until.Before(wait.Until) {
		until = wait.Until
	}
	for {
		var taken onto.Lease
		var holder *onto.Lease
		err := b.writer.changeLeases(ctx, until, func(w *driver.Conn) (err error) {
			taken, holder, err = b.writer.acquire(w, r)
			return err
		})
		if err != nil || holder == nil {
			return taken, err
		}
		err = wait.Pause(ctx, func() error { return heldError(b.at.Path, holder) })
		if err != nil {
			return onto.Lease{}, err
		}
	}
}

// acquire takes the lease, or returns its holder.
func (wr *writer) acquire(w *driver.Conn, r *backend.LeaseRequest) (taken onto.Lease, holder *onto.Lease, err error) {
	held, err := readLease(w, r.Name)
	if err != nil {
		return onto.Lease{}, nil, err
	}
	now := wr.now()
	if held != nil && !held.Expired(now) {
		return onto.Lease{}, held, nil
	}
	epoch, err := nextEpoch(w, r.Name, now, r.Purpose, r.Note)
	if err != nil {
		return onto.Lease{}, nil, err
	}
	taken = lease.Grant(r, epoch, now)
	err = w.Exec(`INSERT OR REPLACE INTO locks (lock_name, owner_id, acquired_at, expires_at) VALUES (?, ?, ?, ?)`,
		taken.Name, taken.Owner, codec.FormatTime(taken.Acquired), codec.FormatTime(taken.Expires))
	return taken, nil, err
}

// Renew extends a lease to ttl from now.
func (b *Backend) Renew(ctx context.Context, l onto.Lease, ttl time.Duration) (onto.Lease, error) {
	var renewed onto.Lease
	err := b.writer.changeLeases(ctx, b.deadline(), func(w *driver.Conn) error {
		held, err := readLease(w, l.Name)
		if err == nil {
			renewed, err = lease.Extend(l, held, b.now(), ttl)
		}
		if err != nil {
			return err
		}
		if renewed.Note != held.Note {
			err = w.Exec(`UPDATE onto_leases SET note = ? WHERE name = ?`, layout.OrNull(renewed.Note), l.Name)
		}
		if err != nil {
			return err
		}
		return w.Exec(`UPDATE locks SET expires_at = ? WHERE lock_name = ?`, codec.FormatTime(renewed.Expires), l.Name)
	})
	if err != nil {
		return onto.Lease{}, err
	}
	return renewed, nil
}

// Release ends a lease.
func (b *Backend) Release(ctx context.Context, l onto.Lease) error {
	return b.writer.changeLeases(ctx, b.deadline(), func(w *driver.Conn) error {
		if err := checkLease(w, &l); err != nil {
			return err
		}
		return endLease(w, l.Name, l.Epoch)
	})
}

// Leases returns those that were taken and not released, by name.
func (b *Backend) Leases(ctx context.Context) ([]onto.Lease, error) {
	return readLeases(ctx, b.reader, `SELECT `+leaseList+` FROM `+leaseFrom+` ORDER BY l.lock_name`, func(r *driver.Rows) (onto.Lease, error) {
		return leaseAt(r, 0), nil
	})
}

// readLeases reads each row of a query about leases. A file of an older
// format that is opened for reading only has none.
func readLeases[T any](ctx context.Context, rd *reader, sql string, read func(r *driver.Rows) (T, error)) (list []T, err error) {
	err = rd.read(ctx, func(r *reading) error {
		n, err := r.QueryInt(`SELECT count(*) FROM (SELECT name FROM sqlite_master UNION SELECT name FROM sqlite_temp_master)
			WHERE name IN ('locks', 'onto_leases', 'onto_lease_breaks')`)
		if err != nil || n < 3 {
			return err
		}
		list, err = driver.List(ctx, r.Conn, sql, nil, read)
		return err
	})
	return list, err
}

// Break ends a lease that is held and records it. The epoch is incremented, so that the
// holder cannot mistake a later lease of the same owner for its own.
func (b *Backend) Break(ctx context.Context, record onto.LeaseBreak) (onto.LeaseBreak, error) {
	err := b.writer.changeLeases(ctx, b.deadline(), func(w *driver.Conn) error {
		held, err := readLease(w, record.Lease.Name)
		if err != nil {
			return err
		}
		if held == nil {
			return refusal.NotHeld(record.Lease.Name)
		}
		record.Lease, record.Time = *held, b.now()
		epoch, err := nextEpoch(w, held.Name, record.Time, "", "")
		if err != nil {
			return err
		}
		if err := endLease(w, held.Name, epoch); err != nil {
			return err
		}
		return w.Exec(`INSERT INTO onto_lease_breaks (`+breakList+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			held.Name, held.Owner, held.Epoch, codec.FormatTime(held.Acquired), codec.FormatTime(held.Expires),
			layout.OrNull(string(held.Purpose)), layout.OrNull(held.Note), codec.FormatTime(record.Time),
			layout.OrNull(record.Runtime), layout.OrNull(string(record.Actor.Kind)), layout.OrNull(record.Actor.ID), layout.OrNull(record.Reason))
	})
	if err != nil {
		return onto.LeaseBreak{}, err
	}
	return record, nil
}

// Breaks returns the records of leases that were ended by force, oldest first.
func (b *Backend) Breaks(ctx context.Context) ([]onto.LeaseBreak, error) {
	return readLeases(ctx, b.reader, `SELECT `+breakList+` FROM onto_lease_breaks ORDER BY id`, func(r *driver.Rows) (onto.LeaseBreak, error) {
		return onto.LeaseBreak{
			Lease: leaseAt(r, 0), Time: layout.StoredTime(r.Text(7)), Runtime: r.Text(8),
			Actor: onto.Actor{Kind: onto.ActorKind(r.Text(9)), ID: r.Text(10)}, Reason: r.Text(11),
		}, nil
	})
}
