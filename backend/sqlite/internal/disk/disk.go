// Package disk is a store's files: where they lie, whether there is room, what the WAL
// holds and what is durable.
package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ontologia/onto"
)

// companions are the files that SQLite keeps beside its own.
func companions() []string { return []string{"-wal", "-shm", "-journal"} }

// Place is where a store lies.
type Place struct {
	Path  string      // as given, for messages
	File  string      // absolute, with symbolic links resolved
	Inode os.FileInfo // of the file when it was opened; nil before that
}

// Find finds the file itself. Readers open it later, when the process may
// be in another directory, and SQLite keeps the WAL beside the file and not
// beside a link to it.
func Find(path string, mustExist bool) (*Place, error) {
	p := &Place{Path: path}
	if path == "" {
		return p, onto.Errorf(onto.Invalid, "the path of the store is empty").WithHint("name a file")
	}
	var err error
	if p.File, err = filepath.Abs(path); err != nil {
		return p, err
	}
	if target, err := filepath.EvalSymlinks(p.File); err == nil {
		p.File = target
	}
	return p, p.check(mustExist)
}

// check gives common mistakes with paths their own messages.
func (p *Place) check(mustExist bool) error {
	info, err := os.Stat(p.File)
	switch {
	case errors.Is(err, fs.ErrNotExist) && mustExist:
		return onto.Errorf(onto.Uninitialized, "%s: there is no store here", p.Path).
			WithHint("make one").WithCommand("init", "--db", p.Path)
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(filepath.Dir(p.File)); err != nil {
			return onto.Errorf(onto.Uninitialized, "%s: the directory does not exist: %w", p.Path, err).
				WithHint("make the directory first")
		}
		return nil
	case err != nil:
		return onto.Errorf(onto.ReadOnly, "%s: %w", p.Path, err).WithHint("check the permissions")
	case info.IsDir():
		return onto.Errorf(onto.Unsupported, "%s: this is a directory, not a file", p.Path).
			WithHint("name a file in it")
	case !info.Mode().IsRegular():
		return onto.Errorf(onto.Unsupported, "%s: this is not a regular file but %s", p.Path, fileType(info.Mode())).WithHint("name another file")
	case info.Size() == 0 && mustExist:
		return onto.Errorf(onto.Uninitialized, "%s: the file is empty", p.Path).
			WithHint("make a store in it").WithCommand("init", "--db", p.Path)
	}
	return p.checkCompanions()
}

// checkCompanions refuses companions on which SQLite would block, or that lead
// elsewhere.
func (p *Place) checkCompanions() error {
	for _, suffix := range companions() {
		info, err := os.Lstat(p.File + suffix)
		if err == nil && !info.Mode().IsRegular() {
			return onto.Errorf(onto.Unsupported, "%s: this is not a regular file but %s", p.Path+suffix, fileType(info.Mode())).
				WithHint("SQLite keeps a file of its own there: find out who has put that in its place")
		}
	}
	return nil
}

// fileType names what is not a regular file.
func fileType(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// SameFile fails if the file was removed or replaced since it was opened: what
// is written would be lost, or mixed into another store.
func (p *Place) SameFile() error {
	if p.Inode == nil {
		return nil
	}
	if now, err := os.Stat(p.File); err != nil || !os.SameFile(p.Inode, now) {
		return onto.Errorf(onto.Unavailable, "%s: the file was removed or replaced while it was open", p.Path).
			WithHint("close the store and open it again")
	}
	return nil
}

// Opened records the identity of the file that was opened.
func (p *Place) Opened() (err error) {
	p.Inode, err = os.Stat(p.File)
	return err
}

// fileError gives an error of the file system its code.
func fileError(path string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		return onto.Errorf(onto.Full, "%s: no room left to write: %w", path, err).WithHint("free disk space; nothing was kept")
	case errors.Is(err, fs.ErrNotExist):
		return onto.Errorf(onto.Uninitialized, "%s: the directory does not exist: %w", path, err).WithHint("make the directory first")
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return onto.Errorf(onto.ReadOnly, "%s: %w", path, err).WithHint("check the permissions of the directory")
	}
	return onto.Errorf(onto.Unavailable, "%s: %w", path, err)
}
