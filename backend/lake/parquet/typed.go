package parquet

import (
	"bytes"
	"strconv"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// typedColumn holds the values of a typed column for one row group. Levels has
// an item per row, 0 for NULL; the values of the others are in one of the lists.
type typedColumn struct {
	Column
	number int  // in the layout
	sole   bool // the field never had another type

	filled bool // the row at hand has its level
	levels []int16
	texts  []parquet.ByteArray
	ints   []int64
	floats []float64
	bools  []bool
}

// newTypedColumns returns the columns of a layout without values, also by the name
// of the field.
func newTypedColumns(l *Layout) (list []*typedColumn, byField map[string][]*typedColumn) {
	byField = map[string][]*typedColumn{}
	for i, c := range l.Columns {
		_, sole := l.Column(c.Field)
		column := &typedColumn{Column: c, number: i, sole: sole}
		list = append(list, column)
		byField[c.Field] = append(byField[c.Field], column)
	}
	return list, byField
}

// begin begins a row.
func (c *typedColumn) begin() { c.filled = false }

// end ends a row: a column that was given nothing is NULL.
func (c *typedColumn) end() {
	if !c.filled {
		c.levels = append(c.levels, 0)
	}
}

// put adds the value of a member. It reports false if the column cannot hold it
// exactly: then it is NULL.
func (c *typedColumn) put(value []byte) bool {
	kind := codec.KindOf(value)
	if kind == codec.Null {
		return true
	}
	ok := false
	switch c.Type {
	case onto.String, onto.Time:
		ok = kind == codec.String
		if ok {
			c.texts = append(c.texts, textOf(value))
		}
	case onto.Bool:
		ok = kind == codec.Bool
		if ok {
			c.bools = append(c.bools, value[0] == 't')
		}
	case onto.Int:
		ok = kind == codec.Int && c.putInt(value)
	case onto.Float:
		ok = (kind == codec.Int || kind == codec.Float) && c.putFloat(value, kind)
	}
	if ok {
		c.filled = true
		c.levels = append(c.levels, 1)
	}
	return ok
}

func (c *typedColumn) putInt(value []byte) bool {
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err == nil {
		c.ints = append(c.ints, n)
	}
	return err == nil
}

// putFloat refuses integers that are not also a float.
func (c *typedColumn) putFloat(value []byte, kind codec.ValueKind) bool {
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil {
		return false
	}
	if kind == codec.Int {
		n, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil || f >= 1<<63 || int64(f) != n {
			return false
		}
	}
	c.floats = append(c.floats, f)
	return true
}

// textOf is the text of a canonical JSON string. It aliases it if it can.
func textOf(value []byte) []byte {
	if bytes.IndexByte(value, '\\') < 0 {
		return value[1 : len(value)-1]
	}
	return []byte(codec.Unquote(value))
}

// flush writes the values to the column and forgets them.
func (c *typedColumn) flush(to file.ColumnChunkWriter) error {
	var err error
	switch to := to.(type) {
	case *file.ByteArrayColumnChunkWriter:
		_, err = to.WriteBatch(c.texts, c.levels, nil)
	case *file.Int64ColumnChunkWriter:
		_, err = to.WriteBatch(c.ints, c.levels, nil)
	case *file.Float64ColumnChunkWriter:
		_, err = to.WriteBatch(c.floats, c.levels, nil)
	case *file.BooleanColumnChunkWriter:
		_, err = to.WriteBatch(c.bools, c.levels, nil)
	}
	c.forget()
	return err
}

// forget drops the values.
func (c *typedColumn) forget() {
	clear(c.texts)
	c.levels, c.texts, c.ints, c.floats, c.bools = c.levels[:0], c.texts[:0], c.ints[:0], c.floats[:0], c.bools[:0]
}
