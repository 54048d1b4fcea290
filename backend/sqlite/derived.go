package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
)

// What fields are marked for is derived from the projection: an index on the
// expression for each index field, one search table for all search fields of a
// type. The table onto_derived lists them; the counter in onto_meta tells other
// processes that the list has changed.

// purpose is what something derived is for.
type purpose string

const (
	forIndex  purpose = "index"
	forSearch purpose = "search"
)

// derived is one index or search table.
type derived struct {
	id      int64
	kind    onto.Kind
	typ     string
	field   string // of an index; of a search table, all its fields
	purpose purpose
}

// name is what the index or table is called.
func (d derived) name() string {
	if d.purpose == forIndex {
		return "onto_field_" + strconv.FormatInt(d.id, 10)
	}
	return searchName(d.id)
}

// String names it for messages.
func (d derived) String() string {
	if d.purpose == forIndex {
		return fmt.Sprintf("the index on %s.%s", d.typ, d.field)
	}
	return fmt.Sprintf("the search table of %s (%s)", d.typ, d.field)
}

// create is the statement that makes it. Names were checked, so they need no
// quotes, and a query that says the same expression finds the index. It holds
// op, though that is always the same, so that a count need not look further.
func (d derived) create() string {
	if d.purpose == forSearch {
		return fmt.Sprintf(`CREATE VIRTUAL TABLE %s USING fts4(words, tokenize=simple, matchinfo=fts3)`, d.name())
	}
	t := newNames(d.kind)
	return fmt.Sprintf(`CREATE INDEX %s ON %s(fields ->> '$.%s', op) WHERE %s = '%s' AND op = 'put'`, d.name(), t.current, d.field, t.columns[0], d.typ)
}

// drop is the statement that removes it.
func (d derived) drop() string {
	if d.purpose == forIndex {
		return `DROP INDEX IF EXISTS ` + d.name()
	}
	return `DROP TABLE IF EXISTS ` + d.name()
}

// same reports whether both serve the same fields of a type.
func (d derived) same(o derived) bool {
	d.id = o.id
	return d == o
}

// wanted is what the flags of a schema ask for. Names that only another program
// allows get nothing.
func wanted(s *onto.Schema) []derived {
	if onto.CheckName("type", s.Name) != nil {
		return nil
	}
	var list []derived
	for _, f := range s.Fields {
		if f.Index && onto.CheckName("field", f.Name) == nil {
			list = append(list, derived{kind: s.Kind, typ: s.Name, field: f.Name, purpose: forIndex})
		}
	}
	if fields := searchFields(s); fields != "" {
		list = append(list, derived{kind: s.Kind, typ: s.Name, field: fields, purpose: forSearch})
	}
	return list
}

// hasDerived reports whether the file has the table of what is derived. A file
// of format 1 that was opened for reading has not.
func hasDerived(c *driver.Conn) (bool, error) {
	n, err := c.QueryInt(`SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'onto_derived'`)
	return n > 0, err
}

// readDerived returns what is listed.
func readDerived(c *driver.Conn) ([]derived, error) {
	rows, err := c.Query(context.Background(), `SELECT id, type_kind, type_name, field, purpose FROM onto_derived ORDER BY id`)
	if err != nil {
		return nil, err
	}
	var list []derived
	err = driver.Each(rows, func() error {
		list = append(list, derived{rows.Int(0), onto.Kind(rows.Text(1)), rows.Text(2), rows.Text(3), purpose(rows.Text(4))})
		return nil
	})
	return list, err
}

// derivedPlan is how what is listed differs from what the flags ask for.
type derivedPlan struct{ remove, add []derived }

func (p derivedPlan) empty() bool { return len(p.remove)+len(p.add) == 0 }

// drop removes what the flags do not ask for any more.
func (p derivedPlan) drop(w *driver.Conn) error {
	for _, d := range p.remove {
		if err := w.Script(d.drop()); err != nil {
			return err
		}
		if err := w.Exec(`DELETE FROM onto_derived WHERE id = ?`, d.id); err != nil {
			return err
		}
	}
	return nil
}

// planDerived compares what is listed for some types with their flags. A type
// that has ended asks for nothing.
func planDerived(c *driver.Conn, types []onto.SchemaVersion) (derivedPlan, error) {
	listed, err := readDerived(c)
	if err != nil {
		return derivedPlan{}, err
	}
	var plan derivedPlan
	seen := map[onto.TypeName]bool{} // a type may be given twice
	for _, v := range types {
		name := v.Schema.TypeName()
		if seen[name] {
			continue
		}
		seen[name] = true
		var want []derived
		if v.End == nil {
			want = wanted(&v.Schema)
		}
		for _, d := range want {
			if !slices.ContainsFunc(listed, d.same) {
				plan.add = append(plan.add, d)
			}
		}
		for _, d := range listed {
			if (onto.TypeName{Kind: d.kind, Name: d.typ}) == name && !slices.ContainsFunc(want, d.same) {
				plan.remove = append(plan.remove, d)
			}
		}
	}
	return plan, nil
}

// derive makes and removes what the flags of some types ask for. Step is called
// for each identity whose words were entered.
func derive(ctx context.Context, w *driver.Conn, types []onto.SchemaVersion, step func()) error {
	plan, err := planDerived(w, types)
	if err != nil || plan.empty() {
		return err
	}
	if err := plan.drop(w); err != nil {
		return err
	}
	for _, d := range plan.add {
		if err := d.make(ctx, w, step); err != nil {
			return err
		}
	}
	return w.Exec(`UPDATE onto_meta SET derived = derived + 1`)
}

// deriveAll is derive for every type.
func deriveAll(ctx context.Context, w *driver.Conn, step func()) error {
	all, err := readSchemas(w)
	if err != nil {
		return err
	}
	return derive(ctx, w, backend.Last(all), step)
}

// make lists it, makes it and fills it.
func (d derived) make(ctx context.Context, w *driver.Conn, step func()) (err error) {
	d.id, err = w.Insert(`INSERT INTO onto_derived (type_kind, type_name, field, purpose) VALUES (?, ?, ?, ?)`,
		string(d.kind), d.typ, d.field, string(d.purpose))
	if err == nil {
		err = w.Script(d.create())
	}
	if err != nil || d.purpose != forSearch {
		return err
	}
	return newWordTable(d).fill(ctx, w, step)
}

// dropDerived removes everything that is derived or looks like it, listed or
// not.
func dropDerived(w *driver.Conn) error {
	objects, err := derivedObjects(w)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if err := w.Script(o.drop()); err != nil {
			return err
		}
	}
	return w.Script(`DELETE FROM onto_derived`)
}

// object is an index or a table whose name says that it is derived.
type object struct{ typ, name, sql string }

func (o object) drop() string { return `DROP ` + o.typ + ` IF EXISTS ` + o.name }

// derivedObjects finds the indexes and tables that are derived, and those that
// are left over. Search tables come before the tables that SQLite keeps them
// in, which go with them.
func derivedObjects(c *driver.Conn) ([]object, error) {
	rows, err := c.Query(context.Background(), `SELECT type, name, sql FROM sqlite_master
		WHERE type = 'index' AND name GLOB 'onto_field_*' OR type = 'table' AND name GLOB 'onto_search_*'
		ORDER BY type, sql NOT LIKE 'CREATE VIRTUAL%', name`)
	if err != nil {
		return nil, err
	}
	var list []object
	err = driver.Each(rows, func() error {
		if isDerivedName(rows.Text(1)) {
			list = append(list, object{rows.Text(0), rows.Text(1), rows.Text(2)})
		}
		return nil
	})
	return list, err
}

// isDerivedName reports whether a name is one that derived.name makes, or one
// that SQLite makes out of it.
func isDerivedName(name string) bool {
	id, isIndex := strings.CutPrefix(name, "onto_field_")
	if !isIndex {
		var part string
		id, part, _ = strings.Cut(strings.TrimPrefix(name, "onto_search_"), "_")
		if !slices.Contains([]string{"", "content", "segments", "segdir", "docsize", "stat"}, part) {
			return false
		}
	}
	return id != "" && strings.Trim(id, "0123456789") == ""
}
