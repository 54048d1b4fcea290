package records

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/ontologia/onto"
)

// File is a file that appears under its name only when it is complete. Until then its
// contents are in another file beside it.
type File struct {
	path  string // what it will be
	temp  string // where it is; "" if it is written in place
	force bool
	f     *os.File
}

// Create starts a file. An existing one is left alone, and the call fails unless force
// is set. Anything but a regular file, like a pipe or a terminal, is written in place.
func Create(path string, force bool) (*File, error) {
	info, err := os.Stat(path)
	mode, real := fs.FileMode(0o666), path
	switch {
	case err != nil: // creating it reports why
	case info.IsDir():
		return nil, onto.Errorf(onto.Invalid, "%s: is a directory", path).WithHint("name a file in it")
	case !info.Mode().IsRegular():
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, fileError(path, err)
		}
		return &File{path: path, f: f}, nil
	case !force:
		return nil, taken(path)
	default:
		if isDatabase(path) {
			return nil, onto.Errorf(onto.Invalid, "%s: is a database, which an export never replaces", path).WithHint("name another file")
		}
		mode = info.Mode().Perm()
		if real, err = filepath.EvalSymlinks(path); err != nil { // a link stays one
			return nil, fileError(path, err)
		}
	}
	temp := filepath.Join(filepath.Dir(real), ".onto-"+rand.Text()[:12]+".tmp")
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, fileError(path, err)
	}
	return &File{path: real, temp: temp, force: force, f: f}, nil
}

// isDatabase reports whether a file is a SQLite database, or one of the two that
// lie beside it: a store could be lost.
func isDatabase(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	begin := make([]byte, 16)
	n, _ := io.ReadFull(f, begin)
	for _, magic := range []string{"SQLite format 3\x00", "\x37\x7f\x06\x82", "\x37\x7f\x06\x83", "\x18\xe2\x2d\x00"} {
		if strings.HasPrefix(string(begin[:n]), magic) {
			return true
		}
	}
	return false
}

func taken(path string) error {
	return onto.Errorf(onto.Invalid, "%s: exists already", path).WithHint("name another file, or replace it with --force")
}

// Write adds to the file.
func (f *File) Write(p []byte) (int, error) {
	n, err := f.f.Write(p)
	return n, fileError(f.path, err)
}

// Keep makes the file durable and gives it its name.
func (f *File) Keep() error {
	if f.temp == "" {
		return fileError(f.path, f.f.Close())
	}
	err := f.f.Sync()
	if closeErr := f.f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = f.rename()
	}
	if err != nil {
		f.Discard()
		return fileError(f.path, err)
	}
	f.temp = ""
	return fileError(f.path, syncFolder(filepath.Dir(f.path)))
}

// rename gives the file its name, which must still be free.
func (f *File) rename() error {
	if f.force {
		return os.Rename(f.temp, f.path)
	}
	err := os.Link(f.temp, f.path)
	if errors.Is(err, fs.ErrExist) {
		return taken(f.path)
	}
	if err == nil {
		return os.Remove(f.temp)
	}
	if _, err := os.Lstat(f.path); err == nil { // not every file system has links
		return taken(f.path)
	}
	return os.Rename(f.temp, f.path)
}

// syncFolder makes a new name durable, where folders can be synced.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer folder.Close()
	if err := folder.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}

// Discard removes what was written. After Keep it does nothing.
func (f *File) Discard() {
	f.f.Close()
	if f.temp != "" {
		os.Remove(f.temp)
	}
}

// fileError says what is wrong with a file under the name it will have.
func fileError(path string, err error) error {
	var at *fs.PathError
	var link *os.LinkError
	switch {
	case err == nil || onto.CodeOf(err) != "":
		return err
	case errors.As(err, &at):
		err = at.Err
	case errors.As(err, &link):
		err = link.Err
	}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		return onto.Errorf(onto.Full, "%s: no room left: %w", path, err).WithHint("free disk space, or pack it: name it %s%s", path, packed)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return onto.Errorf(onto.Invalid, "%s: the directory does not exist", path).WithHint("make it first")
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return onto.Errorf(onto.Invalid, "%s: cannot be written: %w", path, err).WithHint("name a file where you may write")
	}
	return onto.Errorf(onto.Unavailable, "%s: %w", path, err)
}
