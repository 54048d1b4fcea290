package flat

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/ontologia/onto/backend/lake/parquet/internal/format"
)

// keptDictionary is the most bytes of a dictionary that is kept.
const keptDictionary = 16 << 10

// pageRoom is what the memory for a page is a multiple of, since pages differ a little.
const pageRoom = 8 << 10

// readAhead is how much of a chunk is read at a time. The head of a page has less.
const readAhead = 64 << 10

var errOutside = errors.New("a page goes on after the end of its column")

// Chunk is a column of a row group to be read. Its pages are inside the file. Those that
// are read one after the other unfold to no more bytes than the metadata says.
type Chunk struct {
	Source   io.ReaderAt
	Meta     *format.Chunk
	Optional bool
	MaxPage  int64 // the bytes that a page may unfold to

	pages      []format.Location // nil if it is not known where they are
	dictionary *dictionary       // nil if it is read with the pages
}

// Start is where the chunk begins in the file.
func (c *Chunk) Start() int64 {
	if c.Meta.Dictionary > 0 {
		return min(c.Meta.Dictionary, c.Meta.Data)
	}
	return c.Meta.Data
}

// maxPacked is how many bytes a page may have in the file. Compression adds a little to what
// it cannot make smaller.
func (c *Chunk) maxPacked() int64 { return c.MaxPage + c.MaxPage/16 + 1<<10 }

// Prepare has later readers go to a row without reading what comes before it: it takes
// the pages from the page index, and keeps the dictionary if it is small. It must not be
// called while there are readers.
func (c *Chunk) Prepare(index []byte) error {
	pages, err := format.ReadOffsets(index)
	if err != nil {
		return err
	}
	start, end := c.Start(), c.Start()+c.Meta.Compressed
	for i, p := range pages {
		switch {
		case i == 0 && p.FirstRow != 0, i > 0 && p.FirstRow <= pages[i-1].FirstRow, p.FirstRow >= c.Meta.Values:
			return errors.New("the rows of the page index are out of order")
		case p.Offset < start || p.Offset > end || int64(p.Bytes) > end-p.Offset:
			return errors.New("a page of the page index is outside its column")
		case p.Bytes == 0 || i > 0 && p.Offset < pages[i-1].Offset+int64(pages[i-1].Bytes):
			return errors.New("pages of the page index share bytes")
		case int64(p.Bytes) > c.maxPacked()+readAhead:
			return errPacked(int64(p.Bytes))
		}
	}
	if len(pages) == 0 {
		return nil
	}
	c.pages = pages
	if c.Meta.Dictionary == 0 {
		return nil
	}
	r := NewReader(c)
	if err := r.findDictionary(); err != nil {
		return err
	}
	if r.dictionary != nil && r.dictionary.bytes <= keptDictionary {
		c.dictionary = r.dictionary
	}
	return nil
}

// errPacked is the error for a page that has too many bytes in the file.
func errPacked(bytes int64) error {
	return fmt.Errorf("a page has %d bytes, more than it can need for what it unfolds to", bytes)
}

// Reader reads the values of a chunk. Those that it returns are good until its next call.
// After an error, what it returns is no longer what the rows have.
type Reader struct {
	chunk  *Chunk
	next   int64  // where the next page begins
	end    int64  // of the chunk
	window []byte // of the file
	from   int64  // where the window begins
	ahead  int64  // how much is read at a time
	rows   int64  // in pages to come
	spent  int64  // bytes that pages have unfolded to since the reader last went back

	dictionary *dictionary // nil until it is read
	unfolded   []byte      // memory for the page at hand
	page       page
	numbers    []uint32 // in the dictionary
	row        int64    // the next one
}

// NewReader begins at the first row.
func NewReader(c *Chunk) *Reader {
	r := &Reader{chunk: c, end: c.Start() + c.Meta.Compressed, ahead: readAhead, dictionary: c.dictionary}
	r.rewind()
	return r
}

func (r *Reader) rewind() {
	r.next, r.rows, r.row, r.page = r.chunk.Start(), r.chunk.Meta.Values, 0, page{}
}

// bytes returns bytes of the chunk at the next page: as many as asked for, or up to the end
// if fewer will do.
func (r *Reader) bytes(n int64, fewer bool) ([]byte, error) {
	if left := r.end - r.next; n > left {
		if !fewer {
			return nil, errOutside
		}
		n = left
	}
	if r.next < r.from || r.next+n > r.from+int64(len(r.window)) {
		size := min(max(n, r.ahead), r.end-r.next)
		if int64(cap(r.window)) < size {
			r.window = make([]byte, size)
		}
		r.window = r.window[:size]
		r.from = r.next
		if got, err := r.chunk.Source.ReadAt(r.window, r.from); int64(got) < size {
			r.window = r.window[:0]
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	return r.window[r.next-r.from:][:n], nil
}

// head reads the head of the next page, and is after it then.
func (r *Reader) head() (format.Page, error) {
	data, err := r.bytes(r.ahead, true)
	if err != nil {
		return format.Page{}, err
	}
	p, size, err := format.ReadPage(data)
	if err != nil && r.ahead < readAhead { // the last page was shorter than this head
		if data, err = r.bytes(readAhead, true); err == nil {
			p, size, err = format.ReadPage(data)
		}
	}
	if err != nil {
		return p, err
	}
	r.next += int64(size)
	switch {
	case int64(p.Uncompressed) > r.chunk.MaxPage:
		return p, fmt.Errorf("a page unfolds to %d bytes, more than the %d that it may have", p.Uncompressed, r.chunk.MaxPage)
	case int64(p.Compressed) > r.chunk.maxPacked():
		return p, errPacked(int64(p.Compressed))
	case p.Kind == format.DataPage && int64(p.Values) > r.rows:
		return p, fmt.Errorf("a page has %d values, and %d are left", p.Values, r.rows)
	}
	return p, nil
}

// body reads what comes after a head, and is after it then.
func (r *Reader) body(p format.Page, into []byte) ([]byte, error) {
	data, err := r.bytes(int64(p.Compressed), false)
	if err != nil {
		return nil, err
	}
	r.next += int64(p.Compressed)
	if r.spent += int64(p.Uncompressed); r.spent > r.chunk.Meta.Uncompressed {
		return nil, fmt.Errorf("its pages unfold to more than the %d bytes that they have together", r.chunk.Meta.Uncompressed)
	}
	return unfold(r.chunk.Meta.Codec, into, data, int(p.Uncompressed))
}

// skip goes past what comes after a head.
func (r *Reader) skip(p format.Page) error {
	if int64(p.Compressed) > r.end-r.next {
		return errOutside
	}
	r.next += int64(p.Compressed)
	return nil
}

// load reads pages up to the next one with values. It reports false if there is none.
func (r *Reader) load() (bool, error) {
	for r.page.left == 0 {
		if r.rows == 0 {
			return false, nil
		}
		p, err := r.head()
		if err != nil {
			return false, err
		}
		if p.Kind == format.DictionaryPage {
			err = r.readDictionary(p)
		} else {
			err = r.readPage(p)
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

func (r *Reader) readDictionary(p format.Page) error {
	if r.dictionary != nil {
		return r.skip(p) // read before
	}
	if int64(p.Values) > r.chunk.Meta.Values { // a text takes more memory than an empty one has bytes
		return fmt.Errorf("a dictionary has %d values for %d rows", p.Values, r.chunk.Meta.Values)
	}
	data, err := r.body(p, nil)
	if err != nil {
		return err
	}
	if r.chunk.Meta.Codec == format.Uncompressed {
		data = bytes.Clone(data)
	}
	r.dictionary, err = newDictionary(r.chunk.Meta.Type, data, int(p.Values))
	return err
}

func (r *Reader) readPage(p format.Page) error {
	if size := int(p.Uncompressed); cap(r.unfolded) < size && r.chunk.Meta.Codec != format.Uncompressed {
		r.unfolded = make([]byte, 0, (size+pageRoom-1)/pageRoom*pageRoom)
	}
	data, err := r.body(p, r.unfolded)
	if err != nil {
		return err
	}
	err = r.page.begin(r.chunk, p, data)
	if err == nil && r.page.folded && r.dictionary == nil {
		err = errors.New("a page needs a dictionary, and there is none")
	}
	if err != nil {
		r.page = page{} // there is nothing to read in it
		return err
	}
	r.rows -= int64(p.Values)
	return nil
}

// SeekRow puts the reader before a row of a column without NULL.
func (r *Reader) SeekRow(row int64) error {
	if row < 0 || row >= r.chunk.Meta.Values {
		return fmt.Errorf("there is no row %d", row+1)
	}
	if row < r.row {
		r.spent = 0
	}
	if row < r.row || row-r.row >= int64(r.page.left) {
		if err := r.jump(row); err != nil {
			return err
		}
	}
	for row > r.row { // skips pages without unfolding them
		if r.page.left == 0 {
			skipped, err := r.pass(row - r.row)
			if err != nil {
				return err
			}
			if skipped {
				continue
			}
		}
		n := min(row-r.row, int64(r.page.left))
		if err := r.page.skip(int(n)); err != nil {
			return err
		}
		r.row += n
	}
	return nil
}

// jump puts the reader before the page of a row, if it is known, or before the first.
func (r *Reader) jump(row int64) error {
	pages := r.chunk.pages
	if pages == nil {
		if row < r.row {
			r.rewind()
		}
		return nil
	}
	if r.chunk.Meta.Dictionary > 0 && r.dictionary == nil {
		if err := r.findDictionary(); err != nil {
			return err
		}
	}
	low, high := 0, len(pages) // the last page that begins at the row or before
	for high-low > 1 {
		if middle := (low + high) / 2; pages[middle].FirstRow <= row {
			low = middle
		} else {
			high = middle
		}
	}
	r.page = page{}
	r.next, r.row, r.rows = pages[low].Offset, pages[low].FirstRow, r.chunk.Meta.Values-pages[low].FirstRow
	r.ahead = int64(pages[low].Bytes)
	return nil
}

// findDictionary reads the dictionary before a jump.
func (r *Reader) findDictionary() error {
	r.rewind()
	if first := r.chunk.pages[0].Offset - r.next; first > 0 {
		r.ahead = min(first, readAhead)
	}
	p, err := r.head()
	if err == nil && p.Kind == format.DictionaryPage {
		err = r.readDictionary(p)
	}
	return err
}

// pass goes past the next page if it has no more than so many rows; otherwise it is loaded.
func (r *Reader) pass(rows int64) (passed bool, err error) {
	if r.rows == 0 {
		return false, errValues
	}
	before := r.next
	p, err := r.head()
	if err != nil {
		return false, err
	}
	if p.Kind != format.DataPage || int64(p.Values) > rows {
		r.next = before
		loaded, err := r.load()
		if err == nil && !loaded {
			err = errValues
		}
		return false, err
	}
	r.rows -= int64(p.Values)
	r.row += int64(p.Values)
	return true, r.skip(p)
}
