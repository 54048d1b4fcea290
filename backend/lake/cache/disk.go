package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	"github.com/ontologia/onto"
)

// check refuses what cannot be a file's name, or an object.
func (o Object) check() error {
	if !isSum(o.SHA256) || o.Bytes < 0 {
		return onto.Errorf(onto.Invalid, "%s: SHA-256 %q and %d bytes name no object; 64 lower-case hex digits and a length are needed", o.Key, o.SHA256, o.Bytes).
			WithHint("check the manifest that names the object")
	}
	return nil
}

// isSum tells whether a text is a SHA-256 as this package writes it.
func isSum(text string) bool {
	for _, b := range []byte(text) {
		if (b < '0' || b > '9') && (b < 'a' || b > 'f') {
			return false
		}
	}
	return len(text) == 2*sha256.Size
}

func (o Object) corrupt(came int64, more string) error {
	return onto.Errorf(onto.Corrupt, "%s is not what was written: %d bytes came, %d were expected%s", o.Key, came, o.Bytes, more).
		WithHint("restore the object %s from a backup", o.Key)
}

func ownName(sum string) string    { return sum + suffix }
func sharedName(sum string) string { return path.Join(objectsFolder, sum[:2], sum+suffix) }

func (c *Cache) inFolder(name string) string { return path.Join(c.folder, name) }

// adopt brings a copy from the shared folder into the own one and verifies it.
// A copy that is damaged is removed from both.
func (c *Cache) adopt(o Object, now time.Time) (found, copied bool) {
	own, shared := c.inFolder(ownName(o.SHA256)), sharedName(o.SHA256)
	c.root.Remove(own) // what an earlier failure left
	switch err := c.link(shared, own); {
	case errors.Is(err, fs.ErrNotExist):
		return false, false
	case err != nil:
		if c.copyFile(shared, own) != nil {
			return false, false
		}
		copied = true
	}
	if c.intact(o, own) {
		c.root.Chtimes(shared, now, now)
		return true, copied
	}
	linked, err := c.root.Lstat(own)
	there, thereErr := c.root.Lstat(shared)
	if copied || err == nil && thereErr == nil && os.SameFile(linked, there) {
		c.root.Remove(shared) // else another process has replaced it
	}
	c.root.Remove(own)
	return false, false
}

// intact tells whether a file holds the object. A symbolic link does not: the path is
// given to readers that would follow it.
func (c *Cache) intact(o Object, name string) bool {
	info, err := c.root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() != o.Bytes {
		return false
	}
	f, err := c.root.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.CopyBuffer(h, f, make([]byte, 128<<10)); err != nil {
		return false
	}
	return hex.EncodeToString(h.Sum(nil)) == o.SHA256
}

// keep verifies a copy that was written, puts it into the own folder and publishes it
// in the shared one. If it fails, nothing is left.
func (c *Cache) keep(w *Copy, now time.Time) (shared, copied bool, err error) {
	o := w.object
	own := c.inFolder(ownName(o.SHA256))
	if err := w.keep(own); err != nil {
		return false, false, err
	}
	c.root.Chtimes(own, now, now) // order of use does not rest on the system's coarse clock
	if o.Bytes > c.limit {
		return false, false, nil
	}
	copied, err = c.publish(own, o.SHA256)
	if err != nil {
		c.root.Remove(own)
		return false, false, w.failed(err)
	}
	return true, copied, nil
}

// publish puts the own file into the shared folder. One that is there already, from
// another process, stays: each process verifies it before use.
func (c *Cache) publish(own, sum string) (copied bool, err error) {
	shared := sharedName(sum)
	if err := c.root.MkdirAll(path.Dir(shared), dirMode); err != nil {
		return false, err
	}
	err = c.link(own, shared)
	if err == nil {
		return false, nil
	}
	if errors.Is(err, fs.ErrExist) {
		return true, nil
	}
	return true, c.copyFile(own, shared)
}

// openTemp makes a temporary file in the own folder.
func (c *Cache) openTemp() (name string, f *os.File, err error) {
	name = c.inFolder(fmt.Sprint(tempPrefix, c.temps.Add(1)))
	f, err = c.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, fileMode)
	if errors.Is(err, fs.ErrNotExist) { // the directory was emptied meanwhile
		if err = c.root.MkdirAll(c.folder, dirMode); err == nil {
			f, err = c.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, fileMode)
		}
	}
	return name, f, err
}

func writeAt(f *os.File, data []byte, at int64) error {
	_, err := f.WriteAt(data, at)
	return err
}
