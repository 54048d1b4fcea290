// Package spool brings the writes of a stream into order before a backend gets
// them: in memory while they are few, on disk when they are many.
package spool

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"syscall"
	"unsafe"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/exec"
)

// DefaultMemory is how many bytes of writes are held in memory.
const DefaultMemory = 16 << 20

// Options change where writes are kept. The zero value is the default.
type Options struct {
	Directory string // for more than fits in memory; "" for that of the system
	Memory    int64  // 0 for DefaultMemory
}

// Spool holds the writes of a stream in runs, each of which is sorted. Reading
// merges them.
type Spool struct {
	opts   Options
	digest *backend.Digest // nil if the draft needs none
	list   []backend.Write // not on disk
	bytes  int64           // of list
	file   *os.File        // nil while all is in memory
	size   int64           // of file
	runs   []run
}

// Append commits a draft and writes that come in any order: [Fill], then AppendStream.
func Append(ctx context.Context, b backend.Backend, d *backend.Draft, writes iter.Seq2[backend.Write, error], o Options) (onto.Result, error) {
	s, err := Fill(ctx, d, writes, o)
	if err != nil {
		return onto.Result{}, err
	}
	defer s.Close()
	return s.AppendTo(ctx, b, d)
}

// Fill reads the writes of a draft to their end, once. An error from the sequence
// is returned as it is. Close the spool when it is not needed any more.
func Fill(ctx context.Context, d *backend.Draft, writes iter.Seq2[backend.Write, error], o Options) (*Spool, error) {
	if o.Memory <= 0 {
		o.Memory = DefaultMemory
	}
	s := &Spool{opts: o}
	if d.IdempotencyKey != "" {
		s.digest = backend.NewDigest(d)
	}
	filled := false
	defer func() { // also when the sequence panics
		if !filled {
			s.Close()
		}
	}()
	for w, err := range writes {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = s.add(w)
		}
		if err != nil {
			return nil, err
		}
	}
	var err error
	if s.file != nil {
		err = s.spill()
	} else {
		s.list, err = backend.SortWrites(s.list)
	}
	filled = err == nil
	return s, err
}

// AppendTo appends the writes to a backend, with the draft that the spool was
// filled for. An identity that comes twice is taken once if both want the same, and
// is a Conflict otherwise.
func (s *Spool) AppendTo(ctx context.Context, b backend.Backend, d *backend.Draft) (onto.Result, error) {
	return s.AppendMade(ctx, b, d, func(writes iter.Seq2[backend.Write, error]) iter.Seq2[backend.Write, error] { return writes })
}

// AppendMade is AppendTo for what is made of the writes once they are in order, which
// keeps that order and may include derived ones. They can be read several times.
func (s *Spool) AppendMade(ctx context.Context, b backend.Backend, d *backend.Draft, of func(iter.Seq2[backend.Write, error]) iter.Seq2[backend.Write, error]) (onto.Result, error) {
	digested := *d
	if s.digest != nil {
		digested.Digest = s.digest.Sum()
	}
	return b.AppendStream(ctx, &digested, of(s.Sorted(ctx)))
}

// overhead is what a write takes in memory besides its texts, in a list that has grown
// to twice its length.
const overhead = 2*int64(unsafe.Sizeof(backend.Write{})) + 32

// add takes a write, whose fields are not the caller's any more.
func (s *Spool) add(w backend.Write) error {
	if s.digest != nil {
		s.digest.Add(&w)
	}
	w.Fields = bytes.Clone(w.Fields)
	s.list = append(s.list, w)
	s.bytes += int64(len(w.Key)+len(w.Left)+len(w.Right)+len(w.Instance)+len(w.Fields)) + overhead
	if s.bytes <= s.opts.Memory {
		return nil
	}
	return s.spill()
}

// spill puts what is in memory on disk, as one run.
func (s *Spool) spill() error {
	if len(s.list) == 0 {
		return nil
	}
	list, err := backend.SortWrites(s.list)
	if err == nil && s.file == nil {
		s.file, err = s.create()
	}
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(io.NewOffsetWriter(s.file, s.size), 256<<10)
	var buf []byte
	begin := s.size
	for i := range list {
		buf = appendWrite(buf[:0], &list[i])
		if _, err := out.Write(buf); err != nil {
			return diskError(err)
		}
		s.size += int64(len(buf))
	}
	if err := out.Flush(); err != nil {
		return diskError(err)
	}
	s.runs = append(s.runs, run{begin, s.size - begin})
	clear(s.list)
	s.list, s.bytes = s.list[:0], 0
	return nil
}

// create makes the file, which is unlinked at once where that is possible.
func (s *Spool) create() (*os.File, error) {
	var err error
	if s.opts.Directory != "" {
		err = os.MkdirAll(s.opts.Directory, 0o700)
	}
	var f *os.File
	if err == nil {
		f, err = os.CreateTemp(s.opts.Directory, "onto-stream-*")
	}
	if err != nil {
		return nil, diskError(err)
	}
	_ = os.Remove(f.Name()) // Close tries again
	return f, nil
}

// diskError says what was wrong with the directory.
func diskError(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		return onto.Errorf(onto.Full, "no room left to sort a long stream: %w", err).
			WithHint("free disk space, or name a directory with more of it: ScratchDir, cache_dir or TMPDIR")
	}
	return onto.Errorf(onto.Unavailable, "cannot sort a long stream on disk: %w", err).
		WithHint("name a directory that this user can write: ScratchDir, cache_dir or TMPDIR")
}

// Close removes what is on disk.
func (s *Spool) Close() {
	if s.file != nil {
		_ = s.file.Close()
		_ = os.Remove(s.file.Name())
	}
}

// Sorted yields all writes in order of identity. One that comes twice is yielded
// once if both are equal; otherwise the sequence ends with a Conflict.
func (s *Spool) Sorted(ctx context.Context) iter.Seq2[backend.Write, error] {
	return func(yield func(backend.Write, error) bool) {
		if s.file == nil {
			for _, w := range s.list {
				if !yield(w, nil) {
					return
				}
			}
			return
		}
		runs := make([]iter.Seq2[backend.Write, error], len(s.runs))
		for i := range s.runs {
			runs[i] = s.read(s.runs[i])
		}
		var last backend.Write
		for w, err := range exec.Merge(runs, func(a, b *backend.Write) int { return a.Identity.Compare(b.Identity) }) {
			switch {
			case err != nil:
				err = diskError(err)
			case ctx.Err() != nil:
				err = ctx.Err()
			case last.Identity == w.Identity:
				if err = backend.SameTwice(&last, &w); err == nil {
					continue
				}
			}
			if last = w; !yield(w, err) || err != nil {
				return
			}
		}
	}
}
