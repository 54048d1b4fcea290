package format

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The types of Thrift's compact protocol.
const (
	wireTrue   = 1
	wireFalse  = 2
	wireByte   = 3
	wireI16    = 4
	wireI32    = 5
	wireI64    = 6
	wireDouble = 7
	wireBinary = 8
	wireList   = 9
	wireSet    = 10
	wireMap    = 11
	wireStruct = 12
)

// maxDepth is how deep structures may be nested. Parquet's are less than half of it.
const maxDepth = 16

var errShort = errors.New("it ends too early")

// decoder reads values one after the other. After an error it reads nothing more, and
// returns zero values. It allocates only for what it has read, never for what a length says.
type decoder struct {
	data  []byte
	at    int
	depth int
	err   error
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// rest is how many bytes are left.
func (d *decoder) rest() int { return len(d.data) - d.at }

func (d *decoder) byte() byte {
	if d.err != nil || d.rest() < 1 {
		d.fail(errShort)
		return 0
	}
	d.at++
	return d.data[d.at-1]
}

func (d *decoder) uvarint() uint64 {
	if d.err != nil {
		return 0
	}
	n, size := binary.Uvarint(d.data[d.at:])
	if size <= 0 {
		d.fail(errShort)
		return 0
	}
	d.at += size
	return n
}

func (d *decoder) int64() int64 {
	n := d.uvarint()
	return int64(n>>1) ^ -int64(n&1)
}

func (d *decoder) int32() int32 {
	n := d.int64()
	if n != int64(int32(n)) {
		d.fail(fmt.Errorf("the number %d has more than 32 bits", n))
		return 0
	}
	return int32(n)
}

// binary returns bytes of the input itself.
func (d *decoder) binary() []byte {
	n := d.uvarint()
	if n > uint64(d.rest()) {
		d.fail(errShort)
	}
	if d.err != nil {
		return nil
	}
	d.at += int(n)
	return d.data[d.at-int(n) : d.at : d.at]
}

// list calls a function for each element of a list, until one fails.
func (d *decoder) list(wire byte, element func()) {
	head := d.byte()
	size := uint64(head >> 4)
	if size == 15 {
		size = d.uvarint()
	}
	switch {
	case d.err != nil || size == 0:
		return
	case head&15 != wire:
		d.fail(fmt.Errorf("a list has elements of type %d, not %d", head&15, wire))
	case size > uint64(d.rest()): // an element has a byte at least
		d.fail(errShort)
	}
	for ; size > 0 && d.err == nil; size-- {
		element()
	}
}

// fields reads a structure. The function reads the fields that it knows and reports
// false for others, which are skipped.
func (d *decoder) fields(field func(id int, wire byte) bool) {
	if d.depth++; d.depth > maxDepth {
		d.fail(errors.New("structures are nested too deep"))
	}
	last := 0
	for d.err == nil {
		head := d.byte()
		if head == 0 {
			break
		}
		if delta := int(head >> 4); delta != 0 {
			last += delta
		} else {
			last = int(int16(d.int64()))
		}
		if d.err == nil && !field(last, head&15) {
			d.skip(head & 15)
		}
	}
	d.depth--
}

// skip reads past a value.
func (d *decoder) skip(wire byte) {
	switch wire {
	case wireTrue, wireFalse: // the type is the value
	case wireByte:
		d.byte()
	case wireI16, wireI32, wireI64:
		d.uvarint()
	case wireDouble:
		for range 8 {
			d.byte()
		}
	case wireBinary:
		d.binary()
	case wireStruct:
		d.fields(func(int, byte) bool { return false })
	case wireList, wireSet:
		d.skipList()
	default: // Parquet has no maps
		d.fail(fmt.Errorf("a value has the unknown type %d", wire))
	}
}

func (d *decoder) skipList() {
	if d.rest() < 1 {
		d.fail(errShort)
		return
	}
	if d.depth++; d.depth > maxDepth {
		d.fail(errors.New("lists are nested too deep"))
		return
	}
	wire := d.data[d.at] & 15
	d.list(wire, func() {
		if wire == wireTrue || wire == wireFalse {
			d.byte() // in a list, each has a byte
		} else {
			d.skip(wire)
		}
	})
	d.depth--
}

// encoder appends values.
type encoder struct {
	out  []byte
	last int // the number of the last field of the structure at hand
}

func (e *encoder) head(id int, wire byte) {
	if delta := id - e.last; delta > 0 && delta < 16 {
		e.out = append(e.out, byte(delta)<<4|wire)
	} else {
		e.out = binary.AppendVarint(append(e.out, wire), int64(id))
	}
	e.last = id
}

func (e *encoder) int32(id int, n int32) {
	e.head(id, wireI32)
	e.out = binary.AppendVarint(e.out, int64(n))
}

func (e *encoder) int64(id int, n int64) {
	e.head(id, wireI64)
	e.out = binary.AppendVarint(e.out, n)
}

func (e *encoder) bool(id int, yes bool) {
	if yes {
		e.head(id, wireTrue)
	} else {
		e.head(id, wireFalse)
	}
}

func (e *encoder) binary(id int, value []byte) {
	e.head(id, wireBinary)
	e.element(value)
}

// element is a text of a list.
func (e *encoder) element(value []byte) {
	e.out = append(binary.AppendUvarint(e.out, uint64(len(value))), value...)
}

func (e *encoder) list(id int, wire byte, size int) {
	e.head(id, wireList)
	if size < 15 {
		e.out = append(e.out, byte(size)<<4|wire)
	} else {
		e.out = binary.AppendUvarint(append(e.out, 0xf0|wire), uint64(size))
	}
}

func (e *encoder) structure(id int, fields func()) {
	e.head(id, wireStruct)
	e.item(fields)
}

// item is a structure of a list.
func (e *encoder) item(fields func()) {
	outer := e.last
	e.last = 0
	fields()
	e.out = append(e.out, 0)
	e.last = outer
}
