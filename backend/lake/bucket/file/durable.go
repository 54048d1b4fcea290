package file

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"sync"
	"syscall"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
)

// unsyncedName marks a bucket in which a directory could not be synced. It need
// not survive a power failure: after one, what is read is what is on disk.
const unsyncedName = "~unsynced"

// halt is why a bucket takes no writes any more.
type halt struct {
	mu    sync.Mutex // guards cause
	cause error      // nil while all is well
}

// stop ends all writing after a failed sync of a directory: reads may now return what
// the system has in its cache and failed to write. The mark tells other processes.
func (b *Bucket) stop(cause error) {
	b.halted.mu.Lock()
	if b.halted.cause == nil {
		b.halted.cause = cause
	}
	b.halted.mu.Unlock()
	if f, err := b.disk.Create(b.root, unsyncedName); err == nil { // without the mark, other processes have only their own syncs
		f.Close()
	}
}

// unsynced reports whether a process has failed to sync something.
func (b *Bucket) unsynced() bool {
	_, err := b.root.Lstat(unsyncedName)
	return err == nil
}

// writable is the check of all methods that promise durability.
func (b *Bucket) writable(ctx context.Context, key string) error {
	if err := b.usable(ctx, key); err != nil {
		return cmp.Or(begins(ctx), err)
	}
	return b.halted.err(b.dir)
}

// err is the error of writes to a directory after it was halted.
func (h *halt) err(dir string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cause == nil {
		return nil
	}
	return unavailable("%s: %w, since an earlier write could not be made durable: %w", dir, bucket.ErrRefused, h.cause)
}

func unavailable(format string, args ...any) error {
	return onto.Errorf(onto.Unavailable, format, args...).
		WithHint("check the disk and its file system, then start the program again")
}

// published syncs the directory of a key whose entry has just changed. Others
// may have seen the change, so a failure leaves the outcome unknown.
func (b *Bucket) published(dir *os.File) error {
	if err := b.disk.Sync(dir); err != nil {
		b.stop(err)
		return unavailable("%w: %w", bucket.ErrUnsynced, err)
	}
	return nil
}

// Sync makes durable what a Get of the key has shown. After a failed sync of any
// process, the system may have given up writing the object without reporting that
// again: then the object is written anew.
func (b *Bucket) Sync(ctx context.Context, key string) error {
	if err := b.writable(ctx, key); err != nil {
		return err
	}
	var err error
	if b.unsynced() {
		err = b.rewrite(ctx, key)
	} else {
		err = b.syncObject(key)
	}
	if err != nil {
		return fmt.Errorf("sync %s: %w", key, b.ended(err))
	}
	return nil
}

func (b *Bucket) syncObject(key string) error {
	f, _, err := b.open(key)
	if err != nil {
		return err
	}
	defer f.Close()
	dir, err := b.madeDir(path.Dir(key))
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := b.published(f); err != nil {
		return err
	}
	return b.published(dir)
}

// rewrite replaces an object by a copy of itself.
func (b *Bucket) rewrite(ctx context.Context, key string) error {
	unlock, err := b.lock(ctx)
	if err != nil {
		return unlocked(err)
	}
	defer unlock()
	o, err := b.get(key, bucket.Range{}, "")
	if err != nil {
		return err
	}
	return b.swap(ctx, key, o.Data, tagOf(o.Data))
}

// madeDir opens a directory, which it makes if it is missing. It and all above
// it survive a power failure. It is opened before anything in it changes, so that
// a failure to write the change is reported to the sync that follows.
func (b *Bucket) madeDir(dir string) (*os.File, error) {
	if err := b.makeDirs(dir); err != nil {
		return nil, err
	}
	f, err := openDir(b.root, dir)
	if err != nil {
		return nil, refusal(err)
	}
	return f, nil
}

// makeDirs makes a directory and those above it, and syncs the entry of each
// one, also of those it finds: the process that made them may have been killed
// before. If it fails, nothing lies in them yet.
func (b *Bucket) makeDirs(dir string) error {
	if b.rooted.Load() && b.isKept(dir) {
		return nil
	}
	b.making.Lock() // one call must not take for synced what another has made and failed to sync
	defer b.making.Unlock()
	if err := b.halted.err(b.dir); err != nil {
		return err
	}
	if err := b.keepRoot(); err != nil {
		return err
	}
	return b.makeEach(dir)
}

// isKept reports whether a directory is there and known to survive a power
// failure.
func (b *Bucket) isKept(dir string) bool {
	if dir == "." {
		return true
	}
	if !b.kept.has(dir) {
		return false
	}
	info, err := b.root.Stat(dir)
	return err == nil && info.IsDir()
}

func (b *Bucket) makeEach(dir string) error {
	if b.isKept(dir) {
		return nil
	}
	if err := b.makeEach(path.Dir(dir)); err != nil {
		return err
	}
	above, err := openDir(b.root, path.Dir(dir))
	if err != nil {
		return refusal(err)
	}
	defer above.Close()
	err = b.disk.Mkdir(b.root, dir)
	if errors.Is(err, fs.ErrExist) && b.unsynced() && b.disk.Remove(b.root, dir) == nil {
		err = b.disk.Mkdir(b.root, dir) // nothing was put into it, so it may never have been synced, and may be lost
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return refusal(err)
	}
	if err := b.disk.Sync(above); err != nil {
		b.stop(err)
		return unavailable("the directory %s could not be made durable: %w: %w", dir, bucket.ErrRefused, err)
	}
	b.kept.add(dir)
	return nil
}

// keepRoot syncs the entries of the root and of the directories above it, before
// anything in a new bucket is acknowledged: they may be new as well. The mark records
// that it is done.
func (b *Bucket) keepRoot() error {
	if b.rooted.Load() {
		return nil
	}
	if _, err := b.root.Lstat(sweptName); err != nil {
		if b.unsynced() {
			return onto.Errorf(onto.Unavailable, "%s: %w: this directory could not be made durable", b.dir, bucket.ErrRefused).
				WithHint("check the disk, then remove the directory, which holds no objects, and make it again")
		}
		if err := b.syncAbove(); err != nil {
			return unavailable("the directory %s could not be made durable: %w: %w", b.dir, bucket.ErrRefused, err)
		}
		b.markSwept()
	}
	b.rooted.Store(true)
	return nil
}

// syncAbove syncs the directories above the root, up to the root of their file
// system. One that this user may not read was not made by this user.
func (b *Bucket) syncAbove() error {
	below, err := os.Stat(b.dir)
	if err != nil {
		return err
	}
	for dir := b.dir + "/.."; ; dir += "/.." {
		info, err := os.Stat(dir)
		if err != nil || os.SameFile(info, below) || !sameVolume(info, below) {
			return err
		}
		if err := b.syncForeign(dir); err != nil {
			return err
		}
		below = info
	}
}

func (b *Bucket) syncForeign(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return nil
		}
		return err
	}
	defer f.Close()
	err = b.disk.Sync(f)
	if errors.Is(err, syscall.EROFS) {
		return nil
	}
	if err != nil {
		b.stop(err)
	}
	return err
}

// synced remembers which directories are known to survive a power failure.
type synced struct {
	mu   sync.Mutex // guards dirs
	dirs map[string]bool
}

const maxSynced = 10000 // remembered at most; those forgotten are synced again

func (s *synced) has(dir string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dirs[dir]
}

func (s *synced) add(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dirs == nil || len(s.dirs) >= maxSynced {
		s.dirs = map[string]bool{}
	}
	s.dirs[dir] = true
}
