package flat

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ontologia/onto/backend/lake/parquet/internal/format"
)

// hostile is a chunk of a column without NULL, of these pages. It has one row and may
// unfold to a megabyte, and so may each page.
func hostile(pages []byte) *Chunk {
	const most = 1 << 20
	meta := &format.Chunk{Type: format.ByteArray, Codec: format.Zstd, Values: 1, Uncompressed: most, Compressed: int64(len(pages))}
	return &Chunk{Source: bytes.NewReader(pages), Meta: meta, MaxPage: most}
}

// packed appends a page of so many zeros.
func packed(t *testing.T, out []byte, p format.Page, zeros int) []byte {
	t.Helper()
	z, err := encoder()
	if err != nil {
		t.Fatal(err)
	}
	body := z.EncodeAll(make([]byte, zeros), nil)
	p.Uncompressed, p.Compressed = int32(zeros), int32(len(body))
	return append(format.AppendPage(out, &p), body...)
}

// refused fails unless reading a chunk fails, for a reason.
func refused(t *testing.T, c *Chunk, want string) {
	t.Helper()
	before := allocated()
	_, _, err := readAll(t, c, 100)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	if bytes := allocated() - before; bytes > 8<<20 {
		t.Errorf("it took %d bytes of memory", bytes)
	}
}

// Pages without values are unfolded up to what their column may have together: a chunk
// could have any number of them, and no reader is told that they are there.
func TestPagesWithoutValues(t *testing.T) {
	var pages []byte
	for range 1000 {
		pages = packed(t, pages, format.Page{Kind: format.DataPage, Encoding: format.PlainValues}, 1<<20)
	}
	pages = packed(t, pages, format.Page{Kind: format.DataPage, Values: 1, Encoding: format.PlainValues}, 4)
	refused(t, hostile(pages), "more than the 1048576 bytes that they have together")
}

// A dictionary has no more values than its column. Each takes a slice, even if it is empty.
func TestLargeDictionary(t *testing.T) {
	pages := packed(t, nil, format.Page{Kind: format.DictionaryPage, Values: 1 << 18, Encoding: format.PlainValues}, 1<<20)
	refused(t, hostile(pages), "a dictionary has 262144 values for 1 rows")
}

// A page that has many bytes in the file is refused before they are read, whether its head
// or the page index says so.
func TestLargePackedPages(t *testing.T) {
	const size = 64 << 20
	pages := format.AppendPage(nil, &format.Page{Kind: format.DataPage, Uncompressed: 4, Compressed: size - 100, Values: 1, Encoding: format.PlainValues})
	pages = append(pages, make([]byte, size-len(pages))...)
	refused(t, hostile(pages), "a page has 67108764 bytes")

	c := hostile(pages)
	err := c.Prepare(format.AppendOffsets(nil, []format.Location{{Offset: 0, Bytes: size}}))
	if want := "a page has 67108864 bytes"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("page index: got %v, want %s", err, want)
	}
}

// Pages of the page index that share bytes would be as many as it likes to have.
func TestPagesShareBytes(t *testing.T) {
	for _, second := range []int64{0, 99} {
		c := hostile(make([]byte, 1000))
		c.Meta.Values = 2
		err := c.Prepare(format.AppendOffsets(nil, []format.Location{{Offset: 0, Bytes: 100}, {Offset: second, Bytes: 100, FirstRow: 1}}))
		if want := "share bytes"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("page at %d: got %v, want %s", second, err, want)
		}
	}
}
