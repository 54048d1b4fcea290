package spool

import (
	"bufio"
	"context"
	"errors"
	"io"
	"iter"

	"github.com/ontologia/onto/internal/exec"
)

// Order is an order of records, and how they are kept on disk.
type Order[T any] struct {
	Compare func(a, b *T) int
	Sort    func([]T) ([]T, error) // what is in memory, which it may change

	Append func(buf []byte, v *T) []byte         // encodes a record
	Read   func(in *bufio.Reader) (v T, _ error) // decodes one; at the end io.EOF
	Bytes  func(v *T) int64                      // of a record in memory
}

// File is where runs of records are kept.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// Sorter brings records into an order: in memory while they are few, in sorted runs on
// disk when they are many. It is not safe for concurrent use.
type Sorter[T any] struct {
	order  *Order[T]
	memory int64
	create func() (File, error)

	list  []T   // not on disk
	bytes int64 // of list
	file  File  // nil while all is in memory
	size  int64 // of file
	runs  []run
}

// run is where sorted records lie in the file.
type run struct{ offset, bytes int64 }

// NewSorter holds no records yet. Memory is how many bytes of them are held in memory; 0
// for DefaultMemory. Create makes the file for more, when it is needed, which Close closes.
func NewSorter[T any](o *Order[T], memory int64, create func() (File, error)) *Sorter[T] {
	if memory <= 0 {
		memory = DefaultMemory
	}
	return &Sorter[T]{order: o, memory: memory, create: create}
}

// Add takes a record, which is not the caller's any more.
func (s *Sorter[T]) Add(v T) error {
	s.list = append(s.list, v)
	s.bytes += s.order.Bytes(&v)
	if s.bytes <= s.memory {
		return nil
	}
	return s.spill()
}

// Close removes what is on disk.
func (s *Sorter[T]) Close() {
	if s.file != nil {
		_ = s.file.Close()
	}
}

// Spilled reports whether there are records on disk.
func (s *Sorter[T]) Spilled() bool { return s.file != nil }

// End sorts what is in memory. No record is added any more.
func (s *Sorter[T]) End() (err error) {
	if s.file != nil {
		return s.spill()
	}
	s.list, err = s.order.Sort(s.list)
	return err
}

// spill puts what is in memory on disk, as one run.
func (s *Sorter[T]) spill() error {
	if len(s.list) == 0 {
		return nil
	}
	list, err := s.order.Sort(s.list)
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
		buf = s.order.Append(buf[:0], &list[i])
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

// Sorted yields all records in order, after End, and several times. Of equal ones the one
// that was added first comes first, if Sort keeps them so.
func (s *Sorter[T]) Sorted(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if s.file == nil {
			for _, v := range s.list {
				if !yield(v, nil) {
					return
				}
			}
			return
		}
		runs := make([]iter.Seq2[T, error], len(s.runs))
		for i := range s.runs {
			runs[i] = s.read(s.runs[i])
		}
		for v, err := range exec.Merge(runs, s.order.Compare) {
			switch {
			case err != nil:
				err = diskError(err)
			case ctx.Err() != nil:
				err = ctx.Err()
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

const (
	// readAhead is how much is read of all runs together, so that memory does not grow
	// with their number.
	readAhead = 8 << 20
	// readLeast and readMost bound what is read of one.
	readLeast = 4 << 10
	readMost  = 64 << 10
)

// read yields the records of a run.
func (s *Sorter[T]) read(r run) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		size := min(r.bytes, readMost, max(readLeast, readAhead/int64(len(s.runs))))
		in := bufio.NewReaderSize(io.NewSectionReader(s.file, r.offset, r.bytes), int(size))
		for {
			v, err := s.order.Read(in)
			if errors.Is(err, io.EOF) || !yield(v, err) || err != nil {
				return
			}
		}
	}
}
