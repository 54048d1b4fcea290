package terminal

import (
	"bytes"
	"encoding/csv"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/document"
)

// Format is how a list is printed.
type Format string

// The formats.
const (
	FormatTable Format = "table"
	FormatJSON  Format = "json"
	FormatJSONL Format = "jsonl"
	FormatCSV   Format = "csv"
)

// Array prints values as one JSON array, as they come.
type Array struct {
	out    *Output
	within string // what stands before it, if it is a member of a document
	N      int    // items so far
}

// Add prints the next value.
func (a *Array) Add(v any) error {
	text, err := encodeRow(v)
	if err != nil {
		return err
	}
	lead := ",\n"
	if a.N == 0 {
		lead = a.within + "[\n"
	}
	a.N++
	return a.out.Data(append([]byte(lead), text...))
}

// Close ends the array.
func (a *Array) Close() error {
	if a.N == 0 {
		return a.out.Line("%s[]", a.within)
	}
	return a.out.Line("\n]")
}

// CloseWith ends the array, and the document that it is a member of with further members:
// those of an object that has some.
func (a *Array) CloseWith(members any) error {
	text, err := encodeRow(members)
	if err == nil {
		err = a.Close()
	}
	if err != nil {
		return err
	}
	return a.out.Line(",%s", text[1:])
}

func encodeRow(v any) ([]byte, error) {
	text, err := document.Encode(v)
	if err != nil {
		return nil, onto.Errorf(onto.Corrupt, "a row cannot be written as JSON: %w", err)
	}
	return text, nil
}

// List prints items as they come, each as a document or as a row of a table.
type List[T any] struct {
	p       *Printer
	format  Format
	columns []Column
	doc     func(T) any
	cells   func(T) ([]string, error)
	table   *table
	array   *Array
	page    *document.PageEnd // of a list that is a page
	N       int               // items so far
}

// NewList starts a list. The document of an item is what --json prints, its cells
// are what a table shows, in the order of the columns.
func NewList[T, D any](p *Printer, f Format, cols []Column, doc func(T) D, cells func(T) ([]string, error)) *List[T] {
	return &List[T]{
		p: p, format: f, columns: cols, doc: func(item T) any { return doc(item) }, cells: cells,
		table: newTable(p.Out, cols), array: p.Array(),
	}
}

// Paged makes the document of the list a page, which ends with what end holds by the time
// the list is closed. The format must be JSON.
func (l *List[T]) Paged(end *document.PageEnd) {
	l.page, l.array.within = end, `{"rows":`
}

// Itself is the document of an item that is one.
func Itself[T any](doc T) T { return doc }

// Rows is a list in the format that --json selects.
func Rows[T, D any](p *Printer, cols []Column, doc func(T) D, cells func(T) ([]string, error)) *List[T] {
	f, _ := p.Format("") // only an explicit format can be wrong
	return NewList(p, f, cols, doc, cells)
}

// Add prints the next item.
func (l *List[T]) Add(item T) error {
	l.N++
	switch l.format {
	case FormatJSON:
		return l.array.Add(l.doc(item))
	case FormatJSONL:
		text, err := encodeRow(l.doc(item))
		if err != nil {
			return err
		}
		return l.p.Out.Data(append(text, '\n'))
	}
	cells, err := l.cells(item)
	if err != nil {
		return err
	}
	if l.format == FormatTable {
		return l.table.add(cells)
	}
	if l.N == 1 {
		return l.csv(l.header(), cells)
	}
	return l.csv(cells)
}

func (l *List[T]) csv(lines ...[]string) error {
	var buf bytes.Buffer
	if err := csv.NewWriter(&buf).WriteAll(lines); err != nil {
		return err
	}
	return l.p.Out.Data(buf.Bytes())
}

func (l *List[T]) header() []string {
	names := make([]string, len(l.columns))
	for i, col := range l.columns {
		names[i] = col.Name
	}
	return names
}

// Close ends the list. For an empty one a message goes to stderr.
func (l *List[T]) Close(empty string) error {
	switch {
	case l.page != nil:
		return l.array.CloseWith(l.page)
	case l.format == FormatJSON:
		return l.array.Close()
	case l.N > 0:
		return l.table.close()
	}
	l.p.Say("%s", empty)
	if l.format == FormatCSV {
		return l.csv(l.header())
	}
	return nil
}
