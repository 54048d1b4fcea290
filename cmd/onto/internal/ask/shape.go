package ask

import (
	"cmp"
	"strconv"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/store"
)

// shape is how versions of one type are shown: a column for each part of the
// identity, for each field, and for the commit.
type shape struct {
	schema  onto.Schema
	columns []terminal.Column
	fields  []string // in the order of their columns
	history bool

	chosen []choice // the only columns; nil for all
	names  []string // of those
}

func newShape(v store.View, kind onto.Kind, name string, history bool) (*shape, error) {
	schema, err := v.Type(name)
	if err != nil {
		return nil, err
	}
	if schema.Kind != kind {
		return nil, otherKind(schema, kind)
	}
	return schemaShape(schema, history), nil
}

// otherKind is the error for a type of another kind than was asked for.
func otherKind(schema onto.Schema, kind onto.Kind) error {
	verb := map[onto.Kind]string{onto.KindEntity: "entities", onto.KindFact: "facts", onto.KindRelation: "relations"}[schema.Kind]
	return onto.Errorf(onto.Invalid, "%s is of kind %s, not %s", schema.Name, schema.Kind, kind).
		WithHint("ask for what it is").WithCommand("query", verb, schema.Name)
}

func schemaShape(schema onto.Schema, history bool) *shape {
	sh := &shape{schema: schema, history: history}
	switch schema.Kind {
	case onto.KindEntity:
		sh.columns = terminal.WholeColumns(schema.Key)
	case onto.KindFact:
		sh.columns = []terminal.Column{systemColumn(schema, "subject", ""), systemColumn(schema, "attribute", ""), systemColumn(schema, "fact_id", "id")}
	default:
		sh.columns = []terminal.Column{systemColumn(schema, "left_key", "left"), systemColumn(schema, "right_key", "right")}
		if schema.InstanceKey != "" {
			sh.columns = append(sh.columns, systemColumn(schema, "instance_key", "instance"))
		}
	}
	for _, f := range schema.FieldNames() {
		if f != schema.Key {
			sh.fields = append(sh.fields, f)
		}
	}
	sh.columns = append(sh.columns, terminal.Columns(sh.fields...)...)
	sh.columns = append(sh.columns, systemColumn(schema, "commit_id", "commit"))
	if history {
		sh.columns = append(sh.columns, systemColumn(schema, "op", "op"))
	}
	return sh
}

// systemColumn is a column that is no field. Where a field has its name it gets
// a prefix, which no field can have: their names are without a dot.
func systemColumn(schema onto.Schema, name, label string) terminal.Column {
	free := func(s string) string {
		if _, taken := schema.Field(s); taken {
			return "onto." + s
		}
		return s
	}
	return terminal.Column{Name: free(name), Label: free(cmp.Or(label, name)), Whole: true}
}

// row is a version that is listed; its commit is known in histories.
type row = store.Versioned[onto.Version]

// present is a row without its commit.
func present(v onto.Version) row { return row{Value: v} }

// document is the JSON of a row.
func (sh *shape) document(r row) any {
	if sh.chosen != nil {
		return sh.chosenDocument(&r.Value)
	}
	doc := document.NewVersion(r.Value)
	if sh.history {
		doc = document.NewPast(store.Entry{Version: r.Value, Commit: r.Commit})
	}
	return doc
}

// cells is a version in the columns.
func (sh *shape) cells(r row) ([]string, error) {
	v := r.Value
	if sh.chosen != nil {
		return sh.chosenCells(&v), nil
	}
	cells := []string{v.Key}
	switch v.Kind {
	case onto.KindFact:
		cells = []string{v.Left, v.Right, v.Instance}
	case onto.KindRelation:
		cells = []string{v.Left, v.Right}
		if sh.schema.InstanceKey != "" {
			cells = append(cells, v.Instance)
		}
	}
	members, err := terminal.Members(v.Fields)
	if err != nil {
		return nil, onto.Errorf(onto.Corrupt, "%s at commit %d: %w", v.Identity, v.Commit, err)
	}
	values := map[string]string{}
	for _, m := range members {
		values[m.Name] = terminal.Cell(m.Value)
	}
	for _, f := range sh.fields {
		cells = append(cells, values[f])
	}
	cells = append(cells, strconv.FormatInt(v.Commit, 10))
	if sh.history {
		cells = append(cells, string(v.Op))
	}
	return cells, nil
}
