package terminal

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Column is a column of a table.
type Column struct {
	Name  string
	Label string // what a table shows in place of the name, if not empty
	Whole bool   // never cut: keys and ids, which users copy
}

func (c Column) header() string {
	if c.Label != "" {
		return c.Label
	}
	return c.Name
}

// Columns makes columns whose cells may be cut.
func Columns(names ...string) []Column {
	list := make([]Column, len(names))
	for i, n := range names {
		list[i].Name = n
	}
	return list
}

// WholeColumns makes columns whose cells are never cut.
func WholeColumns(names ...string) []Column {
	list := Columns(names...)
	for i := range list {
		list[i].Whole = true
	}
	return list
}

const (
	maxBuffered = 1000 // rows that decide the widths
	maxCell     = 60   // width of a cell that may be cut
)

// table prints rows in aligned columns. The first rows decide the widths, so
// a long answer needs little memory.
type table struct {
	out     *Output
	columns []Column
	rows    [][]string
	widths  []int // nil until the header is printed
}

func newTable(out *Output, cols []Column) *table { return &table{out: out, columns: cols} }

// add takes the next row.
func (t *table) add(cells []string) error {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = Escape(cell)
		if t.out.Terminal && !t.columns[i].Whole {
			row[i] = cut(row[i], maxCell)
		}
	}
	if t.widths != nil {
		return t.print(row, "")
	}
	t.rows = append(t.rows, row)
	if len(t.rows) < maxBuffered {
		return nil
	}
	return t.start()
}

// close prints what is left. A table without rows prints nothing.
func (t *table) close() error {
	if len(t.rows) == 0 || t.widths != nil {
		return nil
	}
	return t.start()
}

// start decides the widths and prints the header and the rows so far.
func (t *table) start() error {
	header := make([]string, len(t.columns))
	t.widths = make([]int, len(t.columns))
	for i, c := range t.columns {
		header[i] = Escape(c.header())
		t.widths[i] = width(header[i])
	}
	for _, row := range t.rows {
		for i, cell := range row {
			t.widths[i] = max(t.widths[i], width(cell))
		}
	}
	if err := t.print(header, Bold); err != nil {
		return err
	}
	for _, row := range t.rows {
		if err := t.print(row, ""); err != nil {
			return err
		}
	}
	t.rows = nil
	return nil
}

func (t *table) print(row []string, s Style) error {
	var b strings.Builder
	for i, cell := range row {
		b.WriteString(cell)
		if i+1 < len(row) {
			b.WriteString(strings.Repeat(" ", max(0, t.widths[i]-width(cell))+2))
		}
	}
	line := strings.TrimRight(b.String(), " ")
	if s != "" {
		line = t.out.Paint(s, line)
	}
	return t.out.Line("%s", line)
}

// cut shortens text to a width.
func cut(s string, most int) string {
	if width(s) <= most {
		return s
	}
	n := 0
	for i, r := range s {
		if n += runeWidth(r); n > most-1 {
			return s[:i] + "…"
		}
	}
	return s
}

// width is how many columns of a terminal text takes.
func width(s string) int {
	if len(s) == utf8.RuneCountInString(s) {
		return len(s)
	}
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	switch {
	case unicode.Is(unicode.Mn, r):
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3,
		r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60,
		r >= 0xffe0 && r <= 0xffe6, r >= 0x1f300 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}
