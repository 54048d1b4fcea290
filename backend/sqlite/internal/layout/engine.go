package layout

import (
	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
)

// The original program has two engines, which keep rows in the same tables. The second one
// lists in type_layout_catalog which version of a type is current, and from which commit
// on: it shows only rows of that version, and nothing as of earlier commits. It lists a
// version with the first commit that has a row of it, and so does every commit of ours,
// in a file that has the catalog. The tables that the catalog names do not exist.

// The engines of the original program.
const (
	firstEngine  = "v1"
	secondEngine = "v2"
)

// ownEngine is the word in our files, by which the original program sees that they are not
// for any engine of its own.
const ownEngine = "onto-go"

const createEngine = `
CREATE TABLE IF NOT EXISTS storage_meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
INSERT OR REPLACE INTO storage_meta (key, value) VALUES ('engine_version', '` + ownEngine + `');
`

const (
	catalogTable   = "type_layout_catalog"
	catalogDefault = `datetime('now')` // of its column created_at
)

// engine reads for which engine of the original program the file is; "" if it does not
// say, which is the first or none.
func (s *Shape) engine(c *driver.Conn, has func(tables ...string) bool) (string, error) {
	if !has("storage_meta") || !s.columns[[2]string{"storage_meta", "key"}] || !s.columns[[2]string{"storage_meta", "value"}] {
		return "", nil
	}
	row, ok, err := c.QueryRow(`SELECT value FROM storage_meta WHERE key = 'engine_version' LIMIT 1`)
	if err != nil || !ok {
		return "", err
	}
	return row.Text(0), nil
}

// HasCatalog reports whether the second engine's catalog is kept up to date.
func (s *Shape) HasCatalog() bool {
	for _, column := range []string{"type_kind", "type_name", "schema_version_id", "table_name", "activation_commit_id", "is_current", "created_at"} {
		if !s.columns[[2]string{catalogTable, column}] {
			return false
		}
	}
	return true
}

// Activate lists a version of a type as the current one, from a commit on that has a row
// of it, unless it is listed so already. The engine knows no facts.
func Activate(w *driver.Conn, t onto.TypeName, version int, commit int64) error {
	if t.Kind == onto.KindFact {
		return nil
	}
	kind := string(t.Kind)
	n, err := w.QueryInt(`SELECT count(*) FROM type_layout_catalog WHERE type_kind = ? AND type_name = ? AND schema_version_id = ? AND is_current = 1`, kind, t.Name, version)
	if err != nil || n > 0 {
		return err
	}
	if err := Deactivate(w, t); err != nil {
		return err
	}
	return w.Exec(`INSERT INTO type_layout_catalog (type_kind, type_name, schema_version_id, table_name, activation_commit_id, is_current, created_at)
		VALUES (?1, ?2, ?3, ?1 || '_' || ?2 || '_v' || ?3, ?4, 1, datetime('now'))
		ON CONFLICT DO UPDATE SET activation_commit_id = excluded.activation_commit_id, is_current = 1`, kind, t.Name, version, commit)
}

// Deactivate lists no version of a type as the current one: the type has ended.
func Deactivate(w *driver.Conn, t onto.TypeName) error {
	return w.Exec(`UPDATE type_layout_catalog SET is_current = 0 WHERE type_kind = ? AND type_name = ?`, string(t.Kind), t.Name)
}
