package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// readFile reads a file to its end. Damaged files make arrow-go panic at many places, which
// is a problem of the file.
func readFile(name string) (read counts, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	read.files = 1
	in, err := file.OpenParquetFile(name, false)
	if err != nil {
		return read, err
	}
	defer in.Close()
	tables, err := pqarrow.NewFileReader(in, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		return read, err
	}
	read.columns = int64(in.MetaData().Schema.NumColumns())
	for number := range in.NumRowGroups() {
		g := &group{number: number, in: in.RowGroup(number), tables: tables}
		if g.index, err = in.GetPageIndexReader().RowGroup(number); err != nil {
			return read, fmt.Errorf("row group %d: page index: %w", number, err)
		}
		for column := range g.in.NumColumns() {
			if err := g.readColumn(column); err != nil {
				return read, fmt.Errorf("row group %d, column %s: %w", number, in.MetaData().Schema.Column(column).Path(), err)
			}
		}
		read.rows += g.in.NumRows()
	}
	if read.rows != in.NumRows() {
		return read, fmt.Errorf("its row groups have %d rows, and its footer says %d", read.rows, in.NumRows())
	}
	return read, nil
}

// group is a row group.
type group struct {
	number int
	in     *file.RowGroupReader
	index  *metadata.RowGroupPageIndexReader // nil if there is no page index
	tables *pqarrow.FileReader
}

// readColumn reads a column to its end.
func (g *group) readColumn(number int) error {
	descr := g.in.MetaData().Schema.Column(number)
	if descr.MaxRepetitionLevel() > 0 || descr.MaxDefinitionLevel() > 1 {
		return errors.New("it is nested, which no column of a lake is")
	}
	chunk, err := g.in.MetaData().ColumnChunk(number)
	if err != nil {
		return err
	}
	base := source{group: g, number: number, chunk: chunk, optional: descr.MaxDefinitionLevel() == 1}
	switch t := descr.PhysicalType(); t {
	case parquet.Types.Int64:
		return (&column[int64]{base, cmp.Compare[int64], func(a arrow.Array, i int) int64 {
			if times, ok := a.(*array.Timestamp); ok {
				return int64(times.Value(i))
			}
			return a.(*array.Int64).Value(i)
		}}).check()
	case parquet.Types.Int32:
		return (&column[int32]{base, cmp.Compare[int32], func(a arrow.Array, i int) int32 {
			return int32(a.(*array.Date32).Value(i))
		}}).check()
	case parquet.Types.Double:
		return (&column[float64]{base, cmp.Compare[float64], func(a arrow.Array, i int) float64 {
			return a.(*array.Float64).Value(i)
		}}).check()
	case parquet.Types.Boolean:
		return (&column[bool]{base, compareBools, func(a arrow.Array, i int) bool {
			return a.(*array.Boolean).Value(i)
		}}).check()
	case parquet.Types.ByteArray:
		return (&column[parquet.ByteArray]{base, func(a, b parquet.ByteArray) int { return bytes.Compare(a, b) }, textAt}).check()
	default:
		return fmt.Errorf("it is of type %s, which no column of a lake is", t)
	}
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func textAt(a arrow.Array, i int) parquet.ByteArray {
	if binary, ok := a.(*array.Binary); ok {
		return binary.Value(i)
	}
	return parquet.ByteArray(a.(*array.String).Value(i))
}
