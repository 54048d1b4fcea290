package workcsv

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/ontologia/onto"
)

// scanner splits a file into fields, as RFC 4180 writes them. Lines end with LF or CRLF;
// empty lines are skipped.
type scanner struct {
	in     *bufio.Reader
	line   int // of the next byte, from 1
	column int // bytes of that line that were read

	// The record that was read last.
	start  int // its first line
	data   []byte
	fields []field
}

// position is a place in the file, in lines and bytes from 1.
type position struct{ line, column int }

type field struct {
	at       position
	from, to int // in data
	quoted   bool
}

func (s *scanner) text(i int) string { return string(s.data[s.fields[i].from:s.fields[i].to]) }

// here is the position of the byte that was read last.
func (s *scanner) here() position { return position{s.line, s.column} }

func (s *scanner) refuse(at position, format string, args ...any) *onto.Error {
	return onto.Errorf(onto.Invalid, "line %d, column %d: %s", at.line, at.column, fmt.Sprintf(format, args...))
}

// record reads the next record; io.EOF if there is none.
func (s *scanner) record() error {
	for {
		next, err := s.in.Peek(2)
		if len(next) == 0 && err == io.EOF {
			return err
		}
		if len(next) == 0 {
			return readFailed(err)
		}
		if next[0] != '\n' && string(next) != "\r\n" {
			break
		}
		s.in.Discard(bytes.IndexByte(next, '\n') + 1)
		s.line, s.column = s.line+1, 0
	}
	s.start, s.data, s.fields = s.line, s.data[:0], s.fields[:0]
	for {
		more, err := s.field()
		if err != nil || !more {
			return err
		}
	}
}

// end says how a field ended.
type end int

const (
	comma end = iota
	lineBreak
	fileEnd
)

// field reads one field, and reports whether another follows on the line.
func (s *scanner) field() (more bool, err error) {
	f := field{at: position{s.line, s.column + 1}, from: len(s.data)}
	if next, _ := s.in.Peek(1); len(next) == 1 && next[0] == '"' {
		f.quoted = true
	}
	var ended end
	if f.quoted {
		ended, err = s.quoted(f)
	} else {
		ended, err = s.plain(f)
	}
	if err != nil {
		return false, err
	}
	f.to = len(s.data)
	s.fields = append(s.fields, f)
	if len(s.fields) > maxColumns {
		return false, onto.Errorf(onto.TooLarge, "line %d has more than %d fields", f.at.line, maxColumns).WithHint("%s", recipe)
	}
	if text := s.data[f.from:f.to]; !utf8.Valid(text) {
		return false, s.refuse(f.at, "the field is not UTF-8").WithHint("save the file as UTF-8")
	} else if bytes.IndexByte(text, 0) >= 0 {
		return false, s.refuse(f.at, "the field has a NUL byte").WithHint("remove it: the file is damaged, or no text")
	}
	if ended == fileEnd && !f.quoted {
		return false, s.refuse(f.at, "the file ends within this row: it has no line break at its end").
			WithHint("export the file again, or add the line break if nothing is missing")
	}
	return ended == comma, nil
}

// plain reads a field without quotes, up to its end.
func (s *scanner) plain(f field) (end, error) {
	if err := s.copyUntil(f, ",\n\r\""); err != nil {
		return 0, err
	}
	return s.afterField("a quote within a field that does not begin with one", "put the field into quotes, and write a quote within it twice")
}

// quoted reads a field in quotes, and what ends it.
func (s *scanner) quoted(f field) (end, error) {
	s.next() // the quote
	for {
		if err := s.copyUntil(f, `"`); err != nil {
			return 0, err
		}
		if _, err := s.next(); err == io.EOF {
			return 0, s.refuse(f.at, "the quote that begins here is never closed").WithHint("the file is cut off, or a quote within the field is not written twice")
		} else if err != nil {
			return 0, err
		}
		if next, _ := s.in.Peek(1); len(next) == 0 || next[0] != '"' {
			return s.afterField("after the closing quote of a field there is neither a comma nor a line break", "write a quote within a field twice")
		}
		s.next()
		if err := s.add(f, []byte(`"`)); err != nil {
			return 0, err
		}
	}
}

// copyUntil takes the bytes up to one of the stops, or to the end of the file.
func (s *scanner) copyUntil(f field, stops string) error {
	for {
		chunk, err := s.in.Peek(max(1, s.in.Buffered()))
		if len(chunk) == 0 && err == io.EOF {
			return nil
		}
		if len(chunk) == 0 {
			return readFailed(err)
		}
		stop := bytes.IndexAny(chunk, stops)
		if stop >= 0 {
			chunk = chunk[:stop]
		}
		if err := s.add(f, chunk); err != nil {
			return err
		}
		s.column += len(chunk)
		if last := bytes.LastIndexByte(chunk, '\n'); last >= 0 {
			s.line += bytes.Count(chunk, []byte("\n"))
			s.column = len(chunk) - last - 1
		}
		s.in.Discard(len(chunk))
		if stop >= 0 {
			return nil
		}
	}
}

// afterField reads what ends a field. Anything else is refused with a reason and a hint.
func (s *scanner) afterField(reason, hint string) (end, error) {
	c, err := s.next()
	switch {
	case err == io.EOF:
		return fileEnd, nil
	case err != nil:
		return 0, err
	case c == ',':
		return comma, nil
	case c == '\n':
		return lineBreak, nil
	case c == '\r':
		return s.afterReturn()
	}
	return 0, s.refuse(s.here(), "%s", reason).WithHint("%s", hint)
}

// afterReturn reads the line feed after a carriage return.
func (s *scanner) afterReturn() (end, error) {
	at := s.here()
	c, err := s.next()
	if err != nil && err != io.EOF {
		return 0, err
	}
	if c != '\n' || err == io.EOF {
		return 0, s.refuse(at, "a carriage return that does not end a line").WithHint("end lines with LF or CRLF, and put fields with line breaks into quotes")
	}
	return lineBreak, nil
}

func (s *scanner) add(f field, text []byte) error {
	if len(s.data)-f.from+len(text) > MaxField {
		return onto.Errorf(onto.TooLarge, "line %d, column %d: the field has more than %d bytes", f.at.line, f.at.column, MaxField).
			WithHint("a quote may be missing; else leave the item out")
	}
	if len(s.data)+len(text) > maxRecord {
		return onto.Errorf(onto.TooLarge, "line %d: the row has more than %d bytes", s.start, maxRecord).WithHint("leave the item out")
	}
	s.data = append(s.data, text...)
	return nil
}

// next reads a byte and counts lines and columns. A line feed belongs to the line that it
// ends; the next byte is on the next line.
func (s *scanner) next() (byte, error) {
	c, err := s.in.ReadByte()
	if err == io.EOF {
		return 0, err
	}
	if err != nil {
		return 0, readFailed(err)
	}
	s.column++
	if c == '\n' {
		s.line, s.column = s.line+1, 0
	}
	return c, nil
}

// steady repeats the error of a reader: bufio forgets it.
type steady struct {
	io.Reader
	err error
}

func (r *steady) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.Reader.Read(p)
	r.err = err
	return n, err
}
