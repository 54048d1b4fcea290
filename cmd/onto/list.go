package main

import (
	"bytes"
	"encoding/csv"

	"github.com/ontologia/onto"
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

// row is one line of a list. Encoded, it is what --json prints.
type row interface {
	// cells is what a table shows, in the order of its columns.
	cells() ([]string, error)
}

// list prints rows as they come.
type list struct {
	c       *command
	format  format
	columns []column
	table   *table
	n       int
}

func (c *command) list(f format, cols []column) *list {
	return &list{c: c, format: f, columns: cols, table: newTable(c.out, cols)}
}

// rows is a list in the format that --json decides.
func (c *command) rows(cols []column) *list {
	f, _ := c.format("") // only a wanted format can be wrong
	return c.list(f, cols)
}

func (l *list) add(r row) error {
	l.n++
	if l.format == formatTable || l.format == formatCSV {
		cells, err := r.cells()
		if err != nil {
			return err
		}
		if l.format == formatCSV {
			return l.addCSV(cells)
		}
		return l.table.add(cells)
	}
	text, err := encode(r)
	if err != nil {
		return onto.Errorf(onto.Corrupt, "a row cannot be written as JSON: %w", err)
	}
	if l.format == formatJSON {
		lead := ",\n"
		if l.n == 1 {
			lead = "[\n"
		}
		return l.c.out.data(append([]byte(lead), text...))
	}
	return l.c.out.data(append(text, '\n'))
}

func (l *list) addCSV(cells []string) error {
	var buf bytes.Buffer
	w := csv.NewWriter(&buf)
	if l.n == 1 {
		if err := w.Write(l.header()); err != nil {
			return err
		}
	}
	if err := w.Write(cells); err != nil {
		return err
	}
	w.Flush()
	return l.c.out.data(buf.Bytes())
}

func (l *list) header() []string {
	names := make([]string, len(l.columns))
	for i, col := range l.columns {
		names[i] = col.name
	}
	return names
}

// close ends the list. What an empty one means is said on stderr.
func (l *list) close(empty string) error {
	switch {
	case l.format == formatJSON && l.n == 0:
		return l.c.out.line("[]")
	case l.format == formatJSON:
		return l.c.out.line("\n]")
	}
	if l.n == 0 {
		l.c.say("%s", empty)
		return nil
	}
	return l.table.close()
}
