package layout

import (
	"context"
	"strings"
	"time"

	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/internal/uuid"
)

// Create makes the tables of an empty file, or of one that has only a work queue.
func Create(w *driver.Conn, found File) error {
	err := w.Script(found.Shape.lacksWork)
	if err == nil {
		err = w.Script(createTables + createEngine)
	}
	if err == nil {
		err = insertMeta(w)
	}
	return err
}

func insertMeta(w *driver.Conn) error {
	return w.Exec(`INSERT INTO onto_meta (id, format, store_id, foreign_until, times_ordered) VALUES (1, ?, ?, 0, 1)`, Format, uuid.V4())
}

// Adopt upgrades a file of the original program: columns that its oldest files lack,
// columns and tables of our own, and the projection.
func Adopt(w *driver.Conn, found File, now time.Time) error {
	add := found.Shape.lacks
	if strings.Contains(add, " instance_key ") {
		add += `DROP INDEX IF EXISTS idx_relation_history_lookup;` // it is made anew with the column
	}
	err := addBus(w, found.Shape.lacksBus)
	if err == nil {
		err = addWork(w, found.Shape.lacksWork)
	}
	if err == nil {
		err = w.Script(add + createLookup + createSchemas + createOwn)
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

// Upgrade upgrades a file of an older format, except for what is derived.
func Upgrade(w *driver.Conn, found File) error {
	if err := w.Script(found.Shape.lacks + found.Shape.lacksCopy + createLeases + createFacts + createFactIndexes); err != nil {
		return err
	}
	if _, err := FillSince(w); err != nil {
		return err
	}
	if err := addBus(w, found.Shape.lacksBus); err != nil {
		return err
	}
	if err := addWork(w, found.Shape.lacksWork); err != nil {
		return err
	}
	return w.Exec(`UPDATE onto_meta SET format = ?`, Format)
}

// AddDerived adds the tables of format 2: of what is derived, which is empty at first,
// and of the past.
func AddDerived(ctx context.Context, w *driver.Conn, tables *Tables) error {
	err := w.Script(createDerived)
	if err == nil {
		err = DropDerived(w)
	}
	if err == nil {
		err = FillPast(ctx, w, tables)
	}
	return err
}
