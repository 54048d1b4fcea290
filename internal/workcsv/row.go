// Package workcsv reads and writes work items as CSV, in the form of
//
//	sqlite3 -csv -header ingest_state.db "SELECT * FROM work_items"
//
// The header has the names of the columns; the 19 of the original program come first, in
// its order, then ours. Files from sqlite3's ".mode csv" (lines that end with CRLF) and
// from other programs are read too, with columns in any order.
//
// # NULL and the empty text
//
// sqlite3 writes NULL as nothing at all, and the empty text as two quotes. So does Writer,
// and Reader tells them apart by the quotes. A program that drops them, as spreadsheets do,
// turns the empty texts of columns that can be NULL into NULL.
//
// # Strictness
//
// A file is refused at the first fault, with line and column: columns of the original
// program that are missing, rows of another length, malformed quotes, bytes that are not
// UTF-8 text, and a last row that seems to be cut off. What the values mean is left to the
// caller, whose errors get a place by Reader.Errorf.
package workcsv

import (
	"slices"
	"strings"
)

// Limits on what is read and written.
const (
	MaxField   = 16 << 20 // bytes of one field
	maxRecord  = 64 << 20 // bytes of one row
	maxColumns = 256
)

// Value is the text of a column that can be NULL. The zero value is NULL.
type Value struct {
	Text  string
	Valid bool // false for NULL
}

// Text is a value that is not NULL.
func Text(s string) Value { return Value{s, true} }

// Row is one work item, by the columns of work_items. Numbers and times are text as the
// database gives it.
type Row struct {
	WorkItemID     string
	SourceSystem   string
	SourceName     string
	ResourceType   string
	ResourceID     string
	RequestURI     string
	RequestMethod  string
	RequestHeaders Value
	RequestBody    Value
	Metadata       Value
	Priority       string
	Status         string
	Attempt        string
	RunID          Value
	DiscoveredFrom Value
	CreatedAt      string
	UpdatedAt      string
	ErrorMessage   Value
	DedupeKey      string

	// Not in the files of the original program.
	LeaseOwner Value
	LeaseUntil Value
	NotBefore  Value
	Depth      Value
	Scope      Value
	Revised    Value // how many attempts count as no tries
}

// Set gives a column a value, by its name, and reports whether work items have it.
func (r *Row) Set(name, text string) bool {
	c := columnOf(name)
	if c != nil {
		c.set(r, Text(text))
	}
	return c != nil
}

// column is a column of work_items. One of text and value is set: a text is never NULL.
type column struct {
	name  string
	text  func(*Row) *string
	value func(*Row) *Value
	ours  bool
}

// columns are all that a row has, in the order in which they are written.
var columns = []column{
	{name: "work_item_id", text: func(r *Row) *string { return &r.WorkItemID }},
	{name: "source_system", text: func(r *Row) *string { return &r.SourceSystem }},
	{name: "source_name", text: func(r *Row) *string { return &r.SourceName }},
	{name: "resource_type", text: func(r *Row) *string { return &r.ResourceType }},
	{name: "resource_id", text: func(r *Row) *string { return &r.ResourceID }},
	{name: "request_uri", text: func(r *Row) *string { return &r.RequestURI }},
	{name: "request_method", text: func(r *Row) *string { return &r.RequestMethod }},
	{name: "request_headers", value: func(r *Row) *Value { return &r.RequestHeaders }},
	{name: "request_body", value: func(r *Row) *Value { return &r.RequestBody }},
	{name: "metadata", value: func(r *Row) *Value { return &r.Metadata }},
	{name: "priority", text: func(r *Row) *string { return &r.Priority }},
	{name: "status", text: func(r *Row) *string { return &r.Status }},
	{name: "attempt", text: func(r *Row) *string { return &r.Attempt }},
	{name: "run_id", value: func(r *Row) *Value { return &r.RunID }},
	{name: "discovered_from", value: func(r *Row) *Value { return &r.DiscoveredFrom }},
	{name: "created_at", text: func(r *Row) *string { return &r.CreatedAt }},
	{name: "updated_at", text: func(r *Row) *string { return &r.UpdatedAt }},
	{name: "error_message", value: func(r *Row) *Value { return &r.ErrorMessage }},
	{name: "dedupe_key", text: func(r *Row) *string { return &r.DedupeKey }},
	{name: "lease_owner", value: func(r *Row) *Value { return &r.LeaseOwner }, ours: true},
	{name: "lease_until", value: func(r *Row) *Value { return &r.LeaseUntil }, ours: true},
	{name: "not_before", value: func(r *Row) *Value { return &r.NotBefore }, ours: true},
	{name: "depth", value: func(r *Row) *Value { return &r.Depth }, ours: true},
	{name: "onto_scope", value: func(r *Row) *Value { return &r.Scope }, ours: true},
	{name: "onto_revised", value: func(r *Row) *Value { return &r.Revised }, ours: true},
}

// Columns lists the names of all columns in the order in which they are written.
func Columns() []string { return namesOf(columns) }

// OriginalColumns lists the columns that the original program has, all of which a file
// must have.
func OriginalColumns() []string {
	return namesOf(slices.DeleteFunc(slices.Clone(columns), func(c column) bool { return c.ours }))
}

func namesOf(list []column) []string {
	var names []string
	for _, c := range list {
		names = append(names, c.name)
	}
	return names
}

func columnOf(name string) *column {
	i := slices.IndexFunc(columns, func(c column) bool { return c.name == name })
	if i < 0 {
		return nil
	}
	return &columns[i]
}

func (c *column) get(r *Row) Value {
	if c.text != nil {
		return Text(*c.text(r))
	}
	return *c.value(r)
}

func (c *column) set(r *Row, v Value) {
	if c.text != nil {
		*c.text(r) = v.Text
		return
	}
	*c.value(r) = v
}

func quoteNames(names []string) string { return strings.Join(names, ", ") }
