package sqlite

import (
	"context"

	"github.com/ontologia/onto/backend/sqlite/internal/driver"
)

// writer is the writer connection of a store and what rests on it.
type writer struct {
	*store
	readers *driver.Pool
	durable durability

	reached func(point string) error // is told the points of a write, and may fail it there

	writing turn         // guards what follows: held while the connection is in use
	conn    *driver.Conn // nil when read only
	broken  error        // set when it is not known what the last commit left on disk
	types   typeCache
	schema  schemaState
}

func newWriter(s *store, readers *driver.Pool) *writer {
	return &writer{store: s, readers: readers, durable: durability{sync: syncFile}, reached: pass, writing: make(turn, 1)}
}

// pass lets every point of a write be passed.
func pass(string) error { return nil }

// open opens the writer connection and brings the file to our format.
func (wr *writer) open(ctx context.Context) error {
	how := driver.AccessCreate
	if wr.opts.MustExist {
		how = driver.AccessWrite
	}
	err := wr.retryBusy(ctx, func() (err error) {
		wr.conn, err = driver.Dial(wr.at.file, how, 0)
		return err
	})
	if err != nil {
		return err
	}
	w := wr.conn
	// Before anything is committed: the driver's default leaves out the sync.
	if err := wr.retryBusy(ctx, func() error { return w.Script(`PRAGMA synchronous = FULL`) }); err != nil {
		return err
	}
	if err := wr.prepareFile(ctx, w); err != nil {
		return err
	}
	if err := wr.at.opened(); err != nil {
		return err
	}
	// A commit rewrites a few hot pages, so checkpoints that come less often
	// than SQLite's default copy much less.
	return wr.retryBusy(ctx, func() error {
		return w.Script(`PRAGMA foreign_keys = ON; PRAGMA cache_size = -65536;
			PRAGMA wal_autocheckpoint = 4096; PRAGMA journal_size_limit = 67108864`)
	})
}
