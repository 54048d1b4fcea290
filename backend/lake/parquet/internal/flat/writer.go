// Package flat writes and reads Parquet files without nested columns: values of five types,
// plain or by a dictionary, compressed with zstd. What it reads may be hostile: no page
// takes more memory than its reader allows, and none is decoded beyond its end.
package flat

import (
	"encoding/binary"
	"io"

	"github.com/ontologia/onto/backend/lake/parquet/internal/format"
)

// Column is a column of a file that is written.
type Column struct {
	format.Column
	Folding    Folding
	Statistics bool // of row groups
	Index      bool // of pages; only of a column without NULL
}

// Folding is whether a column has a dictionary.
type Folding int

// The ways of a column.
const (
	Unfolded Folding = iota
	Folded           // it has one
	Cheaper          // it has one in row groups that get smaller by it
)

// Values is the values of a column, without NULL, in the list of its type.
type Values struct {
	Levels []uint32 // by row: 0 for NULL, 1 for a value; nil if none is NULL
	Texts  [][]byte
	Ints   []int64 // those of 32 bits, too
	Floats []float64
	Bools  []bool
}

// Writer writes a file, row group by row group.
type Writer struct {
	out     io.Writer
	columns []Column
	at      int64
	meta    format.File
	pages   [][]index // by row group and column
	scratch scratch
}

// scratch is memory that the chunks of a file use one after the other.
type scratch struct {
	out, page, packed []byte
	numbers           []uint32
}

// index is the pages of a chunk.
type index struct {
	locations []format.Location
	bounds    []format.Statistics // nil if one has none
}

// NewWriter begins a file.
func NewWriter(out io.Writer, columns []Column) (*Writer, error) {
	w := &Writer{out: out, columns: columns}
	for _, c := range columns {
		w.meta.Columns = append(w.meta.Columns, c.Column)
	}
	return w, w.write([]byte(format.Magic))
}

func (w *Writer) write(data []byte) error {
	n, err := w.out.Write(data)
	w.at += int64(n)
	return err
}

// Group writes a row group, by column.
func (w *Writer) Group(rows int, values []Values) error {
	g := format.Group{Rows: int64(rows)}
	var pages []index
	for i := range w.columns {
		c := &chunkWriter{column: &w.columns[i], values: &values[i], rows: rows, base: w.at, scratch: &w.scratch}
		if err := c.write(); err != nil {
			return err
		}
		if err := w.write(c.out); err != nil {
			return err
		}
		g.Chunks = append(g.Chunks, c.chunk)
		pages = append(pages, c.index)
	}
	w.meta.Groups = append(w.meta.Groups, g)
	w.meta.Rows += g.Rows
	w.pages = append(w.pages, pages)
	return nil
}

// Close writes the page index and the footer. It does not close what the file was written to.
func (w *Writer) Close(createdBy string, pairs ...format.Pair) error {
	var out []byte
	section := func(appended func([]byte) []byte) format.Section {
		from := len(out)
		out = appended(out)
		return format.Section{Offset: w.at + int64(from), Length: int32(len(out) - from)}
	}
	for g, pages := range w.pages {
		for i, p := range pages {
			if w.columns[i].Index && p.bounds != nil {
				w.meta.Groups[g].Chunks[i].Bounds = section(func(out []byte) []byte { return format.AppendBounds(out, p.bounds) })
			}
		}
	}
	for g, pages := range w.pages {
		for i, p := range pages {
			if w.columns[i].Index {
				w.meta.Groups[g].Chunks[i].Offsets = section(func(out []byte) []byte { return format.AppendOffsets(out, p.locations) })
			}
		}
	}
	w.meta.CreatedBy, w.meta.Values = createdBy, pairs
	from := len(out)
	out = format.AppendFile(out, &w.meta)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(out)-from))
	return w.write(append(out, format.Magic...))
}
