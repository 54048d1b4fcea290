package datafile

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/cache"
	"github.com/ontologia/onto/backend/lake/parquet"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/parallel"
)

// Disk holds the bodies of data files that are too large to be held in memory, one
// after the other in a file without a name: it is gone when it is closed.
type Disk struct {
	file *cache.Scratch
	size int64
}

// Close gives the room back.
func (d *Disk) Close() { d.file.Close() }

// begin begins a body after the last one, which has ended.
func (d *Disk) begin() *diskFile {
	out := bufio.NewWriterSize(io.NewOffsetWriter(d.file, d.size), 1<<20)
	return &diskFile{disk: d, offset: d.size, out: out, sum: sha256.New()}
}

// diskFile is the body of a data file on disk.
type diskFile struct {
	disk          *Disk
	offset, bytes int64
	out           *bufio.Writer // nil when it has ended
	sum           hash.Hash
	err           error // of the disk
}

// Write implements [io.Writer].
func (f *diskFile) Write(p []byte) (n int, err error) {
	f.sum.Write(p)
	f.bytes += int64(len(p))
	n, f.err = f.out.Write(p)
	return n, f.err
}

// end completes the body.
func (f *diskFile) end() error {
	f.err = f.out.Flush()
	f.disk.size, f.out = f.disk.size+f.bytes, nil
	return f.err
}

// SHA256 is the hash of the body.
func (f *diskFile) SHA256() string { return hex.EncodeToString(f.sum.Sum(nil)) }

// Size is how many bytes the body has.
func (f *diskFile) Size() int64 { return f.bytes }

// Read returns the body.
func (f *diskFile) Read() ([]byte, error) {
	body := make([]byte, f.bytes)
	_, err := io.ReadFull(io.NewSectionReader(f.disk.file, f.offset, f.bytes), body)
	return body, err
}

// Writer writes versions of one type, which come in the order of identity,
// then commit, to data files on disk. It begins another part where one has grown
// large enough, between two identities.
type Writer struct {
	Disk   *Disk
	Layout *parquet.Layout
	Limit  int64 // bytes of a part

	parts []protocol.DataFile // that are complete
	out   *diskFile           // of the part that is being written; nil for none
	rows  *parquet.Writer
	last  onto.Version // the one before

	newest  int   // schema version in the part
	written int64 // bytes that have reached the disk when it was last looked at
	pending int64 // bytes of the rows since then
}

// Write adds a version. The caller must not change its fields any more.
func (p *Writer) Write(v *onto.Version) error {
	if p.out != nil && p.written+p.pending >= p.Limit && v.Identity != p.last.Identity {
		if err := p.endPart(); err != nil {
			return err
		}
	}
	if p.out == nil {
		if err := p.beginPart(); err != nil {
			return err
		}
	}
	if err := p.rows.Write(v); err != nil {
		return cmp.Or(p.out.err, err)
	}
	p.last, p.newest = *v, max(p.newest, v.SchemaVersion)
	if p.pending += int64(len(v.Fields)) + 64; p.out.bytes > p.written {
		p.written, p.pending = p.out.bytes, 0
	}
	return nil
}

func (p *Writer) beginPart() (err error) {
	p.out, p.newest, p.written, p.pending = p.Disk.begin(), 0, 0, 0
	p.rows, err = parquet.NewWriter(p.out, p.Layout)
	return err
}

func (p *Writer) endPart() error {
	sum, err := p.rows.Close()
	if err == nil {
		err = p.out.end()
	}
	if err != nil {
		return cmp.Or(p.out.err, err)
	}
	p.parts = append(p.parts, protocol.DataFile{
		Kind: p.Layout.Kind, Type: p.Layout.Type, Version: p.newest, Rows: sum.Rows, Typed: sum.Typed, Unique: sum.Unique,
		Stored: p.out, Part: len(p.parts),
	})
	p.out, p.rows = nil, nil
	return nil
}

// End completes the last part and returns them all.
func (p *Writer) End() ([]protocol.DataFile, error) {
	if p.out == nil {
		return p.parts, nil
	}
	err := p.endPart()
	return p.parts, err
}

// uploadsAtOnce is how many bodies are read from disk at the same time.
const uploadsAtOnce = 2

// Upload writes data files before the round that they are for. It ends with
// the first that fails.
func Upload(ctx context.Context, l *protocol.Publisher, files []protocol.DataFile, commit int64, attempt string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	_ = parallel.Do(uploadsAtOnce, len(files), func(i int) error {
		if ctx.Err() != nil {
			return nil
		}
		f := &files[i]
		f.Key = f.Path(commit, attempt)
		body, err := f.Content()
		if err != nil {
			err = onto.Errorf(onto.Unavailable, "read back %s from the cache directory: %w", f.Key, err)
		} else {
			err = l.Create(ctx, protocol.Object{Key: f.Key, Body: body})
		}
		if err != nil {
			cancel(err)
		}
		return err
	})
	return context.Cause(ctx)
}
