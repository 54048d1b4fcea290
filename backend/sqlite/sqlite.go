// Package sqlite keeps a store in one SQLite file. It is the embedded default.
//
// The history tables are those of the original Ontologia, so that its
// documented statements work on our files and its files open here. Beside them
// stands a projection with the newest version of each identity, written in the
// same transaction and derived from history alone. docs/format/sqlite.md
// describes every table.
//
// A file has one writer connection per process and as many readers as there
// are reads under way. Writers of several processes exclude each other by
// SQLite's own lock, for which they wait in a line; readers never wait. Commits are acknowledged after fsync,
// and concurrent callers share one.
package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/groupcommit"
)

// DefaultLockTimeout is how long a write waits for others.
const DefaultLockTimeout = 5 * time.Second

// Options change how a file is opened. The zero value is the default.
//
// Writers of several processes wait in a line. One of them gives up when nobody was
// served for LockTimeout, and after ten times that in any case.
type Options struct {
	MustExist   bool             // fail with Uninitialized instead of making the file
	ReadOnly    bool             // never write; also opens files that cannot be written
	AcceptLoss  bool             // go on although a damaged WAL cuts commits off; the WAL is copied first
	LockTimeout time.Duration    // how long a write waits for others, see below; 0 for DefaultLockTimeout
	Now         func() time.Time // the clock; nil for time.Now
}

// Backend is a store in one SQLite file.
type Backend struct {
	path    string // as given, for messages
	file    string // the file itself: whole and free of links
	opts    Options
	tables  [2]*table
	changes string       // the column that tells how often types have changed
	sums    bool         // rows have checksums
	seen    atomic.Int64 // how often they had, as of the newest moment that was looked at
	counted counted
	readers pool
	temp    string      // a directory to remove on Close; "" if there is none
	cut     cutOff      // what a store that is only read does not show
	keptWAL string      // a copy of the WAL, if its loss was accepted
	inode   os.FileInfo // of the file when it was opened

	durable durability

	queue *groupcommit.Queue[*member] // of callers that want to append

	writing turn  // guards what follows: held by whoever uses the writer
	writer  *conn // nil when read only
	broken  error // set when it is not known what the last commit left on disk
	types   typeCache
	schema  schemaState

	fault func(point string) error // set by tests to fail at a named point
}

// memoryPath stands for a store that nobody keeps.
const memoryPath = ":memory:"

// Open opens the store in the file at path, and makes one if there is none.
// The path ":memory:" gives a new store in a temporary file, which is gone
// after Close.
func Open(ctx context.Context, path string, opts *Options) (*Backend, error) {
	b := &Backend{path: path, writing: make(turn, 1), changes: typeChanges, sums: true, durable: durability{sync: syncFile}}
	b.queue = groupcommit.New(groupBounds(), b.leadGroup)
	if opts != nil {
		b.opts = *opts
	}
	if b.opts.LockTimeout <= 0 {
		b.opts.LockTimeout = DefaultLockTimeout
	}
	if b.opts.Now == nil {
		b.opts.Now = time.Now
	}
	if err := b.open(ctx); err != nil {
		b.Close()
		return nil, wrap(path, err)
	}
	return b, nil
}

func (b *Backend) open(ctx context.Context) (err error) {
	b.makeTables()
	if err := checkLibrary(); err != nil {
		return err
	}
	if b.path == memoryPath {
		dir, err := os.MkdirTemp("", "onto-")
		if err != nil {
			return err
		}
		b.temp, b.path = dir, filepath.Join(dir, "memory.db")
	}
	if err := b.findFile(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	b.readers.dial = b.dialReader
	if b.opts.ReadOnly {
		if b.cut, err = findCutOff(b.file + "-wal"); err != nil {
			return err
		}
		return b.openReadOnly()
	}
	if err := b.checkWAL(); err != nil {
		return err
	}
	if err := b.companionsFit(); err != nil {
		return err
	}
	if err := b.openWriter(ctx); err != nil || b.keptWAL == "" {
		return err
	}
	_, err = b.Checkpoint(ctx) // what is cut off must not come to light again
	return err
}

// makeTables makes the SQL of both kinds.
func (b *Backend) makeTables() {
	b.tables = [2]*table{newTable(onto.KindEntity, b.changes, b.sums), newTable(onto.KindRelation, b.changes, b.sums)}
}

// findFile finds the file itself. Readers open it later, when the process may
// be in another directory, and SQLite keeps the WAL beside the file and not
// beside a link to it.
func (b *Backend) findFile() (err error) {
	if b.path == "" {
		return onto.Errorf(onto.Invalid, "the path of the store is empty").WithHint("name a file")
	}
	if b.file, err = filepath.Abs(b.path); err != nil {
		return err
	}
	if target, err := filepath.EvalSymlinks(b.file); err == nil {
		b.file = target
	}
	return b.checkPath()
}

// checkPath gives the usual mistakes with paths their own messages.
func (b *Backend) checkPath() error {
	info, err := os.Stat(b.file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && (b.opts.MustExist || b.opts.ReadOnly):
		return onto.Errorf(onto.Uninitialized, "%s: there is no store here", b.path).
			WithHint("make one with: onto init --db %s", b.path)
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(filepath.Dir(b.file)); err != nil {
			return onto.Errorf(onto.Uninitialized, "%s: the directory does not exist: %w", b.path, err).
				WithHint("make the directory first")
		}
		return nil
	case err != nil:
		return onto.Errorf(onto.ReadOnly, "%s: %w", b.path, err).WithHint("check the permissions")
	case info.IsDir():
		return onto.Errorf(onto.Unsupported, "%s: this is a directory, not a file", b.path).
			WithHint("name a file in it")
	case !info.Mode().IsRegular():
		return onto.Errorf(onto.Unsupported, "%s: this is not a regular file but %s", b.path, fileType(info.Mode())).WithHint("name another file")
	case info.Size() == 0 && (b.opts.MustExist || b.opts.ReadOnly):
		return onto.Errorf(onto.Uninitialized, "%s: the file is empty", b.path).
			WithHint("make a store in it with: onto init --db %s", b.path)
	}
	return b.checkCompanions()
}

// checkCompanions refuses files beside the store that SQLite would wait for, or
// that lead it elsewhere.
func (b *Backend) checkCompanions() error {
	for _, suffix := range companions() {
		info, err := os.Lstat(b.file + suffix)
		if err == nil && !info.Mode().IsRegular() {
			return onto.Errorf(onto.Unsupported, "%s: this is not a regular file but %s", b.path+suffix, fileType(info.Mode())).
				WithHint("SQLite keeps a file of its own there: find out who has put that in its place")
		}
	}
	return nil
}

// fileType names what is not a regular file.
func fileType(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// openWriter opens the writer connection and brings the file to our format.
func (b *Backend) openWriter(ctx context.Context) error {
	how := accessCreate
	if b.opts.MustExist {
		how = accessWrite
	}
	err := b.retryBusy(ctx, func() (err error) {
		b.writer, err = dial(b.file, how, 0)
		return err
	})
	if err != nil {
		return err
	}
	w := b.writer
	// Before anything is committed: the driver's default leaves out the sync.
	if err := b.retryBusy(ctx, func() error { return w.script(`PRAGMA synchronous = FULL`) }); err != nil {
		return err
	}
	if err := b.prepareFile(ctx, w); err != nil {
		return err
	}
	if b.inode, err = os.Stat(b.file); err != nil {
		return err
	}
	// A commit rewrites a few hot pages, so checkpoints that come less often
	// than SQLite's default copy much less.
	return b.retryBusy(ctx, func() error {
		return w.script(`PRAGMA foreign_keys = ON; PRAGMA cache_size = -65536;
			PRAGMA wal_autocheckpoint = 4096; PRAGMA journal_size_limit = 67108864`)
	})
}

// openReadOnly opens a file that must be ours already.
func (b *Backend) openReadOnly() error {
	c, err := b.dialReader()
	if err != nil {
		return err
	}
	found, err := inspect(c, b.path)
	b.readers.put(c)
	if err != nil {
		return err
	}
	if found.kind == fileOriginal {
		return onto.Errorf(onto.ReadOnly, "%s: a file of the original Ontologia needs to be opened for writing once", b.path).
			WithHint("copy it to where it can be written and open it there")
	}
	if found.format == 1 {
		b.changes = "0"
	}
	b.sums = found.format >= Format
	b.makeTables()
	return found.check(b.path)
}

// TypesSeen implements [backend.TypeWatcher].
func (b *Backend) TypesSeen() int64 { return b.seen.Load() }

// sees notes how often types have changed.
func (b *Backend) sees(changes int64) {
	for {
		known := b.seen.Load()
		if changes <= known || b.seen.CompareAndSwap(known, changes) {
			return
		}
	}
}

func (b *Backend) dialReader() (*conn, error) {
	if b.opts.ReadOnly {
		return b.dialReadOnly()
	}
	if err := b.sameFile(); err != nil {
		return nil, err
	}
	c, err := dial(b.file, accessWrite, busyReader)
	if err != nil {
		return nil, err
	}
	if err := c.script(`PRAGMA query_only = ON; PRAGMA cache_size = -65536`); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// busyReader is how long a reader waits in the rare moments when SQLite makes
// it wait at all: while the WAL is recovered or removed.
const busyReader = 5 * time.Second

// dialTried opens a connection and reads something with it.
func dialTried(path string, how access) (*conn, error) {
	c, err := dial(path, how, busyReader)
	if err != nil {
		return nil, err
	}
	if _, err := c.queryInt(`SELECT count(*) FROM sqlite_master`); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// sameFile fails if the file was removed or replaced since it was opened: what
// is written would be lost, or mixed into another store.
func (b *Backend) sameFile() error {
	if b.inode == nil {
		return nil
	}
	if now, err := os.Stat(b.file); err != nil || !os.SameFile(b.inode, now) {
		return onto.Errorf(onto.Unavailable, "%s: the file was removed or replaced while it was open", b.path).
			WithHint("close the store and open it again")
	}
	return nil
}

// Close releases everything. Reads under way go on to their end; a write under
// way ends first, so Close must not be called from the sequence of a stream.
func (b *Backend) Close() error {
	b.queue.Close()
	b.writing.wait()
	defer b.writing.release()
	b.readers.close()
	var err error
	if b.writer != nil {
		err = b.writer.close()
		b.writer = nil
	}
	if b.temp != "" {
		err = errors.Join(err, os.RemoveAll(b.temp))
		b.temp = ""
	}
	return wrap(b.path, err)
}

func (b *Backend) closedError() error {
	return onto.Errorf(onto.Closed, "%s: the store was closed", b.path)
}

// pool keeps idle readers.
type pool struct {
	dial func() (*conn, error)

	mu     sync.Mutex // guards what follows
	idle   []*conn
	closed bool
}

// maxIdle is how many readers wait for the next read.
const maxIdle = 8

// get returns an idle reader or a new one. The number of readers is not
// limited: a limit would let nested reads wait for each other for ever.
func (p *pool) get() (*conn, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, onto.Errorf(onto.Closed, "the store was closed")
	}
	var c *conn
	if n := len(p.idle); n > 0 {
		c = p.idle[n-1]
		p.idle = p.idle[:n-1]
	}
	p.mu.Unlock()
	if c != nil && c.isStale() {
		c.close()
		c = nil
	}
	if c != nil {
		return c, nil
	}
	return p.dial()
}

func (p *pool) put(c *conn) {
	p.mu.Lock()
	keep := !p.closed && len(p.idle) < maxIdle
	if keep {
		p.idle = append(p.idle, c)
	}
	p.mu.Unlock()
	if !keep {
		c.close()
	}
}

func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, c := range idle {
		c.close()
	}
}
