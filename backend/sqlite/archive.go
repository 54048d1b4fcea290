package sqlite

import (
	"context"
	"fmt"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/decide"
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

// Log implements [backend.LogSource]. It shows one snapshot.
//
// Rows of a commit are in order of identity in each table, as their draft or stream was,
// so nothing is sorted.
func (b *Backend) Log(ctx context.Context, since int64) iter.Seq2[backend.LogEntry, error] {
	return pushed(ctx, b.reader, func(r *reading, push func(backend.LogEntry) error) error {
		if since < 0 || since > r.Head {
			return refusal.NoCommit(since, r.Head)
		}
		l := &logReading{r: r, push: push}
		defer l.close()
		for _, t := range b.tables {
			if err := l.open(t, since); err != nil {
				return err
			}
		}
		// Ends of the context are noticed between entries: to wait for each row in a
		// goroutine of its own costs more than the row.
		err := r.Conn.Each(context.Background(), `SELECT `+layout.CommitList+`, c.draft_hash, c.operations IS NULL FROM commits c WHERE c.id > ? ORDER BY c.id`,
			[]any{since}, func(rows *driver.Rows) error {
				kept := layout.ReadCommit(rows)
				if rows.Int(layout.CommitWidth+1) == 1 {
					return onto.Errorf(onto.Corrupt, "commit %d was not made by this program", kept.ID).WithHint("find out what else is in the log").WithCommand("doctor")
				}
				kept.Digest = rows.Text(layout.CommitWidth)
				return l.commit(&kept)
			})
		if err != nil {
			return err
		}
		return l.ended()
	})
}

// logReading is a log that is being read.
type logReading struct {
	r      *reading
	push   func(backend.LogEntry) error
	tables []*logTable
}

// logTable is the versions of a kind, by commit.
type logTable struct {
	*layout.Table
	rows *driver.Rows
	more bool         // rows has a version that was not pushed
	last onto.Version // that was
}

func (l *logReading) open(t *layout.Table, since int64) error {
	sql := fmt.Sprintf(`SELECT %s, h.commit_id, h.op, h.schema_version_id, CAST(h.fields_json AS BLOB), %s
		FROM %s h INDEXED BY %s WHERE h.commit_id > ? ORDER BY h.commit_id, h.id`, t.List("h"), t.Sum("h"), t.History, t.HistoryIndexes[1])
	rows, err := l.r.Conn.Query(context.Background(), sql, since)
	if err == nil {
		l.tables = append(l.tables, &logTable{Table: t, rows: rows, more: rows.Next()})
	}
	return err
}

func (l *logReading) close() {
	for _, t := range l.tables {
		_ = t.rows.Close()
	}
}

// commit pushes a commit and its versions.
func (l *logReading) commit(c *decide.Commit) error {
	if err := l.r.Ctx.Err(); err != nil {
		return err
	}
	if err := l.push(backend.LogEntry{Commit: &backend.LogCommit{Commit: c.Commit, Metadata: c.Metadata, Digest: c.Digest}}); err != nil {
		return err
	}
	for _, t := range l.tables {
		for t.more && t.rows.Int(len(t.Columns)) <= c.ID {
			if err := l.version(t, c.ID); err != nil {
				return err
			}
			t.more = t.rows.Next()
		}
		if t.rows.Err != nil {
			return t.rows.Err
		}
	}
	return nil
}

// version pushes the next version of a kind.
func (l *logReading) version(t *logTable, commit int64) error {
	v := layout.Version(t.rows, len(t.Columns), t.Identity(t.rows, 0))
	err := layout.CheckSound(&v, l.r.Head)
	if err == nil {
		err = layout.CheckIntact(t.rows, len(t.Columns)+4, &v)
	}
	if err == nil && (v.Commit != commit || v.Commit == t.last.Commit && t.last.Compare(v.Identity) >= 0) {
		err = layout.DamagedRow(&v, "it is not in its place")
	}
	if err == nil {
		err = l.r.Ctx.Err()
	}
	if err != nil {
		return err
	}
	t.last = v
	return l.push(backend.LogEntry{Version: v})
}

// ended fails if there are versions after the newest commit.
func (l *logReading) ended() error {
	for _, t := range l.tables {
		if t.rows.Err != nil {
			return t.rows.Err
		}
		if t.more {
			return l.version(t, l.r.Head)
		}
	}
	return nil
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
func (b *Backend) LogSize(ctx context.Context, since int64) (size backend.LogSize, err error) {
	err = b.reader.read(ctx, func(r *reading) error {
		if since < 0 || since > r.Head {
			return refusal.NoCommit(since, r.Head)
		}
		size.Head = r.Head
		if size.Commits, err = r.QueryInt(`SELECT count(*) FROM commits WHERE id > ?`, since); err != nil {
			return err
		}
		for _, t := range b.tables {
			n, bytes, err := r.logSize(t, since)
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
func (r *reading) logSize(t *layout.Table, since int64) (n, bytes int64, err error) {
	n, err = r.QueryInt(fmt.Sprintf(`SELECT count(*) FROM %s INDEXED BY %s WHERE commit_id > ?`, t.History, t.HistoryIndexes[1]), since)
	if err != nil || n == 0 {
		return 0, 0, err
	}
	size := "octet_length(h.fields_json)"
	for _, c := range t.Columns[1:] {
		size += " + octet_length(h." + c + ")"
	}
	mean, err := r.QueryInt(fmt.Sprintf(`WITH RECURSIVE ends(first, last) AS (
			SELECT (SELECT id FROM %[1]s WHERE commit_id > ? ORDER BY commit_id LIMIT 1), (SELECT max(id) FROM %[1]s)),
		step(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM step WHERE i < %[2]d)
		SELECT CAST(round(avg(%[3]s)) AS INTEGER) FROM ends, step JOIN %[1]s h ON h.id =
			(SELECT min(s.id) FROM %[1]s s WHERE s.id >= first + (last - first) * i / %[2]d)`, t.History, sampled-1, size), since)
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
