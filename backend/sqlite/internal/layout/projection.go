package layout

import (
	"context"
	"fmt"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
)

// CoverHead records that the projection covers the head, a foreign commit. Since is the
// last commit that it covered before.
func CoverHead(w *driver.Conn, since int64) error {
	ordered, err := timesOrdered(w, since)
	if err != nil {
		return err
	}
	return w.Exec(`UPDATE onto_meta SET foreign_until = (SELECT max(id) FROM commits), times_ordered = times_ordered AND ?`, ordered)
}

// Project writes a projection row for each identity that a commit after since has
// touched, and then passes on its newest version, with canonical fields, or nil if they
// cannot be read.
func Project(ctx context.Context, w *driver.Conn, t *Table, since int64, then func(v *onto.Version) error) error {
	width := len(t.Columns)
	return w.Each(ctx, t.newestSQL("h.commit_id > ? AND h.id = "+t.Newest("h")), []any{since}, func(rows *driver.Rows) error {
		v := Version(rows, width, t.Identity(rows, 0))
		canonical, err := CanonicalFields(v.Fields)
		v.Fields = canonical
		var fields any
		if err == nil {
			fields = string(canonical)
		}
		args := IdentityArgs(nil, &v.Identity)
		err = w.Exec(t.upsertOne, append(args, v.Commit, rows.Int(width+4), string(v.Op), v.SchemaVersion, fields)...)
		if err != nil {
			return err
		}
		return then(&v)
	})
}

// ProjectOne writes the projection row of an identity that has one, from canonical fields.
func ProjectOne(w *driver.Conn, t *Table, v *onto.Version) error {
	return w.Exec(t.upsertOne, append(IdentityArgs(nil, &v.Identity), v.Commit, v.Commit, string(v.Op), v.SchemaVersion, string(v.Fields))...)
}

// HoldsForeign records that rows of a commit are not canonical. The projection covers it.
func HoldsForeign(w *driver.Conn, commit int64) error {
	return w.Exec(`UPDATE onto_meta SET foreign_until = max(foreign_until, ?)`, commit)
}

// CountSteps is how many steps a rebuild will take: one for each identity, and another
// one if it has words.
func CountSteps() string {
	return perKind(" + ", func(t *Table) string {
		return fmt.Sprintf(`(SELECT count(*) FROM %[1]s) + (SELECT count(*) FROM onto_derived JOIN %[1]s ON %[2]s = type_name
			WHERE type_kind = '%[3]s' AND purpose = 'search')`, t.Current, t.Columns[0], t.Kind)
	})
}

// timesOrdered reports whether the times of commits from since on never go
// back, and are written so that their texts compare as times.
func timesOrdered(w *driver.Conn, since int64) (bool, error) {
	ordered, last := true, StoredTime("")
	err := w.Each(context.Background(), `SELECT created_at FROM commits WHERE id >= ? ORDER BY id`, []any{since}, func(rows *driver.Rows) error {
		text := rows.Text(0)
		t := StoredTime(text)
		ordered = ordered && !t.Before(last) && strings.HasSuffix(text, "+00:00")
		last = t
		return nil
	})
	return ordered, err
}

// AddMissing makes our tables and indexes that are missing.
func AddMissing(w *driver.Conn) error {
	return w.Script(createLookup + createIndexes + createProjection + createDerived + createBus + createBusIndexes + createWork + createWorkIndexes + createFacts + createFactIndexes)
}
