package records

import (
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// csvObject is what the cells of a row give of an object, or of all fields.
type csvObject struct {
	members []codec.Member
	initial []codec.Member // what it gets besides if it is not there yet
}

func (o *csvObject) give(name string, value []byte) {
	o.members = append(o.members, codec.Member{Name: name, Value: value})
}

func (o *csvObject) start(name string, value []byte) {
	o.initial = append(o.initial, codec.Member{Name: name, Value: value})
}

// object reads the cells of an object into the one that it is a field of.
func (r *csvReader) object(rec *record, f *csvField, into *csvObject) error {
	name := f.field.Name
	if !f.filled(r.rows) && !required(f.field) {
		r.noObject(rec, f, into)
		return nil
	}
	var given csvObject
	base, err := r.base(f)
	if err != nil {
		return err
	}
	for i := range f.fields {
		inner := &f.fields[i]
		if len(base) > 0 && !inner.filled(r.rows) {
			continue // the object's own cell says it all
		}
		if err := r.value(rec, inner, &given); err != nil {
			return err
		}
	}
	given.members = overlay(base, given.members)
	if len(given.members) > 0 || base != nil {
		into.give(name, codec.AppendObject(nil, given.members))
	}
	if len(given.initial) > 0 || required(f.field) {
		into.start(name, codec.AppendObject(nil, given.initial))
	}
	return nil
}

// noObject is for an object all of whose cells are empty: it stays as it is, or is emptied,
// or those of its fields are that have a column.
func (r *csvReader) noObject(rec *record, f *csvField, into *csvObject) {
	rec.sparse = true
	if !r.clears {
		return
	}
	needed := slices.ContainsFunc(f.fields, func(inner csvField) bool { return required(inner.field) })
	if f.whole() || needed {
		into.give(f.field.Name, []byte("null"))
		return
	}
	var cleared csvObject
	for i := range f.fields {
		r.noObject(rec, &f.fields[i], &cleared)
	}
	into.give(f.field.Name, codec.AppendObject(nil, cleared.members))
}

// base is the members of an object's own cell, with null for those that it does not have;
// nil if there is no such cell, or it is empty.
func (r *csvReader) base(f *csvField) ([]codec.Member, error) {
	if f.at < 0 || len(r.rows.cell(f.at)) == 0 {
		return nil, nil
	}
	value, err := appendCellValue(nil, f.field, r.rows.cell(f.at))
	if err == nil {
		value, err = f.field.FitValue(value)
	}
	if err != nil {
		return nil, inColumn(f.name, err)
	}
	return decideAll(f.field, value), nil
}

// decideAll is the members of an object, and null for the declared ones that it does not have, so that
// a merge leaves none of them as it was.
func decideAll(f *onto.Field, object []byte) []codec.Member {
	given := codec.Members(object)
	members := make([]codec.Member, len(f.Fields))
	for i := range f.Fields {
		inner := &f.Fields[i]
		m := codec.Member{Name: inner.Name, Value: []byte("null")}
		if at := slices.IndexFunc(given, func(m codec.Member) bool { return m.Name == inner.Name }); at >= 0 {
			if m.Value = given[at].Value; inner.Fields != nil {
				m.Value = codec.AppendObject(nil, decideAll(inner, m.Value))
			}
		}
		members[i] = m
	}
	return members
}

// overlay puts members in place of those of the same names. Both are sorted. Objects are
// merged.
func overlay(base, over []codec.Member) []codec.Member {
	for _, m := range over {
		i, there := slices.BinarySearchFunc(base, m.Name, func(m codec.Member, name string) int { return strings.Compare(m.Name, name) })
		switch {
		case !there:
			base = slices.Insert(base, i, m)
		case codec.KindOf(base[i].Value) == codec.Object && codec.KindOf(m.Value) == codec.Object:
			base[i].Value = codec.AppendObject(nil, overlay(codec.Members(base[i].Value), codec.Members(m.Value)))
		default:
			base[i] = m
		}
	}
	return base
}

// value reads the cells of a field into the object that it is a field of.
func (r *csvReader) value(rec *record, f *csvField, into *csvObject) error {
	if r.inside(f) {
		return r.object(rec, f, into)
	}
	cell := r.rows.cell(f.at)
	instance := f.name == r.schema.InstanceKey
	switch {
	case len(cell) == 0 && (instance || rec.op == onto.Delete):
		return nil
	case rec.op == onto.Delete && !instance && !identifies(r.schema, f.name):
		return r.nothing(f)
	case r.empty(rec, f, cell, into):
		return nil
	}
	start := len(r.room)
	room, err := appendCellValue(r.room, r.fieldOf(&f.csvColumn, rec), cell)
	if err != nil {
		return inColumn(f.name, err)
	}
	if r.room = room; len(room) > start {
		into.give(f.field.Name, room[start:len(room):len(room)])
	}
	return nil
}

// inside reports whether a field is an object of which each field is given, or the object as a
// whole. An empty cell is none.
func (r *csvReader) inside(f *csvField) bool {
	if f.field.Fields == nil || r.schema.Kind == onto.KindFact {
		return false
	}
	return len(f.fields) > 0 || !required(f.field) || len(r.rows.cell(f.at)) > 0
}

// identifying reads the cells of an object in a row that deletes: those that tell the key have
// values, and no others.
func (r *csvReader) identifying(rec *record, f *csvField, into *csvObject) error {
	if f.at >= 0 && len(r.rows.cell(f.at)) > 0 {
		return r.nothing(f)
	}
	var given csvObject
	for i := range f.fields {
		inner, err := &f.fields[i], error(nil)
		if inner.field.Fields != nil {
			err = r.identifying(rec, inner, &given)
		} else {
			err = r.value(rec, inner, &given)
		}
		if err != nil {
			return err
		}
	}
	if len(given.members) > 0 {
		into.give(f.field.Name, codec.AppendObject(nil, given.members))
	}
	return nil
}

// nothing refuses a row that deletes and has a value for a field.
func (r *csvReader) nothing(f *csvField) error {
	if f.at >= 0 && len(r.rows.cell(f.at)) > 0 {
		return onto.Errorf(onto.Invalid, "column %s: the row deletes, but has a value here", f.name).WithHint("leave the cell empty, or the op")
	}
	for i := range f.fields {
		if err := r.nothing(&f.fields[i]); err != nil {
			return err
		}
	}
	return nil
}

// empty takes an empty cell whose field stays as it is, or is emptied. It reports false
// for any other cell.
func (r *csvReader) empty(rec *record, f *csvField, cell []byte, into *csvObject) bool {
	if len(cell) > 0 || r.schema.Kind == onto.KindFact || identifies(r.schema, f.name) {
		return false
	}
	must := required(f.field)
	switch {
	case r.clears && must, must && f.field.Type != onto.String && !r.partial:
		return false // the empty text, or an error
	case r.clears:
		into.give(f.field.Name, []byte("null"))
		return true
	case must && f.field.Type == onto.String:
		into.start(f.field.Name, []byte(`""`))
	}
	rec.sparse = true
	return true
}
