package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// SyncFile makes a file or a directory durable.
func SyncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// What this process commits is durable when COMMIT returns: it syncs the WAL. Commits
// of other processes become visible after their sync, with one exception: after a
// writer was killed in COMMIT, or its sync has failed, the next recovery accepts every
// whole commit that it finds in the WAL, and some may be in the page cache only. So a
// verdict that depends on such a commit, without a COMMIT of this process after it,
// first makes the WAL durable. Once is enough for a state.
//
// The database file needs no sync: a checkpoint syncs it before the WAL is
// reused or removed, and recovery begins with the whole WAL.
//
// The directory is synced once, before the first write or verdict: this process or one
// that was killed may have made the WAL, or the store. SQLite does that too, when it
// first syncs a WAL that it has made, but ignores a failure.
//
// The sync uses a descriptor of its own. Closing a descriptor ends all POSIX
// locks that the process has on that file, but SQLite locks the database file
// and the -shm file, never the -wal file.

// Durability is what is known to be on disk.
type Durability struct {
	Sync func(path string) error // of a file or a directory; not guarded

	mu     sync.Mutex // guards what follows
	known  bool       // state is set
	state  Standpoint // the newest state that is durable
	folder bool       // the directory was synced
	failed error      // of a sync: what is on disk is not known any more
}

// Standpoint identifies a state of a store, as far as verdicts depend on it.
type Standpoint struct {
	Head    int64
	Schemas int64 // row id of the newest schema version
	Derived int64 // grows with each change of what is derived
}

// Reached notes a state that this process has committed.
func (d *Durability) Reached(p Standpoint) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known, d.state = true, p
}

// Ensure makes a state of the store in a file durable. After a failed sync the system
// may have dropped the pages to be written, and a later sync would succeed without
// them: so the failure is final.
func (d *Durability) Ensure(file string, p Standpoint) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failed != nil || d.known && d.state == p {
		return d.failed
	}
	d.failed = d.syncFolder(file)
	if d.failed == nil {
		if err := d.Sync(file + "-wal"); !errors.Is(err, fs.ErrNotExist) { // otherwise the file is not in WAL mode
			d.failed = err
		}
	}
	d.known, d.state = d.failed == nil, p
	return d.failed
}

// EnsureNames makes the names of the store and of its WAL durable. It fails if
// any sync has failed.
func (d *Durability) EnsureNames(file string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failed == nil {
		d.failed = d.syncFolder(file)
	}
	return d.failed
}

// syncFolder syncs the directory, unless that was done. Some file systems do not
// support it, and a directory that can be used may not be readable.
func (d *Durability) syncFolder(file string) error {
	if d.folder {
		return nil
	}
	err := d.Sync(filepath.Dir(file))
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) {
		err = nil
	}
	d.folder = err == nil
	return err
}
