package sqlite

import (
	"context"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/check"
	"github.com/ontologia/onto/backend/sqlite/internal/disk"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/internal/backoff"
)

var (
	_ backend.StepChecker  = (*Backend)(nil)
	_ backend.Checksummer  = (*Backend)(nil)
	_ backend.Checkpointer = (*Backend)(nil)
	_ backend.Warner       = (*Backend)(nil)
)

// Checkpointed is what a checkpoint did.
type Checkpointed = backend.Checkpointed

// Checkpoint copies what is in the WAL into the file and empties the WAL. It waits for
// readers and writers as a write does; at the deadline it does what is possible beside
// them.
func (b *Backend) Checkpoint(ctx context.Context) (Checkpointed, error) {
	var done Checkpointed
	if b.opts.ReadOnly {
		return done, onto.Errorf(onto.ReadOnly, "%s: opened for reading only", b.at.Path).
			WithHint("checkpoint where the file can be written")
	}
	until := b.deadline()
	if err := b.writer.writing.acquire(ctx, until, b.at.Path); err != nil {
		return done, err
	}
	defer b.writer.writing.release()
	if b.writer.closed {
		return done, b.closedError()
	}
	if b.writer.conn == nil {
		return done, nil // the file is another program's
	}
	err := b.at.SameFile()
	if err == nil {
		err = b.writer.lookCopied(b.writer.conn)
	}
	if err == nil {
		done.Before, err = disk.FileSize(b.at.File + "-wal")
	}
	busy := false
	if err == nil {
		busy, err = b.writer.emptyWAL(ctx, driver.WaitUntil(until))
	}
	if err == nil {
		done.After, err = disk.FileSize(b.at.File + "-wal")
	}
	if busy {
		done.Findings = []onto.Finding{check.StuckWAL(done.After)}
	}
	return done, driver.Wrap(b.at.Path, err)
}

// emptyWAL reports whether other connections prevented it until the deadline.
func (wr *writer) emptyWAL(ctx context.Context, wait backoff.Backoff) (busy bool, err error) {
	for {
		row, ok, err := wr.conn.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
		if err != nil && !driver.IsBusy(err) {
			return false, err
		}
		if err == nil && (!ok || row.Int(0) == 0) {
			return false, nil
		}
		err = wait.Pause(ctx, wr.busyError)
		if onto.CodeOf(err) == onto.LockContention {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
}
