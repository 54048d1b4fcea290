package lake

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

// pieceBytes is how much of a data file is asked for at a time, and so how much memory
// it takes to fetch one, whatever is said of its size. Most files are one piece.
const pieceBytes = 8 << 20

// sink takes a data file, from beginning to end. Restart forgets what came: the file
// comes again. Sum is the SHA-256 of what came.
type sink interface {
	io.Writer
	Restart()
	Sum() string
}

// unkept is a sink that keeps nothing but the hash.
type unkept struct{ hash.Hash }

func newUnkept() unkept { return unkept{sha256.New()} }

func (u unkept) Restart()    { u.Reset() }
func (u unkept) Sum() string { return hex.EncodeToString(u.Hash.Sum(nil)) }

// inMemory is a sink for a small file.
type inMemory struct{ bytes.Buffer }

func (m *inMemory) Restart()    { m.Reset() }
func (m *inMemory) Sum() string { return hashOf(m.Bytes()) }

// errReplaced tells that a file is gone because a compaction has replaced it, or
// because its type was purged.
var errReplaced = onto.Errorf(onto.Unavailable, "nobody needs the file any more")

// data reads a small data file; see fetch.
func (l *log) data(ctx context.Context, f *fileEntry) ([]byte, error) {
	var m inMemory
	if err := l.fetch(ctx, f, &m); err != nil {
		return nil, err
	}
	return m.Bytes(), nil
}

// fetch reads a data file until it is as it was written. What stays missing or damaged
// is reported by its name. If it is gone because nobody needs it any more, the error is
// errReplaced: whoever asks goes by the newest head then.
func (l *log) fetch(ctx context.Context, f *fileEntry, to sink) error {
	var broken error // the sink
	looked := false  // whether the file is still needed
	err := l.persist(ctx, f.Path, func() (string, error) {
		sum, err := l.fetchOnce(ctx, f, to, &broken)
		if broken != nil {
			return "", nil
		}
		if errors.Is(err, bucket.ErrNotFound) && !looked {
			looked = true
			t, failed := l.load(ctx)
			switch {
			case failed != nil:
				broken = failed
				return "", nil
			case t.catalog.Through >= f.Last && !t.catalog.names(f) || t.catalog.purged(f):
				broken = errReplaced
				return "", nil
			}
		}
		return sum, err
	})
	return errors.Join(broken, err)
}

// fetchOnce reads a data file piece by piece. If all of it came and is not what was
// written, it fails with Corrupt and returns the hash of what came. An error of the
// sink is told besides.
func (l *log) fetchOnce(ctx context.Context, f *fileEntry, to sink, broken *error) (came string, err error) {
	to.Restart()
	part := bucket.Range{Max: max(1, f.Bytes), Untagged: true}
	if f.Bytes > pieceBytes {
		part.Length = pieceBytes
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

// errPartly is within the error for a file of which a part came.
var errPartly = errors.New("a part of it came")

// judge tells whether what came is a file as it was written. The hash is that of all
// that came.
func (l *log) judge(f *fileEntry, bytes, size int64, sum string) (came string, err error) {
	switch {
	case bytes == f.Bytes && sum == f.SHA256:
		return "", nil
	case bytes < size:
		return "", damaged(f.Path, "%w: %d bytes of %d", errPartly, bytes, size)
	}
	return sum, damaged(f.Path, "it has %d bytes that are not those that were written: %d were", bytes, f.Bytes)
}
