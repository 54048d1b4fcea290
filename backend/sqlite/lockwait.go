package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/internal/backoff"
	"github.com/ontologia/onto/internal/flock"
	"github.com/ontologia/onto/internal/lease"
)

// Writers of several processes exclude each other by SQLite's lock, which is not fair.
// So a writer that finds it busy joins a line beside the file, and only the first in
// the line retries. It competes with new writers: one that runs already gets the lock
// sooner than one that has to be woken. When the first in the line has been overtaken
// for insistAfter, new writers have to join the line. Programs that do not know the
// line always compete, and so does the holder of the write lease, for which those in
// the line may be waiting.

// insistAfter is how long the first in the line may be overtaken.
const insistAfter = 50 * time.Millisecond

// lineSuffix is what the name of the line's file adds to the store's.
const lineSuffix = "-queue"

// lockWait is how one write waits for SQLite's lock and for the write lease.
type lockWait struct {
	backoff.Backoff
	wr    *writer
	line  *flock.Line     // nil if the write does not join lines
	place *flock.Place    // nil while it is not in the line
	ahead backoff.Backoff // of the first in the line
	first time.Time       // when it first was refused as the first in the line
}

// waitForLock begins the wait of a write, which may carry a lease. A write that does
// not wait has a deadline in the past.
func (wr *writer) waitForLock(until time.Time, l *onto.Lease) *lockWait {
	w := &lockWait{Backoff: driver.WaitUntil(until), wr: wr}
	if lease.KeepsOut(l) || !time.Now().Before(until) || wr.at.Inode == nil {
		return w
	}
	w.line = &flock.Line{Path: wr.at.File + lineSuffix, Mode: wr.at.Inode.Mode().Perm()}
	if w.line.Strict() {
		w.join()
	}
	return w
}

// join joins the line. Where there can be none, writers retry at random times.
func (w *lockWait) join() {
	place, err := w.line.Join(w.Until, w.wr.opts.LockTimeout)
	if err != nil {
		w.line = nil
		return
	}
	w.place = place
}

// turn waits until it is this writer's turn to try the lock, and takes the connection.
func (w *lockWait) turn(ctx context.Context) error {
	until := w.Until
	if w.place != nil {
		if err := w.place.Wait(ctx); err != nil {
			return w.late(err)
		}
		until = time.Now().Add(w.wr.opts.LockTimeout)
	}
	return w.wr.writing.acquire(ctx, until, w.wr.at.Path)
}

// late is the error for leaving the line. The context may have ended the wait, too.
func (w *lockWait) late(err error) error {
	if late := new(flock.LateError); errors.As(err, &late) {
		return onto.Errorf(onto.LockContention, "%s: the write lock is held by others: %w", w.wr.at.Path, late).WithHint("%s", contentionHint)
	}
	return err
}

// refused pauses after the lock was busy. It fails with what late returns at the
// deadline.
func (w *lockWait) refused(ctx context.Context, late func() error) error {
	if w.place == nil && w.line != nil {
		w.join()
		if w.place != nil {
			return ctx.Err()
		}
	}
	if w.place == nil {
		return w.Pause(ctx, late)
	}
	if err := w.place.Late(); err != nil {
		return w.late(err)
	}
	return w.pauseFirst(ctx)
}

// pauseFirst is the pause of the first in the line. It has few competitors, so for a
// while it retries more often than many unordered waiters could.
func (w *lockWait) pauseFirst(ctx context.Context) error {
	const often = 100 // tries
	switch {
	case w.first.IsZero():
		w.first = time.Now()
	case time.Since(w.first) > insistAfter && !w.line.Strict():
		w.place.Insist()
	}
	w.ahead.First, w.ahead.Longest = 100*time.Microsecond, 800*time.Microsecond
	if w.ahead.Tries >= often {
		w.ahead.Longest = 5 * time.Millisecond
	}
	return w.ahead.Pause(ctx, nil) // the place in the line has the deadline
}

// served ends the wait with the lock held. The next in the line may try for it.
func (w *lockWait) served() {
	if w.place != nil {
		w.place.Served()
	}
}

// end ends the wait.
func (w *lockWait) end() {
	if w.place != nil {
		w.place.Leave()
		w.place = nil
	}
}
