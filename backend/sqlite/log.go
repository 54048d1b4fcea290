package sqlite

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/exec"
	"github.com/ontologia/onto/internal/refusal"
)

// Log implements [backend.LogSource]. It is read in several transactions, so that a consumer
// that takes long does not keep the WAL from being checkpointed.
//
// Rows of a commit are in order of identity in each table, as their draft or stream was,
// so nothing is sorted.
func (b *Backend) Log(ctx context.Context, since int64) iter.Seq2[backend.LogEntry, error] {
	return exec.Pushed(func(push func(backend.LogEntry) error) error {
		l := &logReading{store: b.store, since: since, until: -1, push: push}
		for {
			if err := b.reader.read(ctx, l.part); !errors.Is(err, errPart) {
				return err
			}
		}
	})
}

// partOfLog is how many entries are read in one transaction, unless a commit has more.
const partOfLog = 100_000

// errPart says that more of a log is to be read in another transaction.
var errPart = errors.New("a part of the log was read")

// logReading is a log that is being read.
type logReading struct {
	*store
	push  func(backend.LogEntry) error
	since int64   // the last commit that was read
	until int64   // the newest one when the reading began; -1 before
	mark  logMark // after a part

	r      *reading // the transaction
	tables []*logTable
	read   int // entries, in the transaction
}

// logMark is what stays as it is while a log only grows.
type logMark struct {
	store  string // its id
	commit string // the last one that was read
	purged int    // versions of types
}

// logTable is the versions of a kind, by commit.
type logTable struct {
	*layout.Table
	rows *driver.Rows
	more bool         // rows has a version that was not pushed
	last onto.Version // that was
}

// part reads a part of the log in one transaction.
func (l *logReading) part(r *reading) error {
	l.r, l.read, l.tables = r, 0, nil
	if err := l.start(); err != nil {
		return err
	}
	defer l.close()
	for _, t := range l.store.tables {
		if err := l.open(t); err != nil {
			return err
		}
	}
	// Ends of the context are noticed between entries: to wait for each row in a
	// goroutine of its own costs more than the row.
	err := r.Conn.Each(context.Background(), `SELECT `+layout.CommitList+`, c.draft_hash, c.operations IS NULL FROM commits c
		WHERE c.id > ? AND c.id <= ? ORDER BY c.id`, []any{l.since, l.until}, l.commit)
	if errors.Is(err, errPart) {
		l.close()
		if l.mark, err = l.marked(); err == nil {
			return errPart
		}
	}
	if err != nil {
		return err
	}
	return l.ended()
}

// start makes sure that the log is still the one that was read before.
func (l *logReading) start() error {
	if l.until < 0 {
		if l.since < 0 || l.since > l.r.Head {
			return refusal.NoCommit(l.since, l.r.Head)
		}
		l.until = l.r.Head
		return nil
	}
	mark, err := l.marked()
	if err == nil && (mark != l.mark || l.r.Head < l.until) {
		err = onto.Errorf(onto.Stale, "%s: a type was purged, or the store was replaced, while its log was read", l.at.Path).WithHint("read it again")
	}
	return err
}

func (l *logReading) marked() (mark logMark, err error) {
	row, _, err := l.r.Conn.QueryRow(`SELECT m.store_id, coalesce(c.created_at || ' ' || c.runtime_id, '') FROM onto_meta m LEFT JOIN commits c ON c.id = ?`, l.since)
	if err != nil {
		return mark, err
	}
	mark.store, mark.commit = row.Text(0), row.Text(1)
	types, err := layout.ReadSchemas(l.r.Conn)
	for i := range types {
		if end := types[i].End; end != nil && end.Purged {
			mark.purged++
		}
	}
	return mark, err
}

func (l *logReading) open(t *layout.Table) error {
	sql := fmt.Sprintf(`SELECT %s, h.commit_id, h.op, h.schema_version_id, CAST(h.fields_json AS BLOB), %s
		FROM %s h INDEXED BY %s WHERE h.commit_id > ? ORDER BY h.commit_id, h.id`, t.List("h"), t.Sum("h"), t.History, t.HistoryIndexes[1])
	rows, err := l.r.Conn.Query(context.Background(), sql, l.since)
	if err == nil {
		l.tables = append(l.tables, &logTable{Table: t, rows: rows, more: rows.Next()})
	}
	return err
}

func (l *logReading) close() {
	for _, t := range l.tables {
		_ = t.rows.Close()
	}
	l.tables = nil
}

// commit pushes a commit and its versions.
func (l *logReading) commit(rows *driver.Rows) error {
	if l.read >= l.logPart {
		return errPart
	}
	if err := l.r.Ctx.Err(); err != nil {
		return err
	}
	c := layout.ReadCommit(rows)
	c.Digest = rows.Text(layout.CommitWidth)
	if rows.Int(layout.CommitWidth+1) == 1 {
		return onto.Errorf(onto.Corrupt, "commit %d was not made by this program", c.ID).WithHint("find out what else is in the log").WithCommand("doctor")
	}
	before := l.read
	if err := l.push(backend.LogEntry{Commit: &backend.LogCommit{Commit: c.Commit, Metadata: c.Metadata, Digest: c.Digest, EventSum: c.EventSum}}); err != nil {
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
	if n := l.read - before; n != c.Operations {
		return onto.Errorf(onto.Corrupt, "commit %d has %d versions, and its header says %d", c.ID, n, c.Operations).WithHint("%s", layout.RestoreRemedy)
	}
	l.since = c.ID
	l.read++
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
	l.read++
	return l.push(backend.LogEntry{Version: v})
}

// ended fails if there are versions after the newest commit.
func (l *logReading) ended() error {
	for _, t := range l.tables {
		if t.rows.Err != nil {
			return t.rows.Err
		}
		if t.more && (t.rows.Int(len(t.Columns)) > l.r.Head || t.rows.Int(len(t.Columns)) <= l.until) {
			return l.version(t, l.r.Head)
		}
	}
	return nil
}
