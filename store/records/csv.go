package records

import (
	"cmp"
	"errors"
	"io"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/suggest"
)

// csvReader reads records of one type from CSV.
type csvReader struct {
	rows    *rowReader
	schema  *onto.Schema
	columns []csvColumn // in the order of the file
	fields  []csvField  // the same that are fields, by name
	clears  bool        // an empty cell empties its field
	partial bool        // columns of fields that must have a value may be missing, and cells of them empty
	narrow  bool        // the file does not have a column for each field

	given        csvObject // of the record
	room, buffer []byte    // for its values, and for all of them
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
	r.rows.want = len(r.columns)
	r.narrow = schema.Kind != onto.KindFact && slices.ContainsFunc(schema.Fields, func(f onto.Field) bool {
		given := r.field(f.Name)
		return f.Name != schema.InstanceKey && f.Compute == nil && (given == nil || !given.whole())
	})
	return r, nil
}

// addColumn takes the next column of the header.
func (r *csvReader) addColumn(name string) error {
	known := namedColumns(r.schema)
	if r.schema.Kind == onto.KindFact && !r.schema.Open {
		known = append(known, csvColumn{name: onto.FactValue, field: &onto.Field{Name: onto.FactValue, Type: onto.Any, Optional: true}, steps: []string{onto.FactValue}})
	}
	i := slices.IndexFunc(known, func(c csvColumn) bool { return c.name == name })
	if f, ok := r.schema.Field(name); i < 0 && ok && f.Compute != nil {
		return onto.Errorf(onto.Invalid, "column %s is given, but the store computes it", name).WithHint("leave it out")
	}
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
		top := slices.IndexFunc(known, func(c csvColumn) bool { return c.field != nil && c.name == known[i].steps[0] })
		r.fields = place(r.fields, &known[top], &known[i], len(r.columns))
	}
	r.columns = append(r.columns, known[i])
	return nil
}

func (r *csvReader) has(name string) bool {
	return slices.ContainsFunc(r.columns, func(c csvColumn) bool { return c.name == name })
}

// field is what the file has of a field; nil for nothing.
func (r *csvReader) field(name string) *csvField {
	i := slices.IndexFunc(r.fields, func(f csvField) bool { return f.name == name })
	if i < 0 {
		return nil
	}
	return &r.fields[i]
}

// checkColumns refuses a header without a column that every record needs.
func (r *csvReader) checkColumns() error {
	for _, c := range columnsOf(r.schema, nil, func(list []csvColumn, c csvColumn) []csvColumn { return append(list, c) }) {
		if name := r.missing(&c); name != "" {
			return onto.Errorf(onto.Invalid, "column %s is missing", name).
				WithHint("the columns of %s are %s", r.schema.Name, columnList(r.schema))
		}
	}
	return nil
}

// missing is the name of a column that there must be for a field or a part of the identity;
// "" if there is none.
func (r *csvReader) missing(c *csvColumn) string {
	needed := r.needs(c)
	if c.field == nil {
		if needed && !r.has(c.name) {
			return c.name
		}
		return ""
	}
	f := r.field(c.name)
	switch {
	case f != nil && !r.partial:
		return f.missing()
	case f != nil || !needed:
		return ""
	case !c.split:
		return c.name
	}
	f = &csvField{csvColumn: *c, at: -1}
	return cmp.Or(f.missing(), c.name)
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
	return required(c.field) && c.name != r.schema.InstanceKey && (!r.partial || r.holdsKey(c.name))
}

// holdsKey reports whether a field at the top is the key, or has a part of it.
func (r *csvReader) holdsKey(name string) bool {
	return slices.ContainsFunc(keyColumns(r.schema), func(path string) bool {
		names, ok := codec.ParsePath(path)
		return ok && names[0] == name
	})
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
		err = r.put(&rec)
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

// put reads the cells that are fields and puts them together.
func (r *csvReader) put(rec *record) error {
	r.room, r.given.members, r.given.initial = r.room[:0], r.given.members[:0], r.given.initial[:0]
	for i := range r.fields {
		f := &r.fields[i]
		var err error
		if rec.op == onto.Delete && f.field.Fields != nil && r.schema.Kind != onto.KindFact {
			err = r.identifying(rec, f, &r.given)
		} else {
			err = r.value(rec, f, &r.given)
		}
		if err != nil {
			return err
		}
	}
	r.buffer = codec.AppendObject(r.buffer[:0], r.given.members)
	rec.fields = r.buffer
	if len(r.given.initial) > 0 {
		rec.initial = codec.AppendObject(nil, r.given.initial)
	}
	return nil
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
