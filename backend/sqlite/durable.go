package sqlite

import (
	"errors"
	"io/fs"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/ontologia/onto"
)

// What this process commits is durable when COMMIT returns: it syncs the WAL.
// What others commit is visible after their sync, with one exception: after a
// writer was killed in COMMIT, or its sync has failed, the next recovery takes
// every whole commit that it finds in the WAL, and some may be in the page cache
// only. So a verdict that rests on such a commit, and that no COMMIT of this
// process follows, first makes the WAL durable. Once is enough for a state.
//
// The database file needs no sync: a checkpoint syncs it before the WAL is
// reused or removed, and recovery begins with the whole WAL. The directory does,
// since the killed process may have made the WAL, or the store.
//
// The sync uses a descriptor of its own. Closing a descriptor ends all POSIX
// locks that the process has on that file, but SQLite locks the database file
// and the -shm file, never the -wal file.

// durability is what is known to be on disk.
type durability struct {
	sync func(path string) error // of a file or a directory; not guarded

	mu     sync.Mutex // guards what follows
	known  bool       // there is such a state
	state  standpoint // the newest state that is durable
	folder bool       // the directory was synced
	failed error      // of a sync: what the file holds is not known any more
}

// standpoint tells states of a store apart, as far as verdicts rest on them.
type standpoint struct{ head, schemas, derived int64 }

func (s state) standpoint() standpoint { return standpoint{s.head, s.schemas, s.derived} }

// reached notes a state that this process has committed.
func (d *durability) reached(p standpoint) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known, d.state = true, p
}

// failure is what a sync has failed with, or nil.
func (d *durability) failure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failed
}

// ensure makes a state of the store in a file durable. After a failed sync the
// system may have dropped what was to be written, and a later sync succeeds
// without it: so the failure is final.
func (d *durability) ensure(file string, p standpoint) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failed != nil || d.known && d.state == p {
		return d.failed
	}
	err := d.sync(file + "-wal")
	if errors.Is(err, fs.ErrNotExist) { // the file is not in WAL mode
		err = nil
	}
	if err == nil && !d.folder {
		err = d.syncFolder(filepath.Dir(file))
	}
	if err != nil {
		d.failed = err
		return err
	}
	d.known, d.state, d.folder = true, p, true
	return nil
}

// syncFolder leaves out file systems that cannot sync a directory.
func (d *durability) syncFolder(path string) error {
	err := d.sync(path)
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

// vouch makes the state durable that a verdict rests on which needs no COMMIT.
func (b *Backend) vouch(s state) error {
	if err := b.durable.ensure(b.file, s.standpoint()); err != nil {
		return onto.Errorf(onto.OutcomeUnknown, "%s: it is not known whether commit %d, which another process has made, reached the disk: %w",
			b.path, s.head, err).WithHint("%s", reopenHint)
	}
	return nil
}
