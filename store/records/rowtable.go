package records

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// jsonTable reads rows that are objects, one on each line.
type jsonTable struct {
	lines  *lineReader
	rows   *Rows
	schema *onto.Schema
}

func (t *jsonTable) next() (tableRow, error) {
	line, err := t.lines.nextFilled()
	if err != nil {
		return tableRow{}, err
	}
	row := tableRow{line: t.lines.n, size: len(line)}
	if err := t.read(&row, line); err != nil {
		return row, t.lines.bad(row.line, err)
	}
	return row, nil
}

func (t *jsonTable) read(row *tableRow, line []byte) error {
	members, err := codec.ParseObject(line)
	if err != nil {
		return onto.Errorf(onto.Invalid, "%w", err).WithHint(`write an object on each line, like {"id":"ada","salary":4000}`)
	}
	for _, m := range members {
		_, attribute, err := t.rows.column(t.schema, m.Name)
		if err != nil {
			return err
		}
		kind := codec.KindOf(m.Value)
		switch {
		case kind == codec.Null:
		case m.Name == t.rows.Subject && kind != codec.String && kind != codec.Int:
			return onto.Errorf(onto.Invalid, "%s: expected string or int, found %s", m.Name, kind)
		case m.Name == t.rows.Subject && kind == codec.Int:
			row.subject = string(m.Value)
		case m.Name == t.rows.Subject:
			row.subject = codec.Unquote(m.Value)
		case m.Name == t.rows.From && kind != codec.String:
			return onto.Errorf(onto.Invalid, "%s: expected a time, found %s", m.Name, kind)
		case m.Name == t.rows.From:
			if row.from, err = readTime(codec.Unquote(m.Value)); err != nil {
				return inColumn(m.Name, err)
			}
		case attribute:
			row.cells = append(row.cells, codec.Member{Name: m.Name, Value: bytes.Clone(m.Value)})
		}
	}
	return t.rows.finish(row)
}

// csvTable reads rows of CSV, of which the first names the columns.
type csvTable struct {
	reader  *rowReader
	rows    *Rows
	columns []tableColumn
}

type tableColumn struct {
	name string
	cell *onto.Field // how its cells are read; nil if it is no attribute
}

func newCSVTable(reader *rowReader, rows *Rows, schema *onto.Schema) (*csvTable, error) {
	err := reader.next()
	if errors.Is(err, io.EOF) {
		return nil, onto.Errorf(onto.Invalid, "line 1: there is no header").WithHint("the first row names the columns")
	}
	if err != nil {
		return nil, err
	}
	t := &csvTable{reader: reader, rows: rows}
	named := func(name string) bool {
		return slices.ContainsFunc(t.columns, func(c tableColumn) bool { return c.name == name })
	}
	for i := range reader.count() {
		name := string(reader.cell(i))
		f, attribute, err := rows.column(schema, name)
		if err == nil && named(name) {
			err = onto.Errorf(onto.Invalid, "column %.80s comes twice", name)
		}
		if err != nil {
			return nil, atLine(reader.line, cmp.Or(reader.otherComma(), err))
		}
		c := tableColumn{name: name}
		if attribute {
			if c.cell = &f; f.Name != name {
				f.Type = onto.String // a table says nothing of types: what is not declared is text
			}
		}
		t.columns = append(t.columns, c)
	}
	for _, name := range []string{rows.Subject, rows.From} {
		if name != "" && !named(name) {
			return nil, atLine(reader.line, onto.Errorf(onto.Invalid, "column %.80s is missing", name))
		}
	}
	reader.want = len(t.columns)
	return t, nil
}

func (t *csvTable) next() (tableRow, error) {
	if err := t.reader.next(); err != nil {
		return tableRow{}, err
	}
	row := tableRow{line: t.reader.line, size: len(t.reader.text)}
	if err := t.read(&row); err != nil {
		return row, t.reader.lines.bad(row.line, err)
	}
	return row, nil
}

func (t *csvTable) read(row *tableRow) error {
	for i, c := range t.columns {
		cell := t.reader.cell(i)
		var err error
		switch {
		case len(cell) == 0:
		case c.name == t.rows.Subject:
			row.subject, err = cellText(cell)
		case c.name == t.rows.From:
			row.from, err = readTime(string(cell))
		case c.cell != nil:
			var value []byte
			if value, err = appendCellValue(nil, c.cell, cell); err == nil {
				row.cells = append(row.cells, codec.Member{Name: c.name, Value: value})
			}
		}
		if err != nil {
			return inColumn(c.name, err)
		}
	}
	return t.rows.finish(row)
}
