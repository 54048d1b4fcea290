package main

import (
	"bytes"
	"encoding/csv"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/document"
)

// format is how a list is printed.
type format string

const (
	formatTable format = "table"
	formatJSON  format = "json"
	formatJSONL format = "jsonl"
	formatCSV   format = "csv"
)

// format settles --json against --format, which may be empty.
func (c *command) format(wanted string) (format, error) {
	f := format(wanted)
	switch f {
	case "":
		if c.json {
			return formatJSON, nil
		}
		return formatTable, nil
	case formatTable, formatJSON, formatJSONL, formatCSV:
	default:
		return "", onto.Errorf(onto.Invalid, "format %q is unknown", wanted).WithHint("use table, json, jsonl or csv")
	}
	if c.json && f != formatJSON {
		return "", onto.Errorf(onto.Invalid, "--json and --format %s contradict each other", wanted).WithHint("give one of them")
	}
	return f, nil
}

// array prints values as one JSON array, as they come.
type array struct {
	out *output
	n   int
}

func (c *command) array() *array { return &array{out: c.out} }

func (a *array) add(v any) error {
	text, err := encodeRow(v)
	if err != nil {
		return err
	}
	lead := ",\n"
	if a.n == 0 {
		lead = "[\n"
	}
	a.n++
	return a.out.data(append([]byte(lead), text...))
}

func (a *array) close() error {
	if a.n == 0 {
		return a.out.line("[]")
	}
	return a.out.line("\n]")
}

func encodeRow(v any) ([]byte, error) {
	text, err := document.Encode(v)
	if err != nil {
		return nil, onto.Errorf(onto.Corrupt, "a row cannot be written as JSON: %w", err)
	}
	return text, nil
}

// each calls f with each item of a sequence, up to the first error.
func each[T any](items iter.Seq2[T, error], f func(T) error) error {
	for item, err := range items {
		if err == nil {
			err = f(item)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// list prints items as they come, each as a document or as a row of a table.
type list[T any] struct {
	c       *command
	format  format
	columns []column
	doc     func(T) any
	cells   func(T) ([]string, error)
	table   *table
	array   *array
	n       int
}

// newList starts a list. The document of an item is what --json prints, its cells
// are what a table shows, in the order of the columns.
func newList[T, D any](c *command, f format, cols []column, doc func(T) D, cells func(T) ([]string, error)) *list[T] {
	return &list[T]{
		c: c, format: f, columns: cols, doc: func(item T) any { return doc(item) }, cells: cells,
		table: newTable(c.out, cols), array: c.array(),
	}
}

// itself is the document of an item that is one.
func itself[T any](doc T) T { return doc }

// rows is a list in the format that --json decides.
func rows[T, D any](c *command, cols []column, doc func(T) D, cells func(T) ([]string, error)) *list[T] {
	f, _ := c.format("") // only a wanted format can be wrong
	return newList(c, f, cols, doc, cells)
}

func (l *list[T]) add(item T) error {
	l.n++
	switch l.format {
	case formatJSON:
		return l.array.add(l.doc(item))
	case formatJSONL:
		text, err := encodeRow(l.doc(item))
		if err != nil {
			return err
		}
		return l.c.out.data(append(text, '\n'))
	}
	cells, err := l.cells(item)
	if err != nil {
		return err
	}
	if l.format == formatTable {
		return l.table.add(cells)
	}
	if l.n == 1 {
		return l.csv(l.header(), cells)
	}
	return l.csv(cells)
}

func (l *list[T]) csv(lines ...[]string) error {
	var buf bytes.Buffer
	if err := csv.NewWriter(&buf).WriteAll(lines); err != nil {
		return err
	}
	return l.c.out.data(buf.Bytes())
}

func (l *list[T]) header() []string {
	names := make([]string, len(l.columns))
	for i, col := range l.columns {
		names[i] = col.name
	}
	return names
}

// close ends the list. What an empty one means is said on stderr.
func (l *list[T]) close(empty string) error {
	if l.format == formatJSON {
		return l.array.close()
	}
	if l.n > 0 {
		return l.table.close()
	}
	l.c.say("%s", empty)
	if l.format == formatCSV {
		return l.csv(l.header())
	}
	return nil
}
