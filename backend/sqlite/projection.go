package sqlite

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/internal/codec"
)

// The projection follows our own commits in the same transaction. When another
// program has appended, its commits are brought in here.

// canonicalFields is the canonical form of a history row's JSON. A null at the
// top is the same as an absent field.
func canonicalFields(text []byte) ([]byte, error) {
	canonical, err := codec.AppendCanonical(make([]byte, 0, len(text)), text)
	if err != nil {
		return nil, err
	}
	if canonical[0] != '{' {
		return nil, fmt.Errorf("expected an object, found %s", codec.KindOf(canonical))
	}
	if !bytes.Contains(canonical, []byte(":null")) {
		return canonical, nil
	}
	members := slices.DeleteFunc(codec.Members(canonical), func(m codec.Member) bool {
		return codec.KindOf(m.Value) == codec.Null
	})
	return codec.AppendObject(nil, members), nil
}

// tryCatchUp brings the projection up to the head if nobody holds the write
// lock. If somebody does, or the file cannot be written, or what is derived is
// damaged, or the clock is wrong, the projection stays behind, and the read
// answers from history.
func (wr *writer) tryCatchUp(ctx context.Context) error {
	if wr.opts.ReadOnly {
		return nil
	}
	err := wr.writeUntil(ctx, time.Now(), func(*driver.Conn, state) error { return nil }) // beginWrite does it
	switch onto.CodeOf(err) {
	case onto.LockContention, onto.Full, onto.ReadOnly, onto.OutcomeUnknown, onto.Unavailable, onto.Corrupt, onto.Invalid:
		return nil
	}
	return err
}

// catchUp projects the commits after the last that is ours or was brought in
// before.
func (wr *writer) catchUp(w *driver.Conn) error {
	covered, err := w.QueryInt(`SELECT max(foreign_until, coalesce(
		(SELECT id FROM commits WHERE operations IS NOT NULL ORDER BY id DESC LIMIT 1), 0)) FROM onto_meta`)
	if err != nil {
		return err
	}
	for _, t := range wr.tables {
		err := project(context.Background(), w, t, covered, func(v *onto.Version) error { return wr.types.search[v.TypeName()].project(w, t, v) })
		if err != nil {
			return err
		}
	}
	return coverHead(w, covered)
}

// coverHead notes that the projection covers the head, which is foreign. Since
// is the last commit that it covered before.
func coverHead(w *driver.Conn, since int64) error {
	ordered, err := timesOrdered(w, since)
	if err != nil {
		return err
	}
	return w.Exec(`UPDATE onto_meta SET foreign_until = (SELECT max(id) FROM commits), times_ordered = times_ordered AND ?`, ordered)
}

// project writes a projection row for each identity that a commit after since
// has touched, and then hands over its newest version, whose fields are
// canonical, or nil if they cannot be read.
func project(ctx context.Context, w *driver.Conn, t *table, since int64, then func(v *onto.Version) error) error {
	sql := fmt.Sprintf(`SELECT %s, h.commit_id, h.op, h.schema_version_id, CAST(h.fields_json AS BLOB),
			(SELECT min(s.commit_id) FROM %s s WHERE %s)
		FROM %s h WHERE h.commit_id > ? AND h.id = %s`,
		t.list("h"), t.history, t.matches("s", "h"), t.history, t.newest("h"))
	rows, err := w.Query(ctx, sql, since)
	if err != nil {
		return err
	}
	width := len(t.columns)
	return driver.Each(rows, func() error {
		v := version(rows, width, t.identity(rows, 0))
		canonical, err := canonicalFields(v.Fields)
		v.Fields = canonical
		var fields any
		if err == nil {
			fields = string(canonical)
		}
		args := identityArgs(nil, &v.Identity)
		err = w.Exec(t.upsertOne, append(args, v.Commit, rows.Int(width+4), string(v.Op), v.SchemaVersion, fields)...)
		if err != nil {
			return err
		}
		return then(&v)
	})
}

// timesOrdered reports whether the times of commits from since on never go
// back, and are written so that their texts compare as times.
func timesOrdered(w *driver.Conn, since int64) (bool, error) {
	rows, err := w.Query(context.Background(), `SELECT created_at FROM commits WHERE id >= ? ORDER BY id`, since)
	if err != nil {
		return false, err
	}
	ordered, last := true, storedTime("")
	for rows.Next() {
		text := rows.Text(0)
		t := storedTime(text)
		ordered = ordered && !t.Before(last) && strings.HasSuffix(text, "+00:00")
		last = t
	}
	return ordered, rows.Close()
}

// RebuildProjection makes the projection anew from history, and from it what is
// derived. What it finds may be damaged, so it relies on none of it. It keeps
// the checksum of what it made, see [Backend.Checksum].
func (b *Backend) RebuildProjection(ctx context.Context, progress func(done, total int64)) (int64, error) {
	var identities int64
	err := b.writer.writeFrom(ctx, b.deadline(), b.writer.beginBehind, func(w *driver.Conn, _ state) (err error) {
		identities, err = b.writer.rebuild(ctx, w, progress)
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	})
	return identities, err
}

// addMissing makes the tables and indexes of ours that are gone.
func addMissing(w *driver.Conn) error {
	return w.Script(createLookup + createIndexes + createProjection + createDerived)
}

// addRight makes the index of right endpoints, if it is gone.
func addRight(w *driver.Conn) error { return w.Script(createRight) }

// rebuild is RebuildProjection in a transaction. An identity is a step of it,
// and once more when its words are entered.
func (wr *writer) rebuild(ctx context.Context, w *driver.Conn, progress func(done, total int64)) (int64, error) {
	if err := addMissing(w); err != nil {
		return 0, err
	}
	total, err := w.QueryIntContext(ctx, `SELECT (SELECT count(*) FROM entity_current) + (SELECT count(*) FROM relation_current) +
		(SELECT count(*) FROM onto_derived d JOIN entity_current ON entity_type = type_name WHERE type_kind = 'entity' AND purpose = 'search') +
		(SELECT count(*) FROM onto_derived d JOIN relation_current ON relation_type = type_name WHERE type_kind = 'relation' AND purpose = 'search')`)
	if err != nil {
		return 0, err
	}
	var done, identities int64
	step := func() {
		if done++; progress != nil && done%10_000 == 0 {
			progress(done, max(done, total))
		}
	}
	if err := dropDerived(w); err != nil {
		return 0, err
	}
	for _, t := range wr.tables {
		if err := w.ExecContext(ctx, `DELETE FROM `+t.current); err != nil {
			return 0, err
		}
		err := project(ctx, w, t, 0, func(*onto.Version) error { identities++; step(); return nil })
		if err != nil {
			return 0, err
		}
	}
	if err := addRight(w); err != nil {
		return 0, err
	}
	if err := fillPast(ctx, w, wr.tables); err != nil {
		return 0, err
	}
	if err := deriveAll(ctx, w, step); err != nil {
		return 0, err
	}
	// Also if nothing is derived: others must not rely on what there was.
	if err := w.Exec(`UPDATE onto_meta SET derived = derived + 1`); err != nil {
		return 0, err
	}
	s, err := wr.readState(w)
	if err == nil && !s.covered {
		err = coverHead(w, 0)
	}
	if err == nil {
		err = keepChecksum(ctx, w, wr.tables, s.head)
	}
	return identities, err
}
