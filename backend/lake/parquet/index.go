package parquet

import (
	"context"
	"hash/maphash"
	"math/bits"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/parquet/internal/flat"
)

// index finds the rows of an identity in a row group: a hash table of rows, 20
// to 24 bytes for each. A row that it finds must be compared, since only a hash
// of its identity is kept.
type index struct {
	seed    maphash.Seed
	heads   []uint32 // by the low bits of the hash: the last of its rows, from 1 on; 0 for none
	next    []uint32 // by row: the row before with the same low bits
	tags    []uint32 // by row: the high bits of the hash
	commits []int64  // by row
}

// newIndex makes the index of rows with these hashes and commits.
func newIndex(seed maphash.Seed, hashes []uint64, commits []int64) *index {
	x := &index{
		seed: seed, commits: commits,
		heads: make([]uint32, 1<<bits.Len(uint(len(hashes)))), next: make([]uint32, len(hashes)), tags: make([]uint32, len(hashes)),
	}
	for row, hash := range hashes {
		slot := &x.heads[hash&uint64(len(x.heads)-1)]
		x.next[row], x.tags[row] = *slot, uint32(hash>>32)
		*slot = uint32(row + 1)
	}
	return x
}

// rows calls a function with each row up to a commit that may be of an identity.
func (x *index) rows(id *onto.Identity, at int64, do func(row int, commit int64)) {
	hash := hashOf(x.seed, id)
	for i := x.heads[hash&uint64(len(x.heads)-1)]; i > 0; i = x.next[i-1] {
		if x.tags[i-1] == uint32(hash>>32) && x.commits[i-1] <= at {
			do(int(i-1), x.commits[i-1])
		}
	}
}

// hashOf is the hash of an identity within its type.
func hashOf(seed maphash.Seed, id *onto.Identity) uint64 {
	if id.Kind == onto.KindEntity {
		return addHash(0, maphash.String(seed, id.Key))
	}
	hash := addHash(0, maphash.String(seed, id.Left))
	hash = addHash(hash, maphash.String(seed, id.Right))
	return addHash(hash, maphash.String(seed, id.Instance))
}

// addHash adds the hash of a part to the hash of the parts before it.
func addHash(hash, part uint64) uint64 {
	return (bits.RotateLeft64(hash, 29) ^ part) * 0x9e3779b97f4a7c15
}

// mayKeep reports whether the index of some more rows is kept. Row groups of equal rows take
// few bytes in a file, and their indexes do not: a file of unknown origin keeps a bounded
// number of them, and for each of its bytes half a row more, which is several times what a
// writer needs. The others are built again by each call.
func (f *File) mayKeep(rows int64) bool {
	if f.indexed.Add(rows) <= keptRows+f.size/2 {
		return true
	}
	f.indexed.Add(-rows)
	return false
}

// indexOf returns the index of a row group, and builds it at the first call.
func (f *File) indexOf(ctx context.Context, number int) (*index, error) {
	g := f.groups[number]
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.index == nil {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		x, err := f.buildIndex(number)
		if err != nil {
			return nil, err
		}
		if g.parts == nil {
			if g.parts, err = f.prepare(number); err != nil {
				return nil, err
			}
		}
		if !f.mayKeep(g.rows) {
			return x, nil
		}
		g.index = x
	}
	return g.index, nil
}

// buildIndex reads the commits, types and keys of a row group.
func (f *File) buildIndex(number int) (x *index, err error) {
	defer f.guard(&err)
	g := f.groups[number]
	b := &batches{file: f, group: g, number: number}
	commits, err := b.integers(commitColumn, b.open(commitColumn), nil, g.rows)
	if err != nil {
		return nil, err
	}
	if err := b.each(typeColumn, b.open(typeColumn), g.rows, f.checkType); err != nil {
		return nil, err
	}
	seed, hashes := maphash.MakeSeed(), make([]uint64, g.rows)
	for part := range keyColumns(f.kind) {
		row := 0
		err = b.each(keyColumn+part, b.open(keyColumn+part), g.rows, func(key []byte) error {
			if err := b.unfold(len(key)); err != nil {
				return err
			}
			hashes[row] = addHash(hashes[row], maphash.Bytes(seed, key))
			row++
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return newIndex(seed, hashes, commits), nil
}

// prepare makes what reads single rows of a row group.
func (f *File) prepare(number int) (parts []*flat.Chunk, err error) {
	defer func() {
		if err != nil {
			parts = nil
		}
	}()
	defer f.guard(&err)
	g := f.groups[number]
	for column, name := range System(f.kind) {
		chunk := f.systemChunk(g, column)
		parts = append(parts, chunk)
		at := chunk.Meta.Offsets
		if at.Length == 0 {
			continue // pages are sought from the first one on
		}
		if at.Length > maxFooterBytes {
			return nil, f.damaged("the page index of column %s of row group %d has %d bytes", name, number+1, at.Length)
		}
		data := make([]byte, at.Length)
		if err := f.readAt(data, at.Offset); err != nil {
			return nil, err
		}
		if err := chunk.Prepare(data); err != nil {
			return nil, f.damaged("the page index of column %s of row group %d: %w", name, number+1, err)
		}
	}
	return parts, nil
}
