package sqlite

import (
	"context"
	"fmt"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/refusal"
)

var _ backend.Archive = (*Backend)(nil)

// Origin implements [backend.LogSource].
func (b *Backend) Origin(ctx context.Context) (id string, err error) {
	err = b.reader.read(ctx, func(r *reading) error {
		row, ok, err := r.QueryRow(`SELECT store_id FROM onto_meta`)
		if err == nil && ok {
			id = row.Text(0)
		}
		return err
	})
	return id, err
}

// CopyState implements [backend.Archive].
func (b *Backend) CopyState(ctx context.Context) (s backend.CopyState, err error) {
	err = b.reader.read(ctx, func(r *reading) error {
		s, err = layout.ReadCopy(r.Conn)
		return err
	})
	return s, err
}

// LogHead implements [backend.LogSource].
func (b *Backend) LogHead(ctx context.Context) (head int64, err error) {
	err = b.reader.read(ctx, func(r *reading) error {
		head = r.Head
		return nil
	})
	return head, err
}

// LogSize implements [backend.LogSource]. Versions are counted in the indexes on their
// commits; their bytes are estimated from some of them.
func (b *Backend) LogSize(ctx context.Context, since, until int64) (size backend.LogSize, err error) {
	err = b.reader.read(ctx, func(r *reading) error {
		until, err := refusal.LogSpan(since, until, r.Head)
		if err != nil {
			return err
		}
		size.Head, size.Commits = r.Head, until-since
		for _, t := range b.tables {
			n, bytes, err := r.logSize(t, since, until)
			if err != nil {
				return err
			}
			size.Versions += n
			size.Bytes += bytes
		}
		size.Notes, err = b.leftBehind(r)
		return err
	})
	return size, err
}

// sampled is how many versions of a kind are looked at for an estimate.
const sampled = 256

// logSize counts the versions of a kind after a commit, and estimates their bytes.
func (r *reading) logSize(t *layout.Table, since, until int64) (n, bytes int64, err error) {
	n, err = r.QueryInt(fmt.Sprintf(`SELECT count(*) FROM %s INDEXED BY %s WHERE commit_id > ? AND commit_id <= ?`, t.History, t.HistoryIndexes[1]), since, until)
	if err != nil || n == 0 {
		return 0, 0, err
	}
	size := "octet_length(h.fields_json)"
	for _, c := range t.Columns[1:] {
		size += " + octet_length(h." + c + ")"
	}
	mean, err := r.QueryInt(fmt.Sprintf(`WITH RECURSIVE ends(first, last) AS (
			SELECT (SELECT id FROM %[1]s WHERE commit_id > ? ORDER BY commit_id LIMIT 1), (SELECT id FROM %[1]s WHERE commit_id <= ? ORDER BY commit_id DESC LIMIT 1)),
		step(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM step WHERE i < %[2]d)
		SELECT CAST(round(avg(%[3]s)) AS INTEGER) FROM ends, step JOIN %[1]s h ON h.id =
			(SELECT min(s.id) FROM %[1]s s WHERE s.id >= first + (last - first) * i / %[2]d)`, t.History, sampled-1, size), since, until)
	return n, n * mean, err
}

// leftBehind counts what is no part of the log.
func (b *Backend) leftBehind(r *reading) ([]backend.LogNote, error) {
	var list []backend.LogNote
	count := func(code backend.NoteCode, sql string) error {
		return r.Each(sql, nil, func(row *driver.Rows) error {
			list = append(list, backend.LogNote{Code: code, Of: row.Text(0), Count: row.Int(1)})
			return nil
		})
	}
	err := count(backend.EventsStay, `SELECT namespace, count(*) FROM events GROUP BY 1 ORDER BY 1`)
	if err == nil {
		err = count(backend.ClaimsStay, `SELECT handler_id || ' ' || CASE WHEN dead_lettered_at IS NOT NULL THEN 'dead_lettered'
			WHEN ack_at IS NOT NULL THEN 'acked' ELSE 'claimed' END, count(*)
			FROM event_claims GROUP BY 1 ORDER BY 1`)
	}
	if err == nil {
		err = count(backend.WorkStays, `SELECT status, count(*) FROM work_items GROUP BY 1 ORDER BY 1`)
	}
	if err != nil {
		return nil, err
	}
	return list, nil
}
