package spool

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// appendWrite encodes a write: each text after its length.
func appendWrite(buf []byte, w *backend.Write) []byte {
	buf = appendIdentity(buf, &w.Identity)
	buf = append(binary.AppendUvarint(buf, uint64(len(w.Op))), w.Op...)
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
	if w.Identity, err = readIdentity(in); err != nil {
		return w, err
	}
	op, err := readText(in)
	if err != nil {
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
	w.Op, w.SchemaVersion = onto.Op(op), int(version)
	return w, cutShort(err)
}

// appendIdentity encodes an identity.
func appendIdentity(buf []byte, id *onto.Identity) []byte {
	for _, text := range [...]string{string(id.Kind), id.Type, id.Key, id.Left, id.Right, id.Instance} {
		buf = append(binary.AppendUvarint(buf, uint64(len(text))), text...)
	}
	return buf
}

// readIdentity decodes what a record begins with. At the end of a run it fails with io.EOF.
func readIdentity(in *bufio.Reader) (id onto.Identity, err error) {
	kind, err := readText(in)
	if err != nil {
		return id, err
	}
	var text [5][]byte
	for i := range text {
		if text[i], err = readText(in); err != nil {
			return id, cutShort(err)
		}
	}
	return onto.Identity{
		Kind: onto.Kind(kind), Type: string(text[0]), Key: string(text[1]), Left: string(text[2]), Right: string(text[3]), Instance: string(text[4]),
	}, nil
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
