package disk

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/ontologia/onto"
)

// After a crash SQLite accepts the WAL up to the first damaged frame, and drops the
// rest silently. That is right for the frames of an unfinished commit. But a writer
// appends to a commit only after that was synced: a whole frame behind a commit proves
// that the commit was acknowledged. So the WAL is checked here before SQLite sees it;
// if such commits are cut off, nothing is written until an operator has decided about
// them.

// CutOff is the commits that a damaged frame hides from SQLite.
type CutOff struct {
	frame   int // the damaged one; the first is 1
	Commits int // transactions behind it that were acknowledged, at least
}

// String says what is lost and where.
func (c CutOff) String() string {
	return fmt.Sprintf("frame %d of the WAL is damaged, so SQLite does not see what comes after it: at least %d transactions that were acknowledged", c.frame, c.Commits)
}

const (
	walHeader   = 32
	frameHeader = 24
	walMagic    = 0x377f0682 // the lowest bit tells the byte order of checksums
	maxPage     = 64 << 10
)

// FindCutOff looks for commits that are cut off. A writer may be active, so a finding
// counts only if it is made twice.
func FindCutOff(path string) (CutOff, error) {
	found, err := scanWAL(path)
	for found.Commits > 0 && err == nil {
		again, err := scanWAL(path)
		if err != nil || again == found {
			return again, err
		}
		found = again
	}
	return found, err
}

// scanWAL reads the WAL once. SQLite takes no locks on it, so it can be opened and
// closed here.
func scanWAL(path string) (CutOff, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return CutOff{}, nil
	}
	if err != nil {
		return CutOff{}, err
	}
	defer f.Close()
	found, err := scanFrames(bufio.NewReaderSize(f, 1<<20))
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return found, err
}

// sums is a checksum of the WAL. That of a frame continues that of the frame before.
type sums struct{ a, b uint32 }

func (s sums) add(order binary.ByteOrder, data []byte) sums {
	for ; len(data) >= 8; data = data[8:] {
		s.a += order.Uint32(data) + s.b
		s.b += order.Uint32(data[4:]) + s.a
	}
	return s
}

// storedSums reads a checksum.
func storedSums(data []byte) sums {
	return sums{binary.BigEndian.Uint32(data), binary.BigEndian.Uint32(data[4:])}
}

// scanFrames reads frames to the end of what was written since the WAL was last
// reset: until two in a row have other salts. If it is the header that is
// damaged, every frame is cut off.
func scanFrames(r io.Reader) (found CutOff, err error) {
	var header [walHeader]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return found, err
	}
	var order binary.ByteOrder = binary.LittleEndian
	if header[3]&1 == 1 {
		order = binary.BigEndian
	}
	size := int(binary.BigEndian.Uint32(header[8:]))
	if size < 512 || size > maxPage || size&(size-1) != 0 {
		size = 4096
	}
	last := storedSums(header[24:])
	whole := binary.BigEndian.Uint32(header[:])&^1 == walMagic && sums{}.add(order, header[:24]) == last
	if !whole {
		found.frame = 1
	}
	salts := string(header[16:24])
	frame := make([]byte, frameHeader+size)
	others, committed := 0, uint32(0)
	for n := 1; others < 2; n++ {
		if _, err := io.ReadFull(r, frame); err != nil {
			return found, err
		}
		same := sameSalts(salts, string(frame[8:16]), whole)
		follows := same && last.add(order, frame[:8]).add(order, frame[frameHeader:]) == storedSums(frame[16:])
		switch {
		case !same:
			others++
		case follows:
			others = 0
		}
		if !follows && found.frame == 0 {
			found.frame = n
		}
		page, ends := binary.BigEndian.Uint32(frame), binary.BigEndian.Uint32(frame[4:]) != 0
		if follows && committed != 0 && !(ends && page == committed) { // a repeated frame only fills a sector
			found.Commits++ // the commit before: it was synced when this frame was written
		}
		if committed = 0; ends && found.frame > 0 {
			committed = page
		}
		last = storedSums(frame[16:])
	}
	return found, nil
}

// sameSalts reports whether a frame was written since the last reset. If the header is
// damaged, one half of its salts may be damaged.
func sameSalts(header, frame string, whole bool) bool {
	return header == frame || !whole && (header[:4] == frame[:4] || header[4:] == frame[4:])
}

// CheckWAL refuses a file whose WAL is cut off. If the loss is accepted, the WAL is
// first copied to a file beside it, whose name is returned.
func (p *Place) CheckWAL(acceptLoss bool) (kept string, err error) {
	found, err := FindCutOff(p.File + "-wal")
	if err != nil || found.Commits == 0 {
		return "", err
	}
	if acceptLoss {
		return keepWAL(p.File + "-wal")
	}
	refused := onto.Errorf(onto.Corrupt, "%s: %s", p.Path, found)
	refused.Hint = CutOffRemedy()
	return "", refused
}

// CutOffRemedy is what to do about commits that are cut off.
func CutOffRemedy() onto.Hint {
	return onto.NewHint("copy FILE and FILE-wal to a safe place first; then restore a backup, or go on without what is cut off", "doctor", "--accept-loss")
}

// keepWAL copies the WAL to a name of its own.
func keepWAL(path string) (string, error) {
	data, err := os.Open(path)
	if err != nil {
		return "", fileError(path, err)
	}
	defer data.Close()
	kept := ""
	var out *os.File
	for n := 1; ; n++ {
		kept = fmt.Sprintf("%s.cut-off-%d", path, n)
		out, err = os.OpenFile(kept, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if err != nil {
		return "", fileError(kept, err)
	}
	_, err = io.Copy(out, data)
	if err := errors.Join(err, out.Sync(), out.Close()); err != nil {
		return "", fileError(kept, errors.Join(err, os.Remove(kept)))
	}
	return kept, nil
}
