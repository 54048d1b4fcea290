package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/parquet/internal/flat"
	"github.com/ontologia/onto/backend/lake/parquet/internal/format"
)

// File reads a file of one type. It is safe for concurrent use.
type File struct {
	kind   onto.Kind
	typ    string
	size   int64
	rows   int64
	groups []*group
	source io.ReaderAt
	meta   *format.File

	indexed atomic.Int64 // rows of the indexes that are kept
}

// group is one row group of a file.
type group struct {
	rows     int64
	chunks   []format.Chunk // by column
	bounded  bool           // min and max are known
	min, max string         // of the first part of the keys

	mu    sync.Mutex    // held while index and parts are made; they never change afterwards
	index *index        // nil until it is needed, or if the file has too many rows to keep it
	parts []*flat.Chunk // by system column: prepared to read single rows
}

// Open opens a file of one type. It is safe for concurrent use. Damage that shows
// is an error of code Corrupt here or in later calls; only the hash of the whole
// file shows all of it.
func Open(r io.ReaderAt, size int64, kind onto.Kind, typ string) (f *File, err error) {
	f = &File{kind: kind, typ: typ, size: size}
	defer func() {
		if err != nil {
			f = nil
		}
	}()
	defer f.guard(&err)
	return f, f.open(r, size)
}

// Store is the id of the store that the file was written for, and whether this
// program has written it. Files of its first versions have no id.
func (f *File) Store() (id string, own bool) {
	for _, p := range f.meta.Values {
		if p.Key == storeKey {
			id = p.Value
		}
	}
	return id, strings.HasPrefix(f.meta.CreatedBy, createdBy+" ")
}

// Rows is how many versions the file has.
func (f *File) Rows() int64 { return f.rows }

// Unfolded is how many bytes the system columns take when they are not compressed.
func (f *File) Unfolded() int64 {
	bytes := int64(0)
	for _, g := range f.groups {
		for column := range System(f.kind) {
			bytes += g.chunks[column].Uncompressed
		}
	}
	return bytes
}

// open reads the end of the file, which tells where everything is.
func (f *File) open(r io.ReaderAt, size int64) error {
	f.source = faults{r}
	footer, err := f.footer()
	if err != nil {
		return err
	}
	if f.meta, err = format.ReadFile(footer); err != nil {
		return f.damaged("it is not Parquet: its footer: %w", err)
	}
	if err := f.checkColumns(); err != nil {
		return err
	}
	bytes := int64(0) // of the system columns
	for i := range f.meta.Groups {
		g := &group{rows: f.meta.Groups[i].Rows, chunks: f.meta.Groups[i].Chunks}
		if err := f.openGroup(g, i); err != nil {
			return err
		}
		for column := range System(f.kind) {
			bytes += g.chunks[column].Compressed
		}
		if bytes > size {
			return f.damaged("its columns have more bytes than the file")
		}
		f.groups = append(f.groups, g)
		f.rows += g.rows
	}
	if f.rows != f.meta.Rows {
		return f.damaged("its row groups have %d rows, not %d", f.rows, f.meta.Rows)
	}
	return nil
}

// tailBytes is how much of the end of a file is read at once. Most footers fit.
const tailBytes = 16 << 10

// footer reads the footer, which comes before its length and the last word.
func (f *File) footer() ([]byte, error) {
	const ending = 4 + len(format.Magic)
	tail := make([]byte, min(f.size, tailBytes))
	if err := f.readAt(tail, f.size-int64(len(tail))); err != nil {
		return nil, err
	}
	if len(tail) < len(format.Magic)+ending || !bytes.HasSuffix(tail, []byte(format.Magic)) {
		return nil, f.damaged("it is not Parquet")
	}
	length := int64(binary.LittleEndian.Uint32(tail[len(tail)-ending:]))
	if length > maxFooterBytes || length > f.size-int64(len(format.Magic)+ending) {
		return nil, f.damaged("it is not Parquet: a footer of %d bytes", length)
	}
	if have := int64(len(tail) - ending); length <= have {
		return tail[have-length : have], nil
	}
	footer := make([]byte, length)
	return footer, f.readAt(footer, f.size-int64(ending)-length)
}

// readAt fills a buffer.
func (f *File) readAt(buf []byte, at int64) error {
	n, err := f.source.ReadAt(buf, at)
	if n == len(buf) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return f.damaged("it ends too early: %w", err)
}

// checkColumns reports whether the file has the system columns.
func (f *File) checkColumns() error {
	names := System(f.kind)
	for i, c := range f.meta.Columns {
		switch {
		case c.Nested:
			return f.damaged("column %s is nested", c.Name)
		case i >= len(names):
			if slices.Contains(names, c.Name) {
				return f.damaged("column %s is there twice", c.Name)
			}
		case c.Name != names[i]:
			return f.damaged("column %d is %s, not %s", i+1, c.Name, names[i])
		case c.Type != physicalType(systemType(names[i])):
			return f.damaged("column %s is of type %s", c.Name, c.Type)
		case c.Optional:
			return f.damaged("column %s may be NULL", c.Name)
		}
	}
	if n := len(f.meta.Columns); n < len(names) {
		return f.damaged("column %s is missing", names[n])
	}
	return nil
}

// openGroup checks a row group against the limits of the file.
func (f *File) openGroup(g *group, number int) error {
	if g.rows <= 0 || g.rows > maxGroupRows {
		return f.damaged("row group %d has %d rows", number+1, g.rows)
	}
	if len(g.chunks) != len(f.meta.Columns) {
		return f.damaged("row group %d has %d columns, not %d", number+1, len(g.chunks), len(f.meta.Columns))
	}
	left := int64(maxGroupBytes)
	for i, name := range System(f.kind) {
		chunk, err := f.chunkOf(g, number, i, &left)
		if err != nil {
			return err
		}
		if plainColumn(f.kind, i) && folded(chunk.Meta) {
			return f.damaged("column %s of row group %d has a dictionary, which no writer gives it", name, number+1)
		}
		if err := f.statistics(g, i); err != nil {
			return err
		}
	}
	return f.indexWithin(g, number)
}

// plainColumn reports whether a writer gives a column no dictionary. With a dictionary,
// few bytes could stand for any number of long keys or fields.
func plainColumn(kind onto.Kind, column int) bool {
	keys := keyColumns(kind)
	return column == commitColumn || column >= keyColumn && column < keyColumn+keys || column == keyColumn+keys+2
}

// folded reports whether a column has a dictionary.
func folded(chunk *format.Chunk) bool {
	return chunk.Dictionary != 0 || slices.ContainsFunc(chunk.Encodings, func(e format.Encoding) bool {
		return e == format.OldDictionary || e == format.DictionaryIndex
	})
}

// chunkOf is a column of a row group. It has a value for each row, is inside the file,
// and unfolds to no more than what is left for its row group.
func (f *File) chunkOf(g *group, number, column int, left *int64) (*flat.Chunk, error) {
	meta := &g.chunks[column]
	of := f.meta.Columns[column]
	chunk := &flat.Chunk{Source: f.source, Meta: meta, Optional: of.Optional, MaxPage: min(meta.Uncompressed, maxPageBytes)}
	start := chunk.Start()
	switch {
	case meta.Type != of.Type:
		return nil, f.damaged("column %s of row group %d is of type %s, not %s", of.Name, number+1, meta.Type, of.Type)
	case meta.Values != g.rows:
		return nil, f.damaged("column %s of row group %d has %d values in %d rows", of.Name, number+1, meta.Values, g.rows)
	case meta.Dictionary < 0 || start > f.size || meta.Compressed > f.size-start:
		return nil, f.damaged("column %s of row group %d is outside the file", of.Name, number+1)
	case meta.Uncompressed > *left:
		return nil, f.unfolded(number)
	}
	*left -= meta.Uncompressed
	return chunk, nil
}

// systemChunk is a system column of a row group, which was checked when the file was opened.
func (f *File) systemChunk(g *group, column int) *flat.Chunk {
	meta := &g.chunks[column]
	return &flat.Chunk{Source: f.source, Meta: meta, MaxPage: min(meta.Uncompressed, maxPageBytes)}
}

// unfolded is the error for a row group that takes more memory than any that was
// written.
func (f *File) unfolded(number int) error {
	return f.damaged("row group %d unfolds to more than %d bytes", number+1, maxGroupBytes)
}

// CheckTyped reports whether the typed columns are inside the file and within the
// limits, too. Open looks only at the columns that this package reads for answers.
func (f *File) CheckTyped() (err error) {
	defer f.guard(&err)
	for number, g := range f.groups {
		left := int64(maxGroupBytes)
		for i := len(System(f.kind)); i < len(f.meta.Columns); i++ {
			if _, err := f.chunkOf(g, number, i, &left); err != nil {
				return err
			}
		}
	}
	return nil
}

// indexWithin reports whether the places of pages are inside the file.
func (f *File) indexWithin(g *group, number int) error {
	for i, chunk := range g.chunks {
		for _, at := range []format.Section{chunk.Offsets, chunk.Bounds} {
			if at != (format.Section{}) && (at.Offset < 0 || at.Length <= 0 || at.Offset > f.size || int64(at.Length) > f.size-at.Offset) {
				return f.damaged("the page index of column %d of row group %d is outside the file", i+1, number+1)
			}
		}
	}
	return nil
}

// statistics takes what the file says of the type and the first part of the keys.
func (f *File) statistics(g *group, column int) error {
	stats := g.chunks[column].Statistics
	if stats == nil || stats.Min == nil || stats.Max == nil {
		return nil
	}
	switch low, high := string(stats.Min), string(stats.Max); column {
	case keyColumn:
		g.bounded, g.min, g.max = true, low, high
	case typeColumn:
		if low == high && low != f.typ {
			return f.damaged("it has rows of %s", low)
		}
	}
	return nil
}

// damaged says what is wrong with the file.
func (f *File) damaged(format string, args ...any) error {
	cause := onto.Errorf(onto.Corrupt, format, args...)
	var fault *fault
	if errors.As(cause, &fault) {
		var known *onto.Error
		if errors.As(fault.err, &known) {
			return fault.err
		}
		return onto.Errorf(onto.Unavailable, "read a file of %s %s: %w", f.kind, f.typ, fault.err)
	}
	return onto.Errorf(onto.Corrupt, "a file of %s %s is damaged: %w", f.kind, f.typ, cause).
		WithHint("check the store").WithCommand("doctor")
}

// guard turns a panic of the decoder into an error. Damaged files can cause
// one anywhere.
func (f *File) guard(err *error) {
	switch r := recover().(type) {
	case nil:
	case error:
		*err = f.damaged("it cannot be decoded: %w", r)
	default:
		*err = f.damaged("it cannot be decoded: %v", r)
	}
}

// faults marks errors of the underlying reader, to tell them from damage.
type faults struct{ io.ReaderAt }

// fault is an error of the storage.
type fault struct{ err error }

func (f *fault) Error() string { return f.err.Error() }

func (f *fault) Unwrap() error { return f.err }

// ReadAt reads, and marks any error but the end of the file.
func (f faults) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.ReaderAt.ReadAt(p, off)
	if err != nil && err != io.EOF {
		err = &fault{err}
	}
	return n, err
}
