package flat

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"runtime/metrics"
	"slices"
	"testing"

	"github.com/ontologia/onto/backend/lake/parquet/internal/format"
)

// The bits of what FuzzChunk takes as the form of a chunk; the lowest two are its type.
const (
	formOptional = 1 << (2 + iota)
	formZstd
	formDictionary
	formShort // integers of 32 bits in place of 64
)

var formTypes = [4]format.Type{format.Boolean, format.Int64, format.Double, format.ByteArray}

// formed is a chunk with such a form, whose pages begin after the magic number.
func formed(form byte, rows uint16, pages []byte) *Chunk {
	meta := &format.Chunk{
		Type: formTypes[form&3], Values: int64(rows % 4096), Uncompressed: 1 << 20, Compressed: int64(len(pages)),
		Data: int64(len(format.Magic)),
	}
	if form&formZstd != 0 {
		meta.Codec = format.Zstd
	}
	if form&formDictionary != 0 {
		meta.Dictionary, meta.Data = meta.Data, meta.Data+1
	}
	if form&formShort != 0 && meta.Type == format.Int64 {
		meta.Type = format.Int32
	}
	source := bytes.NewReader(append([]byte(format.Magic), pages...))
	return &Chunk{Source: source, Meta: meta, Optional: form&formOptional != 0, MaxPage: 64 << 10}
}

// readSome reads up to so many rows, and appends what they have.
func readSome(r *Reader, v *Values, most int) (rows int, err error) {
	levels := make([]uint32, most)
	n := 0
	switch list := (Values{}); r.chunk.Meta.Type {
	case format.ByteArray:
		list.Texts = make([][]byte, most)
		rows, n, err = r.Texts(list.Texts, levels)
		for _, text := range list.Texts[:n] {
			v.Texts = append(v.Texts, bytes.Clone(text))
		}
	case format.Int32, format.Int64:
		list.Ints = make([]int64, most)
		rows, n, err = r.Ints(list.Ints, levels)
		v.Ints = append(v.Ints, list.Ints[:n]...)
	case format.Double:
		list.Floats = make([]float64, most)
		rows, n, err = r.Floats(list.Floats, levels)
		v.Floats = append(v.Floats, list.Floats[:n]...)
	default:
		list.Bools = make([]bool, most)
		rows, n, err = r.Bools(list.Bools, levels)
		v.Bools = append(v.Bools, list.Bools[:n]...)
	}
	if r.chunk.Optional {
		v.Levels = append(v.Levels, levels[:rows]...)
	}
	return rows, err
}

// readAll reads a chunk to its end, so many rows at a time.
func readAll(t *testing.T, c *Chunk, most int) (v Values, rows int64, err error) {
	t.Helper()
	for r := NewReader(c); ; {
		n, err := readSome(r, &v, most)
		if rows += int64(n); n > most || rows > c.Meta.Values {
			t.Fatalf("got %d rows after %d of %d", n, rows, c.Meta.Values)
		}
		if err != nil || n == 0 {
			return v, rows, err
		}
	}
}

// sameValues reports whether two lists of values are equal, bit by bit.
func sameValues(a, b Values) bool {
	floats := slices.EqualFunc(a.Floats, b.Floats, func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })
	a.Floats, b.Floats = nil, nil
	return floats && reflect.DeepEqual(a, b)
}

// row is the values of one row of a column without NULL.
func (v *Values) row(i int) (one Values) {
	switch {
	case v.Texts != nil:
		one.Texts = v.Texts[i : i+1]
	case v.Ints != nil:
		one.Ints = v.Ints[i : i+1]
	case v.Floats != nil:
		one.Floats = v.Floats[i : i+1]
	case v.Bools != nil:
		one.Bools = v.Bools[i : i+1]
	}
	return one
}

// Pages are refused, or have the same values however they are read: many at a time or few,
// by row, and after they were written again. Reading them takes no more memory than the
// limits of the chunk allow.
func FuzzChunk(f *testing.F) {
	addChunks(f)
	f.Fuzz(func(t *testing.T, form byte, rows uint16, index, pages []byte) {
		c := formed(form, rows, pages)
		before := allocated()
		got, n, err := readAll(t, c, 100)
		if bytes := allocated() - before; bytes > 16<<20 { // the fuzzer's own is far less
			t.Errorf("%d bytes of pages took %d of memory", len(pages), bytes)
		}
		again, _, other := readAll(t, c, 7)
		if (err == nil) != (other == nil) || err == nil && !sameValues(got, again) {
			t.Fatalf("got %+v, %v, and in pieces %+v, %v", got, err, again, other)
		}
		if err == nil && n < c.Meta.Values {
			t.Fatalf("got %d rows of %d, and no error", n, c.Meta.Values)
		}
		if err == nil && n > 0 {
			writtenAgain(t, c, int(n), got)
		}
		if c.Optional {
			return
		}
		if err == nil {
			soughtRows(t, c, got)
		}
		if c.Prepare(index) == nil {
			r := NewReader(c) // an index may lie about which rows a page has
			for _, row := range []int64{c.Meta.Values - 1, 0, c.Meta.Values / 2} {
				if r.SeekRow(row) == nil {
					_, _ = readSome(r, &Values{}, 3)
				}
			}
		}
	})
}

// addChunks adds columns of each type, with and without NULL, a dictionary and compression.
func addChunks(f *testing.F) {
	const rows = 40
	for form := range byte(2 * formShort) {
		var v Values
		c := Column{Column: format.Column{Name: "c", Type: formTypes[form&3], Optional: form&formOptional != 0}, Index: form&formOptional == 0}
		if form&formShort != 0 {
			if c.Type != format.Int64 {
				continue
			}
			c.Type = format.Int32
		}
		if form&formDictionary != 0 {
			if c.Type == format.Boolean {
				continue
			}
			c.Folding = Folded
		}
		for i := range rows {
			if c.Optional {
				v.Levels = append(v.Levels, uint32(i/3%2))
				if i/3%2 == 0 {
					continue
				}
			}
			switch c.Type {
			case format.ByteArray:
				v.Texts = append(v.Texts, fmt.Appendf(nil, "value %d", i%5))
			case format.Int32, format.Int64:
				v.Ints = append(v.Ints, int64(i%5-2))
			case format.Double:
				v.Floats = append(v.Floats, float64(i%5)/2)
			default:
				v.Bools = append(v.Bools, i%5 < 2)
			}
		}
		data, meta := written(f, c, rows, v)
		chunk := &meta.Groups[0].Chunks[0]
		index := data[chunk.Offsets.Offset:][:chunk.Offsets.Length]
		if form&formZstd == 0 {
			data, _ = unpacked(f, data, meta)
		} else {
			data = data[:int64(len(format.Magic))+chunk.Compressed]
		}
		f.Add(form, uint16(rows), index, data[len(format.Magic):])
	}
}

// writtenAgain fails unless values that were read come back after they were written.
func writtenAgain(t *testing.T, c *Chunk, rows int, want Values) {
	t.Helper()
	column := Column{Column: format.Column{Name: "c", Type: c.Meta.Type, Optional: c.Optional}, Statistics: true}
	if c.Meta.Dictionary > 0 && c.Meta.Type != format.Boolean {
		column.Folding = Folded
	}
	data, f := written(t, column, rows, want)
	got, _, err := readAll(t, chunkOf(data, f), 100)
	if err != nil || !sameValues(got, want) {
		t.Errorf("written again: got %+v, %v, want %+v", got, err, want)
	}
}

// soughtRows fails unless single rows are those of a whole chunk, backwards and forwards.
func soughtRows(t *testing.T, c *Chunk, want Values) {
	t.Helper()
	r := NewReader(c)
	n := c.Meta.Values
	for _, row := range []int64{n / 2, n - 1, 0, n / 3} {
		if row < 0 || row >= n {
			continue
		}
		var got Values
		err := r.SeekRow(row)
		if err == nil {
			_, err = readSome(r, &got, 1)
		}
		if err != nil || !sameValues(got, want.row(int(row))) {
			t.Errorf("row %d: got %+v, %v, want %+v", row, got, err, want.row(int(row)))
		}
	}
}

// allocated is how many bytes the process has allocated so far.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
