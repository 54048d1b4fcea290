package records

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/ontologia/onto"
)

// rowReader reads rows of CSV by RFC 4180. The contents of a quoted cell are kept
// unchanged, line ends included.
type rowReader struct {
	lines *lineReader
	comma byte   // what separates cells
	want  int    // how many cells each row must have; 0 for any
	line  int64  // where the row starts
	text  []byte // of all cells of the row
	ends  []int  // where each of them ends
}

// maxCells bounds the memory for a row of nothing but commas.
const maxCells = 1 << 16

func (r *rowReader) count() int { return len(r.ends) }

// cell returns a cell of the row, valid until the next row is read.
func (r *rowReader) cell(i int) []byte {
	start := 0
	if i > 0 {
		start = r.ends[i-1]
	}
	return r.text[start:r.ends[i]]
}

// next reads a row, or returns io.EOF. Blank lines are skipped.
func (r *rowReader) next() error {
	r.lines.begin()
	line, err := r.lines.next()
	for err == nil && len(trimEnd(line)) == 0 {
		r.lines.begin()
		line, err = r.lines.next()
	}
	if err != nil {
		return err
	}
	r.line, r.ends = r.lines.n, r.ends[:0]
	if r.text = r.text[:0]; cap(r.text) > keptRoom {
		r.text = nil
	}
	cells := 0
	for more := true; more; cells++ {
		if line, more, err = r.take(line); err != nil {
			return err
		}
		if cells < maxCells {
			r.ends = append(r.ends, len(r.text))
		}
	}
	if r.want > 0 && cells != r.want || cells > maxCells {
		return r.ragged(cells)
	}
	return nil
}

func (r *rowReader) ragged(cells int) error {
	if r.want == 0 {
		return onto.Errorf(onto.TooLarge, "line %d: the header has %d columns, the limit is %d", r.line, cells, maxCells)
	}
	return r.lines.bad(r.line, onto.Errorf(onto.Invalid, "the row has %s, but the header has %d", count(cells, "cell"), r.want).
		WithHint("cells with %s, a quote or a line end stand in double quotes", nameOf(r.comma)))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// nameOf is what a separator is called.
func nameOf(comma byte) string {
	switch comma {
	case ',':
		return "a comma"
	case ';':
		return "a semicolon"
	case '\t':
		return "a tab"
	}
	return string(rune(comma))
}

// otherComma is the error for a header that is one column, because something else
// separates its names; nil if it does not look like that.
func (r *rowReader) otherComma() error {
	for _, other := range []byte{';', '\t', '|', ','} {
		if r.count() != 1 || other == r.comma || bytes.IndexByte(r.cell(0), other) < 0 {
			continue
		}
		given := "'" + string(rune(other)) + "'"
		if other == '\t' {
			given = "tab"
		}
		return onto.Errorf(onto.Invalid, "the header is one column, %.80q", r.cell(0)).
			WithHint("if %s separates the columns, add --delimiter %s", nameOf(other), given)
	}
	return nil
}

// take reads one cell and returns what follows its separator, and whether there
// was one.
func (r *rowReader) take(line []byte) ([]byte, bool, error) {
	if len(line) > 0 && line[0] == '"' {
		return r.quoted(line[1:])
	}
	cell, rest, more := bytes.Cut(line, []byte{r.comma})
	if !more {
		cell = trimEnd(cell)
	}
	if bytes.IndexByte(cell, '"') >= 0 {
		return nil, false, r.lines.bad(r.lines.n, onto.Errorf(onto.Invalid, "there is a quote inside the cell %.80q", cell).
			WithHint("put the whole cell in double quotes, and write its own quotes twice"))
	}
	r.text = append(r.text, cell...)
	return rest, more, nil
}

// quoted reads the rest of a cell that starts with a quote. It may span many lines.
func (r *rowReader) quoted(line []byte) ([]byte, bool, error) {
	for {
		i := bytes.IndexByte(line, '"')
		if i < 0 {
			r.text = append(r.text, line...)
			var err error
			if line, err = r.another(); err != nil {
				return nil, false, err
			}
			continue
		}
		r.text = append(r.text, line[:i]...)
		line = line[i+1:]
		if len(line) > 0 && line[0] == '"' {
			r.text = append(r.text, '"')
			line = line[1:]
			continue
		}
		if rest, more := bytes.CutPrefix(line, []byte{r.comma}); more {
			return rest, true, nil
		}
		if len(trimEnd(line)) > 0 {
			return nil, false, r.lines.bad(r.lines.n, onto.Errorf(onto.Invalid, "after the quoted cell comes %.20q, not %s", trimEnd(line), nameOf(r.comma)).
				WithHint("write a quote inside a quoted cell twice"))
		}
		return nil, false, nil
	}
}

// another reads a further line of the row.
func (r *rowReader) another() ([]byte, error) {
	if len(r.text) > maxRecord {
		return nil, tooLong(r.line)
	}
	line, err := r.lines.next()
	if errors.Is(err, io.EOF) {
		return nil, onto.Errorf(onto.Invalid, "line %d: a quoted cell of this row has no end", r.line).
			WithHint("each quote that opens a cell needs one that closes it")
	}
	return line, err
}

// trimEnd removes the line's end.
func trimEnd(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}

// appendCell appends a cell, in quotes if it needs them.
func appendCell(dst []byte, text string) []byte {
	const space = " \t"
	if !strings.ContainsAny(text, ",\"\r\n") && text == strings.Trim(text, space) {
		return append(dst, text...)
	}
	dst = append(dst, '"')
	for i := range len(text) {
		if text[i] == '"' {
			dst = append(dst, '"')
		}
		dst = append(dst, text[i])
	}
	return append(dst, '"')
}
