package spool

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// run is where sorted writes lie in the file.
type run struct{ offset, bytes int64 }

// read yields the writes of a run.
func (s *Spool) read(r run) iter.Seq2[backend.Write, error] {
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

// appendWrite encodes a write: each text after its length.
func appendWrite(buf []byte, w *backend.Write) []byte {
	for _, text := range []string{string(w.Kind), w.Type, w.Key, w.Left, w.Right, w.Instance, string(w.Op)} {
		buf = append(binary.AppendUvarint(buf, uint64(len(text))), text...)
	}
	buf = binary.AppendUvarint(buf, uint64(w.SchemaVersion))
	var flags byte
	for i, set := range [...]bool{w.Once, w.Derived} {
		if set {
			flags |= 1 << i
		}
	}
	buf = appendKnown(append(buf, flags), w)
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
	var flags byte
	if err == nil {
		flags, err = in.ReadByte()
		w.Once, w.Derived = flags&1 != 0, flags&2 != 0
	}
	if err == nil {
		err = readKnown(in, &w)
	}
	if err == nil {
		w.Fields, err = readText(in)
	}
	w.Identity = onto.Identity{
		Kind: onto.Kind(kind), Type: string(key[0]), Key: string(key[1]), Left: string(key[2]), Right: string(key[3]), Instance: string(key[4]),
	}
	w.Op, w.SchemaVersion = onto.Op(op), int(version)
	return w, cutShort(err)
}

// appendKnown encodes the fields that a write knows: 0 for all, else their number
// and 1, with Merge in the lowest bit.
func appendKnown(buf []byte, w *backend.Write) []byte {
	if w.Known == nil {
		return append(buf, 0)
	}
	head := uint64(len(w.Known)+1) << 1
	if w.Merge {
		head |= 1
	}
	buf = binary.AppendUvarint(buf, head)
	for _, name := range w.Known {
		buf = append(binary.AppendUvarint(buf, uint64(len(name))), name...)
	}
	return buf
}

func readKnown(in *bufio.Reader, w *backend.Write) error {
	head, err := binary.ReadUvarint(in)
	if err != nil || head == 0 {
		return err
	}
	w.Merge, w.Known = head&1 == 1, []string{}
	for range head>>1 - 1 {
		name, err := readText(in)
		if err != nil {
			return err
		}
		w.Known = append(w.Known, string(name))
	}
	return nil
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

// cutShort is the error for a truncated write.
func cutShort(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
