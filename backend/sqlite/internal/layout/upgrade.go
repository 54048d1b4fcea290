package layout

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"github.com/ontologia/onto/backend/sqlite/internal/driver"
)

// Create makes the tables of an empty file.
func Create(w *driver.Conn) error {
	if err := w.Script(createTables); err != nil {
		return err
	}
	return insertMeta(w)
}

func insertMeta(w *driver.Conn) error {
	var id [16]byte
	rand.Read(id[:])
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	text := fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
	return w.Exec(`INSERT INTO onto_meta (id, format, store_id, foreign_until, times_ordered) VALUES (1, ?, ?, 0, 1)`, Format, text)
}

// Adopt adds to a file of the original program what ours have: columns that
// its oldest files lack, columns and tables of our own, and the projection.
func Adopt(w *driver.Conn, found File, now time.Time) error {
	err := addColumns(w, []column{
		{"entity_history", "schema_version_id", "INTEGER"},
		{"relation_history", "schema_version_id", "INTEGER"},
		{"entity_history", "op", "TEXT NOT NULL DEFAULT 'put'"},
		{"relation_history", "op", "TEXT NOT NULL DEFAULT 'put'"},
		{"commits", "metadata_json", "TEXT"},
		{"commits", "runtime_id", "TEXT"},
		{"commits", "actor_kind", "TEXT"},
		{"commits", "actor_id", "TEXT"},
		{"commits", "causation_id", "INTEGER"},
		{"commits", "correlation_id", "TEXT"},
		{"commits", "signature_ref", "TEXT"},
		{"commits", "comment", "TEXT"},
		{"commits", "idempotency_key", "TEXT"},
		{"commits", "draft_hash", "TEXT"},
		{"commits", "operations", "INTEGER"},
	})
	if err != nil {
		return err
	}
	added, err := addColumn(w, "relation_history", "instance_key", "TEXT NOT NULL DEFAULT ''")
	if err != nil {
		return err
	}
	if added {
		err = w.Script(`DROP INDEX IF EXISTS idx_relation_history_lookup`)
	}
	if err == nil {
		err = w.Script(createLookup + createSchemas + createOwn)
	}
	if err == nil {
		err = addColumns(w, slices.Concat(evolvingColumns(), sumColumns(found.Shape.names)))
	}
	if err == nil {
		err = insertMeta(w)
	}
	if err == nil {
		err = bootstrapSchemas(w, now)
	}
	if err == nil {
		_, err = FillSince(w)
	}
	return err
}

// Upgrade adds to a file of an older format what ours have, but for what is derived.
func Upgrade(w *driver.Conn, found File) error {
	err := addColumns(w, slices.Concat(evolvingColumns(), sumColumns(found.Shape.names)))
	if err == nil {
		err = w.Script(createLeases)
	}
	if err == nil {
		_, err = FillSince(w)
	}
	if err == nil {
		err = w.Exec(`UPDATE onto_meta SET format = ?`, Format)
	}
	return err
}

// AddDerived adds the tables that format 2 added: of what is derived, which is empty
// then, and of the past.
func AddDerived(ctx context.Context, w *driver.Conn, tables [2]*Table) error {
	_, err := addColumn(w, "onto_meta", "derived", "INTEGER NOT NULL DEFAULT 0")
	if err == nil {
		err = w.Script(createDerived)
	}
	if err == nil {
		err = DropDerived(w)
	}
	if err == nil {
		err = FillPast(ctx, w, tables)
	}
	return err
}

// column is a column that older files lack.
type column struct{ table, column, declaration string }

// evolvingColumns are the columns that format 3 added.
func evolvingColumns() []column {
	return []column{
		{"schema_versions", "onto_since", "INTEGER"},
		{"schema_versions", "onto_upgrader", "TEXT"},
		{"schema_versions", "onto_end", "TEXT"},
		{"onto_meta", "checksum", "TEXT"},
		{"onto_meta", "checksum_commit", "INTEGER"},
	}
}

// addColumns adds those columns that the tables lack.
func addColumns(c *driver.Conn, list []column) error {
	for _, add := range list {
		if _, err := addColumn(c, add.table, add.column, add.declaration); err != nil {
			return err
		}
	}
	return nil
}

// addColumn adds a column unless the table has it.
func addColumn(c *driver.Conn, table, column, declaration string) (bool, error) {
	has, err := hasColumns(c, table, column)
	if err != nil || has {
		return false, err
	}
	return true, c.Script(fmt.Sprintf(`ALTER TABLE %s ADD COLUMN %s %s`, table, column, declaration))
}

// hasColumns reports whether the table has all these columns.
func hasColumns(c *driver.Conn, table string, columns ...string) (bool, error) {
	for _, name := range columns {
		n, err := c.QueryInt(`SELECT count(*) FROM pragma_table_info(?) WHERE name = ?`, table, name)
		if err != nil || n == 0 {
			return false, err
		}
	}
	return true, nil
}
