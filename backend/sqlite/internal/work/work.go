// Package work keeps the work queue in the tables of a SQLite file, see layout/work.go. Its
// functions run in a transaction of their caller and never commit.
//
// Nothing here costs by what was completed before: every statement names the index that
// leads to what is left.
package work

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/refusal"
)

// The indexes that SQLite makes for keys.
const (
	byItem    = `INDEXED BY sqlite_autoindex_work_items_1`
	byAttempt = `INDEXED BY sqlite_autoindex_work_attempts_1`
	ofItem    = `INDEXED BY sqlite_autoindex_work_attempts_2`
)

// Tx is the work queue within a write transaction.
type Tx struct {
	w     *driver.Conn
	now   time.Time
	at    string // now, as it is stored
	last  time.Time
	read  bool // last was read
	Wrote bool // something was changed
}

// Begin starts with a write transaction. Now is in the precision that is stored.
func Begin(w *driver.Conn, now time.Time) *Tx {
	return &Tx{w: w, now: now, at: codec.FormatTime(now)}
}

// change runs a statement and returns how many rows it has changed.
func (t *Tx) change(sql string, args ...any) (int64, error) {
	n, err := t.w.Change(sql, args...)
	t.Wrote = t.Wrote || n > 0
	return n, err
}

// exec is change without the number.
func (t *Tx) exec(sql string, args ...any) error {
	_, err := t.change(sql, args...)
	return err
}

// itemColumns are the columns of an item in the order of their values.
const (
	itemColumns = `work_item_id, source_system, source_name, resource_type, resource_id, request_uri, request_method, request_headers, request_body,
		metadata, priority, status, attempt, run_id, discovered_from, created_at, updated_at, error_message, dedupe_key,
		lease_owner, lease_until, not_before, depth, onto_revised`
	itemWidth = 24
)

// itemAt reads an item, whose columns start at column 0.
func itemAt(r *driver.Rows) onto.WorkItem {
	return onto.WorkItem{
		ID: r.Text(0), System: r.Text(1), Source: r.Text(2), Type: r.Text(3), Resource: r.Text(4), URI: r.Text(5), Method: r.Text(6),
		Headers: r.Bytes(7), Body: r.Text(8), Metadata: r.Bytes(9), Priority: int(r.Int(10)), Status: onto.WorkStatus(r.Text(11)), Attempt: int(r.Int(12)),
		Run: r.Text(13), Parent: r.Text(14), Created: layout.TimeAt(r, 15), Updated: layout.TimeAt(r, 16), Error: r.Text(17), Key: r.Text(18),
		Owner: r.Text(19), Until: layout.TimeAt(r, 20), NotBefore: layout.TimeAt(r, 21), Depth: int(r.Int(22)), Revised: int(r.Int(23)),
	}
}

var insertItem = `INSERT INTO work_items (` + itemColumns + `) VALUES (` + strings.Repeat("?, ", itemWidth-1) + `?) ON CONFLICT (dedupe_key) DO NOTHING`

// Enqueue adds items, and reports which are new.
func (t *Tx) Enqueue(items []onto.WorkItem) ([]bool, error) {
	fresh := make([]bool, len(items))
	if len(items) == 0 {
		return fresh, nil
	}
	if !t.read {
		r, ok, err := t.w.QueryRow(`SELECT last_at FROM onto_work`)
		if err != nil {
			return nil, err
		}
		if t.read = true; ok {
			t.last = layout.TimeAt(r, 0)
		}
	}
	known, err := t.known(items)
	if err != nil {
		return nil, err
	}
	before := t.last
	for i := range items {
		it := &items[i]
		if known[it.Key] {
			continue
		}
		created := t.now
		if !created.After(t.last) {
			created = t.last.Add(time.Microsecond)
		}
		text := codec.FormatTime(created)
		n, err := t.change(insertItem, it.ID, it.System, it.Source, it.Type, it.Resource, it.URI, it.Method, layout.OrNull(string(it.Headers)), layout.OrNull(it.Body),
			layout.OrNull(string(it.Metadata)), int64(it.Priority), string(onto.WorkPending), int64(0), layout.OrNull(it.Run), layout.OrNull(it.Parent), text, text, nil, it.Key,
			nil, nil, layout.OrNullTime(it.NotBefore.Truncate(time.Microsecond)), int64(it.Depth), int64(0))
		if err != nil {
			return nil, err
		}
		if fresh[i] = n > 0; fresh[i] {
			t.last = created
		}
	}
	if t.last.Equal(before) {
		return fresh, nil
	}
	return fresh, t.exec(`INSERT INTO onto_work (id, last_at) VALUES (1, ?) ON CONFLICT DO UPDATE SET last_at = excluded.last_at`, codec.FormatTime(t.last))
}

// known finds the keys that exist.
func (t *Tx) known(items []onto.WorkItem) (map[string]bool, error) {
	found := map[string]bool{}
	for part := range slices.Chunk(items, bulk) {
		keys := make([]any, len(part))
		for i := range part {
			keys[i] = part[i].Key
		}
		in, args := places(keys)
		err := t.w.Each(context.Background(), `SELECT dedupe_key FROM work_items INDEXED BY ix_work_items_dedupe WHERE dedupe_key IN (`+in+`)`, args, func(r *driver.Rows) error {
			found[r.Text(0)] = true
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// SaveRun stores a run. With start set it is refused if the run exists.
func (t *Tx) SaveRun(r onto.WorkRun, start bool) (refused, err error) {
	sql := `INSERT INTO work_runs (run_id, started_at, finished_at, status, options_json, counts_json) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO `
	if start {
		sql += `NOTHING`
	} else {
		sql += `UPDATE SET started_at = excluded.started_at, finished_at = excluded.finished_at, status = excluded.status,
			options_json = excluded.options_json, counts_json = excluded.counts_json`
	}
	n, err := t.change(sql, r.ID, codec.FormatTime(r.Started.Truncate(time.Microsecond)), layout.OrNullTime(r.Finished.Truncate(time.Microsecond)), r.Status,
		layout.OrNull(string(r.Options)), layout.OrNull(string(r.Counts)))
	if err == nil && n == 0 {
		return refusal.RunExists(r.ID), nil
	}
	return nil, err
}

// Runs lists the runs, oldest first.
func Runs(m *layout.Moment) ([]onto.WorkRun, error) {
	const sql = `SELECT run_id, started_at, finished_at, status, options_json, counts_json FROM work_runs ORDER BY started_at, run_id`
	return driver.List(m.Ctx, m.Conn, sql, nil, func(r *driver.Rows) (onto.WorkRun, error) {
		return onto.WorkRun{ID: r.Text(0), Started: layout.TimeAt(r, 1), Finished: layout.TimeAt(r, 2), Status: r.Text(3), Options: r.Bytes(4), Counts: r.Bytes(5)}, nil
	})
}

// attemptID is the id of an attempt.
func attemptID(item string, number int) string { return item + ":" + strconv.Itoa(number) }

// attemptsOf reads the attempts of an item, oldest first.
func attemptsOf(ctx context.Context, c *driver.Conn, item string) ([]onto.WorkAttempt, error) {
	const sql = `SELECT attempt_id, work_item_id, attempt_no, worker, run_id, started_at, finished_at, status, retry_after, error_message, failure_class, diagnostic_json
		FROM work_attempts ` + ofItem + ` WHERE work_item_id = ? ORDER BY attempt_no`
	return driver.List(ctx, c, sql, []any{item}, func(r *driver.Rows) (onto.WorkAttempt, error) {
		return onto.WorkAttempt{
			ID: r.Text(0), Item: r.Text(1), Number: int(r.Int(2)), Worker: r.Text(3), Run: r.Text(4), Started: layout.TimeAt(r, 5), Finished: layout.TimeAt(r, 6),
			Status: onto.AttemptStatus(r.Text(7)), RetryAfter: layout.TimeAt(r, 8), Error: r.Text(9), Class: r.Text(10), Diagnostic: r.Bytes(11),
		}, nil
	})
}
