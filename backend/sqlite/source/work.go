package source

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/snapshot"
	"github.com/ontologia/onto/internal/workcsv"
)

// Work is the work queue in a file: a table work_items with the columns that the original
// program documents, alone in a file or beside other tables, and with the attempts and runs
// that stores of this program keep beside it. It is read like a log: no byte of the file or
// of what SQLite keeps beside it is changed.
type Work struct {
	place *snapshot.Place
	shape *shape
}

// WorkRow is an item as the file has it.
type WorkRow struct {
	*workcsv.Row
	Attempts []onto.WorkAttempt // oldest first; a time that cannot be read is zero
}

// workTables are the tables of a work queue. The columns of the original program come first.
func workTables() map[string][]column {
	text := func(absent string, names ...string) (list []column) {
		for _, name := range names {
			list = append(list, column{name, "TEXT", false, absent})
		}
		return list
	}
	number := func(absent string, names ...string) (list []column) {
		for _, name := range names {
			list = append(list, column{name, "INTEGER", false, absent})
		}
		return list
	}
	var items []column
	for _, name := range workcsv.OriginalColumns() {
		if name == "priority" || name == "attempt" {
			items = append(items, number("", name)...)
		} else {
			items = append(items, text("", name)...)
		}
	}
	items = append(items, text("NULL", "lease_owner", "lease_until", "not_before")...)
	return map[string][]column{
		"work_items": append(items, number("0", "depth", "onto_revised")...),
		"work_attempts": append(text("", "work_item_id", "worker", "run_id", "started_at", "finished_at", "status", "retry_after", "error_message",
			"failure_class", "diagnostic_json"), number("", "attempt_no")...),
		"work_runs": text("", "run_id", "started_at", "finished_at", "status", "options_json", "counts_json"),
	}
}

// OpenWork opens the work queue in a file. Scratch is a directory for a private copy; "" for
// that of the system. It fails if there is no table work_items, or another one.
func OpenWork(ctx context.Context, path, scratch string) (*Work, error) {
	p, err := snapshot.Find(path, scratch)
	if err != nil {
		return nil, err
	}
	w := &Work{place: p}
	if err := w.open(ctx); err != nil {
		w.Close()
		return nil, driver.Wrap(path, err)
	}
	return w, nil
}

func (w *Work) open(ctx context.Context) error {
	found, err := look(ctx, w.place)
	switch {
	case err != nil:
		return err
	case found.Kind == NoDatabase, found.Kind == Empty:
		return onto.Errorf(onto.Unsupported, "%s: %s", w.place.Path, found).WithHint("name the file that holds the work queue")
	}
	c, _, err := w.place.Dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if w.shape, err = readShapeOf(ctx, c, w.place.Path, workTables()); err != nil {
		return err
	}
	if !w.shape.has("work_items") {
		return onto.Errorf(onto.Unsupported, "%s: there is no table work_items", w.place.Path).WithHint("name the file that holds the work queue")
	}
	for _, name := range []string{"work_items", "work_attempts", "work_runs"} {
		if err := w.shape.odd[name]; err != nil {
			return err
		}
	}
	if _, _, err := c.QueryRowContext(ctx, `SELECT rowid FROM main.work_items LIMIT 1`); err != nil {
		return odd(w.place.Path, "work_items", "cannot be read in order: %v", err)
	}
	return nil
}

// Close releases everything. All sequences must have ended before.
func (w *Work) Close() error { return w.place.Close() }

// workBatch is how many items are read at once. What another program writes meanwhile need
// not be kept for this one.
const workBatch = 500

// Rows yields the items in the order in which they were added. Items that another program
// adds meanwhile may be among them.
func (w *Work) Rows(ctx context.Context) iter.Seq2[WorkRow, error] {
	return func(yield func(WorkRow, error) bool) {
		c, live, err := w.place.Dial(ctx)
		if err != nil {
			yield(WorkRow{}, err)
			return
		}
		defer c.Close()
		last := int64(math.MinInt64)
		for first := true; ; first = false {
			list, err := w.batch(ctx, c, &last, live && !first)
			if err != nil {
				yield(WorkRow{}, driver.Wrap(w.place.Path, err))
				return
			}
			for _, row := range list {
				if !yield(row, nil) {
					return
				}
			}
			if len(list) < workBatch {
				return
			}
		}
	}
}

// batch reads the items after the last one in one transaction.
func (w *Work) batch(ctx context.Context, c *driver.Conn, last *int64, again bool) (list []WorkRow, err error) {
	if err := c.ExecContext(ctx, `BEGIN`); err != nil {
		return nil, err
	}
	defer func() { _ = c.Exec(`ROLLBACK`) }() // nothing was written
	if again {
		now, err := readShapeOf(ctx, c, w.place.Path, workTables())
		if err != nil || now.odd["work_items"] != nil || !now.has("work_items") {
			return nil, onto.Errorf(onto.Stale, "%s: its tables were changed while they were read", w.place.Path).WithHint("start again")
		}
	}
	var names []string
	columns := []string{"rowid"}
	for _, of := range workcsv.Columns() {
		if of != "onto_scope" { // the key says it
			names, columns = append(names, of), append(columns, w.asText(of))
		}
	}
	sql := `SELECT ` + strings.Join(columns, ", ") + ` FROM main.work_items WHERE rowid > ? ORDER BY rowid LIMIT ` + fmt.Sprint(workBatch)
	if *last == math.MinInt64 {
		sql = strings.Replace(sql, "rowid > ?", "rowid >= ?", 1)
	}
	err = c.Each(ctx, sql, []any{*last}, func(r *driver.Rows) error {
		*last = r.Int(0)
		row := &workcsv.Row{}
		for i, name := range names {
			if !r.Null(i + 1) {
				row.Set(name, r.Text(i+1))
			}
		}
		list = append(list, WorkRow{Row: row})
		return nil
	})
	for i := range list {
		if err == nil && w.shape.has("work_attempts") && list[i].Attempt != "0" {
			list[i].Attempts, err = attemptsOf(ctx, c, list[i].WorkItemID)
		}
	}
	return list, err
}

// asText is a column of work_items as text, or what stands for it.
func (w *Work) asText(name string) string {
	return `CAST(` + w.shape.column("work_items", name) + ` AS TEXT)`
}

func attemptsOf(ctx context.Context, c *driver.Conn, item string) ([]onto.WorkAttempt, error) {
	const sql = `SELECT attempt_no, worker, run_id, started_at, finished_at, status, retry_after, error_message, failure_class, diagnostic_json
		FROM main.work_attempts WHERE work_item_id = ? ORDER BY attempt_no`
	return driver.List(ctx, c, sql, []any{item}, func(r *driver.Rows) (onto.WorkAttempt, error) {
		return onto.WorkAttempt{
			Item: item, Number: int(r.Int(0)), Worker: r.Text(1), Run: r.Text(2), Started: storedTime(r.Text(3)), Finished: storedTime(r.Text(4)),
			Status: onto.AttemptStatus(r.Text(5)), RetryAfter: storedTime(r.Text(6)), Error: r.Text(7), Class: r.Text(8), Diagnostic: json.RawMessage(r.Bytes(9)),
		}, nil
	})
}

// Runs lists the runs that the file knows, oldest first. The files of the original program
// have none.
func (w *Work) Runs(ctx context.Context) ([]onto.WorkRun, error) {
	if !w.shape.has("work_runs") {
		return nil, nil
	}
	c, _, err := w.place.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	const sql = `SELECT run_id, started_at, finished_at, status, options_json, counts_json FROM main.work_runs ORDER BY started_at, run_id`
	list, err := driver.List(ctx, c, sql, nil, func(r *driver.Rows) (onto.WorkRun, error) {
		return onto.WorkRun{ID: r.Text(0), Started: storedTime(r.Text(1)), Finished: storedTime(r.Text(2)), Status: r.Text(3), Options: r.Bytes(4), Counts: r.Bytes(5)}, nil
	})
	return list, driver.Wrap(w.place.Path, err)
}
