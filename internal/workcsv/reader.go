package workcsv

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/ontologia/onto"
)

// Reader reads work items one at a time.
type Reader struct {
	in      *scanner
	columns []*column // by position in the file; nil for those that are ignored
	ignored []string
	count   int64
}

// NewReader reads the header. Columns that work items do not have are ignored, see
// Ignored; one of the original program's that is missing is an error.
func NewReader(r io.Reader) (*Reader, error) {
	buffered := bufio.NewReaderSize(&steady{Reader: r}, 64<<10)
	if err := skipMark(buffered); err != nil {
		return nil, err
	}
	in := &scanner{in: buffered, line: 1}
	if err := in.record(); err == io.EOF {
		return nil, onto.Errorf(onto.Invalid, "the CSV file is empty: it has no header").WithHint("%s", recipe)
	} else if err != nil {
		return nil, err
	}
	reader := &Reader{in: in}
	if err := reader.header(); err != nil {
		return nil, err
	}
	return reader, nil
}

const recipe = `write it with sqlite3 -csv -header FILE "SELECT * FROM work_items", or export it again`

func skipMark(r *bufio.Reader) error {
	mark, err := r.Peek(3)
	if err != nil && err != io.EOF {
		return readFailed(err)
	}
	if bytes.Equal(mark, []byte("\ufeff")) {
		_, err := r.Discard(len(mark))
		return err
	}
	if bytes.HasPrefix(mark, []byte("\xff\xfe")) || bytes.HasPrefix(mark, []byte("\xfe\xff")) {
		return onto.Errorf(onto.Invalid, "the CSV file is in UTF-16").WithHint("save it as UTF-8")
	}
	return nil
}

func (r *Reader) header() error {
	missing := OriginalColumns()
	twice := -1
	for i := range r.in.fields {
		name := r.in.text(i)
		missing = slices.DeleteFunc(missing, func(m string) bool { return m == name })
		c := columnOf(name)
		if c == nil {
			r.ignored = append(r.ignored, name)
		} else if slices.Contains(r.columns, c) {
			twice = i
		}
		r.columns = append(r.columns, c)
	}
	if len(missing) > 0 {
		err := onto.Errorf(onto.Invalid, "the header has no %s %s", plural(len(missing), "column", "columns"), quoteNames(missing))
		if len(r.columns) == 1 {
			return err.WithHint("%s; fields have commas between them", recipe)
		}
		if len(r.ignored) > 0 {
			return err.WithHint("%s; not known: %s", recipe, shorten(strings.Join(r.ignored, ", ")))
		}
		return err.WithHint("%s", recipe)
	}
	if twice >= 0 {
		return r.in.refuse(r.in.fields[twice].at, "the column %s comes twice", r.in.text(twice)).WithHint("leave one of them out")
	}
	return nil
}

// Ignored lists the columns of the file that work items do not have. Their values are
// read and dropped.
func (r *Reader) Ignored() []string { return slices.Clone(r.ignored) }

// Count is how many rows were read.
func (r *Reader) Count() int64 { return r.count }

// CheckCount fails unless the number of rows is the one that was counted where the file
// was written. Call it after the last row.
func (r *Reader) CheckCount(want int64) error {
	if r.count == want {
		return nil
	}
	return onto.Errorf(onto.Invalid, "the CSV file has %d %s, %d were expected", r.count, plural(int(r.count), "row", "rows"), want).
		WithHint(`count them at the source with SELECT COUNT(*) FROM work_items, and export the file again if they differ`)
}

// Rows reads the rows that are left. It ends after the first error.
func (r *Reader) Rows() iter.Seq2[*Row, error] {
	return func(yield func(*Row, error) bool) {
		for {
			row, err := r.next()
			if err == io.EOF {
				return
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

func (r *Reader) next() (*Row, error) {
	if err := r.in.record(); err != nil {
		return nil, err
	}
	if got, want := len(r.in.fields), len(r.columns); got != want {
		return nil, r.in.refuse(r.in.fields[min(got-1, want)].at, "the row has %d fields, the header has %d", got, want).
			WithHint("put fields with commas or line breaks into quotes, or export the file again")
	}
	row := &Row{}
	text := string(r.in.data)
	for i, c := range r.columns {
		if c == nil {
			continue
		}
		f := r.in.fields[i]
		if s := text[f.from:f.to]; s != "" || f.quoted {
			c.set(row, Text(s))
		}
	}
	r.count++
	return row, nil
}

// Errorf is the error for a value of the row that was read last.
func (r *Reader) Errorf(name, format string, args ...any) *onto.Error {
	i := slices.IndexFunc(r.columns, func(c *column) bool { return c != nil && c.name == name })
	if i < 0 || i >= len(r.in.fields) {
		return r.in.refuse(position{r.in.start, 1}, format, args...)
	}
	at := r.in.fields[i].at
	return onto.Errorf(onto.Invalid, "line %d, column %d (%s): %s", at.line, at.column, name, fmt.Sprintf(format, args...))
}

// Line is where the row that was read last begins, from 1.
func (r *Reader) Line() int { return r.in.start }

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func shorten(s string) string {
	const most = 100
	if len(s) > most {
		return strconv.Quote(strings.ToValidUTF8(s[:most], "")) + "…"
	}
	return strconv.Quote(s)
}

func readFailed(err error) error {
	return onto.Errorf(onto.Unavailable, "the CSV file cannot be read: %w", err)
}
