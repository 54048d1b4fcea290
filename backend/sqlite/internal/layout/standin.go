package layout

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
)

// A file that is only read, or that another program made and nothing was written to yet,
// lacks tables and columns of ours. What it lacks stands in the temporary schema of each
// connection, which SQLite searches first: so the same statements read it, and the file
// stays as it is. A view has no indexes that a statement could name; SQLite finds those
// of the table below it by itself.

// StandIn gives a connection what its file lacks.
func (f File) StandIn(c *driver.Conn) error {
	switch {
	case c.StandIn:
		return nil
	case f.Adoptable():
		c.StandIn, c.Untouched = true, true
		c.Rewrite = func(sql string) string { return namedIndex.ReplaceAllString(sql, "") }
		script, err := f.Shape.standIns()
		if err == nil {
			err = c.Script(script)
		}
		if err == nil {
			err = standInVersions(c)
		}
		return err
	case f.Kind == Ours && f.Format < FactFormat:
		c.StandIn = true
		return c.Script(strings.ReplaceAll(createFacts, "CREATE TABLE", "CREATE TEMP TABLE"))
	}
	return nil
}

var namedIndex = regexp.MustCompile(`\bINDEXED BY \w+`)

// EndStandIn ends stand-ins for what another program has added to the file meanwhile, as
// the snapshot of the connection has it. It reports whether there were any; the
// transaction has ended then.
func EndStandIn(c *driver.Conn) (bool, error) {
	sign := "fact_history"
	if c.Untouched {
		sign = "onto_meta"
	}
	n, err := c.QueryInt(`SELECT count(*) FROM main.sqlite_master WHERE type = 'table' AND name = ?`, sign)
	if err != nil || n == 0 {
		return false, err
	}
	_ = c.Exec(`ROLLBACK`)
	objects, err := driver.List(context.Background(), c, `SELECT type, name FROM sqlite_temp_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite%'`, nil,
		func(r *driver.Rows) (string, error) { return r.Text(0) + " temp." + r.Text(1), nil })
	for _, o := range objects {
		if err == nil {
			err = c.Script(`DROP ` + o)
		}
	}
	c.StandIn, c.Untouched, c.Rewrite = false, false, nil
	return true, err
}

// standIns makes what a file of another program lacks. Nothing is projected, so the
// projection is what history says.
func (s *Shape) standIns() (string, error) {
	var script strings.Builder
	tables := declaredTables()
	for _, t := range []*Table{Names(onto.KindEntity), Names(onto.KindRelation)} {
		fmt.Fprintf(&script, "CREATE TEMP VIEW %s AS %s;\n", t.Current, t.newestVersions())
		delete(tables, t.Current)
	}
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		t := tables[name]
		if !slices.Contains(s.names, name) {
			script.WriteString(temporary(t.sql) + ";\n")
			continue
		}
		columns, lacks, err := s.viewColumns(name, t)
		if err != nil {
			return "", err
		}
		if lacks {
			fmt.Fprintf(&script, "CREATE TEMP VIEW %s AS SELECT %s FROM main.%[1]s;\n", name, strings.Join(columns, ", "))
		}
	}
	script.WriteString(`INSERT INTO temp.onto_meta (id, format, store_id, foreign_until, times_ordered) VALUES (1, 0, '', 0, 0);
		INSERT OR IGNORE INTO temp.onto_bus VALUES (1, 0, '', 0); INSERT OR IGNORE INTO temp.onto_work VALUES (1, '');`)
	return script.String(), nil
}

func temporary(sql string) string {
	return "CREATE TEMP TABLE " + strings.TrimPrefix(strings.TrimPrefix(sql, "CREATE TABLE "), "IF NOT EXISTS ")
}

// viewColumns are the columns of a table as we declare them, with the value that adding
// the column would give for each one that the file lacks.
func (s *Shape) viewColumns(name string, t declaredTable) (list []string, lacks bool, err error) {
	for _, c := range t.columns {
		if s.columns[[2]string{name, c.name}] {
			list = append(list, c.name)
			continue
		}
		if !c.canBeAdded() {
			return nil, false, shapeError("the file", name, "lacks the column %s", c.name)
		}
		list, lacks = append(list, c.value()+" AS "+c.name), true
	}
	return list, lacks, nil
}

// standInVersions gives types of an old file that have no version yet the one that an
// adoption gives them. A file has such types until its own program opens it again.
func standInVersions(c *driver.Conn) error {
	n, err := c.QueryInt(`SELECT count(*) FROM (` + unversioned + `)`)
	if err != nil || n == 0 {
		return err
	}
	views, err := c.QueryInt(`SELECT count(*) FROM sqlite_temp_master WHERE type = 'view' AND name = 'schema_versions'`)
	if err == nil && views > 0 { // make it a table
		err = c.Script(`CREATE TEMP TABLE onto_versions AS SELECT * FROM schema_versions; DROP VIEW temp.schema_versions;` +
			temporary(declaredTables()["schema_versions"].sql) + `; INSERT INTO temp.schema_versions SELECT * FROM onto_versions; DROP TABLE temp.onto_versions`)
	}
	if err != nil {
		return err
	}
	return bootstrapSchemas(c, time.Time{})
}

// newestVersions is the projection as history has it, but for fields, which no read takes
// from it.
func (t *Table) newestVersions() string {
	return fmt.Sprintf(`SELECT %s, h.commit_id, h.commit_id AS first_commit_id, h.op, ifnull(h.schema_version_id, 1) AS schema_version_id,
		h.fields_json AS fields FROM %s h WHERE h.id = %s`, t.List("h"), t.History, t.Newest("h"))
}
