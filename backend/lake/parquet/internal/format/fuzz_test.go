package format_test

import (
	"bytes"
	"reflect"
	"runtime/metrics"
	"testing"

	"github.com/ontologia/onto/backend/lake/parquet/internal/format"
)

// within fails if a function takes more memory than bytes of metadata may cost. A byte
// costs 64 at most: two of them are empty statistics, and lists grow by doubling. The
// constant is for errors. What seems to be too much is measured again, since the fuzzer
// allocates too.
func within(t *testing.T, data []byte, do func()) {
	t.Helper()
	most := uint64(64*len(data) + 64<<10)
	before := allocated()
	do()
	if allocated()-before <= most {
		return
	}
	if bytes := min(taken(do), taken(do), taken(do)); bytes > most {
		t.Errorf("%d bytes took %d of memory", len(data), bytes)
	}
}

// allocated is about how many bytes the process has allocated so far. Unlike taken, it
// does not stop the world.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// A footer is refused, or comes back as it is after it was encoded again.
func FuzzFooter(f *testing.F) {
	f.Add([]byte(nil))
	small := sample()
	small.Groups = small.Groups[:2]
	f.Add(format.AppendFile(nil, small))
	small.Groups, small.Values = nil, nil
	f.Add(format.AppendFile(nil, small))
	f.Fuzz(func(t *testing.T, data []byte) {
		var got *format.File
		var err error
		within(t, data, func() { got, err = format.ReadFile(data) })
		if (got == nil) != (err != nil) {
			t.Fatalf("got %+v and the error %v", got, err)
		}
		if err != nil || !writable(got) {
			return
		}
		again, err := format.ReadFile(format.AppendFile(nil, got))
		if err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("encoded again: got %+v, %v, want %+v", again, err, got)
		}
	})
}

// writable reports whether a footer has only what AppendFile can write. Others are read,
// and refused by those who know how long the file is.
func writable(f *format.File) bool {
	for _, c := range f.Columns {
		if c.Nested {
			return false
		}
	}
	for _, g := range f.Groups {
		if len(g.Chunks) != len(f.Columns) {
			return false
		}
		for _, c := range g.Chunks {
			s := c.Statistics
			if c.Dictionary < 0 || !whole(c.Offsets) || !whole(c.Bounds) || s != nil && (s.Min == nil) != (s.Max == nil) {
				return false
			}
		}
	}
	return true
}

// whole reports whether a section is there or is not there.
func whole(s format.Section) bool { return s.Length > 0 || s == format.Section{} }

// The head of a page is refused, or comes back as it is after it was encoded again, and is
// as long as it says.
func FuzzPage(f *testing.F) {
	f.Add([]byte(nil))
	for _, p := range []format.Page{
		{Kind: format.DataPage, Uncompressed: 1 << 30, Compressed: 5, Values: 7, Encoding: format.DictionaryIndex},
		{Kind: format.DictionaryPage, Uncompressed: 0, Compressed: 9, Values: 1, Encoding: format.PlainValues},
	} {
		f.Add(append(format.AppendPage(nil, &p), "values"...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got format.Page
		var size int
		var err error
		within(t, data, func() { got, size, err = format.ReadPage(data) })
		if err != nil {
			return
		}
		if size <= 0 || size > len(data) {
			t.Fatalf("the head has %d bytes of %d", size, len(data))
		}
		if alone, n, err := format.ReadPage(data[:size]); err != nil || alone != got || n != size {
			t.Errorf("without what follows: got %+v of %d bytes, %v, want %+v of %d", alone, n, err, got, size)
		}
		out := format.AppendPage(nil, &got)
		if again, n, err := format.ReadPage(out); err != nil || again != got || n != len(out) {
			t.Errorf("encoded again: got %+v of %d bytes, %v, want %+v of %d", again, n, err, got, len(out))
		}
	})
}

// A page index is refused, or comes back as it is after it was encoded again.
func FuzzOffsets(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(format.AppendOffsets(nil, nil))
	f.Add(format.AppendOffsets(nil, []format.Location{{Offset: 4, Bytes: 100, FirstRow: 0}, {Offset: 1 << 40, Bytes: 1 << 20, FirstRow: 4096}}))
	f.Add(format.AppendOffsets(nil, make([]format.Location, 40)))
	f.Add(bytes.Repeat([]byte{0x1c}, 100))
	f.Fuzz(func(t *testing.T, data []byte) {
		var got []format.Location
		var err error
		within(t, data, func() { got, err = format.ReadOffsets(data) })
		if err != nil {
			return
		}
		again, err := format.ReadOffsets(format.AppendOffsets(nil, got))
		if err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("encoded again: got %+v, %v, want %+v", again, err, got)
		}
	})
}
