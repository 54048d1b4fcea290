package flat

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/ontologia/onto/backend/lake/parquet/internal/format"
)

// page is the values of a page that were not read yet.
type page struct {
	left   int // rows
	levels hybrid
	folded bool
	codes  hybrid // if it is folded, or booleans in runs
	runs   bool   // booleans in runs
	plain  []byte
	width  int  // bytes of a plain value; 0 for texts and booleans
	bools  bool // booleans that are not in runs
	bit    int  // of the first byte, for booleans
}

// widthOf is how many bytes a plain value of a type has; 0 for texts and booleans.
func widthOf(t format.Type) int {
	switch t {
	case format.Int32:
		return 4
	case format.Int64, format.Double:
		return 8
	}
	return 0
}

// fixed decodes a value of so many bytes. The sign of an integer is kept.
func fixed(data []byte, width int) uint64 {
	if width == 4 {
		return uint64(int32(binary.LittleEndian.Uint32(data)))
	}
	return binary.LittleEndian.Uint64(data)
}

// begin takes the contents of a page apart.
func (p *page) begin(c *Chunk, head format.Page, data []byte) error {
	*p = page{left: int(head.Values)}
	p.width = widthOf(c.Meta.Type)
	if c.Optional {
		levels, rest, err := prefixed(data)
		if err != nil {
			return err
		}
		p.levels, data = hybrid{data: levels, width: 1}, rest
	}
	switch head.Encoding {
	case format.PlainValues:
		p.plain, p.bools = data, c.Meta.Type == format.Boolean
	case format.DictionaryIndex, format.OldDictionary:
		p.folded = true
		if len(data) == 0 { // all are NULL
			return nil
		}
		if data[0] > maxWidth {
			return fmt.Errorf("a page has indexes of %d bits", data[0])
		}
		p.codes = hybrid{data: data[1:], width: int(data[0])}
	case format.Hybrid:
		if c.Meta.Type != format.Boolean {
			return fmt.Errorf("a page of type %s has the encoding %d", c.Meta.Type, head.Encoding)
		}
		runs, _, err := prefixed(data)
		p.runs, p.codes = true, hybrid{data: runs, width: 1}
		return err
	default:
		return fmt.Errorf("a page has the unknown encoding %d", head.Encoding)
	}
	return nil
}

// prefixed splits data whose length comes before it from the rest.
func prefixed(data []byte) (first, rest []byte, err error) {
	if len(data) < 4 {
		return nil, nil, errValues
	}
	n := binary.LittleEndian.Uint32(data)
	if uint64(n) > uint64(len(data)-4) {
		return nil, nil, errValues
	}
	return data[4 : 4+n], data[4+n:], nil
}

// text is the next text of a page that is not folded.
func (p *page) text() ([]byte, error) {
	text, rest, err := prefixed(p.plain)
	p.plain = rest
	return text, err
}

// skip goes past rows of a column without NULL.
func (p *page) skip(rows int) error {
	p.left -= rows
	switch {
	case p.folded || p.runs:
		return p.codes.skip(rows)
	case p.width > 0:
		if len(p.plain) < rows*p.width {
			return errValues
		}
		p.plain = p.plain[rows*p.width:]
		return nil
	case p.bools:
		at := p.bit + rows
		if len(p.plain) < (at+7)/8 {
			return errValues
		}
		p.plain, p.bit = p.plain[at/8:], at%8
		return nil
	}
	for range rows {
		if _, err := p.text(); err != nil {
			return err
		}
	}
	return nil
}

// dictionary is the different values of a chunk.
type dictionary struct {
	bytes  int
	texts  [][]byte
	ints   []int64
	floats []float64
}

func newDictionary(t format.Type, data []byte, n int) (*dictionary, error) {
	d := &dictionary{bytes: len(data)}
	switch t {
	case format.ByteArray:
		if n > len(data)/4 {
			return nil, errValues
		}
		d.texts = make([][]byte, n)
		p := page{plain: data}
		for i := range d.texts {
			var err error
			if d.texts[i], err = p.text(); err != nil {
				return nil, err
			}
		}
		return d, nil
	case format.Int32, format.Int64, format.Double:
		if n > len(data)/widthOf(t) {
			return nil, errValues
		}
	default:
		return nil, fmt.Errorf("a column of type %s has a dictionary", t)
	}
	for i := range n {
		bits := fixed(data[i*widthOf(t):], widthOf(t))
		if t == format.Double {
			d.floats = append(d.floats, math.Float64frombits(bits))
		} else {
			d.ints = append(d.ints, int64(bits))
		}
	}
	return d, nil
}

var errNumber = errors.New("a value is not in the dictionary")

// look returns the values that numbers stand for.
func look[T any](values, all []T, numbers []uint32) error {
	for i, n := range numbers {
		if int64(n) >= int64(len(all)) {
			return errNumber
		}
		values[i] = all[n]
	}
	return nil
}

// start tells how many of the rows asked for the page at hand has, and how many values.
func (r *Reader) start(most int, levels []uint32) (rows, values int, err error) {
	if loaded, err := r.load(); err != nil || !loaded {
		return 0, 0, err
	}
	rows = min(most, r.page.left)
	values = rows
	if r.chunk.Optional {
		if err := r.page.levels.read(levels[:rows]); err != nil {
			return 0, 0, err
		}
		values = 0
		for _, level := range levels[:rows] {
			values += int(level & 1)
		}
	}
	r.page.left -= rows
	r.row += int64(rows)
	return rows, values, nil
}

// codes reads the numbers of values.
func (r *Reader) codes(n int) ([]uint32, error) {
	if cap(r.numbers) < n {
		r.numbers = make([]uint32, n)
	}
	list := r.numbers[:n]
	return list, r.page.codes.read(list)
}

// Texts reads values of rows of one page, as many as there is room for, and their levels if
// the column is optional. It returns how many rows and values it read; 0 rows at the end.
func (r *Reader) Texts(list [][]byte, levels []uint32) (rows, values int, err error) {
	rows, values, err = r.start(len(list), levels)
	if err != nil || values == 0 {
		return rows, values, err
	}
	if r.page.folded {
		numbers, err := r.codes(values)
		if err == nil {
			err = look(list, r.dictionary.texts, numbers)
		}
		return rows, values, err
	}
	for i := range values {
		if list[i], err = r.page.text(); err != nil {
			return rows, i, err
		}
	}
	return rows, values, nil
}

// Ints is Texts for integers.
func (r *Reader) Ints(list []int64, levels []uint32) (rows, values int, err error) {
	return numbers(r, list, levels, func(d *dictionary) []int64 { return d.ints }, func(bits uint64) int64 { return int64(bits) })
}

// Floats is Texts for numbers.
func (r *Reader) Floats(list []float64, levels []uint32) (rows, values int, err error) {
	return numbers(r, list, levels, func(d *dictionary) []float64 { return d.floats }, math.Float64frombits)
}

func numbers[T any](r *Reader, list []T, levels []uint32, all func(*dictionary) []T, value func(uint64) T) (rows, values int, err error) {
	rows, values, err = r.start(len(list), levels)
	if err != nil || values == 0 {
		return rows, values, err
	}
	if r.page.folded {
		codes, err := r.codes(values)
		if err == nil {
			err = look(list, all(r.dictionary), codes)
		}
		return rows, values, err
	}
	width := r.page.width
	if width == 0 || len(r.page.plain) < width*values {
		return 0, 0, errValues
	}
	for i := range values {
		list[i] = value(fixed(r.page.plain[width*i:], width))
	}
	r.page.plain = r.page.plain[width*values:]
	return rows, values, nil
}

// Bools is Texts for booleans.
func (r *Reader) Bools(list []bool, levels []uint32) (rows, values int, err error) {
	rows, values, err = r.start(len(list), levels)
	if err != nil || values == 0 {
		return rows, values, err
	}
	p := &r.page
	if p.runs {
		codes, err := r.codes(values)
		for i, code := range codes {
			list[i] = code != 0
		}
		return rows, values, err
	}
	for i := range values {
		if len(p.plain) == 0 {
			return 0, 0, errValues
		}
		list[i] = p.plain[0]>>p.bit&1 == 1
		if p.bit++; p.bit == 8 {
			p.bit, p.plain = 0, p.plain[1:]
		}
	}
	return rows, values, nil
}
