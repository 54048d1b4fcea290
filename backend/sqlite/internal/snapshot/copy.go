package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/disk"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/internal/scratch"
)

// copied is a private copy of a file, with what its WAL or journal had.
type copied struct {
	file string
	of   state
}

func (c *copied) remove() {
	if c == nil {
		return
	}
	for _, suffix := range suffixes() {
		_ = os.Remove(c.file + suffix) // nothing else uses it
	}
}

// errChanged says that the file has changed while it was copied.
var errChanged = errors.New("the file has changed meanwhile")

// dialCopy opens a connection to a private copy of the file.
func (p *Place) dialCopy(ctx context.Context) (*driver.Conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, err := p.state(p.held)
	if err != nil {
		return nil, err
	}
	if p.copy == nil || !p.copy.of.same(s) {
		c, err := p.makeCopy(ctx)
		if err != nil {
			return nil, err
		}
		p.copy.remove() // connections that read it go on doing so
		p.copy = c
	}
	return driver.DialTried(p.copy.file, driver.AccessRead)
}

// makeCopy copies the file, and then what SQLite would read beside it. The lock keeps other
// programs from writing to the file; except in WAL mode, which changes the state.
func (p *Place) makeCopy(ctx context.Context) (_ *copied, err error) {
	f, err := p.lockShared(ctx)
	if err != nil {
		return nil, err
	}
	defer f.release()
	s, err := p.state(f)
	if err == nil && s.live() {
		err = errChanged // a program has opened it meanwhile
	}
	if err != nil {
		return nil, err
	}
	// A program with a transaction under way has changed nothing in the file yet, since it
	// would need the file for itself. Its journal says what the file has anyway, and changes.
	writing, err := f.reserved()
	if err != nil {
		return nil, p.ScratchError(err)
	}
	dir, err := p.tempDir()
	if err != nil {
		return nil, err
	}
	p.copies++
	made := &copied{filepath.Join(dir, fmt.Sprintf("copy-%d.db", p.copies)), s}
	defer func() {
		if err != nil {
			made.remove()
		}
	}()
	if err := p.writeCopy(ctx, io.NewSectionReader(f, 0, 1<<62), made.file); err != nil {
		return nil, err
	}
	for _, i := range []int{ofWAL, ofJournal} {
		if i == ofWAL || !writing && s.sizes[ofJournal] >= 0 {
			err = p.copyBeside(ctx, made, suffixes()[i])
		}
		if err != nil {
			return nil, err
		}
	}
	now, err := p.state(f)
	if writing || s.sizes[ofJournal] < 0 {
		now.sizes[ofJournal], now.times[ofJournal] = s.sizes[ofJournal], s.times[ofJournal]
	}
	if err == nil && !now.same(s) {
		err = errChanged
	}
	if err != nil {
		return nil, err
	}
	if err = p.recover(made); err != nil {
		return nil, err
	}
	return made, nil
}

// copyBeside copies a companion, if there is one.
func (p *Place) copyBeside(ctx context.Context, c *copied, suffix string) error {
	f, err := os.Open(p.file + suffix)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return p.ScratchError(err)
	}
	defer f.Close()
	return p.writeCopy(ctx, f, c.file+suffix)
}

// writeCopy copies to a file of its own.
func (p *Place) writeCopy(ctx context.Context, from io.Reader, to string) error {
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return p.ScratchError(err)
	}
	for err == nil {
		if err = ctx.Err(); err != nil {
			break
		}
		_, err = io.CopyN(out, from, 4<<20)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err := errors.Join(err, out.Close()); err != nil {
		return p.ScratchError(err)
	}
	return nil
}

// recover brings into the copy what its WAL or journal has, so that it stays as it is from
// then on.
func (p *Place) recover(c *copied) error {
	cut, err := disk.FindCutOff(c.file + "-wal")
	if err != nil {
		return p.ScratchError(err)
	}
	if cut.Commits > 0 {
		return onto.Errorf(onto.Corrupt, "%s: %s", p.Path, cut).
			WithHint("copy FILE and FILE-wal to a safe place first; then open the file with its own program once, which goes on without what is cut off")
	}
	w, err := driver.Dial(c.file, driver.AccessWrite, 0)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := w.Script(`PRAGMA synchronous = OFF`); err != nil {
		return err
	}
	if _, err := w.QueryInt(`SELECT count(*) FROM sqlite_master`); err != nil {
		return err
	}
	return w.Script(`PRAGMA journal_mode = DELETE`)
}

// waitForWriter is how long a writer of the file is waited for.
const waitForWriter = 10 * time.Second

// lockShared takes SQLite's SHARED lock on the file.
func (p *Place) lockShared(ctx context.Context) (d *descriptor, err error) {
	if p.held == nil {
		if p.held, err = descriptors.open(p.file); err != nil {
			return nil, onto.Errorf(onto.Unavailable, "%s: %w", p.Path, err).WithHint("check the permissions")
		}
	}
	if !p.isFile(p.held.info) {
		return nil, onto.Errorf(onto.Unavailable, "%s: the file was replaced while it was open", p.Path).WithHint("start again")
	}
	pause := driver.WaitUntil(time.Now().Add(waitForWriter))
	for {
		locked, err := p.held.share()
		if err == nil && !locked {
			err = pause.Pause(ctx, func() error {
				return onto.Errorf(onto.Unavailable, "%s: another program is writing to it, and does not end", p.Path).WithHint("try again later")
			})
		}
		switch {
		case err != nil && onto.CodeOf(err) == "" && ctx.Err() == nil:
			return nil, onto.Errorf(onto.Unavailable, "%s: %w", p.Path, err).WithHint("copy the file to a disk of this machine first")
		case err != nil:
			return nil, err
		case locked:
			return p.held, nil
		}
	}
}

func (p *Place) isFile(info os.FileInfo) bool {
	now, err := os.Stat(p.file)
	return err == nil && os.SameFile(now, info)
}

// tempPrefix is that of directories with private copies.
const tempPrefix = "onto-source-"

// TempDir is a directory for private copies, and for other temporary files about the file.
// It is made when it is first asked for, and Close removes it. If this process is killed, the
// next one that makes such a directory at the same place removes it.
func (p *Place) TempDir() (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tempDir()
}

// tempDir is TempDir for a caller that holds mu.
func (p *Place) tempDir() (string, error) {
	if p.temp != nil {
		return p.tempPath, nil
	}
	parent := p.scratch
	if parent == "" {
		parent = os.TempDir()
	}
	parent, err := filepath.Abs(parent)
	if err != nil {
		return "", p.ScratchError(err)
	}
	root, err := os.OpenRoot(parent)
	if err != nil {
		return "", p.ScratchError(err)
	}
	defer root.Close()
	scratch.Sweep(root, ".", tempPrefix, time.Now())
	if p.temp, err = scratch.Make(root, ".", tempPrefix); err != nil {
		return "", p.ScratchError(err)
	}
	p.tempPath = filepath.Join(parent, p.temp.Name)
	return p.tempPath, nil
}

// ScratchError gives an error about temporary files its code.
func (p *Place) ScratchError(err error) error {
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		return onto.Errorf(onto.Full, "no room left for a private copy of %s: %w", p.Path, err).
			WithHint("free disk space, or name another directory for temporary files: TMPDIR, or the setting cache_dir")
	}
	return onto.Errorf(onto.Unavailable, "cannot make a private copy of %s: %w", p.Path, err).
		WithHint("name a directory for temporary files that this user can write: TMPDIR, or the setting cache_dir")
}
