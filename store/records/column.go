package records

import (
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// csvColumn is a column: a field, or a part of the identity or of the metadata.
type csvColumn struct {
	name  string
	field *onto.Field // nil if it is no field
	role  string      // if it is no field: its name without a prefix

	steps  []string // the names that lead to the field
	absent bool     // an object around it can be absent, which an empty cell tells
	split  bool     // it is an object whose fields have columns
}

// csvColumns is the columns that a type has in CSV, with those of the
// metadata that are asked for. The fields of declared objects have their own.
func csvColumns(schema *onto.Schema, metadata ...string) []csvColumn {
	return columnsOf(schema, metadata, appendFieldColumns)
}

// namedColumns is all columns that a file of a type may have: also those of declared
// objects as a whole.
func namedColumns(schema *onto.Schema) []csvColumn {
	return columnsOf(schema, []string{commitID, schemaVersion, opName}, appendEachColumn)
}

// keyColumns is the columns that tell the key of an entity: the key itself, or the shard key
// and the id of which it is made.
func keyColumns(schema *onto.Schema) []string {
	if made := schema.ComputedKey(); made != nil {
		return []string{made.ShardKey, made.ID}
	}
	return []string{schema.Key}
}

// identifies reports whether a column tells the key of an entity, or a part of it.
func identifies(schema *onto.Schema, column string) bool {
	return schema.Kind == onto.KindEntity && slices.Contains(keyColumns(schema), column)
}

// partOf is what a key has in one of its columns. It is none where the key is not made as the
// type says now.
func partOf(schema *onto.Schema, column, key string) string {
	shard, id, err := onto.KeyParts(key)
	switch made := schema.ComputedKey(); {
	case err != nil || made == nil:
		return ""
	case column == made.ID:
		return id
	}
	return shard
}

func columnsOf(schema *onto.Schema, metadata []string, add func([]csvColumn, csvColumn) []csvColumn) []csvColumn {
	var list []csvColumn
	system := func(roles ...string) {
		for _, role := range roles {
			list = append(list, csvColumn{name: systemColumn(schema, role), role: role})
		}
	}
	field := func(f onto.Field) {
		list = add(list, csvColumn{name: f.Name, field: &f, steps: []string{f.Name}, split: splits(schema, &f)})
	}
	switch schema.Kind {
	case onto.KindEntity:
		if key, _ := schema.Field(schema.Key); key.Compute == nil {
			field(key)
		}
	case onto.KindFact:
		system(subjectName, attributeName, factID)
	default:
		system(leftKey, rightKey)
		if schema.InstanceKey != "" {
			system(instanceKey)
		}
	}
	for _, f := range schema.Fields {
		if f.Name != schema.Key && f.Compute == nil {
			field(f)
		}
	}
	system(metadata...)
	return list
}

// splits reports whether the fields of an object at the top have columns. A row of a fact has
// its value in one column, and onto.op would be the name of a column that is no field.
func splits(schema *onto.Schema, f *onto.Field) bool {
	return len(f.Fields) > 0 && schema.Kind != onto.KindFact && f.Name != "onto"
}

// inner is the column of a field of the object.
func (c *csvColumn) inner(f *onto.Field) csvColumn {
	name := codec.AppendStep([]byte(c.name), f.Name)
	return csvColumn{
		name: string(name), field: f, steps: append(slices.Clip(c.steps), f.Name),
		absent: c.absent || !required(c.field), split: len(f.Fields) > 0,
	}
}

// appendFieldColumns appends the columns in which a value is exported. An object that can be
// absent has one itself if all others can be empty although it is there.
func appendFieldColumns(list []csvColumn, c csvColumn) []csvColumn {
	if !c.split {
		return append(list, c)
	}
	if !required(c.field) && !c.shows() {
		list = append(list, c)
	}
	for i := range c.field.Fields {
		list = appendFieldColumns(list, c.inner(&c.field.Fields[i]))
	}
	return list
}

// appendEachColumn appends the columns in which a value can be given.
func appendEachColumn(list []csvColumn, c csvColumn) []csvColumn {
	list = append(list, c)
	if c.split {
		for i := range c.field.Fields {
			list = appendEachColumn(list, c.inner(&c.field.Fields[i]))
		}
	}
	return list
}

// shows reports whether some cell in the columns of the object is never empty if it is there.
func (c *csvColumn) shows() bool {
	return slices.ContainsFunc(c.field.Fields, func(f onto.Field) bool {
		inner := c.inner(&f)
		return !f.Optional && (!inner.split || inner.shows())
	})
}

func columnNames(columns []csvColumn) []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	return names
}

func columnList(schema *onto.Schema) string {
	return strings.Join(columnNames(csvColumns(schema)), ",")
}

// value is what the members of a version have in the column; nil if there is nothing.
func (c *csvColumn) value(members []codec.Member) []byte {
	i := slices.IndexFunc(members, func(m codec.Member) bool { return m.Name == c.steps[0] })
	if i < 0 {
		return nil
	}
	value := members[i].Value
	if len(c.steps) > 1 {
		value = codec.Find(value, c.steps[1:])
	}
	switch {
	case value == nil || codec.KindOf(value) == codec.Null:
		return nil
	case c.split && !c.empty(value):
		return nil // it is there if a field of it is
	}
	return value
}

// empty reports whether all cells in the columns of an object's fields are empty.
func (c *csvColumn) empty(object []byte) bool {
	for _, m := range codec.Members(object) {
		f, ok := c.field.Inner(m.Name)
		if !ok || codec.KindOf(m.Value) == codec.Null {
			continue
		}
		inner := c.inner(f)
		if !inner.split || !required(f) || !inner.empty(m.Value) {
			return false
		}
	}
	return true
}

// csvField is a field with the columns that a file has for it.
type csvField struct {
	csvColumn
	at     int        // where its own column is; -1 for none
	fields []csvField // those of an object that have columns, sorted by name
}

// place says where a column is, which is at the top or inside the field of a column there.
func place(fields []csvField, top, column *csvColumn, at int) []csvField {
	i, there := slices.BinarySearchFunc(fields, top.field.Name, func(f csvField, name string) int { return strings.Compare(f.field.Name, name) })
	if !there {
		fields = slices.Insert(fields, i, csvField{csvColumn: *top, at: -1})
	}
	if len(top.steps) == len(column.steps) {
		fields[i].at = at
		return fields
	}
	f, _ := top.field.Inner(column.steps[len(top.steps)]) // the steps are those of a column
	inner := top.inner(f)
	fields[i].fields = place(fields[i].fields, &inner, column, at)
	return fields
}

// whole reports whether the columns hold all of the field.
func (f *csvField) whole() bool {
	if f.at >= 0 {
		return true
	}
	if len(f.fields) < len(f.field.Fields) {
		return false
	}
	return !slices.ContainsFunc(f.fields, func(inner csvField) bool { return !inner.whole() })
}

// missing is the name of a column without which no object can be made; "" if there is none.
func (f *csvField) missing() string {
	if f.at >= 0 {
		return ""
	}
	for i := range f.field.Fields {
		declared := &f.field.Fields[i]
		at := slices.IndexFunc(f.fields, func(inner csvField) bool { return inner.field.Name == declared.Name })
		switch {
		case at >= 0:
			if name := f.fields[at].missing(); name != "" {
				return name
			}
		case required(declared):
			column := f.inner(declared)
			return column.name
		}
	}
	return ""
}

// filled reports whether some cell has a value.
func (f *csvField) filled(rows *rowReader) bool {
	if f.at >= 0 && len(rows.cell(f.at)) > 0 {
		return true
	}
	for i := range f.fields {
		if f.fields[i].filled(rows) {
			return true
		}
	}
	return false
}
