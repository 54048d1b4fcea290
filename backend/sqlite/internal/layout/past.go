package layout

import (
	"context"
	"fmt"

	"github.com/ontologia/onto/backend/sqlite/internal/driver"
)

// A view of the past needs the version of each identity that was the newest then. A
// seek for each identity is fast if there are few identities with many versions. For
// many identities with few versions there is a table of thin rows, one for each
// superseded version: from which commit until which other one it was the newest. Those
// that were not superseded are in the projection. Rows are only ever added, in the
// order of the primary key, and nothing is written for an identity's first version.
const createPast = `
CREATE TABLE IF NOT EXISTS onto_entity_past (
    entity_type TEXT NOT NULL,
    until INTEGER NOT NULL,
    since INTEGER NOT NULL,
    history_id INTEGER NOT NULL,
    PRIMARY KEY (entity_type, until, since, history_id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS onto_relation_past (
    relation_type TEXT NOT NULL,
    until INTEGER NOT NULL,
    since INTEGER NOT NULL,
    history_id INTEGER NOT NULL,
    PRIMARY KEY (relation_type, until, since, history_id)
) WITHOUT ROWID;
`

// supersede is the statement that records the versions superseded by those in a range
// of history rows. It reads nothing but the lookup index.
func (t *Table) supersede() string {
	return fmt.Sprintf(`INSERT INTO %[1]s SELECT h.%[2]s, h.commit_id, p.commit_id, p.id
		FROM %[3]s h CROSS JOIN %[3]s p ON %[4]s AND p.commit_id =
			(SELECT max(s.commit_id) FROM %[3]s s WHERE %[5]s AND s.commit_id < h.commit_id)
		WHERE h.id BETWEEN ? AND ?`, t.Past, t.Columns[0], t.History, t.Matches("p", "h"), t.Matches("s", "h"))
}

// Supersessions is all that the table of the past should have. Of several
// versions in one commit, which is damage, one is taken.
func (t *Table) Supersessions() string {
	return fmt.Sprintf(`SELECT %[1]s, next, commit_id, id FROM (SELECT %[1]s, commit_id, id,
		lead(commit_id) OVER (PARTITION BY %[2]s ORDER BY commit_id) AS next FROM %[3]s h) WHERE next IS NOT NULL`,
		t.Columns[0], t.List("h"), t.History)
}

// FillPast makes the tables of the past anew.
func FillPast(ctx context.Context, w *driver.Conn, tables *Tables) error {
	for _, t := range tables {
		if err := w.Script(`DROP TABLE IF EXISTS ` + t.Past); err != nil {
			return err
		}
	}
	if err := w.Script(createPast + createFactPast); err != nil {
		return err
	}
	for _, t := range tables {
		if err := w.ExecContext(ctx, fmt.Sprintf(`INSERT INTO %s %s ORDER BY 1, 2, 3, 4`, t.Past, t.Supersessions())); err != nil {
			return err
		}
	}
	return nil
}
