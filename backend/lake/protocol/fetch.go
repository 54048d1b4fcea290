package protocol

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
)

// PieceBytes is how much of a data file is requested at a time, and so how much memory
// it takes to fetch one, whatever its entry claims. Most files are one piece.
const PieceBytes = 8 << 20

// Sink takes a data file, from beginning to end. Restart discards what came: the file
// comes again. Sum is the SHA-256 of what came.
type Sink interface {
	io.Writer
	Restart()
	Sum() string
}

// Unkept is a sink that keeps nothing but the hash.
type Unkept struct{ hash.Hash }

// NewUnkept has nothing yet.
func NewUnkept() Unkept { return Unkept{sha256.New()} }

// Restart implements [Sink].
func (u Unkept) Restart() { u.Reset() }

// Sum implements [Sink].
func (u Unkept) Sum() string { return hex.EncodeToString(u.Hash.Sum(nil)) }

// InMemory is a sink for a small file.
type InMemory struct{ bytes.Buffer }

// Restart implements [Sink].
func (m *InMemory) Restart() { m.Reset() }

// Sum implements [Sink].
func (m *InMemory) Sum() string { return HashOf(m.Bytes()) }

// ErrReplaced tells that a file is gone because a compaction has replaced it, or
// because its type was purged.
var ErrReplaced = onto.Errorf(onto.Unavailable, "the file is no longer needed")

// Data reads a small data file; see fetch.
func (l *Log) Data(ctx context.Context, f *FileEntry) ([]byte, error) {
	var m InMemory
	if err := l.Fetch(ctx, f, &m); err != nil {
		return nil, err
	}
	return m.Bytes(), nil
}

// Fetch reads a data file until it is intact. One that stays missing or damaged is
// reported by its name. If it is gone because it is not needed any more, the error is
// ErrReplaced: the newest head leads to its replacement.
func (l *Log) Fetch(ctx context.Context, f *FileEntry, to Sink) error {
	var broken error // the sink
	looked := false  // whether the file is still needed
	err := l.persist(ctx, f.Path, func() (string, error) {
		sum, err := l.FetchOnce(ctx, f, to, &broken)
		if broken != nil {
			return "", nil
		}
		if errors.Is(err, bucket.ErrNotFound) && !looked {
			looked = true
			t, failed := l.Load(ctx)
			switch {
			case failed != nil:
				broken = failed
				return "", nil
			case t.Catalog.Through >= f.Last && !t.Catalog.names(f) || t.Catalog.purged(f):
				broken = ErrReplaced
				return "", nil
			}
		}
		return sum, err
	})
	return errors.Join(broken, err)
}

// FetchOnce reads a data file piece by piece. If all of it came and is not what was
// written, it fails with Corrupt and returns the hash of what came. An error of the
// sink is returned separately.
func (l *Log) FetchOnce(ctx context.Context, f *FileEntry, to Sink, broken *error) (came string, err error) {
	to.Restart()
	part := bucket.Range{Max: max(1, f.Bytes), Untagged: true}
	if f.Bytes > PieceBytes {
		part.Length = PieceBytes
	}
	for {
		object, err := l.b.Get(ctx, f.Path, part, "")
		if err != nil {
			return "", err
		}
		part.Offset += int64(len(object.Data))
		if _, *broken = to.Write(object.Data); *broken != nil {
			return "", nil
		}
		if part.Offset >= object.Size || int64(len(object.Data)) < part.Length || part.Length == 0 {
			return l.judge(f, part.Offset, object.Size, to.Sum())
		}
	}
}

// ErrPartly is within the error for a file that came in part only.
var ErrPartly = errors.New("a part of it came")

// judge tells whether what came is the file as it was written. The hash is that of all
// that came.
func (l *Log) judge(f *FileEntry, bytes, size int64, sum string) (came string, err error) {
	switch {
	case bytes == f.Bytes && sum == f.SHA256:
		return "", nil
	case bytes < size:
		return "", Damaged(f.Path, "%w: %d bytes of %d", ErrPartly, bytes, size)
	}
	return sum, Damaged(f.Path, "it has %d bytes that are not those that were written: %d were", bytes, f.Bytes)
}
