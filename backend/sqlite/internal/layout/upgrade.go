package layout

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
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

// Adopt upgrades a file of the original program: columns that its oldest files lack,
// columns and tables of our own, and the projection.
func Adopt(w *driver.Conn, found File, now time.Time) error {
	add := found.Shape.lacks
	if strings.Contains(add, " instance_key ") {
		add += `DROP INDEX IF EXISTS idx_relation_history_lookup;` // it is made anew with the column
	}
	err := w.Script(add + createLookup + createSchemas + createOwn)
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

// Upgrade upgrades a file of an older format, except for what is derived.
func Upgrade(w *driver.Conn, found File) error {
	if err := w.Script(found.Shape.lacks + createLeases); err != nil {
		return err
	}
	if _, err := FillSince(w); err != nil {
		return err
	}
	return w.Exec(`UPDATE onto_meta SET format = ?`, Format)
}

// AddDerived adds the tables of format 2: of what is derived, which is empty at first,
// and of the past.
func AddDerived(ctx context.Context, w *driver.Conn, tables [2]*Table) error {
	err := w.Script(createDerived)
	if err == nil {
		err = DropDerived(w)
	}
	if err == nil {
		err = FillPast(ctx, w, tables)
	}
	return err
}
