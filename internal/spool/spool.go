// Package spool brings records into order that need not fit in memory: the writes of a
// stream before a backend gets them, the versions of a log.
package spool

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"os"
	"syscall"
	"unsafe"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// DefaultMemory is how many bytes of writes are held in memory.
const DefaultMemory = 16 << 20

// Options change where writes are kept. The zero value is the default.
type Options struct {
	Directory string // for more than fits in memory; "" for that of the system
	Memory    int64  // 0 for DefaultMemory
}

// Spool holds the writes of a stream.
type Spool struct {
	sorter *Sorter[backend.Write]
	digest *backend.Digest // nil if the draft needs none
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
func Fill(ctx context.Context, d *backend.Draft, from iter.Seq2[backend.Write, error], o Options) (*Spool, error) {
	s := &Spool{sorter: NewSorter(&writes, o.Memory, o.create)}
	if d.IdempotencyKey != "" {
		s.digest = backend.NewDigest(d)
	}
	filled := false
	defer func() { // also when the sequence panics
		if !filled {
			s.Close()
		}
	}()
	for w, err := range from {
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
	err := s.sorter.End()
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
		digested.Digest = s.Digest()
	}
	return b.AppendStream(ctx, &digested, of(s.Sorted(ctx)))
}

// Digest is that of the draft and its writes; "" if the draft needs none.
func (s *Spool) Digest() string {
	if s.digest == nil {
		return ""
	}
	return s.digest.Sum()
}

// writes is the order of writes.
var writes = Order[backend.Write]{
	Compare: func(a, b *backend.Write) int { return a.Identity.Compare(b.Identity) },
	Sort:    backend.SortWrites, Append: appendWrite, Read: readWrite, Bytes: writeBytes,
}

// overhead is what a write takes in memory besides its texts, in a list that has grown
// to twice its length.
const overhead = 2*int64(unsafe.Sizeof(backend.Write{})) + 32

func writeBytes(w *backend.Write) int64 {
	return int64(len(w.Key)+len(w.Left)+len(w.Right)+len(w.Instance)+len(w.Fields)) + overhead
}

// add takes a write, whose fields are not the caller's any more.
func (s *Spool) add(w backend.Write) error {
	if s.digest != nil {
		s.digest.Add(&w)
	}
	w.Fields = bytes.Clone(w.Fields)
	return s.sorter.Add(w)
}

// create makes the file, which is unlinked at once where that is possible.
func (o *Options) create() (File, error) {
	var err error
	if o.Directory != "" {
		err = os.MkdirAll(o.Directory, 0o700)
	}
	var f *os.File
	if err == nil {
		f, err = os.CreateTemp(o.Directory, "onto-stream-*")
	}
	if err != nil {
		return nil, diskError(err)
	}
	_ = os.Remove(f.Name()) // Close tries again
	return unlinked{f}, nil
}

// unlinked is a file that is gone when it is closed.
type unlinked struct{ *os.File }

// Close implements [io.Closer].
func (f unlinked) Close() error {
	err := f.File.Close()
	_ = os.Remove(f.Name())
	return err
}

// diskError says what was wrong with the directory, if the file does not say so itself.
func diskError(err error) error {
	if onto.CodeOf(err) != "" {
		return err
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		return onto.Errorf(onto.Full, "no room left to sort a long stream: %w", err).
			WithHint("free disk space, or name a directory with more of it: ScratchDir, cache_dir or TMPDIR")
	}
	return onto.Errorf(onto.Unavailable, "cannot sort a long stream on disk: %w", err).
		WithHint("name a directory that this user can write: ScratchDir, cache_dir or TMPDIR")
}

// Close removes what is on disk.
func (s *Spool) Close() { s.sorter.Close() }

// Sorted yields all writes in order of identity. One that comes twice is yielded
// once if both are equal; otherwise the sequence ends with a Conflict.
func (s *Spool) Sorted(ctx context.Context) iter.Seq2[backend.Write, error] {
	if !s.sorter.Spilled() {
		return s.sorter.Sorted(ctx)
	}
	return func(yield func(backend.Write, error) bool) {
		var last backend.Write
		for w, err := range s.sorter.Sorted(ctx) {
			if err == nil && last.Identity == w.Identity {
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
