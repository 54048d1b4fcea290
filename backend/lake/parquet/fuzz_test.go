package parquet_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/parquet"
	"github.com/ontologia/onto/backend/lake/parquet/internal/flat"
	"github.com/ontologia/onto/backend/lake/parquet/internal/format"
)

// A file is refused as corrupt, or all of its versions come back after they were written
// again. Nothing panics, takes much memory or does not end.
func FuzzFile(f *testing.F) {
	ids := map[onto.Kind][]onto.Identity{}
	for i, kind := range onto.Kinds() {
		versions := many(4, kind)
		for _, v := range versions {
			ids[kind] = append(ids[kind], v.Identity)
		}
		ids[kind] = sortedIDs(ids[kind])
		for _, l := range []*parquet.Layout{people(kind), parquet.NewLayout(kind, "Person", nil)} {
			data, _ := encode(f, l, versions)
			f.Add(byte(i), data)
			f.Add(byte(i), unpacked(f, data))
		}
	}
	f.Fuzz(func(t *testing.T, number byte, data []byte) {
		kinds := onto.Kinds()
		kind := kinds[int(number)%len(kinds)]
		var err error
		frugal(t, len(data), func() { err = readEverything(data, kind, ids[kind]) })
		switch {
		case err == nil:
			writtenAgain(t, kind, data)
		case !errors.Is(err, onto.Corrupt):
			t.Errorf("got %v, want corrupt or nothing", err)
		case strings.Contains(err.Error(), "it cannot be decoded"):
			t.Errorf("a panic was caught: %v", err)
		}
	})
}

// frugal fails if a function takes much memory or time, going by what the limits on files
// allow.
func frugal(t *testing.T, size int, do func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	do()
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("%d bytes took %s", size, took)
	}
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 512<<20 {
		t.Errorf("%d bytes took %d of memory", size, grown)
	}
}

// writtenAgain fails unless the versions of a file come back after they were written.
func writtenAgain(t *testing.T, kind onto.Kind, data []byte) {
	t.Helper()
	l := parquet.NewLayout(kind, "Person", nil) // fields that are not canonical have no columns
	want, err := all(open(t, l, data))
	if err != nil {
		t.Fatal(err)
	}
	again, sum := encode(t, l, want)
	got, err := all(open(t, l, again))
	if err != nil || sum.Rows != int64(len(want)) {
		t.Fatalf("written again: got %d rows, %v, want %d", sum.Rows, err, len(want))
	}
	sameVersions(t, got, want)
}

// unpacked is a file whose pages are not compressed, where damage goes deeper than the
// checksums of zstd let it.
func unpacked(t testing.TB, data []byte) []byte {
	t.Helper()
	ending := len(data) - 8
	f, err := format.ReadFile(data[ending-int(binary.LittleEndian.Uint32(data[ending:])) : ending])
	if err != nil {
		t.Fatal(err)
	}
	out := []byte(format.Magic)
	var indexed []*format.Chunk
	var offsets [][]byte
	for _, g := range f.Groups {
		for i := range g.Chunks {
			c := &g.Chunks[i]
			var pages []format.Location
			out, pages = unpackedChunk(t, data, c, out)
			if c.Offsets.Length > 0 {
				indexed, offsets = append(indexed, c), append(offsets, format.AppendOffsets(nil, pages))
			}
			c.Bounds = format.Section{}
		}
	}
	for i, c := range indexed {
		c.Offsets = format.Section{Offset: int64(len(out)), Length: int32(len(offsets[i]))}
		out = append(out, offsets[i]...)
	}
	from := len(out)
	out = format.AppendFile(out, f)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(out)-from))
	return append(out, format.Magic...)
}

// unpackedChunk appends the pages of a chunk, and makes its metadata theirs.
func unpackedChunk(t testing.TB, data []byte, c *format.Chunk, out []byte) ([]byte, []format.Location) {
	t.Helper()
	z, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	at := (&flat.Chunk{Meta: c}).Start()
	end, from, row := at+c.Compressed, len(out), int64(0)
	var pages []format.Location
	for at < end {
		p, size, err := format.ReadPage(data[at:end])
		if err != nil {
			t.Fatal(err)
		}
		at += int64(size)
		body, err := z.DecodeAll(data[at:at+int64(p.Compressed)], nil)
		if err != nil {
			t.Fatal(err)
		}
		at += int64(p.Compressed)
		p.Compressed = p.Uncompressed
		begin := len(out)
		out = append(format.AppendPage(out, &p), body...)
		if p.Kind == format.DictionaryPage {
			c.Dictionary = int64(begin)
			continue
		}
		if row == 0 {
			c.Data = int64(begin)
		}
		pages = append(pages, format.Location{Offset: int64(begin), Bytes: int32(len(out) - begin), FirstRow: row})
		row += int64(p.Values)
	}
	c.Codec, c.Compressed, c.Uncompressed = format.Uncompressed, int64(len(out)-from), int64(len(out)-from)
	return out, pages
}

// A file whose pages are not compressed is read as one whose pages are.
func TestUncompressed(t *testing.T) {
	eachKind(t, func(t *testing.T, kind onto.Kind) {
		l, versions := people(kind), many(600, kind)
		data, _ := encode(t, l, versions)
		data = unpacked(t, data)
		if bytes.Contains(data, []byte("\x28\xb5\x2f\xfd")) {
			t.Error("it has a page in zstd")
		}
		f := open(t, l, data)
		got, err := all(f)
		if err != nil {
			t.Fatal(err)
		}
		sameVersions(t, got, versions)
		if list := flaws(t, f, l); len(list) > 0 {
			t.Errorf("got %d flaws: %s", len(list), list[0])
		}
		ids := sortedIDs([]onto.Identity{versions[7].Identity, versions[500].Identity})
		sameVersions(t, find(t, f, ids, 1<<40), newest(versions, ids, 1<<40))
	})
}
