package file

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"sync"

	"github.com/ontologia/onto/backend/lake/bucket"
)

// Create writes an object where there is none. It takes no lock: of several
// links to one name, the file system lets one be the first.
func (b *Bucket) Create(ctx context.Context, key string, data []byte) (bucket.Tag, error) {
	if err := b.usable(ctx, key); err != nil {
		return "", err
	}
	if err := b.create(ctx, key, data); err != nil {
		return "", fmt.Errorf("create %s: %w", key, err)
	}
	return tagOf(data), nil
}

func (b *Bucket) create(ctx context.Context, key string, data []byte) error {
	if err := b.occupied(key); err != nil {
		return err
	}
	if err := b.makeDirs(path.Dir(key)); err != nil {
		return err
	}
	temp, err := b.writeTemp(path.Dir(key), data)
	if err != nil {
		return err
	}
	if err = ctx.Err(); err == nil {
		err = b.root.Link(temp, key)
	}
	b.root.Remove(temp) // if it stays, a later Open removes it
	if errors.Is(err, fs.ErrExist) {
		if found := b.occupied(key); found != nil {
			return found
		}
		return bucket.ErrExists // and was deleted since
	}
	if err != nil {
		return err
	}
	return b.published(key)
}

// occupied says why nothing can be created under the key.
func (b *Bucket) occupied(key string) error {
	info, err := b.root.Lstat(key)
	switch {
	case err != nil:
		return nil // who writes will see
	case info.IsDir():
		return errors.New("other keys have it for a folder")
	}
	return bucket.ErrExists
}

// Swap replaces the object that has the tag. Under the lock nobody else swaps
// or deletes, and nobody can create since the object is there.
func (b *Bucket) Swap(ctx context.Context, key string, data []byte, old bucket.Tag) (bucket.Tag, error) {
	if err := b.usable(ctx, key); err != nil {
		return "", err
	}
	if old == "" {
		return "", fmt.Errorf("swap %s: the tag of the present object is empty", key)
	}
	unlock, err := b.lock(ctx)
	if err != nil {
		return "", fmt.Errorf("swap %s: %w", key, err)
	}
	defer unlock()
	if err := b.swap(ctx, key, data, old); err != nil {
		return "", fmt.Errorf("swap %s: %w", key, err)
	}
	return tagOf(data), nil
}

func (b *Bucket) swap(ctx context.Context, key string, data []byte, old bucket.Tag) error {
	f, info, err := b.open(key)
	if err != nil {
		return err
	}
	present, err := tagOfFile(f, info)
	f.Close()
	if err != nil {
		return err
	}
	if present != old {
		return bucket.ErrChanged
	}
	temp, err := b.writeTemp(path.Dir(key), data)
	if err != nil {
		return err
	}
	if err = ctx.Err(); err == nil {
		err = b.root.Rename(temp, key)
	}
	if err != nil {
		b.root.Remove(temp)
		return err
	}
	return b.published(key)
}

// Delete removes an object. It takes the lock, so that no swap brings back what
// was deleted meanwhile.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	if err := b.usable(ctx, key); err != nil {
		return err
	}
	unlock, err := b.lock(ctx)
	if err != nil {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	defer unlock()
	if err := b.remove(key); err != nil {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	return nil
}

func (b *Bucket) remove(key string) error {
	info, err := b.root.Lstat(key)
	if err == nil && info.IsDir() {
		return nil // a folder is no object
	}
	if err == nil {
		err = b.root.Remove(key)
	}
	if err = absentOr(err); err != nil {
		return err
	}
	if info == nil {
		return nil
	}
	return b.published(key)
}

// absentOr is err, unless it says that there is no such object.
func absentOr(err error) error {
	if err == nil || errors.Is(absent(err), bucket.ErrNotFound) {
		return nil
	}
	return err
}

// writeTemp writes a synced temporary file and returns its name.
func (b *Bucket) writeTemp(dir string, data []byte) (string, error) {
	b.mark.Do(b.markSwept)
	name := path.Join(dir, tempPrefix+rand.Text())
	f, err := b.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err == nil {
		err = b.sync(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		b.root.Remove(name)
		return "", err
	}
	return name, nil
}

// published syncs the directory of a key whose entry has just changed. Others
// may have seen the change, so a failure leaves the outcome unknown.
func (b *Bucket) published(key string) error {
	if err := b.syncDir(path.Dir(key)); err != nil {
		return fmt.Errorf("%w: %w", bucket.ErrUnknown, err)
	}
	return nil
}

func (b *Bucket) syncDir(dir string) error {
	f, err := b.root.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return b.sync(f)
}

// makeDirs makes a directory and those above it, and syncs the entry of each
// one, also of those it finds: whoever made them may have been killed before.
func (b *Bucket) makeDirs(dir string) error {
	if dir == "." {
		return nil
	}
	if info, err := b.root.Stat(dir); err == nil && info.IsDir() && b.kept.has(dir) {
		return nil
	}
	if err := b.makeDirs(path.Dir(dir)); err != nil {
		return err
	}
	if err := b.root.Mkdir(dir, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := b.syncDir(path.Dir(dir)); err != nil {
		return err
	}
	b.kept.add(dir)
	return nil
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
