// Package format is the metadata of flat Parquet files: the footer, the heads of pages and
// the page index, in Thrift's compact protocol. What it reads may be hostile: it takes
// memory in proportion to the bytes that are there, whatever numbers they have.
package format

import (
	"errors"
	"fmt"
)

// Type is how the values of a column are stored.
type Type int32

// The types that are written and read.
const (
	Boolean   Type = 0
	Int32     Type = 1
	Int64     Type = 2
	Double    Type = 5
	ByteArray Type = 6
)

func (t Type) String() string {
	names := []string{"BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"}
	if t >= 0 && int(t) < len(names) {
		return names[t]
	}
	return fmt.Sprintf("type %d", int32(t))
}

// Meaning is what the values of a column stand for.
type Meaning int

// The meanings that are written. They are not read: only the type counts.
const (
	Plain     Meaning = iota
	String            // UTF-8
	JSON              // as UTF-8
	Timestamp         // microseconds since 1970 in UTC
	Date              // days since 1970
)

// Encoding is how a page has values.
type Encoding int32

// The encodings that are written or read.
const (
	PlainValues     Encoding = 0
	OldDictionary   Encoding = 2
	Hybrid          Encoding = 3 // runs and packed bits
	DictionaryIndex Encoding = 8
)

// Codec is how pages are compressed.
type Codec int32

// The codecs that are written or read.
const (
	Uncompressed Codec = 0
	Zstd         Codec = 6
)

// Column is a column of a file.
type Column struct {
	Name     string
	Type     Type
	Meaning  Meaning
	Optional bool // values may be NULL
	Nested   bool // it repeats or has columns below it: such a file is not flat
}

// File is the footer of a file.
type File struct {
	Columns   []Column
	Rows      int64
	Groups    []Group
	Values    []Pair
	CreatedBy string
}

// Pair is a text that a file has beside its columns.
type Pair struct{ Key, Value string }

// Group is a row group.
type Group struct {
	Rows   int64
	Chunks []Chunk // by column
}

// Chunk is a column of a row group.
type Chunk struct {
	Type                     Type
	Encodings                []Encoding
	Codec                    Codec
	Values                   int64 // NULL among them
	Uncompressed, Compressed int64 // bytes, with the heads of pages
	Data, Dictionary         int64 // where the pages begin; 0 for no dictionary
	Statistics               *Statistics
	Offsets, Bounds          Section // the page index
}

// Statistics is what a row group says about the values of a column.
type Statistics struct {
	Min, Max []byte // nil if they are not known
	Nulls    int64
}

// Section is a part of a file; one without a length is not there.
type Section struct {
	Offset int64
	Length int32
}

// Magic begins and ends a file.
const Magic = "PAR1"

var errIncomplete = errors.New("a part that it must have is missing")

// ReadFile decodes a footer.
func ReadFile(data []byte) (*File, error) {
	f := &File{Rows: -1}
	d := &decoder{data: data}
	d.fields(func(id int, wire byte) bool {
		switch {
		case id == 2 && wire == wireList:
			d.list(wireStruct, func() { f.Columns = append(f.Columns, d.column()) })
		case id == 3 && wire == wireI64:
			f.Rows = d.int64()
		case id == 4 && wire == wireList:
			d.list(wireStruct, func() { f.Groups = append(f.Groups, d.group()) })
		case id == 5 && wire == wireList:
			d.list(wireStruct, func() { f.Values = append(f.Values, d.pair()) })
		case id == 6 && wire == wireBinary:
			f.CreatedBy = string(d.binary())
		default:
			return false
		}
		return true
	})
	if d.err == nil && (len(f.Columns) == 0 || f.Rows < 0) {
		d.fail(errIncomplete)
	}
	if d.err != nil {
		return nil, d.err
	}
	f.Columns = f.Columns[1:] // the first one is the root
	return f, nil
}

func (d *decoder) column() Column {
	c := Column{Type: -1}
	d.fields(func(id int, wire byte) bool {
		switch {
		case id == 1 && wire == wireI32:
			c.Type = Type(d.int32())
		case id == 3 && wire == wireI32:
			repetition := d.int32()
			c.Optional, c.Nested = repetition == 1, c.Nested || repetition > 1
		case id == 4 && wire == wireBinary:
			c.Name = string(d.binary())
		case id == 5 && wire == wireI32:
			c.Nested = d.int32() != 0 || c.Nested
		default:
			return false
		}
		return true
	})
	if c.Name == "" {
		d.fail(errIncomplete)
	}
	return c
}

func (d *decoder) group() Group {
	g := Group{Rows: -1}
	d.fields(func(id int, wire byte) bool {
		switch {
		case id == 1 && wire == wireList:
			d.list(wireStruct, func() { g.Chunks = append(g.Chunks, d.chunk()) })
		case id == 3 && wire == wireI64:
			g.Rows = d.int64()
		default:
			return false
		}
		return true
	})
	if len(g.Chunks) == 0 {
		d.fail(errIncomplete)
	}
	return g
}

func (d *decoder) pair() (p Pair) {
	d.fields(func(id int, wire byte) bool {
		switch {
		case id == 1 && wire == wireBinary:
			p.Key = string(d.binary())
		case id == 2 && wire == wireBinary:
			p.Value = string(d.binary())
		default:
			return false
		}
		return true
	})
	if p.Key == "" {
		d.fail(errIncomplete)
	}
	return p
}

func (d *decoder) chunk() Chunk {
	c := Chunk{Type: -1, Values: -1, Uncompressed: -1, Compressed: -1, Data: -1, Codec: -1}
	d.fields(func(id int, wire byte) bool {
		switch {
		case id == 3 && wire == wireStruct:
			d.fields(func(id int, wire byte) bool { return d.chunkField(&c, id, wire) })
		case id == 4 && wire == wireI64:
			c.Offsets.Offset = d.int64()
		case id == 5 && wire == wireI32:
			c.Offsets.Length = d.int32()
		case id == 6 && wire == wireI64:
			c.Bounds.Offset = d.int64()
		case id == 7 && wire == wireI32:
			c.Bounds.Length = d.int32()
		default:
			return false
		}
		return true
	})
	if c.Type < 0 || c.Codec < 0 || c.Values < 0 || c.Uncompressed < 0 || c.Compressed < 0 || c.Data < 0 {
		d.fail(errIncomplete)
	}
	return c
}

func (d *decoder) chunkField(c *Chunk, id int, wire byte) bool {
	switch {
	case id == 1 && wire == wireI32:
		c.Type = Type(d.int32())
	case id == 2 && wire == wireList:
		d.list(wireI32, func() { c.Encodings = append(c.Encodings, Encoding(d.int32())) })
	case id == 4 && wire == wireI32:
		c.Codec = Codec(d.int32())
	case id == 5 && wire == wireI64:
		c.Values = d.int64()
	case id == 6 && wire == wireI64:
		c.Uncompressed = d.int64()
	case id == 7 && wire == wireI64:
		c.Compressed = d.int64()
	case id == 9 && wire == wireI64:
		c.Data = d.int64()
	case id == 11 && wire == wireI64:
		c.Dictionary = d.int64()
	case id == 12 && wire == wireStruct:
		c.Statistics = d.statistics()
	default:
		return false
	}
	return true
}

func (d *decoder) statistics() *Statistics {
	s := &Statistics{}
	d.fields(func(id int, wire byte) bool {
		switch {
		case id == 3 && wire == wireI64:
			s.Nulls = d.int64()
		case id == 5 && wire == wireBinary:
			s.Max = d.binary()
		case id == 6 && wire == wireBinary:
			s.Min = d.binary()
		default:
			return false
		}
		return true
	})
	return s
}
