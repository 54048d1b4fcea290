// Package file is a bucket in a directory: the default, with nothing to install.
//
// An object is a file; its key is the path. A new object is written to a temporary file
// beside it, synced, and then linked or renamed to its name, so that a reader sees a
// whole object or none. What was acknowledged has been synced, with its directory and
// those above it. If a directory cannot be synced, later reads do not show what is on
// disk: the write ends with [bucket.ErrUnsynced], and the bucket takes no further
// writes until it is opened again. Processes on one machine exclude each other by a
// lock on a file in the bucket's root, and may take turns in a line. The directory must
// be on a local file system that is case-sensitive and has hard links.
//
// Names that begin with ~ are the package's own: no key has that character.
// Paths are resolved within the directory; a link that leads out of it is an
// error.
//
// The tag of an object is the SHA-256 of its contents and its size. Equal contents have
// equal tags: a swap from A to B and back to A leaves no trace (ABA). Writers to whom
// that matters put something unique into each body.
package file

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/internal/volume"
)

const (
	tempPrefix = "~tmp-"
	lockName   = "~lock"
	sweptName  = "~swept" // its modification time is that of the last sweep
)

// Options changes how a bucket is opened. The zero value is the default.
type Options struct {
	// Create makes the directory if it is missing.
	Create bool

	// Now tells the time by which temporary files are old; time.Now if nil.
	Now func() time.Time

	// Disk does the writing; System if nil.
	Disk Disk
}

// Bucket is a bucket in a directory.
type Bucket struct {
	root   *os.Root
	dir    string // where the root is; absolute
	now    func() time.Time
	disk   Disk
	tags   tagMemory
	making sync.Mutex // held while directories are made
	kept   synced
	rooted atomic.Bool // the root itself is known to survive a power failure
	halted halt

	turn     chan struct{} // holds one token, for the holder of the lock within this process; guards lockFile
	lockFile *os.File
	close    sync.Once
	closed   chan struct{}
}

// Open opens the bucket in a directory, which must exist unless [Options.Create] is set.
// Once a day it removes temporary files that killed processes left more than a day ago.
func Open(dir string, opts *Options) (*Bucket, error) {
	if opts == nil {
		opts = &Options{}
	}
	b := &Bucket{now: opts.Now, disk: opts.Disk, turn: make(chan struct{}, 1), closed: make(chan struct{})}
	if b.now == nil {
		b.now = time.Now
	}
	if b.disk == nil {
		b.disk = System{}
	}
	if opts.Create {
		if err := b.makeRoot(filepath.Clean(dir)); err != nil {
			return nil, fmt.Errorf("make the directory of the bucket: %w", err)
		}
	}
	if err := b.openRoot(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, onto.Errorf(onto.NotFound, "open the directory of the bucket: %w", err).
			WithHint("make the directory, or set Options.Create")
	} else if err != nil {
		return nil, fmt.Errorf("open the directory of the bucket: %w", err)
	}
	b.turn <- struct{}{}
	b.sweep()
	return b, nil
}

// openRoot opens the directory. It looks first: opening a named pipe would wait.
func (b *Bucket) openRoot(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if err := mustBeDir(dir, info); err != nil {
		return err
	}
	if b.dir = dir; !filepath.IsAbs(dir) {
		here, err := os.Getwd()
		if err != nil {
			return err
		}
		b.dir = here + string(filepath.Separator) + dir // not cleaned: .. follows links
	}
	b.root, err = os.OpenRoot(dir)
	return err
}

func mustBeDir(dir string, info fs.FileInfo) error {
	if info.IsDir() {
		return nil
	}
	return &fs.PathError{Op: "open", Path: dir, Err: syscall.ENOTDIR}
}

// makeRoot makes a directory and those above it. They are synced before the
// first write.
func (b *Bucket) makeRoot(dir string) error {
	if info, err := os.Stat(dir); err == nil {
		return mustBeDir(dir, info)
	}
	above := filepath.Dir(dir)
	if above == dir {
		return &fs.PathError{Op: "mkdir", Path: dir, Err: fs.ErrNotExist}
	}
	if err := b.makeRoot(above); err != nil {
		return err
	}
	root, err := os.OpenRoot(above)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := b.disk.Mkdir(root, filepath.Base(dir)); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// Get returns an object or a part of it.
func (b *Bucket) Get(ctx context.Context, key string, r bucket.Range, ifNot bucket.Tag) (bucket.Object, error) {
	if err := b.usable(ctx, key); err != nil {
		return bucket.Object{}, err
	}
	if _, _, err := r.Cut(0); err != nil {
		return bucket.Object{}, fmt.Errorf("get %s: %w", key, err)
	}
	o, err := b.get(key, r, ifNot)
	if err != nil {
		return bucket.Object{}, fmt.Errorf("get %s: %w", key, b.ended(err))
	}
	return o, nil
}

func (b *Bucket) get(key string, r bucket.Range, ifNot bucket.Tag) (bucket.Object, error) {
	f, info, err := b.open(key)
	if err != nil {
		return bucket.Object{}, err
	}
	defer f.Close()
	if err := r.Allows(info.Size()); err != nil {
		return bucket.Object{}, err
	}
	o := bucket.Object{Size: info.Size()}
	if tag, known := b.tags.get(key, info); known {
		o.Tag = tag
	} else if !r.Whole() && !r.Untagged || ifNot != "" {
		if o.Tag, err = tagOfFile(f, info); err != nil {
			return bucket.Object{}, err
		}
		b.tags.put(key, info, o.Tag, b.now())
	}
	if ifNot != "" && ifNot == o.Tag {
		return bucket.Object{}, bucket.ErrNotModified
	}
	from, to, _ := r.Cut(o.Size)
	o.Data = make([]byte, to-from)
	if _, err := f.ReadAt(o.Data, from); err != nil && !(err == io.EOF && from == to) {
		return bucket.Object{}, fmt.Errorf("read %d bytes from %d: %w", to-from, from, err)
	}
	if o.Tag == "" && r.Whole() {
		o.Tag = tagOf(o.Data)
		b.tags.put(key, info, o.Tag, b.now())
	}
	return o, nil
}

// open opens an object's file.
func (b *Bucket) open(key string) (*os.File, fs.FileInfo, error) {
	f, info, err := openRegular(b.root, key, os.O_RDONLY)
	switch {
	case errors.Is(err, errFolder):
		err = bucket.ErrNotFound
	case errors.Is(err, syscall.ENOTDIR):
		err = cmp.Or(blocked(b.root, key), bucket.ErrNotFound)
	}
	return f, info, absent(err)
}

// absent turns the system's error for a missing file into the bucket's.
func absent(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return bucket.ErrNotFound
	}
	return err
}

func tagOf(data []byte) bucket.Tag {
	return bucket.Tag(fmt.Sprintf("%x-%d", sha256.Sum256(data), len(data)))
}

// tagOfFile reads the file from its beginning and moves its position.
func tagOfFile(f *os.File, info fs.FileInfo) (bucket.Tag, error) {
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err == nil && n != info.Size() {
		err = fmt.Errorf("read %d bytes of %d: %w", n, info.Size(), io.ErrUnexpectedEOF)
	}
	return bucket.Tag(fmt.Sprintf("%x-%d", h.Sum(nil), n)), err
}

// usable is the check of all methods.
func (b *Bucket) usable(ctx context.Context, key string) error {
	if err := bucket.CheckKey(key); err != nil {
		return err
	}
	return b.running(ctx)
}

var errClosed = onto.Errorf(onto.Closed, "the bucket was closed")

func (b *Bucket) running(ctx context.Context) error {
	select {
	case <-b.closed:
		return errClosed
	default:
		return ctx.Err()
	}
}

// ended is the error of a call during which the bucket was closed.
func (b *Bucket) ended(err error) error {
	if errors.Is(err, fs.ErrClosed) {
		return cmp.Or(b.running(context.Background()), err)
	}
	return err
}

// Free returns how many bytes the directory's volume has free.
func (b *Bucket) Free() (bytes int64, known bool) { return volume.Free(b.dir) }

var _ bucket.Volume = (*Bucket)(nil)

// Close waits for the write that holds the lock, and releases it.
func (b *Bucket) Close() error {
	var err error
	b.close.Do(func() {
		close(b.closed)
		<-b.turn
		if b.lockFile != nil {
			err = b.lockFile.Close()
		}
		err = errors.Join(err, b.root.Close())
		b.turn <- struct{}{}
	})
	return err
}
