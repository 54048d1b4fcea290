package parquet

import (
	"errors"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"

	"github.com/ontologia/onto"
)

// File reads a file of one type. It is safe for concurrent use.
type File struct {
	kind   onto.Kind
	typ    string
	size   int64
	rows   int64
	groups []*group
	source source
	meta   *metadata.FileMetaData
	small  readers         // for columns of small pages
	large  map[int]readers // by column: for the others
}

// readers makes readers of columns whose pages have up to so many bytes.
type readers struct {
	limit int64
	whole *file.Reader // of whole columns
	parts *file.Reader // of single pages
}

// group is one row group of a file.
type group struct {
	rows     int64
	meta     *metadata.RowGroupMetaData
	whole    []*file.RowGroupReader // by system column: reads it whole
	bounded  bool                   // min and max are known
	min, max string                 // of the first part of the keys

	mu    sync.Mutex             // held while index and part are made; they never change afterwards
	index *index                 // nil until it is needed
	part  []*file.RowGroupReader // by system column: reads the pages it is asked for
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
	if list := f.meta.KeyValueMetadata(); list != nil {
		if value := list.FindValue(storeKey); value != nil {
			id = *value
		}
	}
	return id, strings.HasPrefix(f.meta.GetCreatedBy(), createdBy+" ")
}

// Rows is how many versions the file has.
func (f *File) Rows() int64 { return f.rows }

// open reads the end of the file, which tells where everything is.
func (f *File) open(r io.ReaderAt, size int64) error {
	f.source = source{io.NewSectionReader(faults{r}, 0, size)}
	var err error
	if f.small, err = f.newReaders(smallPages); err != nil {
		return err
	}
	f.meta = f.small.whole.MetaData()
	f.meta.WriterVersion() // it is made at the first call, which must not be a concurrent one
	if err := f.checkColumns(f.meta); err != nil {
		return err
	}
	for i := range f.small.whole.NumRowGroups() {
		g := &group{meta: f.meta.RowGroup(i)}
		if err := f.openGroup(g, i); err != nil {
			return err
		}
		f.groups = append(f.groups, g)
		f.rows += g.rows
	}
	if f.rows != f.meta.GetNumRows() {
		return f.damaged("its row groups have %d rows, not %d", f.rows, f.meta.GetNumRows())
	}
	for i, g := range f.groups {
		for column := range System(f.kind) {
			g.whole = append(g.whole, f.readersOf(column).whole.RowGroup(i))
		}
	}
	return nil
}

// newReaders makes readers of pages up to a size.
func (f *File) newReaders(limit int64) (readers, error) {
	whole := parquet.NewReaderProperties(memory.NewGoAllocator())
	whole.MaxCompressedPageSize, whole.MaxUncompressedPageSize = limit, limit
	part := *whole
	part.BufferedStreamEnabled, part.BufferSize = true, 16<<10 // what is looked at for the head of a page
	with := []file.ReadOption{file.WithReadProps(whole)}
	if f.meta != nil {
		with = append(with, file.WithMetadata(f.meta))
	}
	r := readers{limit: limit}
	var err error
	if r.whole, err = file.NewParquetReader(f.source, with...); err == nil {
		r.parts, err = file.NewParquetReader(f.source, file.WithReadProps(&part), file.WithMetadata(r.whole.MetaData()))
	}
	if err != nil {
		return r, f.damaged("it is not Parquet: %w", err)
	}
	return r, nil
}

// readersOf returns the readers of a column.
func (f *File) readersOf(column int) readers {
	if r, ok := f.large[column]; ok {
		return r
	}
	return f.small
}

// unfolds notes how many bytes a column decompresses to in a row group, so that its
// pages can be read: no page has more.
func (f *File) unfolds(column int, bytes int64) error {
	if bytes <= f.readersOf(column).limit {
		return nil
	}
	r, err := f.newReaders(min(bytes, maxPageBytes))
	if f.large == nil {
		f.large = map[int]readers{}
	}
	f.large[column] = r
	return err
}

// checkColumns reports whether the file has the system columns.
func (f *File) checkColumns(meta *metadata.FileMetaData) error {
	names := System(f.kind)
	for i := range meta.Schema.NumColumns() {
		c := meta.Schema.Column(i)
		switch {
		case c.MaxRepetitionLevel() > 0 || len(c.ColumnPath()) != 1:
			return f.damaged("column %s is nested", c.Path())
		case i >= len(names):
			if slices.Contains(names, c.Name()) {
				return f.damaged("column %s is there twice", c.Name())
			}
		case c.Name() != names[i]:
			return f.damaged("column %d is %s, not %s", i+1, c.Name(), names[i])
		case c.PhysicalType() != physicalType(systemType(names[i])):
			return f.damaged("column %s is of type %s", c.Name(), c.PhysicalType())
		case c.MaxDefinitionLevel() > 0:
			return f.damaged("column %s may be NULL", c.Name())
		}
	}
	if n := meta.Schema.NumColumns(); n < len(names) {
		return f.damaged("column %s is missing", names[n])
	}
	return nil
}

// openGroup checks a row group against the limits of the file.
func (f *File) openGroup(g *group, number int) error {
	meta := g.meta
	g.rows = meta.NumRows()
	if g.rows <= 0 || g.rows > maxGroupRows {
		return f.damaged("row group %d has %d rows", number+1, g.rows)
	}
	names := System(f.kind)
	if meta.NumColumns() < len(names) {
		return f.damaged("row group %d has %d columns", number+1, meta.NumColumns())
	}
	left := int64(maxGroupBytes)
	for i, name := range names {
		chunk, err := f.chunkOf(g, number, i, &left)
		if err != nil {
			return err
		}
		if plainColumn(f.kind, i) && folded(chunk) {
			return f.damaged("column %s of row group %d has a dictionary, which no writer gives it", name, number+1)
		}
		if err := f.unfolds(i, chunk.TotalUncompressedSize()); err != nil {
			return err
		}
		if err := f.statistics(g, i, chunk); err != nil {
			return err
		}
	}
	return f.indexWithin(meta, number)
}

// plainColumn reports whether a writer gives a column no dictionary. With a dictionary,
// few bytes could stand for any number of long keys or fields.
func plainColumn(kind onto.Kind, column int) bool {
	keys := keyColumns(kind)
	return column == commitColumn || column >= keyColumn && column < keyColumn+keys || column == keyColumn+keys+2
}

// folded reports whether a column has a dictionary.
func folded(chunk *metadata.ColumnChunkMetaData) bool {
	return chunk.HasDictionaryPage() || slices.ContainsFunc(chunk.Encodings(), func(e parquet.Encoding) bool {
		return e == parquet.Encodings.PlainDict || e == parquet.Encodings.RLEDict
	})
}

// chunkOf is a column of a row group. It has a value for each row, is inside the file,
// and unfolds to no more than what is left for its row group.
func (f *File) chunkOf(g *group, number, column int, left *int64) (*metadata.ColumnChunkMetaData, error) {
	name := f.meta.Schema.Column(column).Name()
	chunk, err := g.meta.ColumnChunk(column)
	if err != nil {
		return nil, f.damaged("column %s of row group %d: %w", name, number+1, err)
	}
	start, length := chunk.DataPageOffset(), chunk.TotalCompressedSize()
	if chunk.HasDictionaryPage() && chunk.DictionaryPageOffset() > 0 {
		start = min(start, chunk.DictionaryPageOffset())
	}
	switch {
	case chunk.NumValues() != g.rows:
		return nil, f.damaged("column %s of row group %d has %d values in %d rows", name, number+1, chunk.NumValues(), g.rows)
	case start < 0 || length < 0 || start > f.size || length > f.size-start:
		return nil, f.damaged("column %s of row group %d is outside the file", name, number+1)
	case chunk.TotalUncompressedSize() < 0 || chunk.TotalUncompressedSize() > *left:
		return nil, f.unfolded(number)
	}
	*left -= chunk.TotalUncompressedSize()
	return chunk, nil
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
		for i := len(System(f.kind)); i < f.meta.Schema.NumColumns(); i++ {
			if _, err := f.chunkOf(g, number, i, &left); err != nil {
				return err
			}
		}
	}
	return nil
}

// indexWithin reports whether the places of pages are inside the file.
func (f *File) indexWithin(meta *metadata.RowGroupMetaData, number int) error {
	for i := range meta.NumColumns() {
		for _, locate := range []func(int) (metadata.IndexLocation, bool){meta.OffsetIndexLocation, meta.ColumnIndexLocation} {
			if at, ok := locate(i); ok && (at.Offset < 0 || at.Length <= 0 || at.Offset > f.size || int64(at.Length) > f.size-at.Offset) {
				return f.damaged("the page index of column %d of row group %d is outside the file", i+1, number+1)
			}
		}
	}
	return nil
}

// statistics takes what the file says of the type and the first part of the keys.
func (f *File) statistics(g *group, column int, chunk *metadata.ColumnChunkMetaData) error {
	if column != typeColumn && column != keyColumn {
		return nil
	}
	stats, err := chunk.Statistics()
	if err != nil {
		return f.damaged("statistics: %w", err)
	}
	texts, ok := stats.(*metadata.ByteArrayStatistics)
	if !ok || !texts.HasMinMax() {
		return nil
	}
	low, high := string(texts.Min()), string(texts.Max())
	if column == keyColumn {
		g.bounded, g.min, g.max = true, low, high
	} else if low == high && low != f.typ {
		return f.damaged("it has rows of %s", low)
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

// source is a section without Close.
type source struct{ *io.SectionReader }

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
