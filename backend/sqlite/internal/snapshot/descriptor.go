package snapshot

import (
	"errors"
	"os"
	"slices"
	"sync"

	"github.com/ontologia/onto/internal/flock"
)

// SQLite locks a file with POSIX locks, and a process loses those on a file as soon as it
// closes any descriptor of it. A program may have a file open through SQLite while it is read
// here. So a descriptor that was opened here stays open for the life of the process and is
// used again: there is one for each file that was ever copied. It is closed once the file has
// been removed and no place uses it, so that the room on disk is freed: nothing can open such
// a file again.
//
// On Linux the locks taken here belong to the descriptor. They conflict with those of
// SQLite in the same process as they do with those of others, and releasing them releases no
// other lock. Elsewhere they belong to the process, so a program must not have the file open
// through SQLite while it is copied.

// descriptors are those of this process, as the locks are.
var descriptors registry

// registry has the descriptors that were opened.
type registry struct {
	mu   sync.Mutex // guards what follows
	list []*descriptor
}

// descriptor is an open file that is shared by the places of a file.
type descriptor struct {
	*os.File
	info  os.FileInfo
	users int // places; guarded by the registry

	mu      sync.Mutex // guards what follows
	readers int        // how many have the SHARED lock
}

// open returns the descriptor of a file, which is opened unless it is known.
func (r *registry) open(path string) (*descriptor, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closeUnused()
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(r.list, func(d *descriptor) bool { return os.SameFile(d.info, info) })
	if i < 0 {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		info, err := f.Stat() // the file may have been replaced by one that is known: both are kept
		r.list = append(r.list, &descriptor{File: f, info: info})
		if err != nil {
			return nil, err
		}
		i = len(r.list) - 1
	}
	r.list[i].users++
	return r.list[i], nil
}

// leave ends the use of a descriptor by a place.
func (r *registry) leave(d *descriptor) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d.users--
	r.closeUnused()
}

// closeUnused closes the descriptors that no place uses, as far as that ends no lock. The
// caller holds mu.
func (r *registry) closeUnused() {
	r.list = slices.DeleteFunc(r.list, func(d *descriptor) bool {
		if d.users > 0 || !mayClose(d.File) {
			return false
		}
		_ = d.Close() // it was only read
		return true
	})
}

// The bytes of a file that SQLite locks: a reader locks those of shared, after a moment in
// which it has the lock on pending, which a writer takes that waits for readers to end. A
// writer has the lock on reserved from the start of its transaction.
const (
	pendingByte  = 0x40000000
	reservedByte = pendingByte + 1
	sharedFirst  = pendingByte + 2
	sharedSize   = 510
)

// share takes SQLite's SHARED lock if no writer has the file for itself.
func (d *descriptor) share() (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	ok, err := flock.ShareRange(d.File, pendingByte, 1)
	if !ok || err != nil {
		return false, err
	}
	ok, err = flock.ShareRange(d.File, sharedFirst, sharedSize)
	if err := errors.Join(err, flock.ReleaseRange(d.File, pendingByte, 1)); err != nil {
		d.releaseLast()
		return false, err
	}
	if ok {
		d.readers++
	}
	return ok, nil
}

// release releases the SHARED lock of one reader.
func (d *descriptor) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.readers--
	d.releaseLast()
}

// releaseLast releases the SHARED lock if there is no reader. The caller holds mu.
func (d *descriptor) releaseLast() {
	if d.readers == 0 {
		_ = flock.ReleaseRange(d.File, sharedFirst, sharedSize) // it ends with the process at the latest
	}
}

// reserved reports whether a transaction that may write is under way.
func (d *descriptor) reserved() (bool, error) { return flock.IsLocked(d.File, reservedByte, 1) }
