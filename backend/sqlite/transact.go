package sqlite

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/ontologia/onto"
)

// deadline is when a write that starts now stops waiting for others. Local
// deadlines use the monotonic clock, never the injected wall clock.
func (b *Backend) deadline() time.Time { return time.Now().Add(b.opts.LockTimeout) }

// turn is a lock that can be waited for with a limit.
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
	return onto.Errorf(onto.LockContention, "%s: the write lock is held by %s", path, holder).
		WithHint("wait for the other writer and try again, or raise the lock timeout")
}

// retryBusy repeats f while another process has the lock.
func (b *Backend) retryBusy(ctx context.Context, f func() error) error {
	wait := waiter{until: b.deadline()}
	for {
		err := f()
		if !isBusy(err) {
			return err
		}
		if err := wait.pause(ctx, b.path, "another process"); err != nil {
			return err
		}
	}
}

// waiter paces the attempts to get a lock. Short random pauses let processes
// that compete take turns; SQLite's own handler lets some of them starve.
type waiter struct {
	until time.Time
	tries int
}

func (w *waiter) pause(ctx context.Context, path, holder string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !time.Now().Before(w.until) {
		return contention(path, holder)
	}
	w.tries++
	longest := min(100*time.Microsecond<<min(w.tries, 6), 5*time.Millisecond)
	timer := time.NewTimer(longest/2 + rand.N(longest/2))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// begin starts a write transaction and reads where the store stands. It waits
// for other processes and for a holder of the lock row until the deadline.
func (b *Backend) begin(ctx context.Context, w *conn, until time.Time) (state, error) {
	if b.broken != nil {
		return state{}, onto.Errorf(onto.Unavailable, "%s: the outcome of an earlier commit is not known, so this one was not tried: %w", b.path, b.broken).
			WithHint("%s", reopenHint)
	}
	wait := waiter{until: until}
	for {
		holder := "another process"
		err := w.exec(`BEGIN IMMEDIATE`)
		if err == nil {
			s, err := b.readState(w)
			if err != nil {
				b.rollback(w)
				return s, err
			}
			if s.holder == "" {
				return s, nil
			}
			holder = s.holder
			b.rollback(w)
		} else if !isBusy(err) {
			return state{}, err
		}
		if err := wait.pause(ctx, b.path, holder); err != nil {
			return state{}, err
		}
	}
}

// state is where the store stands at the start of a transaction.
type state struct {
	head     int64
	headTime time.Time
	covered  bool   // the projection covers the head
	schemas  int64  // row id of the newest schema version
	derived  int64  // grows with each change of what is derived
	holder   string // who holds the lock row, "" if nobody does
}

const stateSQL = `SELECT ` + standing + `, head.created_at, (SELECT max(id) FROM schema_versions), l.owner_id, l.expires_at,
		m.derived, m.format
	FROM ` + standingFrom + ` LEFT JOIN locks l ON l.lock_name = 'ontology_write'`

func (b *Backend) readState(c *conn) (state, error) {
	r, ok, err := c.queryRow(stateSQL)
	if err != nil {
		return state{}, err
	}
	if !ok {
		return state{}, onto.Errorf(onto.Corrupt, "%s: the table onto_meta is empty", b.path)
	}
	s := state{head: r.int(0), headTime: storedTime(r.text(3)), covered: readForeign(r).covers(), schemas: r.int(4), derived: r.int(7)}
	if !r.null(5) && b.now().Before(storedTime(r.text(6))) {
		s.holder = r.text(5)
	}
	return s, file{fileOurs, r.int(8)}.check(b.path) // a newer program may have come since
}

// commit ends a write transaction. If it fails, nothing was written, unless
// the error says that this is not known; then no more is written before the
// file was opened again.
func (b *Backend) commit(w *conn) error {
	err := b.failAt("commit")
	if err == nil {
		err = w.exec(`COMMIT`)
	}
	if err == nil {
		_ = b.failAt("committed") // too late to fail, not to be killed
		return nil
	}
	b.rollback(w)
	if !isUnsure(err) {
		return err
	}
	b.broken = err
	return onto.Errorf(onto.OutcomeUnknown, "%s: it is not known whether the commit reached the disk: %w", b.path, err).
		WithHint("%s", reopenHint)
}

const reopenHint = "close the store, check the disk, open it again and look for the commit"

// rollbackOpen ends a write transaction that is still open.
func (b *Backend) rollbackOpen(w *conn) {
	if w.inTransaction() {
		b.rollback(w)
	}
}

// rollback ends a write transaction and forgets what it did. An error here
// means that SQLite has rolled back by itself already.
func (b *Backend) rollback(w *conn) { _ = w.exec(`ROLLBACK`) }

// transact runs f in a write transaction of its own, before the file is known
// to be ours.
func (b *Backend) transact(ctx context.Context, w *conn, f func() error) error {
	if err := b.retryBusy(ctx, func() error { return w.script(`BEGIN IMMEDIATE`) }); err != nil {
		return err
	}
	if err := f(); err != nil {
		b.rollback(w)
		return err
	}
	return b.commit(w)
}

// write runs f with the writer connection in a write transaction that stands
// on an up-to-date projection.
func (b *Backend) write(ctx context.Context, f func(w *conn, s state) error) error {
	return b.writeUntil(ctx, b.deadline(), f)
}

// writeUntil is write with a deadline for getting the lock.
func (b *Backend) writeUntil(ctx context.Context, until time.Time, f func(w *conn, s state) error) error {
	return b.writeFrom(ctx, until, b.beginWrite, f)
}

// writeFrom is writeUntil with the way to start the transaction.
func (b *Backend) writeFrom(ctx context.Context, until time.Time, begin beginner, f func(w *conn, s state) error) error {
	if err := b.writing.acquire(ctx, until, b.path); err != nil {
		return err
	}
	defer b.writing.release()
	w, s, err := begin(ctx, until)
	if err != nil {
		return wrap(b.path, err)
	}
	defer b.rollbackOpen(w) // also when progress panics
	if err := f(w, s); err != nil {
		return wrap(b.path, err)
	}
	return wrap(b.path, b.commit(w))
}

// beginner starts a write transaction. Its caller holds writing.
type beginner func(ctx context.Context, until time.Time) (*conn, state, error)

// beginWrite starts a write transaction with the projection caught up.
func (b *Backend) beginWrite(ctx context.Context, until time.Time) (*conn, state, error) {
	w, s, err := b.beginBehind(ctx, until)
	if err != nil || s.covered {
		return w, s, err
	}
	if err := b.catchUp(w); err != nil {
		b.rollback(w)
		return nil, s, err
	}
	return w, s, nil
}

// beginBehind starts a write transaction and leaves the projection as it is.
func (b *Backend) beginBehind(ctx context.Context, until time.Time) (*conn, state, error) {
	switch {
	case b.opts.ReadOnly:
		return nil, state{}, onto.Errorf(onto.ReadOnly, "%s: opened for reading only", b.path)
	case b.writer == nil:
		return nil, state{}, b.closedError()
	case ctx.Err() != nil:
		return nil, state{}, ctx.Err()
	}
	if err := b.sameFile(); err != nil {
		return nil, state{}, err
	}
	w := b.writer
	s, err := b.begin(ctx, w, until)
	if err != nil {
		return nil, s, err
	}
	if err = b.failAt("begin"); err == nil {
		err = b.types.refresh(w, s)
	}
	if err != nil {
		b.rollback(w)
		return nil, s, err
	}
	return w, s, nil
}

func (b *Backend) failAt(point string) error {
	if b.fault == nil {
		return nil
	}
	return b.fault(point)
}
