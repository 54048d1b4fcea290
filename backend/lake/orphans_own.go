package lake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/probe"
	"github.com/ontologia/onto/backend/lake/parquet"
)

// A janitor removes only what this store has written. That is told by the name of an
// object, which must be one that a writer gives, and by what is in it:
//
//   - manifests, catalogs and checkpoints have the id of the store,
//   - data files have it in their footer. Those of the first programs have none: they
//     must be data files of this program, of the type that their name tells. A file
//     that the log itself names needs no further proof,
//   - what a probe leaves is known by its name alone.
//
// Anything else stays, and is a finding.

// Foreign is an object below the folders of a lake that its store has not written.
type Foreign struct {
	bucket.Entry
	Reason string
}

// probeFolder begins the folders of probes.
const probeFolder = "meta/probe-"

// formed tells what keeps a key from being one that a writer gives; "" for nothing.
func formed(key string) string {
	if rest, ok := strings.CutPrefix(key, probeFolder); ok {
		attempt, rest, _ := strings.Cut(rest, "/")
		if isAttempt(attempt) && probe.Made(rest) {
			return ""
		}
	} else if n, ok := parseKey(key); ok && isAttempt(n.attempt) {
		return ""
	}
	return "no writer gives an object this name"
}

// foreign tells what keeps an object from being one that the store has written; ""
// for nothing. It reads the object, or the end of it.
func (l *log) foreign(ctx context.Context, e bucket.Entry, n *need, store string) (string, error) {
	if why := formed(e.Key); why != "" {
		return why, nil
	}
	if strings.HasPrefix(e.Key, probeFolder) || n.listed(e) {
		return "", nil
	}
	if name, _ := parseKey(e.Key); name.role == roundFileRole || name.role == snapshotRole {
		return l.foreignFile(ctx, e, name, store)
	}
	o, err := l.b.Get(ctx, e.Key, bucket.Range{Max: maxDocument}, "")
	switch {
	case errors.Is(err, bucket.ErrNotFound):
		return "", nil // somebody else has removed it
	case errors.Is(err, bucket.ErrTooLarge):
		return "it is larger than any object of its name", nil
	case err != nil:
		return "", err
	}
	var doc struct {
		StoreID string `json:"store_id"`
	}
	switch err := decode(e.Key, o.Data, &doc); {
	case err != nil:
		return "it is not what its name says", nil
	case doc.StoreID != store:
		return fmt.Sprintf("it belongs to another store, %.40q", doc.StoreID), nil
	}
	return "", nil
}

// listed reports whether the log names a data file that is not needed any more.
func (n *need) listed(e bucket.Entry) bool {
	f, replaced := n.replaced[e.Key]
	return replaced && f.Bytes == e.Size || n.purged[e.Key]
}

// foreignFile is foreign for a data file, of which only the end is read.
func (l *log) foreignFile(ctx context.Context, e bucket.Entry, n name, store string) (string, error) {
	f, err := parquet.Open(&remote{ctx: ctx, bucket: l.b, key: e.Key, size: e.Size}, e.Size, n.Kind, n.Name)
	switch {
	case errors.Is(err, bucket.ErrNotFound):
		return "", nil
	case onto.CodeOf(err) == onto.Corrupt || errors.Is(err, bucket.ErrTooLarge):
		return "it is not what its name says", nil
	case err != nil:
		return "", err
	}
	switch id, own := f.Store(); {
	case !own:
		return "another program has written it", nil
	case id != "" && id != store:
		return fmt.Sprintf("it belongs to another store, %.40q", id), nil
	}
	return "", nil
}

// remote is an object that is read where it is, the end of it at once.
type remote struct {
	ctx    context.Context
	bucket bucket.Bucket
	key    string
	size   int64
	tail   []byte // the last bytes, once they were read
}

// tailBytes is how much of the end of a file is read at once: mostly all that tells
// where its columns are.
const tailBytes = 64 << 10

// ReadAt implements [io.ReaderAt].
func (r *remote) ReadAt(p []byte, offset int64) (int, error) {
	if begin := r.size - int64(len(r.tail)); offset >= begin && len(r.tail) > 0 {
		return read(p, r.tail[min(offset-begin, int64(len(r.tail))):])
	}
	from, length := offset, int64(len(p))
	atEnd := r.tail == nil && offset+length > r.size-tailBytes
	if atEnd {
		from = min(offset, max(0, r.size-tailBytes))
		length = r.size - from
	}
	if length <= 0 {
		return 0, io.EOF
	}
	o, err := r.bucket.Get(r.ctx, r.key, bucket.Range{Offset: from, Length: length, Max: max(1, r.size)}, "")
	if err != nil {
		return 0, err
	}
	if atEnd && int64(len(o.Data)) == length {
		r.tail = o.Data
	}
	return read(p, o.Data[min(offset-from, int64(len(o.Data))):])
}

func read(p, data []byte) (int, error) {
	n := copy(p, data)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
