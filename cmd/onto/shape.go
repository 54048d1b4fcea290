package main

import (
	"encoding/json"
	"strconv"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/store"
)

// shape is how versions of one type are shown: a column for each part of the
// identity, for each field, and for the commit.
type shape struct {
	schema  onto.Schema
	columns []column
	fields  []string // in the order of their columns
	history bool
}

func newShape(v store.View, kind onto.Kind, name string, history bool) (*shape, error) {
	schema, err := v.Type(name)
	if err != nil {
		return nil, err
	}
	if schema.Kind != kind {
		verb := map[onto.Kind]string{onto.KindEntity: "entities", onto.KindRelation: "relations"}[schema.Kind]
		return nil, onto.Errorf(onto.Invalid, "%s is of kind %s, not %s", name, schema.Kind, kind).
			WithHint("write: onto query %s %s", verb, name)
	}
	return schemaShape(schema, history), nil
}

func schemaShape(schema onto.Schema, history bool) *shape {
	sh := &shape{schema: schema, history: history}
	if schema.Kind == onto.KindEntity {
		sh.columns = wholeColumns(schema.Key)
	} else {
		sh.columns = []column{systemColumn(schema, "left_key", "left"), systemColumn(schema, "right_key", "right")}
		if schema.InstanceKey != "" {
			sh.columns = append(sh.columns, systemColumn(schema, "instance_key", "instance"))
		}
	}
	for _, f := range schema.FieldNames() {
		if f != schema.Key {
			sh.fields = append(sh.fields, f)
		}
	}
	sh.columns = append(sh.columns, columns(sh.fields...)...)
	sh.columns = append(sh.columns, systemColumn(schema, "commit_id", "commit"))
	if history {
		sh.columns = append(sh.columns, systemColumn(schema, "op", "op"))
	}
	return sh
}

// systemColumn is a column that is no field. Where a field has its name it gets
// a prefix, which no field can have: their names are without a dot.
func systemColumn(schema onto.Schema, name, label string) column {
	free := func(s string) string {
		if _, taken := schema.Field(s); taken {
			return "onto." + s
		}
		return s
	}
	return column{free(name), free(label), true}
}

// versionRow is a version as a row of a query.
type versionRow struct {
	Type string `json:"type"`
	keys
	Fields   json.RawMessage `json:"fields"`
	CommitID int64           `json:"commit_id"`
	Op       onto.Op         `json:"op,omitempty"` // in histories

	shape    *shape
	identity onto.Identity
}

func (sh *shape) row(v onto.Version) versionRow {
	r := versionRow{
		Type: v.Type, keys: keysOf(v.Identity), Fields: v.Fields, CommitID: v.Commit,
		shape: sh, identity: v.Identity,
	}
	if sh.history {
		r.Op = v.Op
	}
	return r
}

func (r versionRow) cells() ([]string, error) {
	id := r.identity
	cells := []string{id.Key}
	if id.Kind == onto.KindRelation {
		cells = []string{id.Left, id.Right}
		if r.shape.schema.InstanceKey != "" {
			cells = append(cells, id.Instance)
		}
	}
	members, err := membersOf(r.Fields)
	if err != nil {
		return nil, onto.Errorf(onto.Corrupt, "%s at commit %d: %w", id, r.CommitID, err)
	}
	values := map[string]string{}
	for _, m := range members {
		values[m.Name] = plain(m.Value)
	}
	for _, f := range r.shape.fields {
		cells = append(cells, values[f])
	}
	cells = append(cells, strconv.FormatInt(r.CommitID, 10))
	if r.shape.history {
		cells = append(cells, string(r.Op))
	}
	return cells, nil
}

// membersOf splits the fields of a version. A file that somebody has changed
// can hold anything, so they are not trusted. No fields have no members.
func membersOf(fields []byte) ([]codec.Member, error) {
	if len(fields) == 0 {
		return nil, nil
	}
	return codec.ParseObject(fields)
}

// plain is a canonical JSON value as a cell: text without its quotes.
func plain(value []byte) string {
	if codec.KindOf(value) == codec.String {
		return codec.Unquote(value)
	}
	return string(value)
}
