package flock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/ontologia/onto/internal/backoff"
)

// Line is a queue of processes that want the same resource one after the other. It
// gives an order and is no lock: the resource has a lock or a condition of its own, and
// a process that cannot join the line continues without it.
//
// A place in the line is a lock on a part of the line's file, behind the parts that are
// locked already. A waiter asks the system which places before its own are still
// locked. The system ends the lock of a process that dies, so there are no orphaned
// places. Waiters poll when they expect to be first, and the second polls often:
// releasing the first place wakes one process, not all.
//
// A process that is stopped while it is first delays the others for a part of their
// patience, then they skip it.
type Line struct {
	Path string      // of the file; the first process that joins makes it
	Mode os.FileMode // of the file when it is made; 0 for 0666 less the umask
	Keep bool        // the file stays; otherwise the last process removes it
}

const (
	// Patiences is how many times its patience a process stays in a line at most.
	Patiences = 10
	// stillParts is the part of the patience after which a first that does not move is
	// skipped.
	stillParts = 5

	joinTries   = 100 // each of which fails only if the file is just being removed
	shortPause  = 250 * time.Microsecond
	longPause   = 100 * time.Millisecond
	pauseGrowth = 4 // how often the pause of the second doubles while the first stays
)

// maxNumber is larger than the number of any place. Numbers begin with 1, and begin
// anew when the line was empty.
const maxNumber = 1 << 30

// Place is a place in a line. It serves one goroutine at a time.
type Place struct {
	line   *Line
	f      *os.File
	number int64

	patience   time.Duration
	joined     time.Time
	until, end time.Time // when patience ends if no process is served, and when it ends in any case
	began      record    // when it joined
	seen       record    // when patience was last renewed

	passed int64 // places up to this one are skipped: they do not move
	first  int64 // that was seen last
	since  time.Time
	looks  int   // that saw the same first
	origin int64 // the first that was seen first
}

// Strict reports whether the first in the line insists on its turn. Then a new process
// must join the line; otherwise it may try for the resource at once, since waking a
// sleeping process for each turn would waste much of the time. After the first was
// killed the line may stay strict until the next is served.
func (l *Line) Strict() bool {
	info, err := os.Lstat(l.Path)
	return err == nil && info.Size() > recordSize
}

// Insist makes the line strict until the next is served.
func (p *Place) Insist() {
	_, _ = p.f.WriteAt([]byte("!"), recordSize) // without it the first waits longer
}

// Join takes the last place. Its deadline is until, extended by the patience each time
// that a process was served by then, up to [Patiences] times. Join does not wait. It
// fails where no file can be made or locked.
func (l *Line) Join(until time.Time, patience time.Duration) (*Place, error) {
	if !hasPlaces {
		return nil, errors.ErrUnsupported
	}
	for range joinTries {
		f, number, err := l.take()
		if err != nil {
			return nil, fmt.Errorf("join the line %s: %w", l.Path, err)
		}
		if f == nil {
			time.Sleep(shortPause) // the file is being removed
			continue
		}
		p := &Place{line: l, f: f, number: number, patience: patience, joined: time.Now(), until: until, end: until.Add((Patiences - 1) * patience)}
		p.began = p.read()
		p.seen = p.began
		return p, nil
	}
	return nil, fmt.Errorf("join the line %s: its file was removed %d times", l.Path, joinTries)
}

// take locks the last place. It returns no file if the file is gone, or about to be.
func (l *Line) take() (*os.File, int64, error) {
	f, err := l.open()
	if err != nil {
		return nil, 0, err
	}
	number, err := takeLast(f)
	if err == nil && number > 0 && !l.Keep && !isAt(f, l.Path) {
		number = 0
	}
	if err != nil || number == 0 {
		f.Close()
		return nil, 0, err
	}
	return f, number, nil
}

// open opens the file. It must be a plain file: others may have put something else
// there.
func (l *Line) open() (*os.File, error) {
	f, err := os.OpenFile(l.Path, os.O_RDWR|plainFile, 0)
	if errors.Is(err, os.ErrNotExist) {
		mode := l.Mode
		if mode == 0 {
			mode = 0o666
		}
		f, err = os.OpenFile(l.Path, os.O_RDWR|os.O_CREATE|plainFile, mode)
		if err == nil && l.Mode != 0 {
			_ = f.Chmod(mode) // if it cannot be changed, some processes continue without the line
		}
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no regular file")
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// isAt reports whether an open file is the one at a path.
func isAt(f *os.File, path string) bool {
	here, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(here, there)
}

// takeLast locks the place behind all others and returns its number; 0 if the whole
// file is locked, because it is about to be removed.
func takeLast(f *os.File) (int64, error) {
	for range joinTries {
		number, err := afterLast(f)
		if err != nil || number == maxNumber {
			return 0, err
		}
		if done, err := lockPlace(f, number); done || err != nil {
			return number, err
		}
	}
	return 0, nil
}

// afterLast is the number after the last place that is taken.
func afterLast(f *os.File) (int64, error) {
	if _, taken, err := placeIn(f, 1, maxNumber); !taken || err != nil {
		return 1, err
	}
	var failed error
	n := sort.Search(maxNumber, func(n int) bool {
		_, taken, err := placeIn(f, int64(n), maxNumber)
		failed = errors.Join(failed, err)
		return !taken
	})
	return int64(n), failed
}

// taken is a place that another process has.
type taken struct {
	number int64
	pid    int
}

// ahead returns the first place before this one, except for skipped ones.
func (p *Place) ahead() (first taken, found bool) { return p.firstFrom(p.passed + 1) }

// firstFrom returns the first place from a number on and before this one. If the system
// does not answer there is none: the place counts as first.
func (p *Place) firstFrom(number int64) (first taken, found bool) {
	for before := p.number; ; {
		other, ok, err := placeIn(p.f, number, before)
		if err != nil || !ok {
			return first, found
		}
		first, found, before = other, true, other.number
	}
}

// First reports whether the place is the first.
func (p *Place) First() bool {
	_, found := p.ahead()
	return !found
}

// Wait waits until the place is the first. It fails when the context ends, and with a
// [*LateError] at the deadline.
func (p *Place) Wait(ctx context.Context) error {
	for {
		first, found := p.ahead()
		if !found {
			return ctx.Err()
		}
		if err := p.Late(); err != nil {
			return err
		}
		if p.notice(first.number); time.Since(p.since) > p.patience/stillParts {
			p.passed = first.number
			continue
		}
		if err := backoff.Sleep(ctx, min(p.pause(), time.Until(p.until))); err != nil {
			return err
		}
	}
}

// notice records which place is the first.
func (p *Place) notice(first int64) {
	if p.origin == 0 {
		p.origin = first
	}
	if p.looks++; p.first != first {
		p.first, p.since, p.looks = first, time.Now(), 0
	}
}

// pause is how long to wait before the next poll: half of the estimated time until the
// place becomes the first. The second polls often.
func (p *Place) pause() time.Duration {
	between := p.number - p.first - 1
	if between <= 0 {
		return shortPause << min(p.looks, pauseGrowth)
	}
	each := 2 * time.Millisecond
	if moved := p.first - p.origin; moved > 0 {
		each = time.Since(p.joined) / time.Duration(moved)
	}
	return min(max(time.Duration(between)*each/2, 2*shortPause), longPause)
}

// Late returns a [*LateError] after the deadline. A process that is first and waits for
// the resource itself calls it.
func (p *Place) Late() error {
	now := time.Now()
	if now.Before(p.until) {
		return nil
	}
	if last := p.read(); last.served != p.seen.served && now.Before(p.end) {
		p.seen, p.until = last, earlier(now.Add(p.patience), p.end)
		return nil
	}
	return p.late()
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// Followed reports whether there are places behind this one.
func (p *Place) Followed() bool {
	_, found, err := placeIn(p.f, p.number+1, maxNumber)
	return found && err == nil
}

// Served tells the others that the process has got the resource.
func (p *Place) Served() {
	now := p.read()
	_, _ = p.f.WriteAt(record{now.served + 1, os.Getpid()}.encode(), 0) // without it the others have less patience
	if info, err := p.f.Stat(); err == nil && info.Size() > recordSize {
		_ = p.f.Truncate(recordSize) // the line is not strict any more
	}
}

// Leave gives up the place.
func (p *Place) Leave() {
	if !p.line.Keep {
		unlock(p.f)                                   // first: of two that leave together one finds the line empty
		if lockWhole(p.f) && isAt(p.f, p.line.Path) { // no process can join this file any more
			_ = os.Remove(p.line.Path) // if it stays, it counts as an empty line
		}
	}
	p.f.Close()
}

// record is what the file says: how many were served, and the last of them. It
// distinguishes a line that moves from one whose waiters give up.
type record struct {
	served int64
	pid    int
}

const (
	recordForm = "%d served, the last was process %d\n"
	recordSize = 64
)

func (r record) encode() []byte {
	text := fmt.Sprintf(recordForm, r.served, r.pid)
	return []byte(strings.Repeat(" ", max(0, recordSize-len(text))) + text)
}

// read returns the record. One that cannot be read is empty.
func (p *Place) read() (r record) {
	text := make([]byte, recordSize)
	n, _ := p.f.ReadAt(text, 0)
	if n == 0 {
		return record{}
	}
	if _, err := fmt.Sscanf(strings.TrimLeft(string(text[:n]), " "), recordForm, &r.served, &r.pid); err != nil {
		return record{}
	}
	return r
}

// LateError says why a process has left a line before its turn.
type LateError struct {
	Stood  time.Duration // how long it was in the line
	Ahead  int           // how many places were before its own
	First  int           // the process in the first of them, if there is one
	Served int64         // how many were served meanwhile
	Last   int           // the process that was served last; 0 if that is not known
}

func (p *Place) late() *LateError {
	last := p.read()
	e := &LateError{Stood: time.Since(p.joined), Served: last.served - p.began.served, Last: last.pid}
	for other, found := p.firstFrom(1); found; other, found = p.firstFrom(other.number + 1) {
		if e.Ahead++; e.Ahead == 1 {
			e.First = other.pid
		}
	}
	return e
}

func (e *LateError) Error() string {
	where := "first in line"
	if e.Ahead > 0 {
		where = fmt.Sprintf("in line with %d ahead, the first of them process %d", e.Ahead, e.First)
	}
	text := fmt.Sprintf("waited %v, %s; %d were served meanwhile", e.Stood.Round(time.Millisecond), where, e.Served)
	if e.Last > 0 {
		text += fmt.Sprintf(", the last of all was process %d", e.Last)
	}
	return text
}
