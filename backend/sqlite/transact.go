package sqlite

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/disk"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/lease"
	"github.com/ontologia/onto/internal/refusal"
)

// deadline is when a write that starts now stops waiting for other writers. Local
// deadlines use the monotonic clock, never the injected wall clock.
func (s *store) deadline() time.Time { return time.Now().Add(s.opts.LockTimeout) }

// turn is a lock with a timed wait.
type turn chan struct{}

// wait waits without a limit.
func (t turn) wait() { t <- struct{}{} }

func (t turn) release() { <-t }

// acquire waits until the deadline or the end of the context.
func (t turn) acquire(ctx context.Context, until time.Time, path string) error {
	select {
	case t <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return contention(path, "a long commit of this process")
	}
}

func contention(path, holder string) error {
	return onto.Errorf(onto.LockContention, "%s: the write lock is held by %s", path, holder).WithHint(contentionHint)
}

const contentionHint = "wait for the other writer and try again, or raise the lock timeout"

// heldError is for a lease of another holder.
func heldError(path string, l *onto.Lease) error {
	return onto.Errorf(onto.LockContention, "%s: %w", path, lease.Contention(l))
}

// retryBusy repeats f while another process has the lock.
func (wr *writer) retryBusy(ctx context.Context, f func() error) error {
	wait := driver.WaitUntil(wr.deadline())
	for {
		err := f()
		if !driver.IsBusy(err) {
			return err
		}
		if err := wait.Pause(ctx, wr.busyError); err != nil {
			return err
		}
	}
}

// busyError is for a wait for another process that took too long.
func (wr *writer) busyError() error { return contention(wr.at.Path, "another process") }

// take is takeBy for a write that waits longer for a migration: its lease may be held for
// long, and so may SQLite's lock, by its transaction.
func (wr *writer) take(ctx context.Context, until time.Time, as starter) (state, error) {
	last := until.Add(wr.opts.MigrationWait - wr.opts.LockTimeout)
	for met := false; ; {
		s, err := wr.takeBy(ctx, until, as)
		if onto.CodeOf(err) != onto.LockContention || lease.KeepsOut(as.lease) {
			return s, err
		}
		now, held := time.Now(), wr.migration()
		switch left := last.Sub(now); {
		case held != nil && left <= 0:
			return s, heldError(wr.at.Path, held)
		case held != nil:
			met, until = true, now.Add(min(left, wr.opts.LockTimeout))
		case met: // it has ended, so that there are others to wait for
			met, until = false, now.Add(wr.opts.LockTimeout)
		default:
			return s, err
		}
	}
}

// longestMigration is how long after the end of its lease the transaction of a migration is
// taken into account. A migration that was killed leaves its lease behind.
const longestMigration = time.Hour

// migration is the write lease of a migration that holds it, or did so when its transaction
// began, which may last longer than the lease; nil if there is none.
func (wr *writer) migration() *onto.Lease {
	c, err := wr.readers.Get()
	if err != nil {
		return nil
	}
	defer wr.readers.Put(c)
	held, err := readLease(c, onto.WriteLease)
	if err != nil || !lease.OfMigration(held) || !wr.now().Before(held.Expires.Add(longestMigration)) {
		return nil
	}
	return held
}

// takeBy takes the writer and starts a write transaction. Until the deadline it waits for
// other processes and for a holder of the write lease, unless the caller's draft
// carries that lease: then it is the holder, or the draft is refused. While it waits
// for the holder the writer is released, so that the holder can use it. After an error
// the writer is free.
func (wr *writer) takeBy(ctx context.Context, until time.Time, as starter) (state, error) {
	wait := wr.waitForLock(until, as.lease)
	defer wait.end()
	var held *onto.Lease
	for {
		if err := wait.turn(ctx); err != nil {
			return state{}, wr.namedHolder(err, held)
		}
		s, err := wr.begin(ctx)
		if err == nil && (s.held == nil || as.past || lease.KeepsOut(as.lease)) {
			wait.served()
			return s, nil
		}
		if err == nil {
			held = s.held
			if as.serve != nil {
				as.serve(wr.conn, s)
			}
			wr.rollbackOpen(wr.conn)
		}
		wr.writing.release()
		if err == nil || driver.IsBusy(err) {
			err = wait.refused(ctx, wr.busyError)
		}
		if err != nil {
			return s, wr.namedHolder(err, held)
		}
	}
}

// namedHolder is the error for a wait that timed out because of other writers, none of
// which held the lock for long: if the write lease is held, it names the holder.
func (wr *writer) namedHolder(err error, held *onto.Lease) error {
	if onto.CodeOf(err) != onto.LockContention {
		return err
	}
	if held == nil {
		c, readErr := wr.readers.Get()
		if readErr != nil {
			return err
		}
		defer wr.readers.Put(c)
		s, readErr := wr.readState(c)
		if readErr != nil || s.held == nil {
			return err
		}
		held = s.held
	}
	return heldError(wr.at.Path, held)
}

// begin starts a write transaction, if no other process has one, and reads the state of
// the store. Its caller holds writing.
func (wr *writer) begin(ctx context.Context) (state, error) {
	if err := wr.canWrite(ctx); err != nil {
		return state{}, err
	}
	if err := wr.conn.Exec(`BEGIN IMMEDIATE`); err != nil {
		return state{}, err
	}
	var s state
	err := wr.checkSchema(wr.conn)
	if err == nil {
		s, err = wr.readState(wr.conn)
	}
	if err == nil && !wr.dated.known { // what is stored from now on is this handle's own
		wr.dated, _ = newestIn(wr.conn) // a table that is missing stops only what needs it
	}
	if err != nil {
		wr.rollback(wr.conn)
	}
	return s, err
}

// canWrite fails if no write can be begun.
func (wr *writer) canWrite(ctx context.Context) error {
	switch {
	case wr.opts.ReadOnly:
		return onto.Errorf(onto.ReadOnly, "%s: opened for reading only", wr.at.Path)
	case wr.closed:
		return wr.closedError()
	case ctx.Err() != nil:
		return ctx.Err()
	case wr.broken != nil:
		return onto.Errorf(onto.Unavailable, "%s: the outcome of an earlier commit is not known, so this one was not tried: %w (%w)", wr.at.Path, backend.ErrReopen, wr.broken).
			WithHint("%s", reopenHint)
	}
	if err := wr.durable.EnsureNames(wr.at.File); err != nil {
		return onto.Errorf(onto.Unavailable, "%s: it is not known what reached the disk, so nothing more is written: %w (%w)", wr.at.Path, backend.ErrReopen, err).
			WithHint("%s", reopenHint)
	}
	if err := refusal.CheckClock(wr.opts.Now()); err != nil {
		return err
	}
	if err := wr.at.SameFile(); err != nil {
		return fmt.Errorf("%w: %w", err, backend.ErrReopen)
	}
	return nil
}

// state is the state of the store at the start of a transaction.
type state struct {
	disk.Standpoint
	headTime time.Time
	slipped  bool        // something else has appended the head
	held     *onto.Lease // the write lease; nil if it is free
}

const stateSQL = `SELECT ` + layout.Head + `, head.created_at, (SELECT max(id) FROM schema_versions), l.owner_id, l.expires_at,
		m.derived, m.format, head.id IS NOT NULL AND head.operations IS NULL
	FROM ` + layout.HeadFrom + ` LEFT JOIN locks l ON l.lock_name = 'ontology_write'`

func (st *store) readState(c *driver.Conn) (state, error) {
	r, ok, err := c.QueryRow(stateSQL)
	if err != nil {
		return state{}, err
	}
	if !ok {
		return state{}, onto.Errorf(onto.Corrupt, "%s: the table onto_meta is empty", st.at.Path)
	}
	s := state{disk.Standpoint{Head: r.Int(0), Schemas: r.Int(2), Derived: r.Int(5)}, layout.StoredTime(r.Text(1)), r.Int(7) == 1, nil}
	if s.Head < 0 || s.Head == math.MaxInt64 {
		return s, onto.Errorf(onto.Corrupt, "%s: the newest commit is %d, after which there is none", st.at.Path, s.Head).WithHint("%s", layout.RestoreRemedy)
	}
	if !r.Null(3) {
		if until := layout.StoredTime(r.Text(4)); st.now().Before(until) {
			s.held = &onto.Lease{Name: onto.WriteLease, Owner: r.Text(3), Expires: until}
			if whole, err := readLease(c, onto.WriteLease); err == nil && whole != nil {
				s.held = whole
			}
		}
	}
	format := r.Int(6)
	if err := st.checkCopied(c, format); err != nil {
		return s, err
	}
	st.sees(s.Derived)
	return s, st.checkFormat(layout.PlainFormat(format))
}

// checkFormat fails if the file is no longer of the format that it had when it was opened: a
// newer program may have upgraded it since, or an older one restored a backup.
func (st *store) checkFormat(format int64) error {
	if err := (layout.File{Kind: layout.Ours, Format: format}).Check(st.at.Path); err != nil || format == layout.Format {
		return err
	}
	return onto.Errorf(onto.Unsupported, "%s: it is of format %d now, and is not written before it is upgraded: %w", st.at.Path, format, backend.ErrReopen).
		WithHint("open the store again, which upgrades it")
}

// commit ends a write transaction. If it fails, nothing was written, unless the outcome
// is unknown; then nothing more is written until the file is opened again.
func (wr *writer) commit(w *driver.Conn) error {
	err := wr.reached("commit")
	if err == nil {
		err = w.Exec(`COMMIT`)
	}
	if err == nil {
		_ = wr.reached("committed") // too late to fail, but not to be killed
		wr.watch.notify()
		return nil
	}
	wr.rollback(w)
	if !driver.IsUnsure(err) {
		return err
	}
	wr.broken = err
	return onto.Errorf(onto.OutcomeUnknown, "%s: it is not known whether the commit reached the disk: %w", wr.at.Path, err).
		WithHint("%s", reopenHint)
}

// commitTo is commit for a transaction that makes a head and leaves types unchanged. It
// records the state that is durable then.
func (wr *writer) commitTo(w *driver.Conn, from state, head int64) error {
	if err := wr.commit(w); err != nil {
		return err
	}
	from.Head = head
	wr.durable.Reached(from.Standpoint)
	return nil
}

const reopenHint = "close the store, check the disk, open it again and look for the commit"

// rollbackOpen ends a write transaction that is still open.
func (wr *writer) rollbackOpen(w *driver.Conn) {
	if w.InTransaction() {
		wr.rollback(w)
	}
}

// rollback ends a write transaction and discards its changes. An error means that
// SQLite has rolled back by itself already.
func (wr *writer) rollback(w *driver.Conn) { _ = w.Exec(`ROLLBACK`) }

// transact runs f in a write transaction of its own, before the file is known
// to be ours.
func (wr *writer) transact(ctx context.Context, w *driver.Conn, f func() error) error {
	if err := refusal.CheckClock(wr.opts.Now()); err != nil {
		return err
	}
	if err := wr.retryBusy(ctx, func() error { return w.Script(`BEGIN IMMEDIATE`) }); err != nil {
		return err
	}
	if err := f(); err != nil {
		wr.rollback(w)
		return err
	}
	return wr.commit(w)
}

// write runs f with the writer connection in a write transaction. Until is the deadline for getting the lock.
func (wr *writer) write(ctx context.Context, until time.Time, f func(w *driver.Conn, s state) error) error {
	return wr.writeAs(ctx, until, starter{}, f)
}

// writeAs is write with the way to start the transaction.
func (wr *writer) writeAs(ctx context.Context, until time.Time, as starter, f func(w *driver.Conn, s state) error) error {
	w, s, err := wr.beginWrite(ctx, until, as)
	if err != nil {
		return driver.Wrap(wr.at.Path, err)
	}
	defer wr.writing.release()
	defer wr.rollbackOpen(w) // also when progress panics
	if err := f(w, s); err != nil {
		return driver.Wrap(wr.at.Path, err)
	}
	return driver.Wrap(wr.at.Path, wr.commit(w))
}

// starter is how a write transaction starts.
type starter struct {
	lease   *onto.Lease // that the draft carries; nil for none
	damaged bool        // the head may be one that something else has appended
	past    bool        // it does not wait for the holder of the write lease

	// serve, if not nil, is called with a transaction whenever it cannot be used since
	// another holder has the write lease. It ends the transaction.
	serve func(w *driver.Conn, s state)
}

// beginWrite takes the writer, which its caller has to release, and starts a write
// transaction. After an error the writer is free.
func (wr *writer) beginWrite(ctx context.Context, until time.Time, as starter) (*driver.Conn, state, error) {
	s, err := wr.take(ctx, until, as)
	if err != nil {
		return nil, s, err
	}
	w := wr.conn
	if err = wr.reached("begin"); err == nil {
		err = wr.types.refresh(w, s)
	}
	if err == nil && s.slipped && !as.damaged {
		err = wr.slippedError(s.Head)
	}
	if err != nil {
		wr.rollback(w)
		wr.writing.release()
	}
	return w, s, err
}

// slippedError is for a commit that this program has not made. Nothing is built on it: its
// versions are not in the projection, and need not obey their types.
func (wr *writer) slippedError(head int64) error {
	return onto.Errorf(onto.Corrupt, "%s: the newest commit, %d, was not made by this program, so nothing is appended to it", wr.at.Path, head).
		WithHint("find out what else is in the log").WithCommand("doctor", "--db", wr.at.Path)
}
