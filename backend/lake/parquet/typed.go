package parquet

import (
	"bytes"
	"strconv"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/parquet/internal/flat"
	"github.com/ontologia/onto/internal/codec"
)

// typedColumn holds the values of a typed column for one row group.
type typedColumn struct {
	Column
	number int  // in the layout
	sole   bool // the field never had another type
	table  bool // of a file for other programs

	filled bool // the row at hand has its level
	values flat.Values
}

// newTypedColumns returns the columns of a layout without values, also by the name
// of the field.
func newTypedColumns(l *Layout) (list []*typedColumn, byField map[string][]*typedColumn) {
	byField = map[string][]*typedColumn{}
	for i, c := range l.Columns {
		_, sole := l.Column(c.Field)
		column := &typedColumn{Column: c, number: i, sole: sole, table: l.table}
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
		c.values.Levels = append(c.values.Levels, 0)
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
	case onto.Object, onto.List, onto.Any:
		ok = true
		c.values.Texts = append(c.values.Texts, value)
	case onto.Time:
		if c.table {
			ok = kind == codec.String && c.putTime(value)
			break
		}
		fallthrough
	case onto.DateOnly:
		if c.table {
			ok = kind == codec.String && c.putDate(value)
			break
		}
		fallthrough
	case onto.String:
		ok = kind == codec.String
		if ok {
			c.values.Texts = append(c.values.Texts, textOf(value))
		}
	case onto.Bool:
		ok = kind == codec.Bool
		if ok {
			c.values.Bools = append(c.values.Bools, value[0] == 't')
		}
	case onto.Int:
		ok = kind == codec.Int && c.putInt(value)
	case onto.Float:
		ok = (kind == codec.Int || kind == codec.Float) && c.putFloat(value, kind)
	}
	if ok {
		c.filled = true
		c.values.Levels = append(c.values.Levels, 1)
	}
	return ok
}

// putTime takes times that have another form than ours, too.
func (c *typedColumn) putTime(value []byte) bool {
	t, err := codec.ParseTime(string(textOf(value)))
	if err == nil {
		c.values.Ints = append(c.values.Ints, t.UnixMicro())
	}
	return err == nil
}

// putDate adds the number of days since 1970.
func (c *typedColumn) putDate(value []byte) bool {
	d, err := onto.ParseDate(string(textOf(value)))
	if err == nil {
		c.values.Ints = append(c.values.Ints, d.Time().Unix()/(24*60*60))
	}
	return err == nil
}

func (c *typedColumn) putInt(value []byte) bool {
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err == nil {
		c.values.Ints = append(c.values.Ints, n)
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
	c.values.Floats = append(c.values.Floats, f)
	return true
}

// textOf is the text of a canonical JSON string. It aliases it if it can.
func textOf(value []byte) []byte {
	if bytes.IndexByte(value, '\\') < 0 {
		return value[1 : len(value)-1]
	}
	return []byte(codec.Unquote(value))
}

// forget drops the values.
func (c *typedColumn) forget() {
	v := &c.values
	clear(v.Texts)
	v.Levels, v.Texts, v.Ints, v.Floats, v.Bools = v.Levels[:0], v.Texts[:0], v.Ints[:0], v.Floats[:0], v.Bools[:0]
}
