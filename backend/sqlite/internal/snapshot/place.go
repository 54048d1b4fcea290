// Package snapshot opens SQLite files of other programs for reading. It never changes a byte
// of a file, nor of what SQLite keeps beside it, and leaves nothing there.
package snapshot

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/internal/backoff"
	"github.com/ontologia/onto/internal/scratch"
)

// SQLite keeps companions beside a file, and even a connection that only reads makes them:
// a WAL and its index where the file is in WAL mode, and it rolls back what a journal has.
// So the file is read where it lies only while both WAL and index are there, which is so
// while another program has it open, and then without writing to the index. Otherwise a
// private copy is read.

// Place is where a file lies.
type Place struct {
	Path    string // as given, for messages
	file    string // absolute, with symbolic links resolved: SQLite keeps companions beside the file, not beside a link
	scratch string // directory for private copies

	mu       sync.Mutex   // guards what follows
	held     *descriptor  // of the file; nil unless a copy was made
	temp     *scratch.Dir // for temporary files; nil if there were none
	tempPath string       // of temp
	copy     *copied      // the newest private copy; nil for none
	copies   int          // how many were begun
}

// Find finds a file, and gives common mistakes with paths their own messages. Private copies
// of it are made in the scratch directory; "" for that of the system.
func Find(path, scratch string) (*Place, error) {
	p := &Place{Path: path, scratch: scratch}
	if path == "" {
		return nil, onto.Errorf(onto.Invalid, "the path of the source is empty").WithHint("name a file")
	}
	file, err := filepath.Abs(path)
	if err == nil {
		if target, err := filepath.EvalSymlinks(file); err == nil {
			file = target
		}
		p.file = file
		var info os.FileInfo
		if info, err = os.Stat(file); err == nil {
			err = regular(path, info)
		}
	}
	for _, suffix := range suffixes()[ofWAL:] {
		if info, e := os.Lstat(file + suffix); e == nil && err == nil {
			err = regular(path+suffix, info)
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, onto.Errorf(onto.Uninitialized, "%s: there is no such file", path).WithHint("name a file")
	case err != nil && onto.CodeOf(err) == "":
		return nil, onto.Errorf(onto.Unavailable, "%s: %w", path, err).WithHint("check the permissions")
	}
	return p, err
}

// regular refuses what SQLite would block on, or what leads elsewhere.
func regular(path string, info os.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return onto.Errorf(onto.Unsupported, "%s: this is not a regular file but %s", path, info.Mode().Type()).WithHint("name a file")
}

// Close releases what the place holds. All connections from Dial must be closed first.
func (p *Place) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.copy = nil
	if p.temp != nil {
		_ = p.temp.Release()         // another process may remove it from now on
		_ = os.RemoveAll(p.tempPath) // nothing else uses it
		p.temp = nil
	}
	if p.held != nil {
		descriptors.leave(p.held)
		p.held = nil
	}
	return nil
}

// state is what tells whether a file and its companions have changed.
type state struct {
	sizes [4]int64 // of the file, its WAL, index and journal; -1 for none
	times [4]time.Time
	inode os.FileInfo
	salts string // of the WAL
	count string // what SQLite counts changes of the file with; "" if it was not read
}

const (
	ofFile = iota
	ofWAL
	ofIndex
	ofJournal
)

// suffixes are those of the file and its companions.
func suffixes() []string { return []string{"", "-wal", "-shm", "-journal"} }

// state is that of now. The file is for reading what SQLite counts changes with, since times
// are too coarse to tell two changes apart; nil if it is not open.
func (p *Place) state(file *descriptor) (state, error) {
	var s state
	for i, suffix := range suffixes() {
		info, err := os.Stat(p.file + suffix)
		switch {
		case errors.Is(err, fs.ErrNotExist) && suffix != "":
			s.sizes[i] = -1
			continue
		case err != nil:
			return s, onto.Errorf(onto.Unavailable, "%s: %w", p.Path, err).WithHint("the file was there before: find out who has moved it")
		}
		s.sizes[i], s.times[i] = info.Size(), info.ModTime()
		if i == ofFile {
			s.inode = info
		}
	}
	if file != nil {
		var header [100]byte
		n, _ := file.ReadAt(header[:], 0) // a short one is compared as it is
		s.count = string(header[:n])
	}
	salts, err := readSalts(p.file + "-wal")
	s.salts = salts
	return s, err
}

// readSalts reads what changes whenever the WAL begins anew. SQLite takes no locks on the
// WAL, so it can be opened and closed here.
func readSalts(path string) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", onto.Errorf(onto.Unavailable, "%s: %w", path, err).WithHint("check the permissions")
	}
	defer f.Close()
	var header [32]byte
	n, _ := f.ReadAt(header[:], 0) // a short one is compared as it is
	return string(header[:n]), nil
}

// same reports whether nothing has changed. The index changes with every reader.
func (s state) same(other state) bool {
	for _, i := range []int{ofFile, ofWAL, ofJournal} {
		if s.sizes[i] != other.sizes[i] || !s.times[i].Equal(other.times[i]) {
			return false
		}
	}
	return s.salts == other.salts && s.count == other.count && (s.sizes[ofIndex] < 0) == (other.sizes[ofIndex] < 0) && os.SameFile(s.inode, other.inode)
}

// live reports whether the file can be read where it lies.
func (s state) live() bool { return s.sizes[ofWAL] >= 0 && s.sizes[ofIndex] >= 0 }

// isStill reports whether the file is as it was.
func (p *Place) isStill(before state) bool {
	now, err := p.state(nil)
	return err == nil && now.same(before)
}

// settled reports whether there is nothing in a WAL or journal.
func (s state) settled() bool { return s.sizes[ofWAL] <= 0 && s.sizes[ofJournal] <= 0 }

// A file that other programs open, close or recover all the time is tried again for as long
// as settling. One that looks damaged is tried again only if it has changed meanwhile, and
// not more often than mostDamaged.
const (
	settling    = 20 * time.Second
	mostDamaged = 10
)

// Dial opens a connection to the file as it is now. Live says that it is read where it lies,
// so that it may change between two transactions.
func (p *Place) Dial(ctx context.Context) (c *driver.Conn, live bool, err error) {
	return p.Begin(ctx, func(*driver.Conn) error { return nil })
}

// Begin is Dial with a function that begins to read. The function is called again, with
// another connection, if SQLite cannot read while another program opens or closes the file.
func (p *Place) Begin(ctx context.Context, begin func(c *driver.Conn) error) (c *driver.Conn, live bool, err error) {
	pause := backoff.Backoff{First: time.Millisecond, Longest: 50 * time.Millisecond, Until: time.Now().Add(settling)}
	for damaged := 0; ; {
		s, err := p.state(nil)
		if err != nil {
			return nil, false, err
		}
		if live = s.live(); live { // an error may mean that it no longer is
			c, err = driver.DialTried(p.file, driver.AccessIndexless)
		} else {
			c, err = p.dialCopy(ctx)
		}
		begun := err == nil
		if begun {
			if err = begin(c); err == nil {
				return c, live, nil
			}
			c.Close()
		}
		switch {
		case errors.Is(err, errChanged):
		case !live, begun && (onto.CodeOf(err) != "" || !driver.MayPass(err)):
			return nil, false, err
		case !driver.MayPass(err):
			if damaged++; damaged >= mostDamaged || p.isStill(s) {
				return nil, false, err
			}
		}
		last := err
		err = pause.Pause(ctx, func() error {
			return onto.Errorf(onto.Unavailable, "%s: it cannot be read while another program uses it: %w", p.Path, last).
				WithHint("try again, or let that program finish first")
		})
		if err != nil {
			return nil, false, err
		}
	}
}

// Look calls look with a connection for reading the schema. A file without WAL and journal is
// read in place. Otherwise look is called first without their contents, and may report that
// it has seen enough. That also saves the wait for the index of a WAL that a crash has left
// behind: SQLite takes it for one that another program is about to bring up to date.
func (p *Place) Look(ctx context.Context, look func(c *driver.Conn) (enough bool, err error)) error {
	before, err := p.state(nil)
	if err != nil {
		return err
	}
	enough := false
	var c *driver.Conn
	if c, err = driver.DialTried(p.file, driver.AccessImmutable); err == nil {
		enough, err = look(c)
		c.Close()
	}
	if err == nil && enough {
		return nil
	}
	if !before.live() && before.settled() && p.isStill(before) {
		return err
	}
	c, _, err = p.Begin(ctx, func(c *driver.Conn) error {
		_, err := look(c)
		return err
	})
	if err != nil {
		return err
	}
	return c.Close()
}
