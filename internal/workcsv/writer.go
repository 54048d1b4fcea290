package workcsv

import (
	"bufio"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/ontologia/onto"
)

// Writer writes work items. Its bytes are those of sqlite3 -csv -header: lines end with
// LF, and a field is in quotes if it is empty or has anything but printable ASCII without
// space, comma and quotes of either kind.
type Writer struct {
	out     *bufio.Writer
	columns []*column
	line    []byte
	count   int64
}

// NewWriter writes the header with the named columns; without names, with all.
func NewWriter(w io.Writer, names ...string) (*Writer, error) {
	if len(names) == 0 {
		names = Columns()
	}
	writer := &Writer{out: bufio.NewWriterSize(w, 64<<10)}
	for _, name := range names {
		c := columnOf(name)
		if c == nil {
			return nil, onto.Errorf(onto.Invalid, "work items have no column %s", shorten(name)).WithHint("the columns are %s", quoteNames(Columns()))
		}
		writer.columns = append(writer.columns, c)
	}
	writer.out.WriteString(strings.Join(names, ","))
	return writer, writeFailed(writer.out.WriteByte('\n'))
}

// Write adds a row. A row that Reader would refuse is refused whole.
func (w *Writer) Write(r *Row) error {
	w.line = w.line[:0]
	for i, c := range w.columns {
		if i > 0 {
			w.line = append(w.line, ',')
		}
		v := c.get(r)
		if err := checkText(r, c.name, v.Text); err != nil {
			return err
		}
		if v.Valid {
			w.line = appendField(w.line, v.Text)
		}
	}
	if len(w.line) > maxRecord {
		return onto.Errorf(onto.TooLarge, "work item %s: the row has %d bytes, the limit is %d", shorten(r.WorkItemID), len(w.line), maxRecord)
	}
	w.line = append(w.line, '\n')
	if _, err := w.out.Write(w.line); err != nil {
		return writeFailed(err)
	}
	w.count++
	return nil
}

// Count is how many rows were written.
func (w *Writer) Count() int64 { return w.count }

// Flush writes what is buffered.
func (w *Writer) Flush() error { return writeFailed(w.out.Flush()) }

func checkText(r *Row, name, text string) error {
	switch {
	case len(text) > MaxField:
		return onto.Errorf(onto.TooLarge, "work item %s: %s has %d bytes, the limit is %d", shorten(r.WorkItemID), name, len(text), MaxField)
	case !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0:
		return onto.Errorf(onto.Invalid, "work item %s: %s is no text that CSV can hold: it has a NUL byte, or is not UTF-8", shorten(r.WorkItemID), name).
			WithHint("correct the item, or leave it out")
	}
	return nil
}

func appendField(dst []byte, text string) []byte {
	if text != "" && !strings.ContainsFunc(text, needsQuotes) {
		return append(dst, text...)
	}
	dst = append(dst, '"')
	for _, c := range []byte(text) {
		if c == '"' {
			dst = append(dst, '"')
		}
		dst = append(dst, c)
	}
	return append(dst, '"')
}

func needsQuotes(r rune) bool {
	return r <= ' ' || r > '~' || r == '"' || r == '\'' || r == ','
}

func writeFailed(err error) error {
	if err == nil {
		return nil
	}
	return onto.Errorf(onto.Unavailable, "the CSV file cannot be written: %w", err)
}
