package records

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/ontologia/onto"
)

// lineReader reads lines of bounded length.
type lineReader struct {
	r     *bufio.Reader
	limit int
	n     int64  // the number of the line that was read last
	long  []byte // room for a line that the buffer of r does not hold

	keeps bool   // text is kept
	text  []byte // the lines since begin
}

// begin says that what is read next belongs to another record.
func (l *lineReader) begin() {
	if l.text = l.text[:0]; cap(l.text) > keptRoom {
		l.text = nil
	}
}

// keptRoom is how much room for long lines is kept for the next one.
const keptRoom = 1 << 20

// next returns the next line with its end, valid until the next call, or
// io.EOF.
func (l *lineReader) next() ([]byte, error) {
	l.n++
	if cap(l.long) > keptRoom {
		l.long = nil
	}
	l.long = l.long[:0]
	for {
		chunk, err := l.r.ReadSlice('\n')
		if len(l.long)+len(chunk) > l.limit {
			return nil, tooLong(l.n)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			l.long = append(l.long, chunk...)
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, atLine(l.n, err)
		}
		if len(l.long) > 0 {
			l.long = append(l.long, chunk...)
			chunk = l.long
		}
		if len(chunk) == 0 {
			return nil, io.EOF
		}
		if l.keeps {
			l.text = append(l.text, chunk...)
		}
		return chunk, nil
	}
}

// nextFilled returns the next line that is not blank, as the begin of a record.
func (l *lineReader) nextFilled() ([]byte, error) {
	for {
		l.begin()
		line, err := l.next()
		if err != nil || len(bytes.Trim(line, " \t\r\n")) > 0 {
			return line, err
		}
	}
}

func tooLong(line int64) error {
	return onto.Errorf(onto.TooLarge, "line %d: the record is longer than %d bytes", line, maxRecord).
		WithHint("the fields of one thing may have %d bytes; is the file what it should be?", onto.MaxFields)
}
