package datafile

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/parquet"
	"github.com/ontologia/onto/backend/lake/protocol"
)

// Foreign tells why an object of a bucket is not a data file of a type written by a
// store; "" if it is one. Only the end of it is read.
func Foreign(ctx context.Context, b bucket.Bucket, e bucket.Entry, t onto.TypeName, store string) (string, error) {
	f, err := parquet.Open(&remote{ctx: ctx, bucket: b, key: e.Key, size: e.Size}, e.Size, t.Kind, t.Name)
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

// Unfolded is how many bytes the rows of a file take when they are not compressed, going by
// the end of the file.
func Unfolded(ctx context.Context, b bucket.Bucket, f *protocol.FileEntry) (int64, error) {
	o, err := parquet.Open(&remote{ctx: ctx, bucket: b, key: f.Path, size: f.Bytes}, f.Bytes, f.Kind, f.Type)
	if err != nil {
		return 0, err
	}
	return o.Unfolded(), nil
}

// remote is an object that is read where it is, the end of it at once.
type remote struct {
	ctx    context.Context
	bucket bucket.Bucket
	key    string
	size   int64
	tail   []byte // the last bytes, once they were read
}

// tailBytes is how much of the end of a file is read at once: mostly the whole footer.
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
