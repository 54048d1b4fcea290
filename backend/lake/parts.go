package lake

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
)

// diskFile is the body of a data file that is too large to be held for long. The
// file has no name: it is gone when it is closed.
type diskFile struct {
	file  *cache.Scratch
	out   *bufio.Writer
	sum   hash.Hash
	bytes int64
	err   error // of the disk
}

func newDiskFile(c *cache.Cache) (*diskFile, error) {
	f, err := c.Scratch()
	if err != nil {
		return nil, err
	}
	return &diskFile{file: f, out: bufio.NewWriterSize(io.NewOffsetWriter(f, 0), 1<<20), sum: sha256.New()}, nil
}

// Write implements [io.Writer].
func (d *diskFile) Write(p []byte) (int, error) {
	d.sum.Write(p)
	d.bytes += int64(len(p))
	var n int
	n, d.err = d.out.Write(p)
	return n, d.err
}

func (d *diskFile) sha256() string { return hex.EncodeToString(d.sum.Sum(nil)) }

// read returns the body.
func (d *diskFile) read() ([]byte, error) {
	body := make([]byte, d.bytes)
	_, err := io.ReadFull(io.NewSectionReader(d.file, 0, d.bytes), body)
	return body, err
}

func (d *diskFile) close() { d.file.Close() }

// partWriter writes versions of one type, which come in the order of identity,
// then commit, to data files on disk. It begins another part where one has grown
// large enough, between two identities.
type partWriter struct {
	cache  *cache.Cache
	layout *parquet.Layout
	limit  int64 // bytes of a part

	parts []dataFile // that are complete
	out   *diskFile  // of the part that is being written; nil for none
	rows  *parquet.Writer
	last  onto.Version // the one before

	newest  int   // schema version in the part
	written int64 // bytes that have reached the disk when it was last looked at
	pending int64 // bytes of the rows since then
}

// write adds a version. The caller must not change its fields any more.
func (p *partWriter) write(v *onto.Version) error {
	if p.out != nil && p.written+p.pending >= p.limit && v.Identity != p.last.Identity {
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

func (p *partWriter) beginPart() (err error) {
	if p.out, err = newDiskFile(p.cache); err != nil {
		return err
	}
	p.newest, p.written, p.pending = 0, 0, 0
	p.rows, err = parquet.NewWriter(p.out, p.layout)
	return err
}

func (p *partWriter) endPart() error {
	sum, err := p.rows.Close()
	if err == nil {
		err = p.out.out.Flush()
	}
	if err != nil {
		return cmp.Or(p.out.err, err)
	}
	p.parts = append(p.parts, dataFile{
		kind: p.layout.Kind, typ: p.layout.Type, version: p.newest, rows: sum.Rows, typed: sum.Typed, unique: sum.Unique,
		disk: p.out, part: len(p.parts),
	})
	p.out.out = nil // its buffer
	p.out, p.rows = nil, nil
	return nil
}

// end returns the parts, which the caller closes.
func (p *partWriter) end() ([]dataFile, error) {
	if p.out != nil {
		if err := p.endPart(); err != nil {
			return nil, err
		}
	}
	parts := p.parts
	p.parts = nil
	return parts, nil
}

// abandon closes what end has not returned.
func (p *partWriter) abandon() {
	if p.out != nil {
		p.out.close()
	}
	closeFiles(p.parts)
}

// closeFiles gives back what files take on disk.
func closeFiles(files []dataFile) {
	for i := range files {
		if d := files[i].disk; d != nil {
			d.close()
		}
	}
}

// uploadsAtOnce is how many bodies are read from disk at the same time.
const uploadsAtOnce = 2

// uploadFiles writes data files before the round that they are for.
func (l *log) uploadFiles(ctx context.Context, files []dataFile, commit int64, attempt string) error {
	return atMost(uploadsAtOnce, len(files), func(i int) error {
		f := &files[i]
		if err := ctx.Err(); err != nil {
			return err
		}
		body, err := f.content()
		if err != nil {
			return onto.Errorf(onto.Unavailable, "read back %s from the cache directory: %w", f.path(commit, attempt), err)
		}
		f.key = f.path(commit, attempt)
		return l.create(ctx, object{f.key, body})
	})
}
