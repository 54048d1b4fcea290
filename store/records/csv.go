package records

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/suggest"
)

// csvReader reads records of one type from CSV.
type csvReader struct {
	rows    *rowReader
	schema  *onto.Schema
	columns []csvColumn // in the order of the file
	order   []int       // the columns that are fields, by name
	clears  bool        // an empty cell empties its field
	partial bool        // columns of fields that must have a value may be missing, and cells of them empty
	narrow  bool        // the file does not have a column for each field

	members, initial []codec.Member // of the record
	room, object     []byte         // for their values, and for all of them
}

// csvColumn is a column: a field, or a part of the identity or of the metadata.
type csvColumn struct {
	name  string
	field *onto.Field // nil if it is no field
	role  string      // if it is no field: its name without a prefix
}

// newCSVReader reads the header.
func newCSVReader(rows *rowReader, types catalogue, o *ImportOptions) (*csvReader, error) {
	name := o.Type
	if name == "" {
		return nil, onto.Errorf(onto.Invalid, "CSV does not say of which type its rows are").WithHint("name the type, as --type T")
	}
	schema, err := types.find("", []byte(name))
	if err != nil {
		return nil, err
	}
	r := &csvReader{rows: rows, schema: schema, clears: o.EmptyClears, partial: o.OnConflict == Upsert && schema.Kind != onto.KindFact}
	err = r.rows.next()
	if errors.Is(err, io.EOF) {
		return nil, onto.Errorf(onto.Invalid, "line 1: there is no header").WithHint("the first row names the columns: %s", columnList(schema))
	}
	if err != nil {
		return nil, err
	}
	for i := range r.rows.count() {
		if err := r.addColumn(string(r.rows.cell(i))); err != nil {
			return nil, atLine(r.rows.line, cmp.Or(r.rows.otherComma(), err))
		}
	}
	if err := r.checkColumns(); err != nil {
		return nil, atLine(r.rows.line, err)
	}
	slices.SortFunc(r.order, func(a, b int) int { return strings.Compare(r.columns[a].name, r.columns[b].name) })
	r.rows.want = len(r.columns)
	r.narrow = schema.Kind != onto.KindFact && slices.ContainsFunc(schema.Fields, func(f onto.Field) bool {
		return f.Name != schema.InstanceKey && !r.has(f.Name)
	})
	return r, nil
}

// csvColumns is the columns that a type has in CSV, with those of the
// metadata that are asked for.
func csvColumns(schema *onto.Schema, metadata ...string) []csvColumn {
	var list []csvColumn
	system := func(roles ...string) {
		for _, role := range roles {
			list = append(list, csvColumn{name: systemColumn(schema, role), role: role})
		}
	}
	field := func(f onto.Field) { list = append(list, csvColumn{name: f.Name, field: &f}) }
	switch schema.Kind {
	case onto.KindEntity:
		key, _ := schema.Field(schema.Key)
		field(key)
	case onto.KindFact:
		system(subjectName, attributeName, factID)
	default:
		system(leftKey, rightKey)
		if schema.InstanceKey != "" {
			system(instanceKey)
		}
	}
	for _, f := range schema.Fields {
		if f.Name != schema.Key {
			field(f)
		}
	}
	system(metadata...)
	return list
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

// addColumn takes the next column of the header.
func (r *csvReader) addColumn(name string) error {
	known := csvColumns(r.schema, commitID, schemaVersion, opName)
	if r.schema.Kind == onto.KindFact && !r.schema.Open {
		known = append(known, csvColumn{name: onto.FactValue, field: &onto.Field{Name: onto.FactValue, Type: onto.Any, Optional: true}})
	}
	i := slices.IndexFunc(known, func(c csvColumn) bool { return c.name == name })
	if i < 0 {
		err := onto.Errorf(onto.Invalid, "type %s has no column %.80q", r.schema.Name, name)
		if near := suggest.Name(name, columnNames(known)); near != "" && len(name) <= onto.MaxName {
			return err.WithHint("did you mean %s?", near)
		}
		return err.WithHint("its columns are %s", columnList(r.schema))
	}
	if r.has(name) {
		return onto.Errorf(onto.Invalid, "column %s comes twice", name)
	}
	if known[i].field != nil {
		r.order = append(r.order, len(r.columns))
	}
	r.columns = append(r.columns, known[i])
	return nil
}

func (r *csvReader) has(name string) bool {
	return slices.ContainsFunc(r.columns, func(c csvColumn) bool { return c.name == name })
}

// checkColumns refuses a header without a column that every record needs.
func (r *csvReader) checkColumns() error {
	for _, c := range csvColumns(r.schema) {
		if r.needs(&c) && !r.has(c.name) {
			return onto.Errorf(onto.Invalid, "column %s is missing", c.name).
				WithHint("the columns of %s are %s", r.schema.Name, columnList(r.schema))
		}
	}
	return nil
}

// needs reports whether there must be a column. If the instance key is among
// the fields, one of its two columns is enough.
func (r *csvReader) needs(c *csvColumn) bool {
	_, among := r.schema.Field(r.schema.InstanceKey)
	switch {
	case c.role == factID:
		return false
	case c.role == instanceKey:
		return !among || !r.has(r.schema.InstanceKey)
	case c.field == nil:
		return true
	}
	return required(c.field) && c.name != r.schema.InstanceKey && (!r.partial || c.name == r.schema.Key)
}

// next returns the record of the next row.
func (r *csvReader) next() (record, error) {
	if err := r.rows.next(); err != nil {
		return record{}, err
	}
	rec := record{
		schema: r.schema, id: onto.Identity{Kind: r.schema.Kind, Type: r.schema.Name}, op: onto.Put, line: r.rows.line,
		sparse: r.narrow,
	}
	err := r.system(&rec)
	if err == nil {
		err = r.fields(&rec)
	}
	if err != nil {
		return rec, r.rows.lines.bad(rec.line, err)
	}
	rec.text = r.rows.lines.text
	rec.placeValue()
	rec.completeIdentity()
	if rec.op == onto.Delete {
		rec.fields = nil
	}
	return rec, nil
}

// system reads the cells that are no fields.
func (r *csvReader) system(rec *record) error {
	for i, c := range r.columns {
		var part *string
		var op string
		switch c.role {
		case leftKey, subjectName:
			part = &rec.id.Left
		case rightKey, attributeName:
			part = &rec.id.Right
		case instanceKey, factID:
			part = &rec.id.Instance
		case opName:
			part = &op
		default:
			continue
		}
		text, err := cellText(r.rows.cell(i))
		if err == nil {
			*part = text
		}
		if err == nil && part == &op {
			rec.op, err = parseOp(op)
		}
		if err != nil {
			return inColumn(c.name, err)
		}
	}
	return nil
}

// fields reads the cells that are fields and puts them together.
func (r *csvReader) fields(rec *record) error {
	r.room, r.members, r.initial = r.room[:0], r.members[:0], r.initial[:0]
	for _, i := range r.order {
		c, cell := r.columns[i], r.rows.cell(i)
		instance := c.name == r.schema.InstanceKey
		if len(cell) == 0 && (instance || rec.op == onto.Delete) {
			continue
		}
		if rec.op == onto.Delete && !instance && c.name != r.schema.Key {
			return onto.Errorf(onto.Invalid, "column %s: the row deletes, but has a value here", c.name).WithHint("leave the cell empty, or the op")
		}
		if r.empty(rec, &c, cell) {
			continue
		}
		start := len(r.room)
		room, err := appendCellValue(r.room, r.fieldOf(&c, rec), cell)
		if err != nil {
			return inColumn(c.name, err)
		}
		if r.room = room; len(room) > start {
			r.members = append(r.members, codec.Member{Name: c.name, Value: room[start:len(room):len(room)]})
		}
	}
	r.object = codec.AppendObject(r.object[:0], r.members)
	rec.fields = r.object
	if len(r.initial) > 0 {
		rec.initial = codec.AppendObject(nil, r.initial)
	}
	return nil
}

// empty takes an empty cell whose field stays as it is, or is emptied. It reports false
// for any other cell.
func (r *csvReader) empty(rec *record, c *csvColumn, cell []byte) bool {
	if len(cell) > 0 || r.schema.Kind == onto.KindFact || c.name == r.schema.Key {
		return false
	}
	must := required(c.field)
	switch {
	case r.clears && must, must && c.field.Type != onto.String && !r.partial:
		return false // the empty text, or an error
	case r.clears:
		r.members = append(r.members, codec.Member{Name: c.name, Value: []byte("null")})
		return true
	case must && c.field.Type == onto.String:
		r.initial = append(r.initial, codec.Member{Name: c.name, Value: []byte(`""`)})
	}
	rec.sparse = true
	return true
}

// fieldOf is the field that a cell is a value of. In the column value it is that of the
// row's attribute.
func (r *csvReader) fieldOf(c *csvColumn, rec *record) *onto.Field {
	if r.schema.Kind == onto.KindFact && c.name == onto.FactValue {
		if f, ok := r.schema.Attribute(rec.id.Right); ok {
			return &f
		}
	}
	return c.field
}

func inColumn(name string, err error) error {
	return onto.Errorf(onto.Invalid, "column %s: %w", name, err)
}
