package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
)

// SQLite keeps two companions beside a file: the WAL, and its index, which other
// connections share. Even a reader makes both if they are missing. On a full disk that
// fails half way and leaves an index of three bytes. So it is tried only where both
// fit. Otherwise the file is read without them.

// indexSize is what the first part of the index takes.
const indexSize = 32 << 10

// CompanionsFit fails with Full if there is no room for the companions. An index of
// full size is left as it is: it has the room already.
func (p *Place) CompanionsFit() error {
	if size, err := FileSize(p.File + "-shm"); err != nil || size >= indexSize {
		return nil // SQLite reports any other problem better
	}
	err := tryRoom(p.File, indexSize)
	if err = fileError(p.Path, err); onto.CodeOf(err) != onto.Full {
		return nil
	}
	return onto.Errorf(onto.Full, "the files that SQLite keeps beside the store do not fit: %w", err).
		WithHint("free disk space; until then the store can be read, but not written")
}

// tryRoom writes so many bytes to an unnamed file.
func tryRoom(beside string, size int) error {
	f, err := os.CreateTemp(filepath.Dir(beside), "."+filepath.Base(beside)+".*.tmp")
	if err != nil {
		return err
	}
	if err := os.Remove(f.Name()); err != nil {
		return errors.Join(err, f.Close())
	}
	_, err = f.Write(make([]byte, size))
	return errors.Join(err, f.Close())
}

// DialReadOnly opens a connection that never writes to the file. If SQLite
// cannot make the companions, because there is no room or the directory cannot
// be written, the file is read without them.
func (p *Place) DialReadOnly() (*driver.Conn, error) {
	err := p.CompanionsFit()
	if err == nil {
		var c *driver.Conn
		if c, err = driver.DialTried(p.File, driver.AccessRead); err == nil {
			return c, nil
		}
	}
	c, plainErr := p.dialWithout()
	if plainErr != nil {
		return nil, err
	}
	return c, nil
}

// dialWithout opens a file without making companions. If the WAL holds something,
// SQLite makes an index of it in memory for each connection, provided that the file of
// the index is there, whatever it holds. Otherwise the file is opened as immutable.
func (p *Place) dialWithout() (*driver.Conn, error) {
	if p.holds("-wal") {
		if err := p.touchIndex(); err != nil {
			return nil, err
		}
		return driver.DialTried(p.File, driver.AccessIndexless)
	}
	before, err := os.Stat(p.File)
	if err != nil {
		return nil, err
	}
	if p.holds("-journal") {
		return nil, onto.Unavailable // SQLite has to roll back a transaction first
	}
	c, err := driver.DialTried(p.File, driver.AccessImmutable)
	if err != nil {
		return nil, err
	}
	c.Stale = func() bool { return p.changedSince(before) }
	return c, nil
}

// Holds reports whether a companion exists and is not empty.
func (p *Place) Holds(suffix string) bool { return p.holds(suffix) }

// changedSince reports whether the file, or a WAL that counts, has changed.
func (p *Place) changedSince(before os.FileInfo) bool {
	now, err := os.Stat(p.File)
	if err != nil {
		return true
	}
	return p.holds("-wal") || p.holds("-journal") || !same(before, now)
}

func same(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// holds reports whether a companion exists and is not empty.
func (p *Place) holds(suffix string) bool {
	size, err := FileSize(p.File + suffix)
	return err != nil || size > 0
}

// touchIndex makes an empty file of the index if there is none. It stays: another
// process may have it open by now, and all have to share one. It is closed before it
// gets its name: closing it later would end locks of this process.
func (p *Place) touchIndex() error {
	if _, err := os.Lstat(p.File + "-shm"); err == nil {
		return nil
	}
	info, err := os.Stat(p.File)
	if err != nil {
		return err
	}
	st, err := NewStaged(p.File)
	if err != nil {
		return err
	}
	defer st.Discard()
	if err := os.Chmod(st.Path, info.Mode().Perm()); err != nil {
		return err
	}
	if err := os.Link(st.Path, p.File+"-shm"); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// FileSize is the size of a file; 0 if there is none.
func FileSize(path string) (int64, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
