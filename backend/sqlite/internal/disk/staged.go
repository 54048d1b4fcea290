package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ontologia/onto"
)

// Staged is a copy under construction. It has a name of its own beside the target, so
// that a partial copy is never seen there.
type Staged struct {
	Path   string // of the copy under construction
	Target string
}

// Stage begins a copy. An existing target is refused, and so are companions without it:
// SQLite would mix their contents into the copy.
func Stage(target string) (*Staged, error) {
	for _, suffix := range append([]string{""}, companions()...) {
		_, err := os.Lstat(target + suffix)
		if err == nil {
			return nil, existsError(target + suffix)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fileError(target, err)
		}
	}
	return NewStaged(target)
}

// NewStaged makes an empty file beside a target.
func NewStaged(target string) (*Staged, error) {
	f, err := os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+".*.tmp")
	if err != nil {
		return nil, fileError(target, err)
	}
	return &Staged{f.Name(), target}, f.Close()
}

func existsError(path string) error {
	return onto.Errorf(onto.Refused, "%s exists and is not overwritten", path).WithHint("name another file, or move that one away")
}

// RoomError finds out whether an error means that the disk is full: the backup API does
// not pass on the operating system's error.
func (s *Staged) RoomError(err error) error {
	f, openErr := os.OpenFile(s.Path, os.O_WRONLY|os.O_APPEND, 0)
	if openErr != nil {
		return err
	}
	_, writeErr := f.Write(make([]byte, 1<<16))
	f.Close()
	if full := fileError(s.Target, writeErr); onto.CodeOf(full) == onto.Full {
		return full
	}
	return err
}

// Publish makes the copy durable and gives it its name, unless that is taken by
// now. It has the permissions of the original.
func (s *Staged) Publish(original string) error {
	if info, err := os.Stat(original); err == nil {
		if err := os.Chmod(s.Path, info.Mode().Perm()); err != nil {
			return fileError(s.Target, err)
		}
	}
	if err := SyncFile(s.Path); err != nil {
		return fileError(s.Target, err)
	}
	err := os.Link(s.Path, s.Target) // unlike a rename it never replaces
	if err != nil && !errors.Is(err, fs.ErrExist) {
		err = s.rename()
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return existsError(s.Target)
	case err != nil:
		return fileError(s.Target, err)
	}
	if err := SyncFile(filepath.Dir(s.Target)); err != nil {
		return errors.Join(fileError(s.Target, err), os.Remove(s.Target))
	}
	return nil
}

// rename is for file systems without links. The empty file reserves the name.
func (s *Staged) rename() error {
	f, err := os.OpenFile(s.Target, os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	f.Close()
	if err := os.Rename(s.Path, s.Target); err != nil {
		return errors.Join(err, os.Remove(s.Target))
	}
	return nil
}

// Discard removes the unpublished copy.
func (s *Staged) Discard() {
	for _, suffix := range append([]string{""}, companions()...) {
		_ = os.Remove(s.Path + suffix) // it may be published, or never have been made
	}
}
