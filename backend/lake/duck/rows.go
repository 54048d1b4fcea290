//go:build cgo

package duck

import (
	"unsafe"

	duckdb "github.com/duckdb/duckdb-go-bindings"
)

// rows is an answer, of which one piece is in memory.
type rows struct {
	res     duckdb.Result
	chunk   duckdb.DataChunk
	columns []column
	size    int // of the piece
	row     int // in the piece
}

// column is a column of a piece.
type column struct {
	typ      duckdb.Type
	data     unsafe.Pointer
	validity unsafe.Pointer // a bit for each row that has a value; nil if all have
}

// next goes to the next row. It reports false if there is none.
func (r *rows) next() (bool, error) {
	for r.row++; r.row >= r.size; r.row = 0 {
		if ok, err := r.fetch(); !ok {
			return false, err
		}
	}
	return true, nil
}

// fetch replaces the piece by the next one.
func (r *rows) fetch() (bool, error) {
	r.drop()
	if r.chunk = duckdb.FetchChunk(r.res); r.chunk.Ptr == nil {
		if text := duckdb.ResultError(&r.res); text != "" {
			return false, failure(text)
		}
		return false, nil
	}
	r.size = int(duckdb.DataChunkGetSize(r.chunk))
	for i := range r.columns {
		v := duckdb.DataChunkGetVector(r.chunk, duckdb.IdxT(i))
		r.columns[i].data, r.columns[i].validity = duckdb.VectorGetData(v), duckdb.VectorGetValidity(v)
	}
	return true, nil
}

// drop frees the piece.
func (r *rows) drop() {
	if r.chunk.Ptr != nil {
		duckdb.DestroyDataChunk(&r.chunk)
	}
	r.size = 0
}

// close frees everything; the engine stops computing.
func (r *rows) close() {
	r.drop()
	duckdb.DestroyResult(&r.res)
}

// null reports whether the row has no value in a column.
func (r *rows) null(i int) bool {
	v := r.columns[i].validity
	return v != nil && at[uint64](v, r.row/64)&(1<<(r.row%64)) == 0
}

func (r *rows) int(i int) int64 { return at[int64](r.columns[i].data, r.row) }

// text is a copy of the row's text; "" if it has none.
func (r *rows) text(i int) string {
	if r.null(i) {
		return ""
	}
	return string(r.bytes(i))
}

// inline is the longest text that lies in the column itself.
const inline = 12

// bytes is the row's text, as long as the piece is in memory: a length of four
// bytes, and then the text itself or, after four bytes of it, where it is.
func (r *rows) bytes(i int) []byte {
	entry := unsafe.Add(r.columns[i].data, r.row*16)
	length := *(*uint32)(entry)
	if length <= inline {
		return unsafe.Slice((*byte)(unsafe.Add(entry, 4)), length)
	}
	return unsafe.Slice(*(**byte)(unsafe.Add(entry, 8)), length)
}

// value is the row's value in a column: string, int64, float64, bool or nil.
func (r *rows) value(i int) any {
	if r.null(i) {
		return nil
	}
	data := r.columns[i].data
	switch r.columns[i].typ {
	case duckdb.TypeVarchar:
		return r.text(i)
	case duckdb.TypeBigInt:
		return r.int(i)
	case duckdb.TypeInteger:
		return int64(at[int32](data, r.row))
	case duckdb.TypeDouble:
		return at[float64](data, r.row)
	case duckdb.TypeBoolean:
		return at[bool](data, r.row)
	}
	return nil
}
