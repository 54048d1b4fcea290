// Package scratch makes directories for the files of one process, and removes those that
// killed processes left. A lock on a file in each tells them apart.
package scratch

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

// LockName is the name of the file in each directory that is locked. Where there are no
// locks, its age counts: a process that lives for long has to touch it now and then.
const LockName = "lock"

// StaleAge is how old a directory must be to count as left behind where no lock can tell.
const StaleAge = 24 * time.Hour

// errSwept says that another process has removed the new directory as an orphan.
var errSwept = errors.New("the directory of this process was removed while it was made")

// Dir is a directory of this process.
type Dir struct {
	Name string // below the root
	lock *os.File
}

// Make makes a directory below a parent. Its name begins with a prefix.
func Make(root *os.Root, parent, prefix string) (*Dir, error) {
	for range 10 {
		d, err := try(root, path.Join(parent, prefix+strings.ToLower(rand.Text())))
		if !errors.Is(err, errSwept) {
			return d, err
		}
	}
	return nil, errSwept
}

// try makes a directory and takes its lock. Between both, another process may find the
// directory without its lock and remove it.
func try(root *os.Root, name string) (*Dir, error) {
	if err := root.Mkdir(name, 0o700); err != nil {
		return nil, err
	}
	lock, err := root.OpenFile(path.Join(name, LockName), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		_ = root.Remove(name) // the error is told already
		return nil, err
	}
	taken, err := flock.Try(lock)
	if err == nil && !taken || !same(root, lock, path.Join(name, LockName)) {
		_ = lock.Close() // nothing was written
		return nil, errSwept
	}
	return &Dir{name, lock}, nil
}

// same reports whether the name still leads to the open file.
func same(root *os.Root, f *os.File, name string) bool {
	here, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := root.Lstat(name)
	return err == nil && os.SameFile(here, there)
}

// Release releases the lock. The directory is not removed: others may do that from then on.
func (d *Dir) Release() error { return d.lock.Close() }

// Sweep removes the directories of dead processes below a parent whose names begin with a
// prefix. What cannot be removed stays for the next sweep.
func Sweep(root *os.Root, parent, prefix string, now time.Time) {
	for _, name := range Names(root, parent) {
		if strings.HasPrefix(name, prefix) {
			Remove(root, path.Join(parent, name), now)
		}
	}
}

// Remove removes a directory if its process is dead, and reports whether it is gone. The
// lock is held meanwhile, so that two do not remove the same.
func Remove(root *os.Root, name string, now time.Time) bool {
	lock, err := root.OpenFile(path.Join(name, LockName), os.O_RDWR, 0)
	if err != nil {
		info, statErr := root.Lstat(name)
		if !errors.Is(err, fs.ErrNotExist) || statErr != nil || !info.IsDir() || now.Sub(info.ModTime()) < StaleAge {
			return false
		}
		return root.RemoveAll(name) == nil
	}
	defer lock.Close()
	return abandoned(lock, now) && root.RemoveAll(name) == nil
}

// abandoned reports whether the process that holds the lock file has ended; by its age where
// there are no locks that end with it.
func abandoned(f *os.File, now time.Time) bool {
	taken, err := flock.Try(f)
	if err == nil {
		return taken
	}
	info, err := f.Stat()
	return err == nil && now.Sub(info.ModTime()) > StaleAge
}

// Names returns what is in a directory, or nothing.
func Names(root *os.Root, dir string) []string {
	f, err := root.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1)
	return names
}
