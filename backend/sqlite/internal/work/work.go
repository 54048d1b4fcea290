// Package work keeps the work queue in the tables of a SQLite file, see layout/work.go. Its
// functions run in a transaction of their caller and never commit.
//
// Nothing here costs by what was completed before: every statement names the index that
// leads to what is left.
package work

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/attempts"
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
	ahead string // the last end of a lease that can be right, see [backend.Ahead]
	last  time.Time
	read  bool // last was read
	Wrote bool // something was changed

	added, addedSum int64 // items that were added, and the sum of their checksums
}

// Begin starts with a write transaction. Now is in the precision that is stored.
func Begin(w *driver.Conn, now time.Time) *Tx {
	return &Tx{w: w, now: now, at: codec.FormatTime(now), ahead: codec.FormatTime(now.Add(backend.MaxLease))}
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
		Headers: r.Bytes(7), Body: r.Text(8), Metadata: r.Bytes(9), Priority: int(r.Int(10)), Status: onto.WorkStatus(r.Text(11)), Attempt: layout.CountAt(r, 12),
		Run: r.Text(13), Parent: r.Text(14), Created: layout.TimeAt(r, 15), Updated: layout.TimeAt(r, 16), Error: r.Text(17), Key: r.Text(18),
		Owner: r.Text(19), Until: layout.TimeAt(r, 20), NotBefore: layout.TimeAt(r, 21), Depth: layout.CountAt(r, 22), Revised: layout.CountAt(r, 23),
	}
}

var insertItem = `INSERT INTO work_items (` + itemColumns + `, onto_sum) VALUES (` + strings.Repeat("?, ", itemWidth) + `?) ON CONFLICT (dedupe_key) DO NOTHING`

// ItemSums is the columns of an item that are written once and that its checksum covers, and
// the checksum.
const (
	ItemSums = `work_item_id, source_system, source_name, resource_type, resource_id, request_uri, request_method, request_headers, request_body,
		priority, discovered_from, created_at, dedupe_key, depth, onto_sum`
	ItemSumsWidth = 14
)

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
			t.last = refusal.StoredClock(layout.TimeAt(r, 0))
		}
	}
	known, err := t.known(items)
	if err != nil {
		return nil, err
	}
	for i := range items {
		it := &items[i]
		if known.has(it) {
			continue
		}
		created := t.now
		if !created.After(t.last) {
			created = t.last.Add(time.Microsecond)
		}
		n, err := t.insert(&onto.WorkItem{
			ID: it.ID, System: it.System, Source: it.Source, Type: it.Type, Resource: it.Resource, URI: it.URI, Method: it.Method, Headers: it.Headers, Body: it.Body,
			Metadata: it.Metadata, Priority: it.Priority, Status: onto.WorkPending, Run: it.Run, Parent: it.Parent, Created: created, Updated: created, Key: it.Key,
			NotBefore: it.NotBefore, Depth: it.Depth,
		})
		if err != nil {
			return nil, err
		}
		if fresh[i] = n > 0; fresh[i] {
			t.last = created
			known[it.Key] = it
		}
	}
	return fresh, t.count(codec.FormatTime(t.last))
}

// count notes the items that were added, and when the last one was enqueued.
func (t *Tx) count(last any) error {
	if t.added == 0 {
		return nil
	}
	err := t.exec(`UPDATE onto_work SET last_at = coalesce(?, last_at), held = held + ?, held_sum = held_sum + ?`, last, t.added, t.addedSum)
	t.added, t.addedSum = 0, 0
	return err
}

// Import adds items of another queue with their attempts, and reports which are new.
func (t *Tx) Import(items []backend.WorkState) (fresh []bool, refused, err error) {
	fresh = make([]bool, len(items))
	plain := make([]onto.WorkItem, len(items))
	for n := range items {
		plain[n] = items[n].WorkItem
	}
	known, err := t.known(plain)
	if err != nil {
		return nil, nil, err
	}
	ids := map[string]bool{}
	for n := range plain {
		it := &plain[n]
		if known.has(it) {
			continue
		}
		known[it.Key], fresh[n] = it, true
		if ids[it.ID] {
			return nil, refusal.WorkIDTaken(it), nil
		}
		if taken, err := t.w.QueryInt(`SELECT count(*) FROM work_items `+byItem+` WHERE work_item_id = ?`, it.ID); taken > 0 || err != nil {
			return nil, refusal.WorkIDTaken(it), err
		}
		ids[it.ID] = true
	}
	for n := range items {
		if fresh[n] {
			if err := t.add(&items[n]); err != nil {
				return nil, nil, err
			}
		}
	}
	return fresh, nil, t.count(nil)
}

// add adds an item as it is, with its attempts. Its id and its key are new.
func (t *Tx) add(s *backend.WorkState) error {
	if _, err := t.insert(&s.WorkItem); err != nil {
		return err
	}
	for i := range s.Attempts {
		a := s.Attempts[i]
		a.Item = s.ID
		if err := t.addAttempt(&a); err != nil {
			return err
		}
	}
	return nil
}

// addAttempt adds an attempt at an item.
func (t *Tx) addAttempt(a *onto.WorkAttempt) error {
	return t.exec(`INSERT INTO work_attempts (attempt_id, work_item_id, attempt_no, worker, run_id, started_at, finished_at, status, retry_after, error_message, failure_class, diagnostic_json)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		attempts.ID(a.Item, a.Number), a.Item, a.Number, a.Worker, layout.OrNull(a.Run), stored(a.Started), stored(a.Finished), string(a.Status), stored(a.RetryAfter),
		layout.OrNull(a.Error), layout.OrNull(a.Class), layout.OrNull(string(a.Diagnostic)))
}

// insert adds an item, unless its key exists, and returns how many it has added.
func (t *Tx) insert(it *onto.WorkItem) (int64, error) {
	headers, body, parent, created := layout.OrNull(string(it.Headers)), layout.OrNull(it.Body), layout.OrNull(it.Parent), stored(it.Created)
	sum := layout.SumOf(&t.w.Scratch, []any{it.ID, it.System, it.Source, it.Type, it.Resource, it.URI, it.Method, headers, body,
		int64(it.Priority), parent, created, it.Key, int64(it.Depth)})
	n, err := t.change(insertItem, it.ID, it.System, it.Source, it.Type, it.Resource, it.URI, it.Method, headers, body,
		layout.OrNull(string(it.Metadata)), int64(it.Priority), string(it.Status), int64(it.Attempt), layout.OrNull(it.Run), parent,
		created, stored(it.Updated), layout.OrNull(it.Error), it.Key, nil, nil, stored(it.NotBefore), int64(it.Depth), int64(it.Revised), sum)
	t.added += n
	t.addedSum += n * sum
	return n, err
}

// stored is a time in the precision and the form that is stored, or NULL if it is zero.
func stored(at time.Time) any { return layout.OrNullTime(at.Truncate(time.Microsecond)) }

// keyed is items by their keys, as far as it takes to know them.
type keyed map[string]*onto.WorkItem

func (k keyed) has(i *onto.WorkItem) bool {
	return backend.KnownWork(i, func(key string) *onto.WorkItem { return k[key] }) != nil
}

// known finds the items as which some may be known.
func (t *Tx) known(items []onto.WorkItem) (keyed, error) {
	found := keyed{}
	var keys []any
	for i := range items {
		for _, key := range backend.WorkKeys(&items[i]) {
			keys = append(keys, key)
		}
	}
	for part := range slices.Chunk(keys, bulk) {
		in, args := places(part)
		err := t.w.Each(context.Background(), `SELECT dedupe_key, source_system, source_name, resource_type, resource_id
			FROM work_items INDEXED BY ix_work_items_dedupe WHERE dedupe_key IN (`+in+`)`, args, func(r *driver.Rows) error {
			found[r.Text(0)] = &onto.WorkItem{System: r.Text(1), Source: r.Text(2), Type: r.Text(3), Resource: r.Text(4)}
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

// attemptsOf reads the attempts of an item from a number on, oldest first.
func attemptsOf(ctx context.Context, c *driver.Conn, item string, from int) ([]onto.WorkAttempt, error) {
	const sql = `SELECT attempt_id, work_item_id, attempt_no, worker, run_id, started_at, finished_at, status, retry_after, error_message, failure_class, diagnostic_json
		FROM work_attempts ` + ofItem + ` WHERE work_item_id = ? AND attempt_no >= ? ORDER BY attempt_no`
	return driver.List(ctx, c, sql, []any{item, from}, func(r *driver.Rows) (onto.WorkAttempt, error) {
		return onto.WorkAttempt{
			ID: r.Text(0), Item: r.Text(1), Number: layout.CountAt(r, 2), Worker: r.Text(3), Run: r.Text(4), Started: layout.TimeAt(r, 5), Finished: layout.TimeAt(r, 6),
			Status: onto.AttemptStatus(r.Text(7)), RetryAfter: layout.TimeAt(r, 8), Error: r.Text(9), Class: r.Text(10), Diagnostic: r.Bytes(11),
		}, nil
	})
}
