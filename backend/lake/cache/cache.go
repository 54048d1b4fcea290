// Package cache keeps local copies of the immutable objects of a lake: on disk,
// bounded, shared by processes.
//
// A copy is named by the SHA-256 of what is in it, in
// objects/<first two digits>/<SHA-256>.parquet below the directory. Any process
// may remove it from there to make room. So each process links the copies it
// uses into a folder of its own, process/<random>, and gives out those paths. A
// lock on a file in that folder tells the folders of living processes from those
// that were left behind, which the next Open removes.
//
// Nothing is synced: a copy that this process did not write is verified before
// its first use, and one that is damaged is fetched again.
package cache

import (
	"container/list"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/scratch"
)

// DefaultLimit is how many bytes the copies may take unless the options say
// otherwise.
const DefaultLimit = 1 << 30

const (
	objectsFolder = "objects"
	processFolder = "process"
	suffix        = ".parquet"
	tempPrefix    = "~tmp-"
	ownPrefix     = "onto-cache-" // of directories in os.TempDir
	dirMode       = 0o700
	fileMode      = 0o600
)

// Object is what a copy must be.
type Object struct {
	Key    string // for messages
	SHA256 string // in hex
	Bytes  int64
}

// Options changes how a cache is opened. The zero value is the default.
type Options struct {
	// Directory holds the copies. Several processes may use the same one. If it
	// is empty, the cache makes one of its own in os.TempDir, and Close removes it.
	Directory string

	// Limit is how many bytes the copies may take, DefaultLimit if it is 0. Copies
	// that are in use are kept, also above it. An object that is larger than the
	// limit and DefaultLimit is refused.
	Limit int64
}

// Stats tells what a cache did and holds.
type Stats struct {
	Hits      int64 // Gets that needed no fetch of their own
	Misses    int64 // fetches
	Evictions int64 // copies that this cache removed from the shared folder to make room
	Bytes     int64 // that the known copies take
	Files     int   // how many copies are known
}

// Cache keeps local copies. Its methods may be called at the same time.
type Cache struct {
	dir       string
	temporary bool // the directory is this cache's alone
	limit     int64
	root      *os.Root     // the directory
	folder    string       // this process's own, below the directory
	paths     string       // the same, as given out
	own       *scratch.Dir // the folder, locked while this process lives
	temps     atomic.Int64
	work      sync.WaitGroup // flights

	now   func() time.Time                           // replaced by tests
	link  func(oldname, newname string) error        // replaced by tests
	write func(f *os.File, p []byte, at int64) error // replaced by tests

	trimming sync.Mutex // one trim at a time; taken before mu

	mu      sync.Mutex // guards what follows
	entries map[string]*entry
	order   *list.List // of entries, the one used last in front
	flights map[string]*flight
	held    int64 // bytes of all entries
	added   int64 // bytes added since the last scan
	stamp   int64 // counts what was published
	users   int   // of all entries
	stats   Stats
	closed  bool
	drained bool // closed, and the flights have ended
}

// entry is a copy that is known.
type entry struct {
	sum    string
	bytes  int64
	shared bool // it is in the shared folder, as far as this process knows
	own    bool // it is in the own folder, and verified
	copied bool // the own file is no link to the shared one
	users  int
	stamp  int64     // of its publication
	used   time.Time // last use by any process, as far as known
	seen   time.Time // modification time of the shared file when last looked at
	marked time.Time // when this process last touched the file
	place  *list.Element
}

// size is what the entry takes on disk.
func (e *entry) size() int64 {
	var n int64
	if e.shared {
		n += e.bytes
	}
	if e.own && (e.copied || !e.shared) {
		n += e.bytes
	}
	return n
}

// Open opens a cache, and removes what dead processes left in its directory.
func Open(o *Options) (*Cache, error) {
	if o == nil {
		o = &Options{}
	}
	if o.Limit < 0 {
		return nil, onto.Errorf(onto.Invalid, "the limit of the cache is %d bytes", o.Limit).WithHint("give a positive number, or 0 for %d", int64(DefaultLimit))
	}
	c := &Cache{
		dir: o.Directory, limit: o.Limit, now: time.Now, write: writeAt,
		entries: map[string]*entry{}, order: list.New(), flights: map[string]*flight{},
	}
	if c.limit == 0 {
		c.limit = DefaultLimit
	}
	if err := c.openDirectory(); err != nil {
		c.remove()
		return nil, c.diskError("open", err)
	}
	c.link = c.root.Link
	c.added = c.limit // a first scan
	c.trim(c.limit)
	return c, nil
}

func (c *Cache) openDirectory() error {
	var err error
	if c.dir == "" {
		c.temporary = true
		if c.dir, err = makeTemporary(); err != nil {
			c.dir = os.TempDir() // for the error message
			c.temporary = false
			return err
		}
	}
	if c.dir, err = filepath.Abs(c.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(c.dir, dirMode); err != nil {
		return err
	}
	if c.root, err = os.OpenRoot(c.dir); err != nil {
		return err
	}
	for _, name := range []string{objectsFolder, processFolder} {
		if err := c.root.MkdirAll(name, dirMode); err != nil {
			return err
		}
	}
	err = c.openOwn()
	c.paths = filepath.Join(c.dir, filepath.FromSlash(c.folder))
	return err
}

// Directory is where the paths that Get returns are: this process's own folder.
func (c *Cache) Directory() string {
	return c.paths
}

// Stats tells what the cache did and holds.
func (c *Cache) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Bytes, s.Files = c.held, len(c.entries)
	return s
}

// Close ends the fetches that are under way and waits for them. The files of
// this process are removed, but those in use only with the last release.
func (c *Cache) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	for _, f := range c.flights {
		f.cancel()
	}
	c.mu.Unlock()
	c.work.Wait()
	c.trimming.Lock() // until no scan reads the directory
	defer c.trimming.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drained = true
	if c.users > 0 {
		return nil
	}
	return c.remove()
}

// remove removes what is this process's alone, and closes what is open.
func (c *Cache) remove() error {
	var errs []error
	if c.folder != "" {
		errs = append(errs, c.own.Release(), c.root.RemoveAll(c.folder))
	}
	if c.root != nil {
		errs = append(errs, c.root.Close())
	}
	if c.temporary {
		errs = append(errs, os.RemoveAll(c.dir))
	}
	if err := errors.Join(errs...); err != nil {
		return c.diskError("close", err)
	}
	return nil
}

func closedError() error {
	return onto.Errorf(onto.Closed, "the cache of the lake is closed").WithHint("open the store again")
}

// diskError tells what was wrong with the directory.
func (c *Cache) diskError(doing string, err error) error {
	if noRoom(err) || errors.Is(err, syscall.EFBIG) || onto.CodeOf(err) == onto.Full {
		return onto.Errorf(onto.Full, "%s in the cache directory %s: no room left: %w", doing, c.dir, err).
			WithHint("free disk space, or let the setting cache_dir name a directory with more of it")
	}
	return onto.Errorf(onto.Unavailable, "%s in the cache directory %s: %w", doing, c.dir, err).
		WithHint("let the setting cache_dir name a directory that this user can write")
}

func noRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
