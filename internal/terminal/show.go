package terminal

import (
	"fmt"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/document"
)

// Time is a time as tables show it. --as-of reads it back.
func Time(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000000Z")
}

// Head is the newest commit of a store, for people.
func Head(head onto.Commit) string {
	if head.ID == 0 {
		return "none, the store is empty"
	}
	return fmt.Sprintf("commit %d at %s", head.ID, Time(head.Time))
}

// showIdentity is an identity on one line, for people.
func showIdentity(id onto.Identity) string {
	parts := []string{id.Type, id.Key}
	switch id.Kind {
	case onto.KindFact:
		parts = []string{id.Type, id.Left, id.Right}
	case onto.KindRelation:
		parts = []string{id.Type, id.Left, "→", id.Right}
	}
	if id.Instance != "" {
		parts = append(parts, "["+id.Instance+"]")
	}
	return Escape(strings.Join(parts, " "))
}

// Members splits the fields of a version. A file that was changed by hand
// can hold anything, so they are not trusted. No fields have no members.
func Members(fields []byte) ([]codec.Member, error) {
	if len(fields) == 0 {
		return nil, nil
	}
	return codec.ParseObject(fields)
}

// Cell is a canonical JSON value as a cell: text without its quotes.
func Cell(value []byte) string {
	if codec.KindOf(value) == codec.String {
		return codec.Unquote(value)
	}
	return string(value)
}

// FieldCell is the value of a field for a cell of a table: a time as [Time] shows it.
func FieldCell(t onto.FieldType, value []byte) string {
	text := Cell(value)
	if t != onto.Time {
		return text
	}
	at, err := codec.ParseTime(text)
	if err != nil {
		return text // it was written for another type
	}
	return Time(at)
}

// PrintChange prints a change for people: what was added, what was removed, or which
// fields changed, at any depth.
func PrintChange(o *Output, change onto.Change) error {
	before, after := document.LiveFields(change.Before), document.LiveFields(change.After)
	name := showIdentity(change.Identity)
	switch change.Operation() {
	case onto.OperationInsert:
		return o.Line("%s  %s", o.Paint(Green, "+ "+name), Escape(string(after)))
	case onto.OperationDelete:
		return o.Line("%s  %s", o.Paint(Red, "- "+name), Escape(string(before)))
	}
	if err := o.Line("%s", o.Paint(Yellow, "~ "+name)); err != nil {
		return err
	}
	fields, err := change.Fields()
	if err != nil {
		return onto.Errorf(onto.Corrupt, "%s: %w", change.Identity, err)
	}
	for _, f := range fields {
		if err := o.Line("    %s", Escape(f.String())); err != nil {
			return err
		}
	}
	return nil
}
