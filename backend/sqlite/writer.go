package sqlite

import (
	"context"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/disk"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
)

// writer is the writer connection of a store and the state that belongs to it.
type writer struct {
	*store
	readers *driver.Pool
	durable disk.Durability

	reached func(point string) error // is called with the points of a write, and may fail it there
	watch   *watch                   // is told of every commit

	writing turn         // guards what follows: held while the connection is in use
	conn    *driver.Conn // nil when read only
	closed  bool
	broken  error // set when it is not known what the last commit left on disk
	types   typeCache
	schema  schemaState
	dated   dated
}

func newWriter(s *store, readers *driver.Pool) *writer {
	return &writer{store: s, readers: readers, durable: disk.Durability{Sync: disk.SyncFile}, reached: pass, watch: newWatch(), writing: make(turn, 1)}
}

// pass lets every point of a write pass.
func pass(string) error { return nil }

// open opens the writer connection and makes the store, if the file is empty.
func (wr *writer) open(ctx context.Context) error {
	how := driver.AccessCreate
	if wr.opts.MustExist {
		how = driver.AccessWrite
	}
	err := wr.retryBusy(ctx, func() (err error) {
		wr.conn, err = driver.Dial(wr.at.File, how, 0)
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
	if wr.at.Inode == nil {
		if err := wr.at.Opened(); err != nil {
			return err
		}
	}
	return wr.retryBusy(ctx, func() error {
		return w.Script(`PRAGMA foreign_keys = ON; PRAGMA cache_size = -65536; PRAGMA journal_size_limit = 67108864;` + checkpoints)
	})
}

// checkpoints are less frequent than SQLite's default: a commit rewrites a few hot pages,
// so that much less is copied.
const checkpoints = `PRAGMA wal_autocheckpoint = 4096;`

// vouch makes the state durable on which a verdict without a COMMIT depends.
func (wr *writer) vouch(s state) error {
	if err := wr.durable.Ensure(wr.at.File, s.Standpoint); err != nil {
		return onto.Errorf(onto.OutcomeUnknown, "%s: it is not known whether commit %d, which another process has made, reached the disk: %w",
			wr.at.Path, s.Head, err).WithHint("%s", reopenHint)
	}
	return nil
}

// checkSchema makes sure that no code of others runs in the write transaction of w. The
// schema is read again only if it has changed.
func (wr *writer) checkSchema(w *driver.Conn) error {
	version, err := w.QueryInt(`PRAGMA schema_version`)
	if err != nil {
		return err
	}
	if wr.schema.known && version == wr.schema.version {
		return wr.schema.refused
	}
	s, err := layout.SoundShape(w, wr.at.Path)
	if err != nil {
		return err
	}
	wr.schema = schemaState{true, version, s.Writable(wr.at.Path)}
	return wr.schema.refused
}

// schemaState is what is known about the file's schema.
type schemaState struct {
	known   bool
	version int64 // of SQLite's own counter
	refused error // why nothing is written
}
