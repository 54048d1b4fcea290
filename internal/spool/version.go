package spool

import (
	"bufio"
	"encoding/binary"
	"slices"
	"unsafe"

	"github.com/ontologia/onto"
)

// Versions is an order of versions.
func Versions(compare func(a, b *onto.Version) int) *Order[*onto.Version] {
	return &Order[*onto.Version]{
		Compare: func(a, b **onto.Version) int { return compare(*a, *b) },
		Sort: func(list []*onto.Version) ([]*onto.Version, error) {
			slices.SortStableFunc(list, compare)
			return list, nil
		},
		Append: appendVersion, Read: readVersion, Bytes: versionBytes,
	}
}

// versionOverhead is what a version takes in memory besides its texts.
const versionOverhead = int64(unsafe.Sizeof(onto.Version{})) + 48

func versionBytes(p **onto.Version) int64 {
	v := *p
	return int64(len(v.Key)+len(v.Left)+len(v.Right)+len(v.Instance)+len(v.Fields)) + versionOverhead
}

// appendVersion encodes a version: each text after its length.
func appendVersion(buf []byte, p **onto.Version) []byte {
	v := *p
	buf = appendIdentity(buf, &v.Identity)
	buf = append(binary.AppendUvarint(buf, uint64(len(v.Op))), v.Op...)
	buf = binary.AppendUvarint(buf, uint64(v.Commit))
	buf = binary.AppendUvarint(buf, uint64(v.SchemaVersion))
	return append(binary.AppendUvarint(buf, uint64(len(v.Fields))), v.Fields...)
}

// readVersion decodes a version. At the end of a run it fails with io.EOF.
func readVersion(in *bufio.Reader) (*onto.Version, error) {
	v := new(onto.Version)
	var err error
	if v.Identity, err = readIdentity(in); err != nil {
		return nil, err
	}
	op, err := readText(in)
	var commit, schema uint64
	if err == nil {
		commit, err = binary.ReadUvarint(in)
	}
	if err == nil {
		schema, err = binary.ReadUvarint(in)
	}
	if err == nil {
		v.Fields, err = readText(in)
	}
	v.Op, v.Commit, v.SchemaVersion = onto.Op(op), int64(commit), int(schema)
	return v, cutShort(err)
}
