package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
)

// source is where the values of a column of a row group are.
type source struct {
	group    *group
	number   int
	chunk    *metadata.ColumnChunkMetaData
	optional bool
}

// column is a column of a row group, of values of one type.
type column[T any] struct {
	source
	compare func(a, b T) int
	at      func(a arrow.Array, i int) T // a value of a table
}

// values is some rows of a column.
type values[T any] struct {
	levels []int16 // by row: 0 for NULL
	list   []T     // without NULL
}

// batchRows is how many rows are read at a time.
const batchRows = 1000

// check reads a column in every way, and compares.
func (c *column[T]) check() error {
	r, err := c.group.in.Column(c.number)
	if err != nil {
		return err
	}
	var all values[T]
	for r.HasNext() {
		if err := c.read(r, batchRows, &all); err != nil {
			return err
		}
	}
	if err := errors.Join(r.Err(), r.Close()); err != nil {
		return err
	}
	if n, want := int64(len(all.levels)), c.group.in.NumRows(); n != want || c.chunk.NumValues() != want {
		return fmt.Errorf("it has %d rows, and %d by its metadata, of %d", n, c.chunk.NumValues(), want)
	}
	if err := c.checkStatistics(&all); err != nil {
		return fmt.Errorf("statistics: %w", err)
	}
	if err := c.checkTable(&all); err != nil {
		return fmt.Errorf("as a table: %w", err)
	}
	if c.group.index == nil {
		return nil
	}
	if err := c.checkIndex(&all); err != nil {
		return fmt.Errorf("page index: %w", err)
	}
	return nil
}

// read appends up to so many rows.
func (c *column[T]) read(r file.ColumnChunkReader, most int64, into *values[T]) error {
	in := r.(interface {
		ReadBatch(batchSize int64, values []T, defLvls, repLvls []int16) (int64, int, error)
	})
	list, levels := make([]T, most), make([]int16, most)
	rows, n, err := in.ReadBatch(most, list, levels, nil)
	if err != nil {
		return err
	}
	if rows == 0 {
		return fmt.Errorf("there is nothing to read after row %d", len(into.levels))
	}
	if !c.optional {
		for i := range levels {
			levels[i] = 1
		}
	}
	into.levels, into.list = append(into.levels, levels[:rows]...), append(into.list, list[:n]...)
	return nil
}

// checkStatistics compares the statistics of the row group, if there are any.
func (c *column[T]) checkStatistics(all *values[T]) error {
	stats, err := c.chunk.Statistics()
	if err != nil || stats == nil {
		return err
	}
	if nulls := int64(len(all.levels) - len(all.list)); stats.HasNullCount() && stats.NullCount() != nulls {
		return fmt.Errorf("%d rows are NULL, not %d", nulls, stats.NullCount())
	}
	if !stats.HasMinMax() {
		return nil
	}
	bounds := stats.(interface {
		Min() T
		Max() T
	})
	return c.within(all.list, bounds.Min(), bounds.Max())
}

// within fails for a value that is not between two.
func (c *column[T]) within(list []T, low, high T) error {
	for _, v := range list {
		if c.compare(v, low) < 0 || c.compare(v, high) > 0 {
			return fmt.Errorf("%v is not between %v and %v", v, low, high)
		}
	}
	return nil
}

// checkTable reads the column into a table.
func (c *column[T]) checkTable(all *values[T]) error {
	table, err := c.group.tables.ReadRowGroups(context.Background(), []int{c.number}, []int{c.group.number})
	if err != nil {
		return err
	}
	defer table.Release()
	if table.NumRows() != int64(len(all.levels)) {
		return fmt.Errorf("it has %d rows, not %d", table.NumRows(), len(all.levels))
	}
	row, list := 0, all.list
	for _, part := range table.Column(0).Data().Chunks() {
		if wrapped, ok := part.(array.ExtensionArray); ok {
			part = wrapped.Storage()
		}
		for i := range part.Len() {
			null := all.levels[row] == 0
			if part.IsNull(i) != null {
				return fmt.Errorf("row %d is NULL to one reader only", row)
			}
			if !null {
				if v := c.at(part, i); c.compare(v, list[0]) != 0 {
					return fmt.Errorf("row %d is %v, and %v to the other reader", row, v, list[0])
				}
				list = list[1:]
			}
			row++
		}
	}
	return nil
}

// checkIndex compares the page index of the column, if it has one.
func (c *column[T]) checkIndex(all *values[T]) error {
	offsets, err := c.group.index.GetOffsetIndex(c.number)
	if err != nil || offsets == nil {
		return err
	}
	pages, err := c.pages(offsets, all)
	if err != nil {
		return err
	}
	if err := c.checkPlaces(offsets, pages); err != nil {
		return err
	}
	index, err := c.group.index.GetColumnIndex(c.number)
	if err != nil || index == nil {
		return err
	}
	bounds := index.(interface {
		MinValues() []T
		MaxValues() []T
	})
	low, high, nulls := bounds.MinValues(), bounds.MaxValues(), index.GetNullPages()
	if len(low) != len(pages) || len(high) != len(pages) || len(nulls) != len(pages) {
		return fmt.Errorf("it has %d, %d and %d bounds for %d pages", len(low), len(high), len(nulls), len(pages))
	}
	for i, p := range pages {
		if nulls[i] != (len(p.list) == 0) {
			return fmt.Errorf("page %d has %d values, and is said to have none: %v", i, len(p.list), nulls[i])
		}
		if index.IsSetNullCounts() && index.GetNullCounts()[i] != int64(len(p.levels)-len(p.list)) {
			return fmt.Errorf("page %d has %d rows that are NULL, not %d", i, len(p.levels)-len(p.list), index.GetNullCounts()[i])
		}
		if nulls[i] {
			continue
		}
		if err := c.within(p.list, low[i], high[i]); err != nil {
			return fmt.Errorf("page %d: %w", i, err)
		}
	}
	return nil
}

// pages splits the values of a column at the rows with which the page index has pages begin.
func (c *column[T]) pages(offsets metadata.OffsetIndex, all *values[T]) ([]values[T], error) {
	var pages []values[T]
	locations := offsets.GetPageLocations()
	levels, list, row := all.levels, all.list, int64(0)
	for i, l := range locations {
		end := c.group.in.NumRows()
		if i+1 < len(locations) {
			end = locations[i+1].FirstRowIndex
		}
		if l.FirstRowIndex != row || end <= row || end-row > int64(len(levels)) {
			return nil, fmt.Errorf("page %d has the rows from %d on, up to %d", i, l.FirstRowIndex, end)
		}
		n := 0
		for _, level := range levels[:end-row] {
			n += int(level)
		}
		pages = append(pages, values[T]{levels[:end-row], list[:n]})
		levels, list, row = levels[end-row:], list[n:], end
	}
	if row != c.group.in.NumRows() {
		return nil, fmt.Errorf("its pages have %d rows", row)
	}
	return pages, nil
}

// checkPlaces goes to the first row of each page, as a reader does that needs only some of
// them, and reads it.
func (c *column[T]) checkPlaces(offsets metadata.OffsetIndex, pages []values[T]) error {
	r, err := c.group.in.Column(c.number)
	if err != nil {
		return err
	}
	for i, l := range offsets.GetPageLocations() {
		if err := r.SeekToRow(l.FirstRowIndex); err != nil {
			return fmt.Errorf("page %d: %w", i, err)
		}
		var first values[T]
		if err := c.read(r, 1, &first); err != nil {
			return fmt.Errorf("page %d: %w", i, err)
		}
		want := pages[i]
		if first.levels[0] != want.levels[0] || len(first.list) > 0 && c.compare(first.list[0], want.list[0]) != 0 {
			return fmt.Errorf("page %d begins with %v, not with %v", i, first.list, want.list[:len(first.list)])
		}
	}
	return r.Close()
}
