package records

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ontologia/onto"
)

// Reject is a record that cannot be imported as it stands: it is malformed, does not fit
// its type, or contradicts an earlier one.
type Reject struct {
	File string // "" if there is only one
	Line int64  // where it starts, or where the text is malformed
	Err  error  // why, with the file and the line

	// Text is the record as it came, with its line ends, and Header the row of a CSV
	// file that names the columns: one after the other they can be imported. Both are
	// valid until the call returns.
	Text, Header []byte
}

// String describes the record with its line.
func (r Reject) String() string { return r.place() + r.Reason() }

// Reason is why the record was rejected, without its place.
func (r Reject) Reason() string { return strings.TrimPrefix(r.Err.Error(), r.place()) }

func (r Reject) place() string {
	if r.File == "" {
		return fmt.Sprintf("line %d: ", r.Line)
	}
	return fmt.Sprintf("%s: line %d: ", r.File, r.Line)
}

// badRecord is an error in one record, after which the next one can be read.
type badRecord struct {
	line int64
	text []byte // valid until the next record is read
	err  error
}

func (b *badRecord) Error() string { return b.err.Error() }
func (b *badRecord) Unwrap() error { return b.err }

// bad is the error for the record that was read last, at a line.
func (l *lineReader) bad(line int64, err error) error {
	if err = atLine(line, err); !l.keeps {
		return err
	}
	return &badRecord{line, l.text, err}
}

// reject passes on what is wrong with a record, and leaves the record out. It returns an
// error if the import cannot go on.
func (f *feed) reject(err error) error {
	var bad *badRecord
	if f.opts.Reject == nil || !errors.As(err, &bad) {
		return err
	}
	switch onto.CodeOf(err) {
	case onto.Invalid, onto.TooLarge, onto.Conflict, onto.Refused:
	default:
		return err
	}
	f.out.Rejected++
	r := Reject{Line: bad.line, Err: err, Text: bad.text, Header: f.header}
	if f.files != nil {
		r.File = f.files.names[len(f.files.names)-1]
	}
	return f.opts.Reject(r)
}

// badRecord is an error, which has its place, about a record that was read.
func (f *feed) badRecord(rec *record, err error) error {
	if rec.text == nil {
		return err
	}
	_, line := f.files.place(rec.line)
	return &badRecord{line, rec.text, err}
}

// check reports what the store would refuse about a record, while there is still its text.
func (f *feed) check(rec *record) error {
	if f.opts.Reject == nil || rec.text == nil {
		return nil
	}
	if err := f.store.Check(rec.thing()); err != nil {
		return f.badRecord(rec, atPlace(f.files.place, rec.line, err))
	}
	return nil
}
