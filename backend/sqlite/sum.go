package sqlite

import (
	"encoding/binary"
	"hash/crc32"
	"slices"

	"github.com/ontologia/onto"
)

// A row of history has a checksum, made before the row goes to SQLite, and the
// row of the projection that follows from it has the same: whoever reads either
// notices a bit that has flipped since. Rows of other programs and of older files
// have none.
//
// The number is the commit in its upper half and the CRC-32C of the version in
// its lower half. A program that does not know checksums replaces a row of the
// projection and leaves the number of the version before, which its commit gives
// away.

// crcTable is of the polynomial that processors compute.
var crcTable = crc32.MakeTable(crc32.Castagnoli)

// rowSum is the checksum of a version. It uses and returns a buffer.
func rowSum(v *onto.Version, buf []byte) (int64, []byte) {
	buf = buf[:0]
	for _, part := range [...]string{v.Type, v.Key, v.Left, v.Right, v.Instance, string(v.Op)} {
		buf = binary.AppendUvarint(buf, uint64(len(part)))
		buf = append(buf, part...)
	}
	buf = binary.AppendUvarint(buf, uint64(v.SchemaVersion))
	crc := crc32.Update(crc32.Checksum(buf, crcTable), crcTable, v.Fields)
	return sumCommit(v.Commit)<<32 | int64(crc), buf
}

// sumCommit is the part of a commit's id that a checksum has.
func sumCommit(commit int64) int64 { return commit & (1<<31 - 1) }

// intact reports whether column i, which has the checksum of the version that
// the row holds, goes with it. In the projection it may be that of a version
// before.
func (r *rows) intact(i int, v *onto.Version, projected bool) bool {
	if r.null(i) {
		return true
	}
	kept := r.int(i)
	if projected && kept>>32 < sumCommit(v.Commit) && kept > 0 {
		return true
	}
	var sum int64
	sum, *r.scratch = rowSum(v, *r.scratch)
	return kept == sum
}

// checkIntact fails if a row is not as it was written.
func (r *rows) checkIntact(i int, v *onto.Version, projected bool) error {
	switch {
	case r.intact(i, v, projected):
		return nil
	case projected:
		return onto.Errorf(onto.Corrupt, "%s at commit %d: the projection has it otherwise than it was written", v.Identity, v.Commit).
			WithHint("find out with onto doctor whether history is whole; if it is: onto projection rebuild")
	}
	return onto.Errorf(onto.Corrupt, "%s at commit %d: history has it otherwise than it was written", v.Identity, v.Commit).
		WithHint("%s", restoreRemedy)
}

// sumColumns are the columns with checksums, which older files lack.
func sumColumns(names []string) []column {
	var list []column
	for _, table := range []string{"entity_history", "relation_history", "entity_current", "relation_current"} {
		if slices.Contains(names, table) {
			list = append(list, column{table, "onto_sum", "INTEGER"})
		}
	}
	return list
}
