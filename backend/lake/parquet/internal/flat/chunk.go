package flat

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/ontologia/onto/backend/lake/parquet/internal/format"
)

// The sizes of pages. Small ones make the search for one row cheap, large ones scans.
const (
	pageBytes = 32 << 10 // in a page, but for the last batch
	batchRows = 32       // rows after which a page may end
)

// chunkWriter writes a column of a row group.
type chunkWriter struct {
	column *Column
	values *Values
	rows   int
	base   int64 // where the chunk begins in the file
	chunk  format.Chunk
	index  index

	folded   []uint32 // by value: its number in the dictionary; nil if there is none
	width    int      // of these in bits
	*scratch          // out has the chunk, and page the page at hand, before it is packed
}

// write appends the pages, and makes the metadata of them.
func (c *chunkWriter) write() error {
	c.out = c.out[:0]
	c.chunk = format.Chunk{Type: c.column.Type, Codec: format.Zstd, Values: int64(c.rows)}
	if c.column.Folding != Unfolded {
		if err := c.writeDictionary(); err != nil {
			return err
		}
	}
	c.chunk.Data = c.base + int64(len(c.out))
	if c.column.Statistics {
		s := c.boundsOf(0, c.rows, 0, c.count())
		c.chunk.Statistics = &s
	}
	encoding := format.PlainValues
	if c.folded != nil {
		encoding = format.DictionaryIndex
	}
	c.chunk.Encodings = append(c.chunk.Encodings, encoding, format.Hybrid)
	for row, value := 0, 0; row < c.rows; {
		rows, values := c.extent(row, value)
		if err := c.writePage(encoding, row, rows, value, values); err != nil {
			return err
		}
		row, value = row+rows, value+values
	}
	c.chunk.Compressed = int64(len(c.out))
	return nil
}

// count is how many values there are, without NULL.
func (c *chunkWriter) count() int {
	return len(c.values.Texts) + len(c.values.Ints) + len(c.values.Floats) + len(c.values.Bools)
}

// extent is how many rows and values the page that begins with these has.
func (c *chunkWriter) extent(row, value int) (rows, values int) {
	bytes := 0
	for bytes < pageBytes && row+rows < c.rows {
		batch := min(batchRows, c.rows-row-rows)
		n := batch
		if c.column.Optional {
			n = 0
			for _, level := range c.values.Levels[row+rows : row+rows+batch] {
				n += int(level)
			}
		}
		bytes += c.plainBytes(value+values, n)
		rows, values = rows+batch, values+n
	}
	return rows, values
}

// plainBytes is how long values are in a page.
func (c *chunkWriter) plainBytes(from, n int) int {
	switch {
	case c.folded != nil:
		return (n*c.width + 7) / 8
	case c.column.Type == format.Boolean:
		return (n + 7) / 8
	case c.column.Type != format.ByteArray:
		return widthOf(c.column.Type) * n
	}
	bytes := 4 * n
	for _, text := range c.values.Texts[from : from+n] {
		bytes += len(text)
	}
	return bytes
}

func (c *chunkWriter) writePage(encoding format.Encoding, row, rows, value, values int) error {
	c.page = c.page[:0]
	if c.column.Optional {
		c.page = append(c.page, 0, 0, 0, 0)
		c.page = appendHybrid(c.page, c.values.Levels[row:row+rows], 1)
		binary.LittleEndian.PutUint32(c.page, uint32(len(c.page)-4))
	}
	if c.folded != nil {
		c.page = appendHybrid(append(c.page, byte(c.width)), c.folded[value:value+values], c.width)
	} else {
		c.page = c.appendPlain(c.page, value, values)
	}
	at := len(c.out)
	if err := c.flush(format.Page{Kind: format.DataPage, Values: int32(rows), Encoding: encoding}); err != nil {
		return err
	}
	if !c.column.Index {
		return nil
	}
	c.index.locations = append(c.index.locations, format.Location{
		Offset: c.base + int64(at), Bytes: int32(len(c.out) - at), FirstRow: int64(row),
	})
	if c.column.Statistics {
		if s := c.boundsOf(row, rows, value, values); s.Min != nil {
			c.index.bounds = append(c.index.bounds, s)
		}
	}
	if len(c.index.bounds) != len(c.index.locations) {
		c.index.bounds = nil
	}
	return nil
}

// flush appends the page that was filled.
func (c *chunkWriter) flush(head format.Page) error {
	z, err := encoder()
	if err != nil {
		return err
	}
	c.packed = z.EncodeAll(c.page, c.packed[:0])
	head.Uncompressed, head.Compressed = int32(len(c.page)), int32(len(c.packed))
	from := len(c.out)
	c.out = format.AppendPage(c.out, &head)
	c.chunk.Uncompressed += int64(len(c.out) - from + len(c.page))
	c.out = append(c.out, c.packed...)
	return nil
}

func (c *chunkWriter) appendPlain(out []byte, from, n int) []byte {
	switch c.column.Type {
	case format.ByteArray:
		for _, text := range c.values.Texts[from : from+n] {
			out = append(binary.LittleEndian.AppendUint32(out, uint32(len(text))), text...)
		}
	case format.Int64:
		for _, v := range c.values.Ints[from : from+n] {
			out = binary.LittleEndian.AppendUint64(out, uint64(v))
		}
	case format.Int32:
		for _, v := range c.values.Ints[from : from+n] {
			out = binary.LittleEndian.AppendUint32(out, uint32(v))
		}
	case format.Double:
		for _, v := range c.values.Floats[from : from+n] {
			out = binary.LittleEndian.AppendUint64(out, math.Float64bits(v))
		}
	case format.Boolean:
		for i, v := range c.values.Bools[from : from+n] {
			if i%8 == 0 {
				out = append(out, 0)
			}
			if v {
				out[len(out)-1] |= 1 << (i % 8)
			}
		}
	}
	return out
}

// writeDictionary numbers the different values and writes them as the first page. If the
// chunk gets no smaller by it, there is none.
func (c *chunkWriter) writeDictionary() error {
	most := math.MaxInt
	if c.column.Folding == Cheaper {
		most = c.plainBytes(0, c.count()) / 2
	}
	var distinct []int // where a value is first
	fits := true
	switch c.column.Type {
	case format.ByteArray:
		c.folded, distinct, fits = numberTexts(c.numbers[:0], c.values.Texts, most)
	case format.Int64, format.Int32:
		c.folded, distinct, fits = number(c.numbers[:0], c.values.Ints, func(v int64) uint64 { return uint64(v) }, most/widthOf(c.column.Type))
	case format.Double:
		c.folded, distinct, fits = number(c.numbers[:0], c.values.Floats, math.Float64bits, most/8)
	}
	if c.folded != nil {
		c.numbers = c.folded
	}
	if !fits || len(distinct) == 0 {
		c.folded = nil
		return nil
	}
	c.width = max(1, bits.Len(uint(len(distinct)-1)))
	c.page = c.page[:0]
	for _, at := range distinct {
		c.page = c.appendPlain(c.page, at, 1)
	}
	c.chunk.Dictionary = c.base
	c.chunk.Encodings = append(c.chunk.Encodings, format.PlainValues)
	return c.flush(format.Page{Kind: format.DictionaryPage, Values: int32(len(distinct)), Encoding: format.PlainValues})
}

// number appends a number for each value, the same for equal ones. It gives up
// when there are more different ones than allowed.
func number[V any](numbers []uint32, values []V, bits func(V) uint64, most int) (_ []uint32, distinct []int, fits bool) {
	known := map[uint64]uint32{}
	for i, v := range values {
		n, ok := known[bits(v)]
		if !ok {
			if most--; most < 0 {
				return nil, nil, false
			}
			n = uint32(len(distinct))
			known[bits(v)] = n
			distinct = append(distinct, i)
		}
		numbers = append(numbers, n)
	}
	return numbers, distinct, true
}

// numberTexts is number for texts, of which the bytes are limited.
func numberTexts(numbers []uint32, values [][]byte, most int) (_ []uint32, distinct []int, fits bool) {
	known := map[string]uint32{}
	for i, v := range values {
		n, ok := known[string(v)]
		if !ok {
			if most -= 4 + len(v); most < 0 {
				return nil, nil, false
			}
			n = uint32(len(distinct))
			known[string(v)] = n
			distinct = append(distinct, i)
		}
		numbers = append(numbers, n)
	}
	return numbers, distinct, true
}
