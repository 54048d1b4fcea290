package sqlite

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ontologia/onto"
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
// lock. If somebody does, or the file cannot be written, the projection stays
// behind, and the read answers from history.
func (b *Backend) tryCatchUp(ctx context.Context) error {
	if b.opts.ReadOnly {
		return nil
	}
	err := b.writeUntil(ctx, time.Now(), func(*conn, state) error { return nil }) // beginWrite does it
	switch onto.CodeOf(err) {
	case onto.LockContention, onto.Full, onto.ReadOnly, onto.OutcomeUnknown, onto.Unavailable:
		return nil
	}
	return err
}

// catchUp projects the commits after the last that is ours or was brought in
// before.
func (b *Backend) catchUp(w *conn) error {
	covered, err := w.queryInt(`SELECT max(foreign_until, coalesce(
		(SELECT id FROM commits WHERE operations IS NOT NULL ORDER BY id DESC LIMIT 1), 0)) FROM onto_meta`)
	if err != nil {
		return err
	}
	head, err := w.queryInt(`SELECT max(id) FROM commits`)
	if err != nil {
		return err
	}
	for _, t := range b.tables {
		if _, err := project(context.Background(), w, t, covered, nil); err != nil {
			return err
		}
	}
	ordered, err := timesOrdered(w, covered)
	if err != nil {
		return err
	}
	return w.exec(`UPDATE onto_meta SET foreign_until = ?, times_ordered = times_ordered AND ?`, head, ordered)
}

// project writes a projection row for each identity that a commit after since
// has touched, and returns how many those are.
func project(ctx context.Context, w *conn, t *table, since int64, progress func()) (int64, error) {
	sql := fmt.Sprintf(`SELECT %s, h.commit_id, h.op, h.schema_version_id, CAST(h.fields_json AS BLOB),
			(SELECT min(s.commit_id) FROM %s s WHERE %s)
		FROM %s h WHERE h.commit_id > ? AND h.id = %s`,
		t.list("h"), t.history, t.matches("s", "h"), t.history, t.newest("h"))
	rows, err := w.query(ctx, sql, since)
	if err != nil {
		return 0, err
	}
	var n int64
	width := len(t.columns)
	err = each(rows, func() error {
		v := version(rows, width, t.identity(rows, 0))
		var fields any
		if canonical, err := canonicalFields(v.Fields); err == nil {
			fields = string(canonical)
		}
		if n++; progress != nil {
			progress()
		}
		args := identityArgs(nil, &v.Identity)
		return w.exec(t.upsertOne, append(args, v.Commit, rows.int(width+4), string(v.Op), v.SchemaVersion, fields)...)
	})
	return n, err
}

// timesOrdered reports whether the times of commits from since on never go
// back, and are written so that their texts compare as times.
func timesOrdered(w *conn, since int64) (bool, error) {
	rows, err := w.query(context.Background(), `SELECT created_at FROM commits WHERE id >= ? ORDER BY id`, since)
	if err != nil {
		return false, err
	}
	ordered, last := true, storedTime("")
	for rows.next() {
		text := rows.text(0)
		t := storedTime(text)
		ordered = ordered && !t.Before(last) && strings.HasSuffix(text, "+00:00")
		last = t
	}
	return ordered, rows.close()
}

// RebuildProjection makes the projection anew from history.
func (b *Backend) RebuildProjection(ctx context.Context, progress func(done, total int64)) (int64, error) {
	var identities int64
	err := b.write(ctx, func(w *conn, _ state) error {
		total, err := w.queryInt(`SELECT (SELECT count(*) FROM entity_current) + (SELECT count(*) FROM relation_current)`)
		if err != nil {
			return err
		}
		var done int64
		step := func() {
			if done++; progress != nil && done%10_000 == 0 {
				progress(done, max(done, total))
			}
		}
		for _, t := range b.tables {
			if err := w.exec(`DELETE FROM ` + t.current); err != nil {
				return err
			}
			n, err := project(ctx, w, t, 0, step)
			if err != nil {
				return err
			}
			identities += n
		}
		return nil
	})
	return identities, err
}
