// Package file is a bucket in a directory: the default, with nothing to install.
//
// An object is a file; its key is the path. A new object is written to a
// temporary file beside it, synced, and then linked or renamed to its name, so
// that a reader sees a whole object or none. What was acknowledged has been
// synced, with its directory. Processes on one machine exclude each other by a
// lock on a file in the bucket's root. The directory must be on a local file
// system that tells upper from lower case and knows hard links.
//
// Names that begin with ~ are the package's own: no key has that character.
// Paths are resolved within the directory; a link that leads out of it is an
// error.
//
// The tag of an object is the SHA-256 of its contents and its size. Equal
// contents have equal tags: who swaps A for B and back to A cannot be told from
// who did nothing. Writers that care put something unique into each body.
package file

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/ontologia/onto/backend/lake/bucket"
)

const (
	tempPrefix = "~tmp-"
	lockName   = "~lock"
	sweptName  = "~swept" // when it was written, the bucket was last swept
	dirMode    = 0o777    // less the umask
	fileMode   = 0o666
)

// Options changes how a bucket is opened. The zero value is the default.
type Options struct {
	// Create makes the directory if it is missing.
	Create bool

	// Now tells the time by which temporary files are old; time.Now if nil.
	Now func() time.Time
}

// Bucket is a bucket in a directory.
type Bucket struct {
	root *os.Root
	now  func() time.Time
	sync func(*os.File) error // replaced by tests
	tags tagMemory
	kept synced
	mark sync.Once // before the first temporary file of this handle

	turn     chan struct{} // holds one token: whose turn it is to lock; guards lockFile
	lockFile *os.File
	close    sync.Once
	closed   chan struct{}
}

// Open opens the bucket in a directory. Once a day it removes temporary files
// that killed processes left more than a day ago.
func Open(dir string, opts *Options) (*Bucket, error) {
	if opts == nil {
		opts = &Options{}
	}
	if opts.Create {
		if err := makeRoot(filepath.Clean(dir)); err != nil {
			return nil, fmt.Errorf("make the directory of the bucket: %w", err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the directory of the bucket: %w", err)
	}
	b := &Bucket{root: root, now: opts.Now, sync: (*os.File).Sync, turn: make(chan struct{}, 1), closed: make(chan struct{})}
	if b.now == nil {
		b.now = time.Now
	}
	b.turn <- struct{}{}
	b.sweep()
	return b, nil
}

// makeRoot makes a directory and those above it, each with a synced entry.
func makeRoot(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	above := filepath.Dir(dir)
	if above != dir {
		if err := makeRoot(above); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	f, err := os.Open(above)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
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
		return bucket.Object{}, fmt.Errorf("get %s: %w", key, err)
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
	} else if !r.Whole() || ifNot != "" {
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
	if o.Tag == "" {
		o.Tag = tagOf(o.Data)
		b.tags.put(key, info, o.Tag, b.now())
	}
	return o, nil
}

// open opens an object's file.
func (b *Bucket) open(key string) (*os.File, fs.FileInfo, error) {
	f, err := b.root.Open(key)
	if err != nil {
		return nil, nil, absent(err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = bucket.ErrNotFound // a folder of other keys
		if !info.IsDir() {
			err = fmt.Errorf("it is no regular file: %v", info.Mode().Type())
		}
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// absent turns the system's words for a missing file into the bucket's.
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

// usable checks what all methods check.
func (b *Bucket) usable(ctx context.Context, key string) error {
	if err := bucket.CheckKey(key); err != nil {
		return err
	}
	return b.running(ctx)
}

func (b *Bucket) running(ctx context.Context) error {
	select {
	case <-b.closed:
		return errors.New("the bucket is closed")
	default:
		return ctx.Err()
	}
}

// Close waits for the write that holds the lock, and gives it back.
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
