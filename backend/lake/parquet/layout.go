// Package parquet writes and reads the data files of a lake: versions of one
// type as Parquet. Every file has the system columns and the canonical JSON of
// the fields; typed columns repeat what the schema has a type for, so that an
// engine can filter without parsing.
package parquet

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ontologia/onto"
)

// Layout is the columns of the files of one type.
type Layout struct {
	Kind    onto.Kind
	Type    string
	Columns []Column // the typed ones, by name
	Store   string   // the id of the store that the files belong to; "" for none

	types map[int]map[string]onto.FieldType // of the fields of each schema version
	table bool                              // for other programs: see NewTable
}

// Column is a typed column. In the files of a lake, times are texts in the form whose
// order is that of time.
type Column struct {
	Name  string         // in the file
	Field string         // in the schema
	Type  onto.FieldType // String, Time, Int, Float or Bool; any in a table
}

// NewLayout makes the layout of a type out of all versions of all types. A field
// that was once of another type has a column for each of its types: the first
// one has its plain name.
func NewLayout(kind onto.Kind, name string, versions []onto.SchemaVersion) *Layout {
	l := &Layout{Kind: kind, Type: name, types: map[int]map[string]onto.FieldType{}}
	for _, v := range versions {
		if v.Schema.Kind != kind || v.Schema.Name != name {
			continue
		}
		types := map[string]onto.FieldType{}
		for _, f := range v.Schema.Fields {
			types[f.Name] = f.Type
			if typed(f.Type) {
				l.add(f)
			}
		}
		l.types[v.Version] = types
	}
	slices.SortFunc(l.Columns, func(a, b Column) int { return cmp.Compare(a.Name, b.Name) })
	return l
}

// NewTable makes the layout of a file for other programs: it has a column for each field of
// a type, of timestamps for times, of dates, and of JSON for objects, lists and values of any type. What
// a column cannot hold is NULL there; fields_json has all values.
func NewTable(s *onto.Schema) *Layout {
	l := &Layout{Kind: s.Kind, Type: s.Name, table: true}
	for _, f := range s.Fields {
		l.add(f)
	}
	slices.SortFunc(l.Columns, func(a, b Column) int { return cmp.Compare(a.Name, b.Name) })
	return l
}

// typed reports whether a field of a type has a column.
func typed(t onto.FieldType) bool {
	switch t {
	case onto.String, onto.Time, onto.DateOnly, onto.Int, onto.Float, onto.Bool:
		return true
	}
	return false
}

// add adds a column for a field, unless there is one for it and its type.
func (l *Layout) add(f onto.Field) {
	if slices.ContainsFunc(l.Columns, func(c Column) bool { return c.Field == f.Name && c.Type == f.Type }) {
		return
	}
	name := f.Name
	for l.taken(name) {
		name += "__" + string(f.Type)
	}
	l.Columns = append(l.Columns, Column{Name: name, Field: f.Name, Type: f.Type})
}

// taken reports whether a column has a name, ignoring case as engines do.
func (l *Layout) taken(name string) bool {
	return slices.ContainsFunc(System(l.Kind), func(s string) bool { return strings.EqualFold(s, name) }) ||
		slices.ContainsFunc(l.Columns, func(c Column) bool { return strings.EqualFold(c.Name, name) })
}

// Column returns the column that tells a field of every row of typed files. It
// reports false if there is none, or if the field has had several types.
func (l *Layout) Column(field string) (Column, bool) {
	found := slices.IndexFunc(l.Columns, func(c Column) bool { return c.Field == field })
	if found < 0 {
		return Column{}, false
	}
	for _, types := range l.types {
		if t, ok := types[field]; ok && t != l.Columns[found].Type {
			return Column{}, false
		}
	}
	return l.Columns[found], true
}

// System is the names of the columns that every file of a kind has.
func System(kind onto.Kind) []string {
	switch kind {
	case onto.KindFact:
		return []string{"commit_id", "fact_type", "subject", "attribute", "fact_id", "schema_version_id", "op", "fields_json"}
	case onto.KindRelation:
		return []string{"commit_id", "relation_type", "left_key", "right_key", "instance_key", "schema_version_id", "op", "fields_json"}
	}
	return []string{"commit_id", "entity_type", "entity_key", "schema_version_id", "op", "fields_json"}
}
