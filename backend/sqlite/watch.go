package sqlite

import (
	"context"
	"sync"
	"time"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
)

var _ backend.Watcher = (*Backend)(nil)

// watch tells of commits. Those of this process are announced; those of others are seen
// by SQLite's data version, for which a waiting caller looks now and then.
type watch struct {
	mu      sync.Mutex // guards what follows
	mark    int64
	closed  bool
	changed chan struct{} // closed when mark grows
	version int64         // of the data, as the connection saw it last
	looked  time.Time     // when a caller looked last
	grew    time.Time     // when mark grew last
}

func newWatch() *watch { return &watch{mark: 1, changed: make(chan struct{})} }

// notify announces a commit.
func (w *watch) notify() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.grow()
}

// grow wakes all callers that wait. The watch is locked.
func (w *watch) grow() {
	w.mark++
	w.grew = time.Now()
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *watch) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.grow()
}

// How often a waiting caller looks for commits of other processes: often for a while
// after a commit, and then less.
const (
	lookOften  = 2 * time.Millisecond
	lookSeldom = 20 * time.Millisecond
	lookAwhile = time.Second
)

// Await implements [backend.Watcher].
func (b *Backend) Await(ctx context.Context, mark int64) (int64, error) {
	w := b.writer.watch
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		w.mu.Lock()
		now, closed, changed := w.mark, w.closed, w.changed
		pace := lookSeldom
		if time.Since(w.grew) < lookAwhile && !b.opts.ReadOnly {
			pace = lookOften
		}
		w.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return mark, ctx.Err()
		case closed:
			return 0, b.closedError()
		case now != mark:
			return now, nil
		}
		timer.Reset(pace)
		select {
		case <-changed:
		case <-ctx.Done():
			return mark, ctx.Err()
		case <-timer.C:
			if err := b.look(); err != nil {
				return mark, err
			}
		}
	}
}

// look finds out whether another process has written. A writer that is busy is left
// alone: its commit will be announced. A store that is only read has no writer to ask,
// and may have been written.
func (b *Backend) look() error {
	w := b.writer.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.looked) < lookOften/2 {
		return nil // another caller has just looked
	}
	if b.opts.ReadOnly {
		w.looked = time.Now()
		w.grow()
		return nil
	}
	version, ok, err := b.dataVersion()
	if err != nil || !ok {
		return err
	}
	w.looked = time.Now()
	if version != w.version { // also at the first look: what was written before it is not known
		w.grow()
	}
	w.version = version
	return nil
}

// dataVersion reads SQLite's data version on the writer, where commits of this process
// do not change it. Ok is false if the writer is busy.
func (b *Backend) dataVersion() (version int64, ok bool, err error) {
	select {
	case b.writer.writing <- struct{}{}:
		defer b.writer.writing.release()
	default:
		return 0, false, nil
	}
	c := b.writer.conn
	if c == nil {
		return 0, false, nil // closed
	}
	version, err = c.QueryInt(`PRAGMA data_version`)
	if driver.IsBusy(err) {
		return 0, false, nil
	}
	return version, true, driver.Wrap(b.at.Path, err)
}
