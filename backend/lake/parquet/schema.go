package parquet

import (
	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/parquet/internal/flat"
	"github.com/ontologia/onto/backend/lake/parquet/internal/format"
)

// The sizes of row groups. Small ones make the search for one identity cheap, large ones
// make scans cheap.
const (
	groupRows  = 16 << 10 // rows in a row group at most
	groupBytes = 8 << 20  // bytes of fields in a row group, but for the last row
)

// What the footer of a file tells besides its columns.
const (
	createdBy = "ontologia"
	storeKey  = "ontologia.store_id"
)

// The limits on files of unknown origin. A small file can decompress to much: pages are
// compressed, and a dictionary repeats a value for each row. What the limits allow is
// several times what a writer makes.
const (
	maxGroupRows   = 1 << 20   // rows in a row group
	maxGroupBytes  = 128 << 20 // bytes in a row group, unfolded: of the system columns, and of the typed ones
	maxPageBytes   = 64 << 20  // bytes in a page
	maxFooterBytes = 16 << 20  // bytes in a footer
	keptRows       = 4 << 20   // rows of the indexes that an open file keeps, besides some for each of its bytes
)

// The numbers of the columns that come before the keys.
const (
	commitColumn = 0
	typeColumn   = 1
	keyColumn    = 2 // the first
)

// keyColumns is how many columns the keys of a kind have. After them come the
// schema version, the op and the fields.
func keyColumns(kind onto.Kind) int {
	if kind == onto.KindEntity {
		return 1
	}
	return 3
}

// keyOf returns a part of an identity.
func keyOf(id *onto.Identity, part int) string {
	if id.Kind == onto.KindEntity {
		return id.Key
	}
	switch part {
	case 0:
		return id.Left
	case 1:
		return id.Right
	}
	return id.Instance
}

// setKey sets a part of an identity.
func setKey(id *onto.Identity, part int, key string) {
	switch {
	case id.Kind == onto.KindEntity:
		id.Key = key
	case part == 0:
		id.Left = key
	case part == 1:
		id.Right = key
	default:
		id.Instance = key
	}
}

// systemType is the type of a system column.
func systemType(name string) onto.FieldType {
	if name == "commit_id" || name == "schema_version_id" {
		return onto.Int
	}
	return onto.String
}

// physicalType is how the values of a type are stored.
func physicalType(t onto.FieldType) format.Type {
	switch t {
	case onto.Int:
		return format.Int64
	case onto.Float:
		return format.Double
	case onto.Bool:
		return format.Boolean
	}
	return format.ByteArray
}

// columnsOf is how the columns of a layout are written. Nothing in it depends on when or
// where that is.
func columnsOf(l *Layout) []flat.Column {
	var list []flat.Column
	for i, name := range System(l.Kind) {
		c := column(name, systemType(name))
		c.Statistics, c.Index = name != "fields_json", true
		if !plainColumn(l.Kind, i) {
			c.Folding = flat.Folded
		}
		list = append(list, c)
	}
	for _, field := range l.Columns { // without an index: only system columns are read by row
		c := column(field.Name, field.Type)
		if l.table {
			c = tableColumn(field.Name, field.Type)
		}
		c.Optional, c.Statistics = true, c.Meaning != format.JSON
		if field.Type != onto.Bool {
			c.Folding = flat.Cheaper
		}
		list = append(list, c)
	}
	return list
}

func column(name string, t onto.FieldType) flat.Column {
	c := format.Column{Name: name, Type: physicalType(t)}
	if c.Type == format.ByteArray {
		c.Meaning = format.String
	}
	return flat.Column{Column: c}
}

// tableColumn is a column of a field in a file for other programs.
func tableColumn(name string, t onto.FieldType) flat.Column {
	c := column(name, t)
	switch {
	case t == onto.Time:
		c.Type, c.Meaning = format.Int64, format.Timestamp
	case t == onto.DateOnly:
		c.Type, c.Meaning = format.Int32, format.Date
	case !typed(t):
		c.Meaning = format.JSON
	}
	return c
}
