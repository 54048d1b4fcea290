// Package sqlite keeps a store in one SQLite file. It is the embedded default.
//
// Everything in the file was written by this program. The history tables are those of the
// original Ontologia, so that its documented statements work on them. Beside them
// stands a projection with the newest version of each identity, written in the
// same transaction and derived from history alone. docs/format/sqlite.md
// describes every table.
//
// A file has one writer connection per process and as many readers as there are reads
// under way. Writers of several processes exclude each other by SQLite's own lock, for
// which they wait in a line; readers never wait. Commits are acknowledged after fsync,
// and concurrent callers share one fsync.
//
// This package decides when to read and when to write. The packages below it, under
// internal: driver has the connections, disk the files, layout the tables and their
// rows; check examines a store, backup copies one.
package sqlite

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/disk"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/backend/sqlite/internal/snapshot"
	"github.com/ontologia/onto/internal/groupcommit"
	"github.com/ontologia/onto/internal/lease"
	"github.com/ontologia/onto/internal/refusal"
)

// DefaultLockTimeout is how long a write waits for other writers.
const DefaultLockTimeout = 5 * time.Second

// DefaultMigrationWait is how long a write waits for a migration.
const DefaultMigrationWait = lease.DefaultMigrationWait

// Options change how a file is opened. The zero value is the default.
//
// Writers of several processes wait in a line. A writer gives up when no writer got the
// lock for LockTimeout, and after ten times that in any case; while a migration runs, it
// gives up after MigrationWait, if that is longer.
type Options struct {
	MustExist   bool             // fail with Uninitialized instead of making the file
	ReadOnly    bool             // never write; also opens files that cannot be written
	Target      bool             // opened to be filled by a copy; also opens a store whose copy is unfinished
	AcceptLoss  bool             // continue although a damaged WAL cuts commits off; the WAL is copied first
	LockTimeout time.Duration    // how long a write waits for other writers, see above; 0 for DefaultLockTimeout
	Now         func() time.Time // the clock; nil for time.Now

	MigrationWait time.Duration // how long a write waits for a migration, see above; 0 for DefaultMigrationWait

	asItIs bool // a file of an older format is not upgraded, so that nothing can be written to it
}

var _ backend.Backend = (*Backend)(nil)

// Format is the version of what this package adds to the original's tables.
const Format = layout.Format

// Backend is a store in one SQLite file.
type Backend struct {
	*store
	reader  *reader
	writer  *writer
	queue   *groupcommit.Queue[*member] // of callers that want to write
	temp    string                      // a directory to remove on Close; "" if there is none
	cut     disk.CutOff                 // what a read-only store does not show
	keptWAL string                      // a copy of the WAL, if its loss was accepted
}

// store is what reading and writing share.
type store struct {
	at      *disk.Place
	opts    Options
	tables  layout.Tables
	seen    atomic.Int64 // the value of changes in the newest snapshot that was read
	kept    keptOrders   // of answers about the past
	counted sync.Map     // from onto.TypeName to an int64: how many identities a type has, at least
	logPart int          // see partOfLog
}

// memoryPath stands for a temporary store.
const memoryPath = ":memory:"

// Open opens the store in the file at path, and makes one if there is none.
// The path ":memory:" gives a new store in a temporary file, which is gone
// after Close.
func Open(ctx context.Context, path string, opts *Options) (*Backend, error) {
	b := newBackend(path, opts)
	if err := b.open(ctx, path); err != nil {
		b.Close()
		return nil, driver.Wrap(path, err)
	}
	return b, nil
}

func newBackend(path string, opts *Options) *Backend {
	s := &store{at: &disk.Place{Path: path}, tables: layout.NewTables(), logPart: partOfLog}
	if opts != nil {
		s.opts = *opts
	}
	if s.opts.LockTimeout <= 0 {
		s.opts.LockTimeout = DefaultLockTimeout
	}
	if s.opts.MigrationWait <= 0 {
		s.opts.MigrationWait = DefaultMigrationWait
	}
	if s.opts.Now == nil {
		s.opts.Now = time.Now
	}
	b := &Backend{store: s, reader: &reader{store: s}}
	b.reader.readers.Dial = b.reader.dial
	b.writer = newWriter(s, &b.reader.readers)
	b.queue = groupcommit.New(groupBounds(), func(m *member) error { return b.appendGroup(m.Context(), m) })
	return b
}

func (b *Backend) open(ctx context.Context, path string) (err error) {
	if err := driver.CheckLibrary(); err != nil {
		return err
	}
	if path == memoryPath {
		if b.temp, err = os.MkdirTemp("", "onto-"); err != nil {
			return err
		}
		path = filepath.Join(b.temp, "memory.db")
	}
	if b.at, err = disk.Find(path, b.opts.MustExist || b.opts.ReadOnly); err != nil {
		return err
	}
	if err := cmp.Or(ctx.Err(), b.refuseOthers(ctx)); err != nil {
		return err
	}
	if b.opts.ReadOnly {
		if b.cut, err = disk.FindCutOff(b.at.File + "-wal"); err != nil {
			return err
		}
		return b.openReadOnly()
	}
	if b.keptWAL, err = b.at.CheckWAL(b.opts.AcceptLoss); err != nil {
		return err
	}
	if err := b.at.CompanionsFit(); err != nil {
		return err
	}
	if err := b.writer.open(ctx); err != nil || b.keptWAL == "" {
		return err
	}
	_, err = b.Checkpoint(ctx) // commits that are cut off must not reappear
	return err
}

// table returns the tables of a kind.
func (s *store) table(k onto.Kind) *layout.Table { return s.tables.Of(k) }

// refuseOthers refuses a file that is no store of this format before SQLite opens it in the usual
// way, which would leave companions beside it, or could change it. Whether a copy into the
// store has ended is not judged here: the WAL may say otherwise than the file.
func (s *store) refuseOthers(ctx context.Context) error {
	if size, err := disk.FileSize(s.at.File); err != nil || size <= 0 && !s.at.Holds("-wal") {
		return nil
	}
	place, err := snapshot.Find(s.at.File, "")
	if err != nil {
		return nil // opening it tells better what is wrong
	}
	defer place.Close()
	var found layout.File
	err = place.Look(ctx, func(c *driver.Conn) (enough bool, err error) {
		found, err = layout.Inspect(c, s.at.Path)
		return found.Opens(), err
	})
	switch code := onto.CodeOf(driver.Wrap(s.at.Path, err)); {
	case err == nil:
		return found.Check(s.at.Path)
	case code == onto.Corrupt, code == onto.Unavailable, driver.IsNoDatabase(err):
		return nil // likewise
	}
	return err
}

// openReadOnly opens a store that is there already.
func (b *Backend) openReadOnly() error {
	c, err := b.reader.dial()
	if err != nil {
		return err
	}
	found, err := layout.Inspect(c, b.at.Path)
	if err == nil {
		err = b.admit(found)
	}
	if err == nil && found.Kind == layout.Empty {
		err = b.emptyError()
	}
	b.reader.readers.Put(c)
	return err
}

// emptyError is for a file without a store where there must be one.
func (s *store) emptyError() error {
	return onto.Errorf(onto.Uninitialized, "%s: the database has no tables", s.at.Path).
		WithHint("make a store in it").WithCommand("init", "--db", s.at.Path)
}

// admit refuses what cannot be opened, and what is only opened to be filled.
func (s *store) admit(found layout.File) error {
	if err := found.Check(s.at.Path); err != nil || !found.Copy.Unfinished || s.opts.Target {
		return err
	}
	return refusal.CopyUnfinished(s.at.Path, &found.Copy)
}

// checkCopied fails if a copy that fills the store has begun since it was opened. The
// format is that of onto_meta as it was read last.
func (s *store) checkCopied(c *driver.Conn, format int64) error {
	if s.opts.Target {
		return nil
	}
	return layout.CheckCopied(c, s.at.Path, format)
}

// TypesSeen implements [backend.TypeWatcher].
func (b *Backend) TypesSeen() int64 { return b.seen.Load() }

// notice is for reads without a transaction, which do not read the format: if types have
// changed, as they do when a copy begins, it looks whether that is so.
func (s *store) notice(c *driver.Conn, changes int64) error {
	if changes <= s.seen.Load() {
		return nil
	}
	if err := s.lookCopied(c); err != nil {
		return err
	}
	s.sees(changes)
	return nil
}

// lookCopied is checkCopied for when the format was not read.
func (s *store) lookCopied(c *driver.Conn) error {
	format, err := c.QueryInt(`SELECT format FROM onto_meta`)
	if err != nil {
		return err
	}
	return s.checkCopied(c, format)
}

// sees records how often types have changed.
func (s *store) sees(changes int64) {
	for {
		known := s.seen.Load()
		if changes <= known || s.seen.CompareAndSwap(known, changes) {
			return
		}
	}
}

// Close releases everything. Reads under way continue to their end; Close waits for a
// write under way, so it must not be called from the sequence of a stream.
func (b *Backend) Close() error {
	b.queue.Close()
	b.writer.watch.close()
	b.writer.writing.wait()
	defer b.writer.writing.release()
	b.reader.readers.Close()
	b.writer.closed = true
	var err error
	if b.writer.conn != nil {
		err = b.writer.conn.Close()
		b.writer.conn = nil
	}
	if b.temp != "" {
		err = errors.Join(err, os.RemoveAll(b.temp))
		b.temp = ""
	}
	return driver.Wrap(b.at.Path, err)
}

func (s *store) closedError() error {
	return onto.Errorf(onto.Closed, "%s: %w", s.at.Path, refusal.Closed())
}

// Warning says what is wrong with a store that can only be read, and what to do;
// "" if nothing is.
func (b *Backend) Warning() (text string, remedy onto.Hint) {
	if b.cut.Commits == 0 {
		return "", onto.Hint{}
	}
	return b.cut.String(), disk.CutOffRemedy()
}

// KeptWAL returns where the WAL was copied to when its loss was accepted, or "".
func (b *Backend) KeptWAL() string { return b.keptWAL }

// now is the wall clock in the precision that is stored.
func (s *store) now() time.Time { return s.opts.Now().UTC().Truncate(time.Microsecond) }
