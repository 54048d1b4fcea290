package format_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"

	"github.com/ontologia/onto/backend/lake/parquet/internal/format"
)

// sample is a footer with everything in it.
func sample() *format.File {
	f := &format.File{Rows: 70, CreatedBy: "a test", Values: []format.Pair{{Key: "store", Value: "1"}}}
	for i, t := range []format.Type{format.Int64, format.ByteArray, format.Double, format.Boolean, format.Int32} {
		f.Columns = append(f.Columns, format.Column{Name: string(rune('a' + i)), Type: t, Optional: i%2 == 1})
	}
	for g := range 20 {
		group := format.Group{Rows: int64(g)}
		for i, c := range f.Columns {
			group.Chunks = append(group.Chunks, format.Chunk{
				Type: c.Type, Encodings: []format.Encoding{format.PlainValues, format.Hybrid}, Codec: format.Zstd,
				Values: int64(g), Uncompressed: 1 << (2 * g), Compressed: 99, Data: int64(i), Dictionary: int64(g % 2),
				Statistics: &format.Statistics{Min: []byte("low"), Max: []byte("high"), Nulls: 3},
				Offsets:    format.Section{Offset: 7, Length: 8}, Bounds: format.Section{Offset: 5, Length: 6},
			})
		}
		f.Groups = append(f.Groups, group)
	}
	return f
}

func TestFooter(t *testing.T) {
	want := sample()
	got, err := format.ReadFile(format.AppendFile(nil, want))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestPages(t *testing.T) {
	for _, want := range []format.Page{
		{Kind: format.DataPage, Uncompressed: 1 << 30, Compressed: 5, Values: 7, Encoding: format.DictionaryIndex},
		{Kind: format.DictionaryPage, Uncompressed: 0, Compressed: 9, Values: 1, Encoding: format.PlainValues},
	} {
		data := format.AppendPage(nil, &want)
		got, size, err := format.ReadPage(append(data, "values"...))
		if err != nil || got != want || size != len(data) {
			t.Errorf("got %+v of %d bytes, %v, want %+v of %d", got, size, err, want, len(data))
		}
	}
	want := []format.Location{{Offset: 4, Bytes: 100, FirstRow: 0}, {Offset: 1 << 40, Bytes: 1 << 20, FirstRow: 4096}}
	got, err := format.ReadOffsets(format.AppendOffsets(nil, want))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

// taken is how much memory a function takes.
func taken(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// readAll decodes bytes as everything there is.
func readAll(data []byte) (errs [3]error) {
	_, errs[0] = format.ReadFile(data)
	_, _, errs[1] = format.ReadPage(data)
	_, errs[2] = format.ReadOffsets(data)
	return errs
}

// Few bytes that claim to have billions of elements take no memory for these.
func TestClaims(t *testing.T) {
	size := binary.AppendUvarint(nil, 1<<31-1)
	claims := map[string][]byte{
		"columns":          append([]byte{0x29, 0xfc}, size...),
		"row groups":       append([]byte{0x49, 0xfc}, size...),
		"pairs":            append([]byte{0x59, 0xfc}, size...),
		"a name":           append([]byte{0x68}, size...),
		"pages":            append([]byte{0x19, 0xfc}, size...),
		"unknown elements": append([]byte{0x89, 0xf5}, size...),
		"unknown maps":     append([]byte{0x8b}, size...),
		"columns of a row group": append(append([]byte{0x49, 0x1c, 0x19, 0xfc}, size...),
			bytes.Repeat([]byte{0}, 1000)...),
		"deep lists":      bytes.Repeat([]byte{0x19}, 1<<20),
		"deep structures": bytes.Repeat([]byte{0x1c}, 1<<20),
		"empty columns":   append(append([]byte{0x29, 0xfc}, binary.AppendUvarint(nil, 1<<20)...), make([]byte, 1<<20)...),
		"empty groups":    append(append([]byte{0x49, 0xfc}, binary.AppendUvarint(nil, 1<<20)...), make([]byte, 1<<20)...),
	}
	for name, data := range claims {
		var errs [3]error
		bytes := taken(func() { errs = readAll(data) })
		for i, err := range errs {
			if err == nil {
				t.Errorf("%s: reader %d took it", name, i)
			}
		}
		if bytes > 64<<10 {
			t.Errorf("%s: %d bytes took %d", name, len(data), bytes)
		}
	}
}

// Whatever happens to a byte, decoding neither panics nor takes more memory than the whole
// footer does.
func TestDamagedFooter(t *testing.T) {
	data := format.AppendFile(nil, sample())
	whole := taken(func() { readAll(data) })
	random := rand.New(rand.NewPCG(1, 2))
	refused, most := 0, uint64(0)
	for range 20_000 {
		damaged := bytes.Clone(data)
		for range 1 + random.IntN(3) {
			damaged[random.IntN(len(damaged))] = byte(random.IntN(256))
		}
		damaged = damaged[:len(damaged)-random.IntN(2)*random.IntN(len(damaged))]
		var errs [3]error
		most = max(most, taken(func() { errs = readAll(damaged) }))
		if errs[0] != nil {
			refused++
		}
	}
	if most > 4*whole {
		t.Errorf("a damaged footer took %d bytes, the whole one %d", most, whole)
	}
	t.Logf("%d of 20000 were refused; at most %d bytes were taken, by the whole one %d", refused, most, whole)
}
