package parquet

import (
	"context"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/parquet/internal/flat"
)

// readRows is how many rows are decoded at a time. Versions of one batch share memory,
// so it also bounds how much memory one retained version keeps alive.
const readRows = 256

// All yields the versions in the file's order. It holds no more than the
// columns of one row group, and reads no typed ones.
func (f *File) All(ctx context.Context) iter.Seq2[onto.Version, error] {
	return func(yield func(onto.Version, error) bool) {
		for b, err := range f.batches(ctx) {
			if err != nil {
				yield(onto.Version{}, err)
				return
			}
			for i := range b.commits {
				if !yield(b.version(i), nil) {
					return
				}
			}
		}
	}
}

// batches reads the row groups one after the other, batch by batch. Those of one row
// group are the same value, which holds the last that was read.
func (f *File) batches(ctx context.Context) iter.Seq2[*batches, error] {
	return func(yield func(*batches, error) bool) {
		for number, g := range f.groups {
			b := &batches{file: f, group: g, number: number, left: g.rows, keys: make([][]string, keyColumns(f.kind))}
			if !b.all(ctx, yield) {
				return
			}
		}
	}
}

// batches reads a row group batch by batch.
type batches struct {
	file    *File
	group   *group
	number  int // of the row group, for messages
	left    int64
	bytes   int64          // of keys and fields that were read
	columns []*flat.Reader // nil before the first batch

	commits, schemas []int64
	keys             [][]string
	ops              []onto.Op
	fields           [][]byte

	texts [readRows][]byte
	blob  []byte
	ends  []int
	room  int // for the fields, going by the batch before
}

// all yields itself after each batch, and reports whether to go on.
func (b *batches) all(ctx context.Context, yield func(*batches, error) bool) bool {
	for b.left > 0 {
		err := ctx.Err()
		if err == nil {
			err = b.next()
		}
		if !yield(b, err) || err != nil {
			return false
		}
	}
	return true
}

// version is a row of the batch.
func (b *batches) version(i int) onto.Version {
	v := onto.Version{
		Identity: onto.Identity{Kind: b.file.kind, Type: b.file.typ}, Op: b.ops[i], Commit: b.commits[i],
		SchemaVersion: int(b.schemas[i]), Fields: b.fields[i],
	}
	for part, list := range b.keys {
		setKey(&v.Identity, part, list[i])
	}
	return v
}

// next reads a batch.
func (b *batches) next() (err error) {
	defer b.file.guard(&err)
	if b.columns == nil {
		for i := range System(b.file.kind) {
			b.columns = append(b.columns, b.open(i))
		}
	}
	n := min(b.left, readRows)
	b.left -= n
	after := keyColumn + len(b.keys)
	if b.commits, err = b.integers(commitColumn, b.columns[commitColumn], b.commits, n); err != nil {
		return err
	}
	if b.schemas, err = b.integers(after, b.columns[after], b.schemas, n); err != nil {
		return err
	}
	for part := range b.keys {
		if err := b.readKeys(part, n); err != nil {
			return err
		}
	}
	if err := b.each(typeColumn, b.columns[typeColumn], n, b.file.checkType); err != nil {
		return err
	}
	if err := b.readOps(after+1, n); err != nil {
		return err
	}
	return b.readFields(after+2, n)
}

// open begins to read a system column.
func (b *batches) open(column int) *flat.Reader {
	return flat.NewReader(b.file.systemChunk(b.group, column))
}

// integers reads values of a column.
func (b *batches) integers(column int, r *flat.Reader, list []int64, n int64) ([]int64, error) {
	if int64(cap(list)) < n {
		list = make([]int64, n)
	}
	list = list[:n]
	for left := list; len(left) > 0; {
		got, _, err := r.Ints(left, nil)
		if err != nil || got == 0 {
			return nil, b.incomplete(column, err)
		}
		left = left[got:]
	}
	return list, nil
}

// incomplete is the error for a column that has fewer values than there are rows, or could
// not be read.
func (b *batches) incomplete(column int, err error) error {
	name := b.file.meta.Columns[column].Name
	if err != nil {
		return b.file.damaged("column %s of row group %d: %w", name, b.number+1, err)
	}
	return b.file.damaged("column %s of row group %d ends too early", name, b.number+1)
}

// each calls a function with the values of a column. They are only good until
// it returns.
func (b *batches) each(column int, r *flat.Reader, n int64, do func(value []byte) error) error {
	for left := n; left > 0; {
		got, _, err := r.Texts(b.texts[:min(left, readRows)], nil)
		if err != nil || got == 0 {
			return b.incomplete(column, err)
		}
		for _, value := range b.texts[:got] {
			if err := do(value); err != nil {
				return err
			}
		}
		left -= int64(got)
	}
	return nil
}

// gather appends the values of a column to the blob, and their ends to ends.
func (b *batches) gather(column int, n int64) error {
	b.ends = b.ends[:0]
	return b.each(column, b.columns[column], n, func(value []byte) error {
		if err := b.unfold(len(value)); err != nil {
			return err
		}
		b.blob = append(b.blob, value...)
		b.ends = append(b.ends, len(b.blob))
		return nil
	})
}

// unfold counts the bytes of values, whatever the file claims.
func (b *batches) unfold(bytes int) error {
	if b.bytes += int64(bytes); b.bytes > maxGroupBytes {
		return b.file.unfolded(b.number)
	}
	return nil
}

// readKeys reads a part of the keys into one text, which they share.
func (b *batches) readKeys(part int, n int64) error {
	b.blob = b.blob[:0]
	if err := b.gather(keyColumn+part, n); err != nil {
		return err
	}
	text, start := string(b.blob), 0
	b.keys[part] = b.keys[part][:0]
	for _, end := range b.ends {
		b.keys[part] = append(b.keys[part], text[start:end])
		start = end
	}
	return nil
}

// checkType fails for a row of another type.
func (f *File) checkType(value []byte) error {
	if string(value) != f.typ {
		return f.damaged("it has a row of %q", value)
	}
	return nil
}

func (b *batches) readOps(column int, n int64) error {
	b.ops = b.ops[:0]
	return b.each(column, b.columns[column], n, func(value []byte) error {
		op, err := b.file.op(value)
		b.ops = append(b.ops, op)
		return err
	})
}

func (f *File) op(value []byte) (onto.Op, error) {
	switch string(value) {
	case string(onto.Put):
		return onto.Put, nil
	case string(onto.Delete):
		return onto.Delete, nil
	}
	return "", f.damaged("it has a row with the op %q", value)
}

// readFields reads fields into memory of their own, since callers keep them.
func (b *batches) readFields(column int, n int64) error {
	keys := b.blob
	defer func() { b.blob = keys }()
	b.blob = make([]byte, 0, b.room)
	if err := b.gather(column, n); err != nil {
		return err
	}
	b.room = len(b.blob) + len(b.blob)/8
	start := 0
	b.fields = b.fields[:0]
	for _, end := range b.ends {
		fields := b.blob[start:end:end]
		if err := b.file.checkFields(fields); err != nil {
			return err
		}
		b.fields = append(b.fields, fields)
		start = end
	}
	return nil
}

// checkFields is a cheap test, not a proof.
func (f *File) checkFields(fields []byte) error {
	if n := len(fields); n < 2 || fields[0] != '{' || fields[n-1] != '}' {
		return f.damaged("it has a row whose fields are not an object")
	}
	return nil
}
