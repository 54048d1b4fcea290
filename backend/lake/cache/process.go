package cache

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/ontologia/onto/internal/flock"
)

// staleAge is how old a folder must be to count as left behind where no lock can
// tell. A process that lives marks its lock file now and then.
const staleAge = 24 * time.Hour

// settleAge is how long a directory is left alone in which a process may be
// about to make its folder.
const settleAge = time.Minute

// errSwept says that another process has removed the new folder as an orphan.
var errSwept = errors.New("the folder of this process was removed while it was made")

// openOwn makes this process's folder.
func (c *Cache) openOwn() error {
	for range 10 {
		if err := c.tryOwn(); !errors.Is(err, errSwept) {
			return err
		}
	}
	return errSwept
}

// tryOwn makes a folder and takes its lock. Between both, another process may
// find the folder without its lock and remove it.
func (c *Cache) tryOwn() error {
	folder := path.Join(processFolder, strings.ToLower(rand.Text()))
	if err := c.root.Mkdir(folder, dirMode); err != nil {
		return err
	}
	lock, err := c.root.OpenFile(path.Join(folder, lockName), os.O_RDWR|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		c.root.Remove(folder)
		return err
	}
	taken, err := flock.Try(lock)
	if err == nil && !taken || !c.same(lock, path.Join(folder, lockName)) {
		lock.Close()
		return errSwept
	}
	c.folder, c.lock = folder, lock
	return nil
}

// same tells whether the name still leads to the open file.
func (c *Cache) same(f *os.File, name string) bool {
	here, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := c.root.Lstat(name)
	return err == nil && os.SameFile(here, there)
}

// sweep removes the folders of dead processes, with the files half written in
// them. What cannot be removed stays for the next one.
func (c *Cache) sweep() {
	for _, name := range namesIn(c.root, processFolder) {
		sweepFolder(c.root, path.Join(processFolder, name), c.now())
	}
}

// sweepFolder removes a folder if its process is dead, and tells whether it is
// gone. The lock is held meanwhile, so that two do not remove the same.
func sweepFolder(root *os.Root, folder string, now time.Time) bool {
	lock, err := root.OpenFile(path.Join(folder, lockName), os.O_RDWR, 0)
	if err != nil {
		info, statErr := root.Lstat(folder)
		if !errors.Is(err, fs.ErrNotExist) || statErr != nil || now.Sub(info.ModTime()) < staleAge {
			return false
		}
		return root.RemoveAll(folder) == nil
	}
	defer lock.Close()
	return abandoned(lock, now) && root.RemoveAll(folder) == nil
}

// makeTemporary makes a directory for this process, and removes those that dead
// processes left.
func makeTemporary() (string, error) {
	if root, err := os.OpenRoot(os.TempDir()); err == nil {
		for _, name := range namesIn(root, ".") {
			if strings.HasPrefix(name, ownPrefix) {
				sweepTemporary(root, name)
			}
		}
		root.Close()
	}
	return os.MkdirTemp("", ownPrefix)
}

// sweepTemporary removes a directory whose one process folder could be removed. A new
// one may still be under construction. Links in it are not followed.
func sweepTemporary(root *os.Root, name string) {
	info, err := root.Lstat(name)
	if err != nil || !info.IsDir() || time.Since(info.ModTime()) < settleAge {
		return
	}
	dir, err := root.OpenRoot(name)
	if err != nil {
		return // another user's
	}
	defer dir.Close()
	folders := namesIn(dir, processFolder)
	gone := len(folders) > 0
	for _, folder := range folders {
		gone = sweepFolder(dir, path.Join(processFolder, folder), time.Now()) && gone
	}
	if gone {
		root.RemoveAll(name)
	}
}

// namesIn returns what is in a folder, or nothing.
func namesIn(root *os.Root, folder string) []string {
	f, err := root.Open(folder)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1)
	return names
}

// abandoned tells whether the process that holds the lock file has ended; by its
// age where there are no locks that end with it.
func abandoned(f *os.File, now time.Time) bool {
	taken, err := flock.Try(f)
	if err == nil {
		return taken
	}
	info, err := f.Stat()
	return err == nil && now.Sub(info.ModTime()) > staleAge
}
