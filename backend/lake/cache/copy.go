package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/volume"
)

// Copy is a copy that is being made: a fetch writes the object to it from beginning to
// end. It holds nothing of that in memory.
type Copy struct {
	cache  *Cache
	object Object
	name   string   // of the temporary file
	file   *os.File // nil before the first byte
	at     int64    // bytes that were written
	sum    hash.Hash
}

func (c *Cache) newCopy(o Object) *Copy { return &Copy{cache: c, object: o, sum: sha256.New()} }

// Write implements [io.Writer]. More bytes than the object has are refused with
// Corrupt, and it fails with Full on a full disk.
func (w *Copy) Write(p []byte) (int, error) {
	if more := w.at + int64(len(p)); more > w.object.Bytes {
		return 0, w.object.corrupt(more, "")
	}
	if err := w.open(); err != nil {
		return 0, w.failed(err)
	}
	err := w.cache.write(w.file, p, w.at)
	if noRoom(err) && w.cache.makeRoom(2*(w.object.Bytes-w.at)) {
		err = w.cache.write(w.file, p, w.at)
	}
	if err != nil {
		return 0, w.failed(err)
	}
	w.at += int64(len(p))
	w.sum.Write(p)
	return len(p), nil
}

// Restart forgets what was written: the object comes again from its beginning.
func (w *Copy) Restart() {
	w.at = 0
	w.sum.Reset()
}

// Sum is the SHA-256 of what was written, in hex.
func (w *Copy) Sum() string { return hex.EncodeToString(w.sum.Sum(nil)) }

// verify fails with Corrupt unless all of the object was written, and nothing else.
func (w *Copy) verify() error {
	if w.at != w.object.Bytes {
		return w.object.corrupt(w.at, "")
	}
	if sum := w.Sum(); sum != w.object.SHA256 {
		return w.object.corrupt(w.at, fmt.Sprintf(", with SHA-256 %s instead of %s", sum, w.object.SHA256))
	}
	return nil
}

// open makes the temporary file, if there is none yet and there is room for all of it.
// It is in the own folder, where the next sweep finds it if this process dies.
func (w *Copy) open() (err error) {
	if w.file != nil {
		return nil
	}
	if free, known := volume.Free(w.cache.paths); known && free < w.object.Bytes {
		w.cache.makeRoom(2 * w.object.Bytes)
		if free, _ = volume.Free(w.cache.paths); free < w.object.Bytes {
			return onto.Errorf(onto.Full, "it has %d bytes, and the disk has %d left", w.object.Bytes, free)
		}
	}
	w.name, w.file, err = w.cache.openTemp()
	return err
}

// keep verifies the copy and gives it a name.
func (w *Copy) keep(name string) error {
	err := w.verify()
	if err == nil {
		if err = w.open(); err == nil { // an object without bytes
			err = w.rename(name)
		}
		if err != nil {
			err = w.failed(err)
		}
	}
	return err
}

func (w *Copy) rename(name string) error {
	err := w.file.Close()
	if err == nil {
		err = w.cache.root.Rename(w.name, name)
	}
	if err != nil {
		w.cache.root.Remove(w.name)
	}
	w.file = nil
	return err
}

// drop removes what was written, unless it was kept.
func (w *Copy) drop() {
	if w.file != nil {
		w.file.Close()
		w.cache.root.Remove(w.name)
		w.file = nil
	}
}

func (w *Copy) failed(err error) error { return w.cache.diskError("keep a copy of "+w.object.Key, err) }

// Fits fails with TooLarge for an object that is larger than the cache may become. Even
// a small cache holds the files that lakes write, while they are in use.
func (c *Cache) Fits(o Object) error {
	if most := max(c.limit, DefaultLimit); o.Bytes > most {
		return onto.Errorf(onto.TooLarge, "%s has %d bytes, and the local copies may have %d", o.Key, o.Bytes, most).
			WithHint("if the lake is to be trusted, let the setting cache_bytes be larger than the object")
	}
	return nil
}

// copyFile copies a file under a temporary name and renames it.
func (c *Cache) copyFile(from, to string) error {
	info, err := c.root.Lstat(from)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", from)
	}
	in, err := c.root.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	temp, f, err := c.openTemp()
	if err != nil {
		return err
	}
	_, err = io.Copy(f, in)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = c.root.Rename(temp, to)
	}
	if err != nil {
		c.root.Remove(temp)
		return err
	}
	c.root.Chtimes(to, info.ModTime(), info.ModTime()) // another process may have removed it already
	return nil
}
