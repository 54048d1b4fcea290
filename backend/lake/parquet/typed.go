package parquet

import (
	"bytes"
	"reflect"
	"strconv"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/parquet/internal/flat"
	"github.com/ontologia/onto/internal/codec"
)

// typedColumn holds the values of a typed column for one row group.
type typedColumn struct {
	Column
	number int          // in the layout
	sole   bool         // the field never had another type
	in     map[int]bool // otherwise, the schema versions in which it has the column's type
	table  bool         // of a file for other programs

	filled bool // the row at hand has its level
	values flat.Values
}

// typedNode is the columns of one place in the fields, and of what is inside it.
type typedNode struct {
	columns []*typedColumn
	inner   map[string]*typedNode // by name, as JSON has it between quotes
}

// newTypedColumns returns the columns of a layout without values, also by their place in the
// fields.
func newTypedColumns(l *Layout) (list []*typedColumn, root *typedNode) {
	root = &typedNode{}
	for i, c := range l.Columns {
		in := l.several[c.Name]
		column := &typedColumn{Column: c, number: i, sole: in == nil, in: in, table: l.table}
		list = append(list, column)
		node := root
		for _, name := range c.Path {
			node = node.at(name)
		}
		node.columns = append(node.columns, column)
	}
	return list, root
}

// at is the node of a member.
func (n *typedNode) at(name string) *typedNode {
	quoted, err := codec.AppendValue(nil, reflect.ValueOf(name))
	if err != nil { // it is not UTF-8, and no JSON has it
		return &typedNode{}
	}
	if n.inner == nil {
		n.inner = map[string]*typedNode{}
	}
	key := string(quoted[1 : len(quoted)-1])
	if n.inner[key] == nil {
		n.inner[key] = &typedNode{}
	}
	return n.inner[key]
}

// each calls a function with the columns of each member of an object, and of what is inside
// it, and with the value.
func (n *typedNode) each(object []byte, do func(c *typedColumn, value []byte)) {
	for name, value := range codec.Pairs(object) {
		member := n.inner[string(name)]
		if member == nil {
			continue
		}
		for _, c := range member.columns {
			do(c, value)
		}
		if member.inner != nil && codec.KindOf(value) == codec.Object {
			member.each(value, do)
		}
	}
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
