package ask

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/terminal"
)

// choice is a column that --select names.
type choice struct {
	name   string                                // as it was given
	system bool                                  // no field
	value  func(v *onto.Version) json.RawMessage // canonical; nil for null
}

// systemValues is what the columns that are no fields hold, by the names that JSON has
// for them.
func systemValues(kind onto.Kind) map[string]func(v *onto.Version) any {
	values := map[string]func(v *onto.Version) any{
		"commit_id": func(v *onto.Version) any { return v.Commit },
		"op":        func(v *onto.Version) any { return v.Op },
	}
	if kind == onto.KindEntity {
		values["key"] = func(v *onto.Version) any { return v.Key }
		return values
	}
	values["left_key"] = func(v *onto.Version) any { return v.Left }
	values["right_key"] = func(v *onto.Version) any { return v.Right }
	values["instance_key"] = func(v *onto.Version) any { return v.Instance }
	return values
}

// selectableHelp names the columns that are no fields.
func selectableHelp(kind onto.Kind) string {
	if kind == onto.KindEntity {
		return "key, commit_id, op"
	}
	return "left_key, right_key, instance_key, commit_id, op"
}

// choose reduces the shape to the columns of some lists. There is nothing to do without
// any.
func (sh *shape) choose(lists []string, scope *filter.Scope) error {
	for _, list := range lists {
		for _, name := range splitList(list) {
			if slices.ContainsFunc(sh.chosen, func(c choice) bool { return c.name == name }) {
				continue
			}
			c, err := sh.choice(name, scope)
			if err != nil {
				return err
			}
			sh.chosen = append(sh.chosen, c)
			sh.names = append(sh.names, name)
		}
	}
	if len(sh.chosen) == 0 {
		return nil
	}
	sh.columns = nil
	for _, c := range sh.chosen {
		sh.columns = append(sh.columns, terminal.Column{Name: c.name, Whole: c.system})
	}
	return nil
}

// choice reads one column: a field, a path, or a column that is no field. A field comes
// first; the other of its name has a prefix, as among all columns.
func (sh *shape) choice(name string, scope *filter.Scope) (choice, error) {
	if _, field := sh.schema.Field(name); field {
		return sh.path(name, onto.Path(name), scope)
	}
	if system, ok := systemValues(sh.schema.Kind)[strings.TrimPrefix(name, "onto.")]; ok {
		return choice{name, true, func(v *onto.Version) json.RawMessage {
			text, _ := document.Encode(system(v))
			return text
		}}, nil
	}
	if o, ok := sh.column(name); ok {
		return sh.path(name, o, scope)
	}
	if name == "" || strings.ContainsAny(name, "$.:(\"") {
		o, err := filter.ParseOperand(name)
		if err != nil {
			return choice{}, inFilter("select", name, err)
		}
		return sh.path(name, o, scope)
	}
	return sh.path(name, onto.Path(name), scope) // told to be unknown
}

// column reads a path as the header of CSV has it, as home.city.
func (sh *shape) column(name string) (onto.Operand, bool) {
	first, _, deeper := strings.Cut(name, ".")
	if _, field := sh.schema.Field(first); !deeper || !field {
		return onto.Operand{}, false
	}
	o, err := filter.ParseOperand("$." + name)
	return o, err == nil
}

// path is the column of what a path leads to.
func (sh *shape) path(name string, o onto.Operand, scope *filter.Scope) (choice, error) {
	switch {
	case o.Func != "" || o.Per != "":
		return choice{}, onto.Errorf(onto.Invalid, "--select %.80s: that is of groups, and a column is a value of one row", name).WithHint("use --agg and --group-by")
	case o.Side != onto.OwnSide:
		return choice{}, onto.Errorf(onto.Invalid, "--select %.80s: an endpoint is another thing, with columns of its own", name).
			WithHint("select left_key or right_key, and ask for the endpoint").WithCommand("query", "entities", "TYPE", "--select", "LIST")
	}
	if _, err := filter.CheckOperand(o, scope); err != nil {
		return choice{}, inFilter("select", name, err)
	}
	return choice{name: name, value: func(v *onto.Version) json.RawMessage { return (&filter.Row{Own: v.Fields}).Value(o) }}, nil
}

// chosenCells is a version in the chosen columns.
func (sh *shape) chosenCells(v *onto.Version) []string {
	cells := make([]string, len(sh.chosen))
	for i, c := range sh.chosen {
		if value := c.value(v); value != nil {
			cells[i] = terminal.Cell(value)
		}
	}
	return cells
}

// chosenDocument is an object of the chosen columns.
func (sh *shape) chosenDocument(v *onto.Version) document.Group {
	doc := document.Group{Names: sh.names}
	for _, c := range sh.chosen {
		doc.Values = append(doc.Values, c.value(v))
	}
	return doc
}
