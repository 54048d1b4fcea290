package source

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
)

// A file may be untrusted, and SQLite runs code in its schema: a view in the place of a
// table is a query of any length, a computed column an expression. So before a statement
// names a table, the schema is read as text: each table has to be a plain one with the
// columns that are expected. Triggers, CHECKs and defaults do not matter: nothing is
// written.

// column is a column of a table that is read.
type column struct {
	name, typ string
	key       bool
	absent    string // what stands for it in a file that lacks it; "" if every file has it
}

// tables are the tables that are read, by their names.
func tables() map[string][]column {
	id := column{"id", "INTEGER", true, ""}
	text := func(names ...string) (list []column) {
		for _, name := range names {
			list = append(list, column{name, "TEXT", false, ""})
		}
		return list
	}
	added := func(typ, value string, names ...string) (list []column) {
		for _, name := range names {
			list = append(list, column{name, typ, false, value})
		}
		return list
	}
	history := func(keys ...string) []column {
		list := slices.Concat([]column{id}, text(keys...), text("fields_json"), []column{{"commit_id", "INTEGER", false, ""}},
			added("INTEGER", "NULL", "schema_version_id", "onto_sum"), added("TEXT", "'put'", "op"))
		for i := range list {
			if list[i].name == "instance_key" {
				list[i].absent = "''"
			}
		}
		return list
	}
	key := func(names ...string) []column {
		list := text(names...)
		for i := range list {
			list[i].key = true
		}
		return list
	}
	return map[string][]column{
		"commits": slices.Concat([]column{id}, text("created_at"),
			added("TEXT", "NULL", "metadata_json", "runtime_id", "actor_kind", "actor_id", "correlation_id", "signature_ref", "comment", "idempotency_key", "draft_hash"),
			added("INTEGER", "NULL", "causation_id")),
		"entity_history":   history("entity_type", "entity_key"),
		"relation_history": history("relation_type", "left_key", "right_key", "instance_key"),
		"fact_history":     history("fact_type", "subject", "attribute", "fact_id"),
		"schema_registry":  append(key("type_kind", "type_name"), text("schema_json")...),
		"schema_versions": slices.Concat([]column{id}, text("type_kind", "type_name"), []column{{"schema_version_id", "INTEGER", false, ""}},
			text("schema_json", "created_at"), added("TEXT", "NULL", "runtime_id", "reason", "onto_upgrader", "onto_end"), added("INTEGER", "NULL", "onto_since")),
		"onto_meta":    {id, {"format", "INTEGER", false, ""}, {"store_id", "TEXT", false, ""}},
		"storage_meta": append(key("key"), text("value")...),
		"events":       text("namespace"),
		"event_claims": append(key("handler_id"), added("TEXT", "NULL", "ack_at", "dead_lettered_at")...),
		"work_items":   text("status", "dedupe_key"),
	}
}

// shape is what a file has of the tables that are read.
type shape struct {
	names   []string            // of all its tables
	columns map[[2]string]bool  // those of plain tables that are read, by table and name
	odd     map[string]error    // why something with the name of such a table is not one
	tables  map[string][]column // see there
}

func (s *shape) has(names ...string) bool {
	return !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(s.names, n) })
}

// column is a column of a table, or what stands for it where the file lacks it.
func (s *shape) column(table, name string) string {
	if s.columns[[2]string{table, name}] {
		return name
	}
	for _, c := range s.tables[table] {
		if c.name == name && c.absent != "" {
			return c.absent
		}
	}
	return name
}

// maxDefinition is how many bytes of SQL a table may be defined by.
const maxDefinition = 64 << 10

var (
	collates     = regexp.MustCompile(`(?i)\bcollate\b`)
	withoutRowID = regexp.MustCompile(`(?is)\)[^)]*\bwithout\s+rowid\b[^)]*$`)
)

// readShape reads the schema of a file. It runs nothing of the file.
func readShape(ctx context.Context, c *driver.Conn, path string) (*shape, error) {
	return readShapeOf(ctx, c, path, tables())
}

// readShapeOf reads what the schema says about some tables.
func readShapeOf(ctx context.Context, c *driver.Conn, path string, tables map[string][]column) (*shape, error) {
	s := &shape{columns: map[[2]string]bool{}, odd: map[string]error{}, tables: tables}
	const list = `SELECT type, name, iif(length(sql) > ?, '-', sql) FROM main.sqlite_schema WHERE type IN ('table', 'view')`
	err := c.Each(ctx, list, []any{maxDefinition}, func(r *driver.Rows) error {
		name := strings.ToLower(r.Text(1))
		want, read := s.tables[name]
		if r.Text(0) == "table" && !strings.HasPrefix(name, "sqlite_") || read {
			s.names = append(s.names, name)
		}
		if read {
			s.odd[name] = plain(path, name, r.Text(0), r.Text(2), want[0])
		}
		return nil
	})
	for name := range s.odd {
		if err == nil && s.odd[name] == nil {
			err = s.readColumns(ctx, c, path, name)
		}
	}
	return s, err
}

// plain reports why a table is not a plain one.
func plain(path, name, kind, sql string, first column) error {
	switch {
	case kind == "view":
		return odd(path, name, "is a view, not a table")
	case strings.HasPrefix(sql, "CREATE VIRTUAL TABLE"):
		return odd(path, name, "is a virtual table")
	case !strings.HasPrefix(sql, "CREATE TABLE "):
		return odd(path, name, "is not defined as a table")
	case collates.MatchString(sql):
		return odd(path, name, "has a column with a collation")
	case first.name == "id" && withoutRowID.MatchString(sql):
		return odd(path, name, "has another kind of primary key")
	}
	return nil
}

// readColumns reads the columns of a plain table, and finds those that are not as expected.
func (s *shape) readColumns(ctx context.Context, c *driver.Conn, path, table string) error {
	want := map[string]column{}
	for _, w := range s.tables[table] {
		want[w.name] = w
	}
	err := c.Each(ctx, `SELECT name, type, pk > 0, hidden FROM pragma_table_xinfo(?, 'main')`, []any{table}, func(r *driver.Rows) error {
		name := strings.ToLower(r.Text(0))
		w, read := want[name]
		switch {
		case r.Int(3) != 0:
			s.odd[table] = odd(path, table, "computes its column %.80s", name)
		case read && (!strings.EqualFold(w.typ, r.Text(1)) || w.name == "id" && r.Int(2) == 0):
			s.odd[table] = odd(path, table, "has a column %s of another kind: %.80s", name, r.Text(1))
		}
		s.columns[[2]string{table, name}] = true
		delete(want, name)
		return nil
	})
	for _, w := range s.tables[table] {
		if _, lacks := want[w.name]; lacks && w.absent == "" && s.odd[table] == nil {
			s.odd[table] = odd(path, table, "lacks the column %s", w.name)
		}
	}
	return err
}

// sound fails if one of these tables is missing, or no plain table.
func (s *shape) sound(path string, names ...string) error {
	for _, name := range names {
		if !s.has(name) {
			return odd(path, name, "is missing")
		}
		if err := s.odd[name]; err != nil {
			return err
		}
	}
	return nil
}

func odd(path, name, format string, args ...any) error {
	return onto.Errorf(onto.Unsupported, "%s: the table %s %s", path, name, fmt.Sprintf(format, args...)).
		WithHint("somebody has changed the tables of the file: look with: sqlite3 FILE .schema")
}
