package lake

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/cache"
)

// spool holds writes on disk that come in any order and are read in the order of
// identity, as often as needed. Each run is sorted in memory; reading merges them.
type spool struct {
	file *cache.Scratch
	runs []run
	size int64
}

// run is where sorted writes lie in the file.
type run struct{ offset, bytes int64 }

// add appends a run. The writes are sorted.
func (s *spool) add(writes []backend.Write) error {
	out := bufio.NewWriterSize(io.NewOffsetWriter(s.file, s.size), 256<<10)
	var buf []byte
	begin := s.size
	for i := range writes {
		buf = appendWrite(buf[:0], &writes[i])
		if _, err := out.Write(buf); err != nil {
			return err
		}
		s.size += int64(len(buf))
	}
	s.runs = append(s.runs, run{begin, s.size - begin})
	return out.Flush()
}

func (s *spool) close() { s.file.Close() }

// appendWrite encodes a write: each text after its length.
func appendWrite(buf []byte, w *backend.Write) []byte {
	for _, text := range []string{string(w.Kind), w.Type, w.Key, w.Left, w.Right, w.Instance, string(w.Op)} {
		buf = append(binary.AppendUvarint(buf, uint64(len(text))), text...)
	}
	buf = binary.AppendUvarint(buf, uint64(w.SchemaVersion))
	return append(binary.AppendUvarint(buf, uint64(len(w.Fields))), w.Fields...)
}

// readWrite decodes a write. At the end of a run it fails with io.EOF.
func readWrite(in *bufio.Reader) (w backend.Write, err error) {
	var kind, op []byte
	var key [5][]byte
	if kind, err = readText(in); err != nil {
		return w, err
	}
	for i := range key {
		if key[i], err = readText(in); err != nil {
			return w, cutShort(err)
		}
	}
	if op, err = readText(in); err != nil {
		return w, cutShort(err)
	}
	version, err := binary.ReadUvarint(in)
	if err == nil {
		w.Fields, err = readText(in)
	}
	w.Identity = onto.Identity{
		Kind: onto.Kind(kind), Type: string(key[0]), Key: string(key[1]), Left: string(key[2]), Right: string(key[3]), Instance: string(key[4]),
	}
	w.Op, w.SchemaVersion = onto.Op(op), int(version)
	return w, cutShort(err)
}

func readText(in *bufio.Reader) ([]byte, error) {
	n, err := binary.ReadUvarint(in)
	if err != nil || n == 0 {
		return nil, err
	}
	text := make([]byte, n)
	_, err = io.ReadFull(in, text)
	return text, cutShort(err)
}

// cutShort is the error for a write that ends too early.
func cutShort(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// sorted yields all writes in the order of identity. One that comes twice is
// yielded once if both are equal; otherwise the sequence ends with a Conflict.
func (s *spool) sorted(ctx context.Context) iter.Seq2[*backend.Write, error] {
	return func(yield func(*backend.Write, error) bool) {
		runs := make([]iter.Seq2[backend.Write, error], len(s.runs))
		for i := range s.runs {
			runs[i] = s.read(s.runs[i])
		}
		var last *backend.Write
		for w, err := range inOrder(runs, func(a, b *backend.Write) int { return a.Identity.Compare(b.Identity) }) {
			if err == nil {
				err = ctx.Err()
			}
			if err == nil && last != nil && last.Identity == w.Identity {
				if err = backend.SameTwice(last, &w); err == nil {
					continue
				}
			}
			if err != nil {
				yield(nil, err)
				return
			}
			last = &w
			if !yield(last, nil) {
				return
			}
		}
	}
}

// read yields the writes of a run.
func (s *spool) read(r run) iter.Seq2[backend.Write, error] {
	return func(yield func(backend.Write, error) bool) {
		in := bufio.NewReaderSize(io.NewSectionReader(s.file, r.offset, r.bytes), int(min(r.bytes, 64<<10)))
		for {
			w, err := readWrite(in)
			if errors.Is(err, io.EOF) || !yield(w, err) || err != nil {
				return
			}
		}
	}
}
