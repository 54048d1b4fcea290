package layout

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/typelist"
)

// What flags of fields ask for is derived from the projection: an index on the
// expression for each index field, one search table for all search fields of a type.
// The table onto_derived lists them; the counter in onto_meta tells other processes
// that the list has changed.

// Purpose is what an index or search table is for.
type Purpose string

// The purposes: filters and orders, or words.
const (
	ForIndex  Purpose = "index"
	ForSearch Purpose = "search"
)

// Derived is one index or search table.
type Derived struct {
	id      int64
	Kind    onto.Kind
	Type    string
	Field   string // of an index, its path; of a search table, all its fields
	Purpose Purpose
}

// Name is what the index or table is called.
func (d Derived) Name() string {
	if d.Purpose == ForIndex {
		return "onto_field_" + strconv.FormatInt(d.id, 10)
	}
	return SearchName(d.id)
}

// String names it for messages.
func (d Derived) String() string {
	if d.Purpose == ForIndex {
		return fmt.Sprintf("the index on %s.%s", d.Type, d.Field)
	}
	return fmt.Sprintf("the search table of %s (%s)", d.Type, d.Field)
}

// Create is the statement that makes it. Names were checked, so they need no quotes,
// and a query with the same expression uses the index. It includes op, though that is
// always the same, so that a count is answered from the index alone.
func (d Derived) Create() string {
	if d.Purpose == ForSearch {
		return fmt.Sprintf(`CREATE VIRTUAL TABLE %s USING fts4(words, tokenize=simple, matchinfo=fts3)`, d.Name())
	}
	t := Names(d.Kind)
	return fmt.Sprintf(`CREATE INDEX %s ON %s(fields ->> '$.%s', op) WHERE %s = '%s' AND op = 'put'`, d.Name(), t.Current, d.Field, t.Columns[0], d.Type)
}

// drop is the statement that removes it.
func (d Derived) drop() string {
	if d.Purpose == ForIndex {
		return `DROP INDEX IF EXISTS ` + d.Name()
	}
	return `DROP TABLE IF EXISTS ` + d.Name()
}

// Same reports whether both serve the same fields of a type.
func (d Derived) Same(o Derived) bool {
	d.id = o.id
	return d == o
}

// Wanted is what the flags of a schema ask for. Fields with names that only other
// programs allow get nothing.
func Wanted(s *onto.Schema) []Derived {
	if onto.CheckName("type", s.Name) != nil {
		return nil
	}
	var list []Derived
	for names := range s.Indexes() {
		if path, ok := codec.WordPath(names); ok {
			list = append(list, Derived{Kind: s.Kind, Type: s.Name, Field: path, Purpose: ForIndex})
		}
	}
	if fields := SearchFields(s); fields != "" {
		list = append(list, Derived{Kind: s.Kind, Type: s.Name, Field: fields, Purpose: ForSearch})
	}
	return list
}

// HasDerived reports whether the file has the table of what is derived. A file
// of format 1 that was opened for reading has not.
func HasDerived(c *driver.Conn) (bool, error) {
	n, err := c.QueryInt(`SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'onto_derived'`)
	return n > 0, err
}

// ReadDerived returns what is listed.
func ReadDerived(c *driver.Conn) ([]Derived, error) {
	const sql = `SELECT id, type_kind, type_name, field, purpose FROM onto_derived ORDER BY id`
	return driver.List(context.Background(), c, sql, nil, func(r *driver.Rows) (Derived, error) {
		return Derived{r.Int(0), onto.Kind(r.Text(1)), r.Text(2), r.Text(3), Purpose(r.Text(4))}, nil
	})
}

// Plan is the difference between what is listed and what the flags ask for.
type Plan struct{ remove, add []Derived }

// Empty reports whether there is no difference.
func (p Plan) Empty() bool { return len(p.remove)+len(p.add) == 0 }

// Drop removes what the flags no longer ask for.
func (p Plan) Drop(w *driver.Conn) error {
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

// PlanDerived compares what is listed for some types with their flags. A type
// that has ended asks for nothing.
func PlanDerived(c *driver.Conn, types []onto.SchemaVersion) (Plan, error) {
	listed, err := ReadDerived(c)
	if err != nil {
		return Plan{}, err
	}
	var plan Plan
	seen := map[onto.TypeName]bool{} // a type may be given twice
	for _, v := range types {
		name := v.Schema.TypeName()
		if seen[name] {
			continue
		}
		seen[name] = true
		var want []Derived
		if v.End == nil {
			want = Wanted(&v.Schema)
		}
		for _, d := range want {
			if !slices.ContainsFunc(listed, d.Same) {
				plan.add = append(plan.add, d)
			}
		}
		for _, d := range listed {
			if (onto.TypeName{Kind: d.Kind, Name: d.Type}) == name && !slices.ContainsFunc(want, d.Same) {
				plan.remove = append(plan.remove, d)
			}
		}
	}
	return plan, nil
}

// Derive makes and removes what the flags of some types ask for. Step is called
// for each identity whose words were entered.
func Derive(ctx context.Context, w *driver.Conn, types []onto.SchemaVersion, step func()) error {
	plan, err := PlanDerived(w, types)
	if err != nil || plan.Empty() {
		return err
	}
	if err := plan.Drop(w); err != nil {
		return err
	}
	for _, d := range plan.add {
		if err := d.make(ctx, w, step); err != nil {
			return err
		}
	}
	return w.Exec(`UPDATE onto_meta SET derived = derived + 1`)
}

// DeriveAll is derive for every type.
func DeriveAll(ctx context.Context, w *driver.Conn, step func()) error {
	all, err := ReadSchemas(w)
	if err != nil {
		return err
	}
	return Derive(ctx, w, typelist.Last(all), step)
}

// make lists, creates and fills it.
func (d Derived) make(ctx context.Context, w *driver.Conn, step func()) (err error) {
	d.id, err = w.Insert(`INSERT INTO onto_derived (type_kind, type_name, field, purpose) VALUES (?, ?, ?, ?)`,
		string(d.Kind), d.Type, d.Field, string(d.Purpose))
	if err == nil {
		err = w.Script(d.Create())
	}
	if err != nil || d.Purpose != ForSearch {
		return err
	}
	return NewWordTable(d).fill(ctx, w, step)
}

// DropDerived removes everything that is derived or has such a name, listed or not.
func DropDerived(w *driver.Conn) error {
	objects, err := DerivedObjects(w)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if err := w.Script(`DROP ` + o.Type + ` IF EXISTS ` + o.Name); err != nil {
			return err
		}
	}
	return w.Script(`DELETE FROM onto_derived`)
}

// derivedPattern matches the type and name of what Derived.Create makes, and of the
// tables in which SQLite keeps it.
var derivedPattern = regexp.MustCompile(`^(index onto_field_[0-9]+|table onto_search_[0-9]+(_(content|segments|segdir|docsize|stat))?)$`)

// DerivedObjects finds the indexes and tables that are derived, and those that are left
// over. Search tables come before the tables in which SQLite keeps them, which are
// dropped with them.
func DerivedObjects(c *driver.Conn) ([]SchemaObject, error) {
	list, err := schemaObjects(c)
	list = slices.DeleteFunc(list, func(o SchemaObject) bool { return !derivedPattern.MatchString(o.Type + " " + o.Name) })
	slices.SortFunc(list, func(a, b SchemaObject) int { return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name, b.Name)) })
	return list, err
}
