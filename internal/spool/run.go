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

// appendKnown encodes the fields that a write knows: 0 for all, else 1, or 3 with Merge,
// and the set.
func appendKnown(buf []byte, w *backend.Write) []byte {
	switch {
	case w.Known == nil:
		return append(buf, 0)
	case w.Merge:
		buf = append(buf, 3)
	default:
		buf = append(buf, 1)
	}
	return appendSet(buf, w.Known)
}

func readKnown(in *bufio.Reader, w *backend.Write) error {
	head, err := in.ReadByte()
	if err != nil || head == 0 {
		return err
	}
	w.Merge = head == 3
	w.Known, err = readSet(in)
	return err
}

// appendSet encodes known fields: their number, and each with its name and what is inside.
func appendSet(buf []byte, known backend.Known) []byte {
	buf = binary.AppendUvarint(buf, uint64(len(known)))
	for i := range known {
		buf = append(binary.AppendUvarint(buf, uint64(len(known[i].Name))), known[i].Name...)
		buf = appendInside(buf, &known[i].Inside)
	}
	return buf
}

func readSet(in *bufio.Reader) (backend.Known, error) {
	n, err := binary.ReadUvarint(in)
	known := backend.Known{}
	for ; n > 0 && err == nil; n-- {
		var f backend.KnownField
		var name []byte
		if name, err = readText(in); err == nil {
			f.Name = string(name)
			f.Inside, err = readInside(in)
		}
		known = append(known, f)
	}
	return known, err
}

// What is inside a known field.
const (
	insideAll byte = iota
	insideFields
	insideItems
	insideValues
)

func appendInside(buf []byte, inside *backend.Inside) []byte {
	switch {
	case inside.Fields != nil:
		return appendSet(append(buf, insideFields), inside.Fields)
	case inside.Items != nil:
		return appendInside(append(buf, insideItems), inside.Items)
	case inside.Values != nil:
		return appendInside(append(buf, insideValues), inside.Values)
	}
	return append(buf, insideAll)
}

func readInside(in *bufio.Reader) (inside backend.Inside, err error) {
	what, err := in.ReadByte()
	if err != nil {
		return inside, err
	}
	var deeper backend.Inside
	switch what {
	case insideFields:
		inside.Fields, err = readSet(in)
	case insideItems:
		deeper, err = readInside(in)
		inside.Items = &deeper
	case insideValues:
		deeper, err = readInside(in)
		inside.Values = &deeper
	}
	return inside, err
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
