package layout

import (
	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/internal/codec"
)

// createRestores makes the list of restores.
const createRestores = `
CREATE TABLE IF NOT EXISTS onto_restores (
    lineage TEXT PRIMARY KEY,
    restored_at TEXT NOT NULL,
    actor_kind TEXT,
    actor_id TEXT,
    comment TEXT,
    head_before INTEGER NOT NULL,
    head INTEGER NOT NULL,
    lost INTEGER NOT NULL,
    kept TEXT,
    onto_sum INTEGER
);
`

// RestoreSums is the columns of a restore, which its checksum covers, and the checksum.
const (
	restoreColumns   = `lineage, restored_at, actor_kind, actor_id, comment, head_before, head, lost, kept`
	RestoreSums      = restoreColumns + `, onto_sum`
	RestoreSumsWidth = 9
)

// Lineage identifies the commits of the store. Before the first restore that is the store.
func Lineage(c *driver.Conn) (string, error) {
	r, ok, err := c.QueryRow(`SELECT coalesce(lineage, store_id) FROM onto_meta`)
	if err != nil || !ok {
		return "", err
	}
	return r.Text(0), nil
}

// Restores lists the restores of the store, oldest first.
func Restores(m *Moment) ([]backend.Restore, error) {
	return driver.List(m.Ctx, m.Conn, `SELECT `+restoreColumns+` FROM onto_restores ORDER BY restored_at, rowid`, nil, func(r *driver.Rows) (backend.Restore, error) {
		return backend.Restore{
			Lineage: r.Text(0), Time: TimeAt(r, 1), Actor: onto.Actor{Kind: onto.ActorKind(r.Text(2)), ID: r.Text(3)}, Comment: r.Text(4),
			Before: r.Int(5), Head: r.Int(6), Lost: r.Int(7), Kept: r.Text(8),
		}, nil
	})
}

// NoteRestore gives a store that was restored its lineage, and adds to its list.
func NoteRestore(w *driver.Conn, list []backend.Restore) error {
	for i := range list {
		r := &list[i]
		args := []any{r.Lineage, codec.FormatTime(r.Time), OrNull(string(r.Actor.Kind)), OrNull(r.Actor.ID), OrNull(r.Comment), r.Before, r.Head, r.Lost, OrNull(r.Kept)}
		err := w.Exec(`INSERT OR IGNORE INTO onto_restores (`+RestoreSums+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, append(args, SumOf(&w.Scratch, args))...)
		if err != nil {
			return err
		}
	}
	return changeMeta(w, metaLineage, list[len(list)-1].Lineage)
}
