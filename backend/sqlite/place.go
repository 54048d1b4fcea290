package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ontologia/onto"
)

// place is where a store lies.
type place struct {
	path  string      // as given, for messages
	file  string      // the file itself: whole and free of links
	inode os.FileInfo // of the file when it was opened; nil before that
}

// findPlace finds the file itself. Readers open it later, when the process may
// be in another directory, and SQLite keeps the WAL beside the file and not
// beside a link to it.
func findPlace(path string, mustExist bool) (*place, error) {
	p := &place{path: path}
	if path == "" {
		return p, onto.Errorf(onto.Invalid, "the path of the store is empty").WithHint("name a file")
	}
	var err error
	if p.file, err = filepath.Abs(path); err != nil {
		return p, err
	}
	if target, err := filepath.EvalSymlinks(p.file); err == nil {
		p.file = target
	}
	return p, p.check(mustExist)
}

// check gives the usual mistakes with paths their own messages.
func (p *place) check(mustExist bool) error {
	info, err := os.Stat(p.file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && mustExist:
		return onto.Errorf(onto.Uninitialized, "%s: there is no store here", p.path).
			WithHint("make one with: onto init --db %s", p.path)
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(filepath.Dir(p.file)); err != nil {
			return onto.Errorf(onto.Uninitialized, "%s: the directory does not exist: %w", p.path, err).
				WithHint("make the directory first")
		}
		return nil
	case err != nil:
		return onto.Errorf(onto.ReadOnly, "%s: %w", p.path, err).WithHint("check the permissions")
	case info.IsDir():
		return onto.Errorf(onto.Unsupported, "%s: this is a directory, not a file", p.path).
			WithHint("name a file in it")
	case !info.Mode().IsRegular():
		return onto.Errorf(onto.Unsupported, "%s: this is not a regular file but %s", p.path, fileType(info.Mode())).WithHint("name another file")
	case info.Size() == 0 && mustExist:
		return onto.Errorf(onto.Uninitialized, "%s: the file is empty", p.path).
			WithHint("make a store in it with: onto init --db %s", p.path)
	}
	return p.checkCompanions()
}

// checkCompanions refuses files beside the store that SQLite would wait for, or
// that lead it elsewhere.
func (p *place) checkCompanions() error {
	for _, suffix := range companions() {
		info, err := os.Lstat(p.file + suffix)
		if err == nil && !info.Mode().IsRegular() {
			return onto.Errorf(onto.Unsupported, "%s: this is not a regular file but %s", p.path+suffix, fileType(info.Mode())).
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

// sameFile fails if the file was removed or replaced since it was opened: what
// is written would be lost, or mixed into another store.
func (p *place) sameFile() error {
	if p.inode == nil {
		return nil
	}
	if now, err := os.Stat(p.file); err != nil || !os.SameFile(p.inode, now) {
		return onto.Errorf(onto.Unavailable, "%s: the file was removed or replaced while it was open", p.path).
			WithHint("close the store and open it again")
	}
	return nil
}

// opened notes which file it is that was opened.
func (p *place) opened() (err error) {
	p.inode, err = os.Stat(p.file)
	return err
}
