package flat

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ontologia/onto/backend/lake/parquet/internal/format"
	"github.com/ontologia/onto/internal/effort"
)

// Runs and packed bits come back as they were, in pieces, and skipped in part.
func TestHybrid(t *testing.T) {
	effort.Check(t, 1000, func(t *rapid.T) {
		width := rapid.IntRange(1, 20).Draw(t, "width")
		var want []uint32
		for range rapid.IntRange(0, 20).Draw(t, "runs") {
			value := rapid.Uint32Range(0, 1<<width-1).Draw(t, "value")
			want = append(want, slices.Repeat([]uint32{value}, rapid.IntRange(1, 20).Draw(t, "length"))...)
		}
		h := hybrid{data: appendHybrid(nil, want, width), width: width}
		for at := 0; at < len(want); {
			n := min(rapid.IntRange(1, 30).Draw(t, "piece"), len(want)-at)
			got := make([]uint32, n)
			if rapid.Bool().Draw(t, "skip") {
				if err := h.skip(n); err != nil {
					t.Fatalf("skip %d at %d: %v", n, at, err)
				}
			} else if err := h.read(got); err != nil || !slices.Equal(got, want[at:at+n]) {
				t.Fatalf("at %d: got %v, %v, want %v", at, got, err, want[at:at+n])
			}
			at += n
		}
	})
}

// written is a file of one column, and its footer.
func written(t fataler, c Column, rows int, v Values) ([]byte, *format.File) {
	t.Helper()
	var buf bytes.Buffer
	w, err := NewWriter(&buf, []Column{c})
	if err == nil {
		err = w.Group(rows, []Values{v})
	}
	if err == nil {
		err = w.Close("a test")
	}
	if err != nil {
		t.Fatalf("write: %v", err)
	}
	data := buf.Bytes()
	ending := len(data) - 8
	f, err := format.ReadFile(data[ending-int(binary.LittleEndian.Uint32(data[ending:])) : ending])
	if err != nil {
		t.Fatalf("footer: %v", err)
	}
	return data, f
}

// fataler is what testing and rapid have in common.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// chunkOf is the column of such a file.
func chunkOf(data []byte, f *format.File) *Chunk {
	return &Chunk{Source: bytes.NewReader(data), Meta: &f.Groups[0].Chunks[0], Optional: f.Columns[0].Optional, MaxPage: 1 << 20}
}

// A row is found with and without a page index, forwards and backwards.
func TestSeekRow(t *testing.T) {
	effort.Check(t, 1000, func(t *rapid.T) {
		rows := rapid.IntRange(1, 20_000).Draw(t, "rows")
		distinct := rapid.SampledFrom([]int{1, 3, 1 << 30}).Draw(t, "distinct")
		c := Column{Column: format.Column{Name: "c", Type: format.ByteArray}, Statistics: true, Index: true}
		c.Folding = rapid.SampledFrom([]Folding{Unfolded, Folded, Cheaper}).Draw(t, "folding")
		var v Values
		for i := range rows {
			v.Texts = append(v.Texts, fmt.Appendf(nil, "value %d", i%distinct))
		}
		data, f := written(t, c, rows, v)
		chunk := chunkOf(data, f)
		if at := chunk.Meta.Offsets; rapid.Bool().Draw(t, "with the page index") {
			if err := chunk.Prepare(data[at.Offset : at.Offset+int64(at.Length)]); err != nil {
				t.Fatalf("%v", err)
			}
		}
		r := NewReader(chunk)
		for range 20 {
			row := rapid.IntRange(0, rows-1).Draw(t, "row")
			list := make([][]byte, rapid.IntRange(1, 3).Draw(t, "values"))
			if err := r.SeekRow(int64(row)); err != nil {
				t.Fatalf("row %d: %v", row, err)
			}
			n, _, err := r.Texts(list, nil)
			if err != nil || n == 0 || !reflect.DeepEqual(list[:n], v.Texts[row:row+n]) {
				t.Fatalf("row %d: got %q, %v, want %q", row, list[:n], err, v.Texts[row])
			}
		}
		if err := r.SeekRow(int64(rows)); err == nil {
			t.Fatalf("there is no row %d", rows)
		}
	})
}

// Whatever happens to the pages of a column, reading them neither panics nor goes on
// without end: there are no more rows than the footer says.
func TestDamagedPages(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const rows = 300
	var v Values
	for i := range rows {
		v.Levels = append(v.Levels, uint32(i%5&1))
		if i%5&1 == 1 {
			v.Texts = append(v.Texts, fmt.Appendf(nil, "value %d", i%7))
			v.Ints = append(v.Ints, int64(i%7))
			v.Floats = append(v.Floats, float64(i%7))
			v.Bools = append(v.Bools, i%2 == 0)
		}
	}
	for _, c := range []struct {
		typ    format.Type
		values Values
		read   func(r *Reader, levels []uint32) (int, int, error)
	}{
		{format.ByteArray, Values{Levels: v.Levels, Texts: v.Texts}, func(r *Reader, l []uint32) (int, int, error) { return r.Texts(make([][]byte, len(l)), l) }},
		{format.Int64, Values{Levels: v.Levels, Ints: v.Ints}, func(r *Reader, l []uint32) (int, int, error) { return r.Ints(make([]int64, len(l)), l) }},
		{format.Int32, Values{Levels: v.Levels, Ints: v.Ints}, func(r *Reader, l []uint32) (int, int, error) { return r.Ints(make([]int64, len(l)), l) }},
		{format.Double, Values{Levels: v.Levels, Floats: v.Floats}, func(r *Reader, l []uint32) (int, int, error) { return r.Floats(make([]float64, len(l)), l) }},
		{format.Boolean, Values{Levels: v.Levels, Bools: v.Bools}, func(r *Reader, l []uint32) (int, int, error) { return r.Bools(make([]bool, len(l)), l) }},
	} {
		for _, folding := range []Folding{Unfolded, Folded} {
			column := Column{Column: format.Column{Name: "c", Type: c.typ, Optional: true}, Folding: folding}
			data, f := written(t, column, rows, c.values)
			plain, meta := unpacked(t, data, f)
			refused := 0
			for range 3000 {
				damaged := bytes.Clone(plain)
				for range 1 + random.IntN(3) {
					damaged[random.IntN(len(damaged))] = byte(random.IntN(256))
				}
				r := NewReader(&Chunk{Source: bytes.NewReader(damaged), Meta: &meta, Optional: true, MaxPage: 1 << 20})
				got := 0
				for {
					n, _, err := c.read(r, make([]uint32, 100))
					if err != nil {
						refused++
					}
					if err != nil || n == 0 {
						break
					}
					got += n
				}
				if got > rows {
					t.Fatalf("%s: got %d rows of %d", c.typ, got, rows)
				}
			}
			t.Logf("%s, folding %d: %d of 3000 were refused", c.typ, folding, refused)
		}
	}
}

// unpacked is the pages of a file without compression, where damage goes deeper than the
// checksums of zstd let it.
func unpacked(t testing.TB, data []byte, f *format.File) ([]byte, format.Chunk) {
	t.Helper()
	chunk := chunkOf(data, f)
	meta := *chunk.Meta
	out := []byte(format.Magic)
	meta.Data, meta.Codec = int64(len(out)), format.Uncompressed
	for at, end := chunk.Start(), chunk.Start()+meta.Compressed; at < end; {
		p, size, err := format.ReadPage(data[at:end])
		if err != nil {
			t.Fatal(err)
		}
		at += int64(size)
		page, err := unfold(format.Zstd, nil, data[at:at+int64(p.Compressed)], int(p.Uncompressed))
		if err != nil {
			t.Fatal(err)
		}
		at += int64(p.Compressed)
		if p.Kind == format.DictionaryPage {
			meta.Dictionary = int64(len(out))
		}
		p.Compressed = p.Uncompressed
		out = append(format.AppendPage(out, &p), page...)
	}
	meta.Compressed = int64(len(out)) - meta.Data
	if meta.Dictionary > 0 {
		meta.Compressed = int64(len(out)) - meta.Dictionary
		meta.Data = meta.Dictionary + 1
	}
	return out, meta
}
