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

	several map[string]map[int]bool // by column whose field has had several types: the schema versions with its own
	table   bool                    // for other programs: see NewTable
}

// Column is a typed column. In the files of a lake, times and dates are texts in the form
// whose order is that of time.
type Column struct {
	Name string         // in the file
	Path []string       // of the field in the schema: one name, or those of the objects that it is in before its own
	Type onto.FieldType // a scalar; any in a table
}

// Field is the path of the field as a text, such as home.city.
func (c *Column) Field() string {
	path := ""
	for _, name := range c.Path {
		path = onto.FieldPath(path, name)
	}
	return path
}

// NewLayout makes the layout of a type out of all versions of all types. It has a column for
// each scalar that is reached through the declared fields of objects. A field that was once
// of another type has a column for each of its types: the first one has its plain name.
func NewLayout(kind onto.Kind, name string, versions []onto.SchemaVersion) *Layout {
	l := &Layout{Kind: kind, Type: name}
	m := newLayoutMaker(l)
	var own []onto.SchemaVersion
	for _, v := range versions {
		if v.Schema.Kind == kind && v.Schema.Name == name {
			m.fields(v.Schema.Fields, nil, "")
			own = append(own, v)
		}
	}
	l.sort()
	l.compare(own)
	return l
}

// NewTable makes the layout of a file for other programs: it has a column for each field of
// a type, of timestamps for times, of dates, and of JSON for objects, lists and values of any
// type. What a column cannot hold is NULL there; fields_json has all values.
func NewTable(s *onto.Schema) *Layout {
	l := &Layout{Kind: s.Kind, Type: s.Name, table: true}
	m := newLayoutMaker(l)
	for _, f := range s.Fields {
		m.add(nil, f.Name, f.Name, f.Type)
	}
	l.sort()
	return l
}

func (l *Layout) sort() {
	slices.SortFunc(l.Columns, func(a, b Column) int { return cmp.Compare(a.Name, b.Name) })
}

// typed reports whether a field of a type has a column.
func typed(t onto.FieldType) bool { return t.Scalar() }

// The limits of what has a column below the top. The names of columns are in the footer of a
// file once for each row group.
const (
	maxColumnName = 256 // bytes of a path
	maxStep       = 80  // bytes of a name in it: longer ones are cut in paths
)

// layoutMaker adds columns to a layout.
type layoutMaker struct {
	layout *Layout
	known  map[string]bool // the columns by path and type
	taken  map[string]bool // their names, and those of the system columns, by foldName
}

func newLayoutMaker(l *Layout) *layoutMaker {
	m := &layoutMaker{l, map[string]bool{}, map[string]bool{}}
	for _, name := range System(l.Kind) {
		m.taken[foldName(name)] = true
	}
	return m
}

// foldName is the same for names of columns that an engine may take for one, since they
// ignore case.
func foldName(name string) string { return strings.ToLower(strings.ToUpper(name)) }

// fields adds the columns of fields and of what is inside them, but for names that are too
// long.
func (m *layoutMaker) fields(fields []onto.Field, above []string, path string) {
	for _, f := range fields {
		at := onto.FieldPath(path, f.Name)
		if len(above) > 0 && (len(at) > maxColumnName || len(f.Name) > maxStep) {
			continue
		}
		if typed(f.Type) {
			m.add(above, f.Name, at, f.Type)
		}
		if len(f.Fields) > 0 {
			m.fields(f.Fields, append(slices.Clip(above), f.Name), at)
		}
	}
}

// add adds a column for a field, unless there is one for it and its type.
func (m *layoutMaker) add(above []string, field, path string, t onto.FieldType) {
	known := path + " " + string(t)
	if m.known[known] {
		return
	}
	m.known[known] = true
	name := path
	for m.taken[foldName(name)] {
		name += "__" + string(t)
	}
	m.taken[foldName(name)] = true
	m.layout.Columns = append(m.layout.Columns, Column{Name: name, Path: append(slices.Clip(above), field), Type: t})
}

// compare notes the columns whose fields have had several types.
func (l *Layout) compare(versions []onto.SchemaVersion) {
	for i := range l.Columns {
		c, own, sole := &l.Columns[i], map[int]bool{}, true
		for v := range versions {
			t, ok := typeIn(&versions[v].Schema, c.Path)
			if ok && t == c.Type {
				own[versions[v].Version] = true
			} else if ok {
				sole = false
			}
		}
		if sole {
			continue
		}
		if l.several == nil {
			l.several = map[string]map[int]bool{}
		}
		l.several[c.Name] = own
	}
}

// typeIn is the type that a field has in a version of the type. It reports false if the
// version has no value there. Where anything can be it is [onto.Any].
func typeIn(s *onto.Schema, path []string) (onto.FieldType, bool) {
	f := &onto.Field{Type: onto.Object, Fields: s.Fields}
	for i, name := range path {
		switch {
		case i > 0 && (f.Type == onto.Any || f.Type == onto.Object && f.Fields == nil):
			return onto.Any, true
		case f.Type != onto.Object:
			return "", false
		}
		var ok bool
		if f, ok = f.Inner(name); !ok {
			return "", false
		}
	}
	return f.Type, true
}

// Column returns the column that tells a field of every row of typed files. It
// reports false if there is none, or if the field has had several types.
func (l *Layout) Column(path []string) (Column, bool) {
	found := slices.IndexFunc(l.Columns, func(c Column) bool { return slices.Equal(c.Path, path) })
	if found < 0 {
		return Column{}, false
	}
	c := l.Columns[found]
	return c, l.several[c.Name] == nil
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
