package layout

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
)

// A file may be untrusted, and SQLite runs code in its schema: a view in the place of a
// table is a query of any length, and a trigger, a default or an index on an expression
// runs with every write. So before a statement names one of our tables, the schema is
// read as text: tables have to be plain tables with the columns that we declare;
// anything else that would run on a write is reported, and prevents writes.

// Shape is what a file has under our names.
type Shape struct {
	names  []string         // its tables, and whatever else has the name of one of ours
	odd    map[string]error // why an object with the name of a table of ours is not one
	lacks  string           // the statements that add the columns which tables of ours lack
	Extras []SchemaObject   // additions of others to our tables that would run on writes
	Alien  bool             // it has tables that this program does not make

	indexes []string           // the names of its indexes
	columns map[[2]string]bool // those of plain tables, by table and name
}

// SchemaObject is a row of sqlite_schema.
type SchemaObject struct{ Type, Name, Table, SQL string }

// drop is the statement that removes it.
func (o SchemaObject) drop() string {
	return `DROP ` + strings.ToUpper(o.Type) + ` "` + strings.ReplaceAll(o.Name, `"`, `""`) + `"`
}

// maxDefinition is how many bytes of SQL an object of ours may be defined by.
const maxDefinition = 64 << 10

// readShape reads the schema. It runs nothing of the file.
func readShape(c *driver.Conn, path string) (*Shape, error) {
	objects, err := schemaObjects(c)
	if err != nil {
		return nil, err
	}
	s, tables := &Shape{odd: map[string]error{}}, declaredTables()
	var plain []string
	for _, o := range objects {
		ours := isOurs(tables, o.Name)
		if o.Type == "index" {
			s.indexes = append(s.indexes, o.Name)
		}
		if o.Type == "table" && !strings.HasPrefix(o.Name, "sqlite_") || o.Type == "view" && ours {
			s.names = append(s.names, strings.ToLower(o.Name))
			s.Alien = s.Alien || !ours
		}
		if o.Type != "table" && o.Type != "view" || !ours {
			continue
		}
		ok, err := o.isPlain(tables, path)
		if err != nil {
			s.odd[strings.ToLower(o.Name)] = err
		}
		if ok {
			plain = append(plain, o.Name)
		}
	}
	if err := checkColumns(c, s, tables, plain, path); err != nil {
		return nil, err
	}
	s.Extras, err = findExtras(c, tables, objects)
	return s, err
}

// SoundShape is readShape for a file that is known to be ours: it fails if anything but
// a plain table has the name of one of ours.
func SoundShape(c *driver.Conn, path string) (*Shape, error) {
	s, err := readShape(c, path)
	if err != nil {
		return nil, err
	}
	return s, s.sound()
}

// sound returns the first oddity, by name.
func (s *Shape) sound() error {
	for _, name := range slices.Sorted(maps.Keys(s.odd)) {
		return s.odd[name]
	}
	return nil
}

// schemaObjects reads the schema. SQLite itself makes sure that type and name
// are those of the SQL.
func schemaObjects(c *driver.Conn) ([]SchemaObject, error) {
	const sql = `SELECT type, name, tbl_name, iif(length(sql) > ?, '-', sql) FROM sqlite_schema`
	return driver.List(context.Background(), c, sql, []any{maxDefinition}, func(r *driver.Rows) (SchemaObject, error) {
		return SchemaObject{r.Text(0), r.Text(1), r.Text(2), r.Text(3)}, nil
	})
}

// isOurs reports whether our statements use a table of that name, or SQLite does on
// their behalf.
func isOurs(tables map[string]declaredTable, name string) bool {
	name = strings.ToLower(name)
	_, declared := tables[name]
	return declared || name == "storage_meta" || name == "sqlite_sequence" || strings.HasPrefix(name, "onto_search_")
}

// isPlain reports whether an object under one of our names is a plain table. A search
// table is not one; any other object is refused.
func (o SchemaObject) isPlain(tables map[string]declaredTable, path string) (bool, error) {
	name := strings.ToLower(o.Name)
	switch {
	case o.Type == "view":
		return false, shapeError(path, o.Name, "is a view, not a table")
	case searchPattern.MatchString(o.SQL):
		return false, nil
	case strings.HasPrefix(o.SQL, "CREATE VIRTUAL TABLE"):
		return false, shapeError(path, o.Name, "is a virtual table that this program does not make")
	case !strings.HasPrefix(o.SQL, "CREATE TABLE "):
		return false, shapeError(path, o.Name, "is not defined as a table")
	case collatePattern.MatchString(o.SQL):
		return false, shapeError(path, o.Name, "has a column with a collation")
	}
	want, declared := tables[name]
	if declared && want.withoutRowID != rowIDPattern.MatchString(o.SQL) {
		return false, shapeError(path, o.Name, "has another kind of primary key")
	}
	return true, nil
}

// Search tables and indexes of fields are what Derived.Create makes, in this version or
// in another: no expression that takes long to compute, and no other table.
var (
	searchPattern = regexp.MustCompile(`^CREATE VIRTUAL TABLE onto_search_[0-9]+ USING fts4\(words(, tokenize=simple|, matchinfo=fts3)*\)$`)
	fieldPattern  = regexp.MustCompile(`^CREATE INDEX onto_field_[0-9]+ ON (entity|fact|relation)_current\(fields ->> '\$\.[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*'(, op)?\)` +
		`( WHERE (entity|fact|relation)_type = '[A-Za-z_][A-Za-z0-9_]*' AND op = 'put')?$`)
	collatePattern = regexp.MustCompile(`(?i)\bcollate\b`)
	rowIDPattern   = regexp.MustCompile(`(?is)\)[^)]*\bwithout\s+rowid\b[^)]*$`)
	constant       = regexp.MustCompile(`(?i)^('[^']*'|[-+]?[0-9.]{1,20}|null|true|false)$`)
)

func shapeError(path, name, format string, args ...any) error {
	return onto.Errorf(onto.Unsupported, "%s: %s %s", path, name, fmt.Sprintf(format, args...)).
		WithHint("another program has changed the tables of the file: look with: sqlite3 FILE .schema")
}

// checkColumns finds plain tables with computed columns or columns of another type than
// we declare, and the columns that are missing.
func checkColumns(c *driver.Conn, s *Shape, tables map[string]declaredTable, names []string, path string) error {
	list, err := json.Marshal(names)
	if err != nil {
		return err
	}
	const sql = `SELECT j.value, x.name, x.type, x.pk > 0, x.hidden, iif(length(x.dflt_value) > 100, '()', x.dflt_value)
		FROM json_each(?) j JOIN pragma_table_xinfo(j.value, 'main') x`
	found := map[[2]string]bool{}
	s.columns = found
	err = c.Each(context.Background(), sql, []any{string(list)}, func(r *driver.Rows) error {
		table, column := r.Text(0), r.Text(1)
		at := [2]string{strings.ToLower(table), strings.ToLower(column)}
		found[at] = true
		want := tables[at[0]].column(at[1])
		var odd error
		switch {
		case r.Int(4) != 0:
			odd = shapeError(path, table, "computes its column %s", column)
		case !r.Null(5) && !constant.MatchString(r.Text(5)):
			odd = shapeError(path, table, "computes the default of its column %s", column)
		case want != nil && (!strings.EqualFold(want.typ(), r.Text(2)) || want.key != (r.Int(3) == 1)):
			odd = shapeError(path, table, "has a column %s of another kind: %s", column, r.Text(2))
		default:
			return nil
		}
		s.odd[at[0]] = odd
		return nil
	})
	for _, name := range names {
		name = strings.ToLower(name)
		for _, c := range tables[name].columns {
			if found[[2]string{name, c.name}] {
				continue
			}
			if !c.canBeAdded() {
				if !isDerived(name) && s.odd[name] == nil {
					s.odd[name] = shapeError(path, name, "lacks the column %s", c.name)
				}
				continue
			}
			s.lacks += fmt.Sprintf("ALTER TABLE %s ADD COLUMN %s %s;", name, c.name, c.declaration)
		}
	}
	return err
}

// isDerived reports whether a rebuild makes a table anew.
func isDerived(name string) bool {
	return strings.HasSuffix(name, "_current") || strings.HasPrefix(name, "onto_") && name != "onto_meta"
}

// findExtras finds additions of others to our tables that SQLite would run on writes:
// triggers, also those of tables that refer to ours, and indexes on expressions or on
// some rows only.
func findExtras(c *driver.Conn, tables map[string]declaredTable, objects []SchemaObject) ([]SchemaObject, error) {
	ours := normalized(createLookup + createIndexes + createRight + createBusIndexes + createWorkIndexes + createFactIndexes)
	var list []SchemaObject
	for _, o := range objects {
		runs, err := false, error(nil)
		switch {
		case o.Type == "trigger":
			runs, err = reaches(c, tables, o.Table)
		case o.Type == "index" && isOurs(tables, o.Table) && o.SQL != "" && !fieldPattern.MatchString(o.SQL) &&
			!strings.Contains(ours, strings.Join(strings.Fields(o.SQL), " ")+" ;"):
			runs, err = isComputed(c, o)
		}
		if err != nil {
			return nil, err
		}
		if runs {
			list = append(list, o)
		}
	}
	return list, nil
}

// normalized is our statements as SQLite keeps them, with single spaces.
func normalized(sql string) string {
	text := strings.Join(strings.Fields(sql), " ")
	return strings.ReplaceAll(strings.ReplaceAll(text, " IF NOT EXISTS", ""), ";", " ;")
}

// reaches reports whether our writes can fire the triggers of a table: if it is ours,
// or if its rows follow ours by a foreign key.
func reaches(c *driver.Conn, tables map[string]declaredTable, table string) (bool, error) {
	if isOurs(tables, table) {
		return true, nil
	}
	found := false
	err := c.Each(context.Background(), `SELECT "table" FROM pragma_foreign_key_list(?, 'main')`, []any{table}, func(r *driver.Rows) error {
		found = found || isOurs(tables, r.Text(0))
		return nil
	})
	return found, err
}

// isComputed reports whether SQLite evaluates an expression to maintain an index.
func isComputed(c *driver.Conn, o SchemaObject) (bool, error) {
	n, err := c.QueryInt(`SELECT (SELECT count(*) FROM pragma_index_xinfo(?1) WHERE cid = -2) +
		(SELECT count(*) FROM pragma_index_list(?2) WHERE name = ?1 AND partial)`, o.Name, o.Table)
	return n > 0, err
}

// Ours are the tables of the file that we declare.
func (s *Shape) Ours() []string {
	tables := declaredTables()
	return slices.DeleteFunc(slices.Clone(s.names), func(name string) bool {
		_, declared := tables[name]
		return !declared
	})
}

// Writable fails if an addition of others to our tables would run on writes.
func (s *Shape) Writable(path string) error {
	if len(s.Extras) == 0 {
		return nil
	}
	o := s.Extras[0]
	return onto.Errorf(onto.ReadOnly, "%s: %s", path, o.Refusal()).WithHint("%s", o.Remedy())
}

// Refusal says why writes are refused.
func (o SchemaObject) Refusal() string {
	return fmt.Sprintf("the %s %s on %s is not of this program and would run with every write, so nothing is written", o.Type, o.Name, o.Table)
}

// Remedy says how to allow writes again.
func (o SchemaObject) Remedy() string { return `if it is not needed: sqlite3 FILE '` + o.drop() + `'` }

// declaredTable is what we declare of a table.
type declaredTable struct {
	columns      []declaredColumn
	withoutRowID bool
}

// column returns the column of that name, or nil.
func (t declaredTable) column(name string) *declaredColumn {
	for i := range t.columns {
		if t.columns[i].name == name {
			return &t.columns[i]
		}
	}
	return nil
}

type declaredColumn struct {
	name, declaration string
	key               bool // a part of the primary key
}

func (c *declaredColumn) typ() string {
	typ, _, _ := strings.Cut(c.declaration, " ")
	return typ
}

// canBeAdded reports whether SQLite can add the column to a table that has rows.
func (c *declaredColumn) canBeAdded() bool {
	return !c.key && (!strings.Contains(c.declaration, "NOT NULL") || strings.Contains(c.declaration, "DEFAULT"))
}

// declaredTables reads our own statements. Each column has a line.
func declaredTables() map[string]declaredTable {
	tables := map[string]declaredTable{}
	for statement := range strings.SplitSeq(createTables, ";") {
		head, body, ok := strings.Cut(statement, " (\n")
		head, isTable := strings.CutPrefix(strings.TrimSpace(head), "CREATE TABLE ")
		if !ok || !isTable {
			continue
		}
		t := declaredTable{withoutRowID: strings.HasSuffix(body, ") WITHOUT ROWID")}
		for line := range strings.Lines(body) {
			t.declare(strings.TrimSpace(line))
		}
		tables[strings.TrimPrefix(head, "IF NOT EXISTS ")] = t
	}
	return tables
}

// declare adds what one line says.
func (t *declaredTable) declare(line string) {
	name, rest, _ := strings.Cut(strings.TrimSuffix(line, ","), " ")
	switch name {
	case "PRIMARY":
		for key := range strings.SplitSeq(strings.Trim(rest, "KEY ()"), ", ") {
			t.column(key).key = true
		}
	case "FOREIGN", "UNIQUE", ")", "":
	default:
		if strings.HasPrefix(name, "UNIQUE(") {
			return
		}
		t.columns = append(t.columns, declaredColumn{name, rest, strings.Contains(rest, "PRIMARY KEY")})
	}
}
