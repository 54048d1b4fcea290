package file

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/ontologia/onto/backend/lake/bucket"
)

// Create writes an object where there is none. It takes no lock: of several links to
// one name, one succeeds.
func (b *Bucket) Create(ctx context.Context, key string, data []byte) (bucket.Tag, error) {
	if err := b.writable(ctx, key); err != nil {
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
	dir, err := b.madeDir(path.Dir(key))
	if err != nil {
		return err
	}
	defer dir.Close()
	temp, err := b.writeTemp(path.Dir(key), data)
	if err != nil {
		return err
	}
	if err = begins(ctx); err == nil {
		err = b.disk.Link(b.root, temp, key)
	}
	b.disk.Remove(b.root, temp) // if it stays, a later Open removes it
	if errors.Is(err, fs.ErrExist) {
		if found := b.occupied(key); found != nil {
			return found
		}
		return bucket.ErrExists // and was deleted since
	}
	if err != nil {
		return unnamed(err)
	}
	return b.published(dir)
}

// occupied says why nothing can be created under the key.
func (b *Bucket) occupied(key string) error {
	info, err := b.root.Lstat(key)
	switch {
	case err != nil:
		return nil // the write itself will report it
	case info.IsDir():
		return errors.New("other keys have it for a folder")
	}
	return bucket.ErrExists
}

// Swap replaces the object that has the tag. The lock excludes other swaps and deletes,
// and no create succeeds since the object is there.
func (b *Bucket) Swap(ctx context.Context, key string, data []byte, old bucket.Tag) (bucket.Tag, error) {
	if err := b.writable(ctx, key); err != nil {
		return "", err
	}
	if old == "" {
		return "", fmt.Errorf("swap %s: the tag of the present object is empty", key)
	}
	unlock, err := b.lock(ctx)
	if err != nil {
		return "", fmt.Errorf("swap %s: %w", key, unlocked(err))
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
	dir, err := openDir(b.root, path.Dir(key)) // it was synced before the object was put there
	if err != nil {
		return refusal(err)
	}
	defer dir.Close()
	temp, err := b.writeTemp(path.Dir(key), data)
	if err != nil {
		return err
	}
	if err = begins(ctx); err == nil {
		err = b.disk.Rename(b.root, temp, key)
	}
	if err != nil {
		b.disk.Remove(b.root, temp)
		return unnamed(err)
	}
	return b.published(dir)
}

// Delete removes an object. It takes the lock, so that no swap brings back what
// was deleted meanwhile.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	if err := b.writable(ctx, key); err != nil {
		return err
	}
	unlock, err := b.lock(ctx)
	if err != nil {
		return fmt.Errorf("delete %s: %w", key, unlocked(err))
	}
	defer unlock()
	if err := b.remove(key); err != nil {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	return nil
}

func (b *Bucket) remove(key string) error {
	info, err := b.root.Lstat(key)
	if err != nil {
		return absentOr(err)
	}
	if info.IsDir() {
		return nil // a folder is no object
	}
	if !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0 {
		return irregular(info)
	}
	dir, err := openDir(b.root, path.Dir(key))
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := b.disk.Remove(b.root, key); err != nil {
		return unnamed(absentOr(err))
	}
	return b.published(dir)
}

// absentOr is err, unless it says that there is no such object.
func absentOr(err error) error {
	if err == nil || errors.Is(absent(err), bucket.ErrNotFound) {
		return nil
	}
	return err
}

// writeTemp writes a synced temporary file and returns its name. If that fails,
// no object has changed.
func (b *Bucket) writeTemp(dir string, data []byte) (string, error) {
	name := path.Join(dir, tempPrefix+rand.Text())
	f, err := b.disk.Create(b.root, name)
	if err != nil {
		return "", refusal(err)
	}
	err = b.disk.Write(f, data)
	if err == nil {
		err = b.disk.Sync(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		b.disk.Remove(b.root, name)
		return "", refusal(err)
	}
	return name, nil
}
