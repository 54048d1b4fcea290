package sqlite_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/effort"
)

// makeWork makes a store with an item of every fate, named by it: done, failed, late,
// skipped, lost, returned, revised, dropped (skipped by an operator), new, waiting (not
// tried, not before a time) and held.
func makeWork(t *testing.T) (string, *busClock) {
	t.Helper()
	path, clock := t.TempDir()+"/work.db", newBusClock()
	b, err := sqlite.Open(t.Context(), path, &sqlite.Options{Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	enqueue(t, b, "lost")
	dequeue(t, b, 1, "lost")
	clock.advance(time.Hour)
	enqueue(t, b, "done", "failed", "late", "skipped", "returned", "revised", "dropped", "held")
	dequeue(t, b, 0, "")
	revise(t, b, backend.ReviseSkip, 1, "lost") // out of the way
	items := dequeue(t, b, 8, "done failed late skipped returned revised dropped held")
	clock.advance(time.Second)
	for i, do := range []backend.WorkDo{backend.WorkComplete, backend.WorkFail, backend.WorkRetry, backend.WorkSkip, backend.WorkReturn, backend.WorkFail, backend.WorkFail} {
		finish(t, b, do, items[i])
	}
	clock.advance(time.Second)
	revise(t, b, backend.ReviseRetry, 1, "revised")
	revise(t, b, backend.ReviseSkip, 1, "dropped")
	waiting := newItem("waiting")
	waiting.NotBefore = clock.Now().Add(time.Hour)
	if _, err := b.Enqueue(t.Context(), []onto.WorkItem{newItem("new"), waiting}); err != nil {
		t.Fatal(err)
	}
	return path, clock
}

// Each kind of damage to what follows from attempts has a finding. A rebuild mends it: then
// nothing is found, and the items are as before.
func TestDamagedWork(t *testing.T) {
	for _, c := range []struct{ name, codes, damage string }{
		{"no damage", "", ``},
		{"completed again", "work_differs", `UPDATE work_items SET status = 'pending' WHERE work_item_id = 'done'`},
		{"failed is completed", "work_differs", `UPDATE work_items SET status = 'completed' WHERE work_item_id = 'failed'`},
		{"held is pending", "work_differs", `UPDATE work_items SET status = 'pending' WHERE work_item_id = 'held'`},
		{"skipped is in progress", "work_differs", `UPDATE work_items SET status = 'in_progress' WHERE work_item_id = 'skipped'`},
		{"a number goes back", "work_differs", `UPDATE work_items SET attempt = 0 WHERE work_item_id = 'done'`},
		{"a number is ahead", "work_differs", `UPDATE work_items SET attempt = 9 WHERE work_item_id = 'late'`},
		{"another error", "work_differs", `UPDATE work_items SET error_message = 'x' WHERE work_item_id = 'failed'`},
		{"no error", "work_differs", `UPDATE work_items SET error_message = NULL WHERE work_item_id = 'skipped'`},
		{"an error of what is completed", "work_differs", `UPDATE work_items SET error_message = 'x' WHERE work_item_id = 'done'`},
		{"an error of what was revised", "work_differs", `UPDATE work_items SET error_message = 'x' WHERE work_item_id = 'revised'`},
		{"another owner", "work_differs", `UPDATE work_items SET lease_owner = 'x' WHERE work_item_id = 'held'`},
		{"an owner of what is completed", "work_differs", `UPDATE work_items SET lease_owner = 'w' WHERE work_item_id = 'done'`},
		{"a lease of what is pending", "work_differs", `UPDATE work_items SET lease_until = updated_at WHERE work_item_id = 'returned'`},
		{"too late", "work_differs", `UPDATE work_items SET not_before = '2027' WHERE work_item_id = 'late'`},
		{"a wait of what is ready", "work_differs", `UPDATE work_items SET not_before = '2027' WHERE work_item_id = 'returned'`},
		{"tries after a revision", "work_differs", `UPDATE work_items SET onto_revised = 0 WHERE work_item_id = 'revised'`},
		{"tries after a return", "work_differs", `UPDATE work_items SET onto_revised = 0 WHERE work_item_id = 'returned'`},
		{"all of it", "work_differs", `UPDATE work_items SET status = 'x', attempt = 99, error_message = 'x', lease_owner = 'x', not_before = 'x', onto_revised = 99,
			lease_until = iif(status = 'in_progress', lease_until, 'x') WHERE attempt > 0`},
		{"in progress and never tried", "work_differs", `UPDATE work_items SET status = 'in_progress' WHERE work_item_id = 'new'`},
		{"no status", "work_differs", `UPDATE work_items SET status = 'x' WHERE work_item_id = 'new'`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path, clock := makeWork(t)
			before := query(t, path, `SELECT * FROM work_items ORDER BY work_item_id`)
			runSQL(t, path, c.damage)
			b := open(t, path, &sqlite.Options{Now: clock.Now})
			if got := strings.Join(busCodes(t, b), " "); got != c.codes {
				t.Errorf("got findings %q, want %q", got, c.codes)
			}
			if _, err := b.RebuildProjection(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			if got := busCodes(t, b); got != nil {
				t.Errorf("after a rebuild: got findings %q", got)
			}
			after := query(t, path, `SELECT * FROM work_items ORDER BY work_item_id`)
			if after != before {
				t.Errorf("after a rebuild: got\n%s\nwant\n%s", after, before)
			}
		})
	}
}

// A lease without an end has ended once the item was mended: its attempt is lost.
func TestRebuildOfALease(t *testing.T) {
	path, clock := makeWork(t)
	runSQL(t, path, `UPDATE work_items SET lease_until = NULL, status = 'pending' WHERE work_item_id = 'held'`)
	b := open(t, path, &sqlite.Options{Now: clock.Now})
	if _, err := b.RebuildProjection(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Dequeue(t.Context(), workRequest(0)); err != nil || got.Lost != 1 {
		t.Errorf("got %+v, error %v; want one lost", got, err)
	}
}

// A rebuild keeps leases: their holders finish.
func TestRebuildKeepsLeases(t *testing.T) {
	_, _, b := openWork(t)
	enqueue(t, b, "a")
	held := dequeue(t, b, 1, "a")
	if _, err := b.RebuildProjection(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	finish(t, b, backend.WorkComplete, held...)
}

// Damage to attempts themselves cannot be mended, and has findings as well.
func TestDamagedAttempts(t *testing.T) {
	for _, c := range []struct{ code, damage string }{
		{"attempt_damaged", `UPDATE work_attempts SET status = 'x' WHERE work_item_id = 'done'`},
		{"attempt_damaged", `UPDATE work_attempts SET status = 'running' WHERE work_item_id = 'done'`},
		{"attempt_damaged", `UPDATE work_attempts SET finished_at = NULL WHERE work_item_id = 'done'`},
		{"attempt_damaged", `UPDATE work_attempts SET retry_after = '2027' WHERE work_item_id = 'done'`},
		{"attempt_damaged", `UPDATE work_attempts SET attempt_no = 7 WHERE work_item_id = 'done'`},
		{"attempt_damaged", `UPDATE work_attempts SET attempt_no = -1, attempt_id = 'done:-1' WHERE work_item_id = 'done'`},
		{"attempt_damaged", `UPDATE work_attempts SET status = 'running', finished_at = NULL WHERE attempt_id = 'revised:1'`},
		{"attempt_damaged rows_missing", `DELETE FROM work_items WHERE work_item_id IN ('done', 'held')`},
		{"attempt_damaged", `UPDATE work_attempts SET attempt_no = 5, attempt_id = 'dropped:5' WHERE attempt_id = 'dropped:2'; UPDATE work_items SET attempt = 5 WHERE work_item_id = 'dropped'`},
	} {
		path, clock := makeWork(t)
		runSQL(t, path, c.damage)
		b, err := sqlite.Open(t.Context(), path, &sqlite.Options{Now: clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(busCodes(t, b), " "); got != c.code {
			t.Errorf("%s: got findings %q, want %s", c.damage, got, c.code)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

// workTables are the tables of work.
func workTables() []string {
	return []string{"work_items", "work_attempts", "work_runs", "onto_work_sources", "onto_work"}
}

// A dequeue that comes upon an item whose number is behind its attempts fails, and says what
// mends it.
func TestDequeueOnDamage(t *testing.T) {
	_, clock, b := openWork(t)
	enqueue(t, b, "a")
	finish(t, b, backend.WorkRetry, dequeue(t, b, 1, "a")...)
	clock.advance(time.Hour)
	if err := b.Exec(`UPDATE work_items SET attempt = 0`); err != nil {
		t.Fatal(err)
	}
	_, err := b.Dequeue(t.Context(), workRequest(1))
	if onto.CodeOf(err) != onto.Corrupt || !slices.Equal(onto.HintOf(err).Command, []string{"projection", "rebuild"}) {
		t.Errorf("got %v, want Corrupt with the command that repairs it", err)
	}
	if _, err := b.RebuildProjection(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	finish(t, b, backend.WorkComplete, dequeue(t, b, 1, "a")...)
}

// If a table, a column or an index of work was dropped, opening the file brings it back, and
// what follows from attempts is as it was. A store that is open meanwhile reports it, and a
// rebuild brings tables and indexes back.
func TestDroppedWork(t *testing.T) {
	for _, drop := range []string{
		`DROP TABLE work_runs`, `DROP TABLE onto_work`, `DROP TABLE onto_work_sources`,
		`DROP INDEX ix_work_items_status`, `DROP INDEX ix_work_items_dedupe`, `DROP INDEX ix_work_items_run_id`, `DROP INDEX onto_work_ready`,
		`DROP INDEX onto_work_run_ready`, `DROP INDEX onto_work_due`, `DROP INDEX onto_work_delayed`, `DROP INDEX onto_work_leases`, `DROP INDEX onto_work_running`, `DROP INDEX onto_work_parent`,
		`ALTER TABLE work_items DROP COLUMN onto_revised`, `ALTER TABLE work_items DROP COLUMN lease_owner`, `ALTER TABLE work_items DROP COLUMN depth`,
		`ALTER TABLE work_items DROP COLUMN error_message`,
		`DROP INDEX onto_work_leases; ALTER TABLE work_items DROP COLUMN lease_until`,
		`DROP INDEX onto_work_ready; DROP INDEX onto_work_run_ready; DROP INDEX onto_work_due; DROP INDEX onto_work_delayed; ALTER TABLE work_items DROP COLUMN not_before`,
		`ALTER TABLE work_attempts DROP COLUMN failure_class`,
	} {
		t.Run(drop, func(t *testing.T) {
			t.Parallel()
			path, clock := makeWork(t)
			before, err := sqlite.Open(t.Context(), path, &sqlite.Options{Now: clock.Now})
			if err != nil {
				t.Fatal(err)
			}
			defer before.Close()
			runSQL(t, path, drop)
			if got := busCodes(t, before); !slices.Contains(got, "index_missing") && !slices.Contains(got, "check_stopped") {
				t.Errorf("while it is missing: got findings %v", got)
			}
			var b *sqlite.Backend
			if strings.Contains(drop, "ALTER") {
				b = open(t, path, &sqlite.Options{Now: clock.Now})
			} else if b = before; true {
				if _, err := b.RebuildProjection(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
			}
			if got := busCodes(t, b); got != nil {
				t.Errorf("got findings %v", got)
			}
			clock.advance(2 * time.Hour)
			if got := completeAll(t, b); got != 6 { // late, returned, revised, new, waiting, held
				t.Errorf("completed %d items, want 6", got)
			}
		})
	}
}

// Items rebuilt from their attempts are as they were, after many random operations.
func TestRebuildAfterRandomWork(t *testing.T) {
	t.Parallel()
	steps := effort.Count(t, 30_000)
	path, clock, b := openWork(t)
	r := effort.Rand(t)
	if err := b.Exec(`PRAGMA synchronous = OFF`); err != nil { // nothing is killed here
		t.Fatal(err)
	}
	var held []onto.WorkItem
	counts := map[string]int{}
	for n := range steps {
		clock.advance(time.Duration(r.IntN(400)) * time.Millisecond)
		switch r.IntN(10) {
		case 0, 1, 2:
			enqueue(t, b, fmt.Sprintf("i%d s%d", n, r.IntN(3)))
			counts["enqueued"]++
		case 3, 4, 5:
			got, err := b.Dequeue(t.Context(), workRequest(1+r.IntN(3)))
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, got.Items...)
			counts["dequeued"] += len(got.Items)
			counts["lost"] += got.Lost
		case 6, 7, 8:
			var list []backend.WorkOutcome
			for range min(len(held), 1+r.IntN(3)) {
				i := r.IntN(len(held))
				list = append(list, outcome(backend.WorkDo(1+r.IntN(6)), held[i]))
				held = slices.Delete(held, i, i+1)
			}
			verdicts, err := b.Finish(t.Context(), list)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range verdicts {
				if v.Err == nil {
					counts["finished"]++
				}
			}
		case 9:
			rev := &backend.WorkRevision{Do: backend.WorkRevising(1 + r.IntN(3)), By: onto.Operator("ana"), Reason: "random"}
			rev.Items.Source = fmt.Sprint("s", r.IntN(3))
			if r.IntN(50) > 0 {
				rev.Items.IDs = []string{fmt.Sprint("i", r.IntN(n+1))}
			}
			m, err := b.Revise(t.Context(), rev)
			if err != nil {
				t.Fatal(err)
			}
			counts["revised"] += int(m)
		}
	}
	dequeue(t, b, 0, "") // what is due has no time to wait for
	if got := busCodes(t, b); got != nil {
		t.Errorf("got findings %v", got)
	}
	const show = `SELECT * FROM work_items ORDER BY work_item_id`
	before := query(t, path, show)
	if _, err := b.RebuildProjection(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if query(t, path, show) != before {
		t.Error("a rebuild of what is sound has changed it")
	}
	runSQL(t, path, `UPDATE work_items SET status = 'x', attempt = 0, onto_revised = 99, lease_owner = 'x', not_before = 'x', error_message = 'x',
		lease_until = iif(status = 'in_progress', lease_until, 'x') WHERE attempt > 0`)
	if _, err := b.RebuildProjection(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	dequeue(t, b, 0, "") // a time to wait for that has come was made anew
	if after := query(t, path, show); after != before {
		got, want := strings.Split(after, "\n"), strings.Split(before, "\n")
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("got\n%s\nwant\n%s", got[i], want[i])
			}
		}
	}
	t.Logf("%d operations: %v; %s", steps, counts, workStats(t, b))
}

// The statements of the page about the format work as printed, and its tables have
// every column and every index of the file.
func TestDocumentedWork(t *testing.T) {
	page := string(read(t, filepath.Join("..", "..", "docs", "format", "sqlite.md")))
	path, _ := makeWork(t)
	want := []string{"http http http http http", "returned revised new", "held", "late", "1 2", "docs", "done"}
	if got := documentedAnswers(t, page, "These statements look at work.", path); !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
	_, part, _ := strings.Cut(page, "\n## Work\n")
	part, _, _ = strings.Cut(part, "\n## The projection\n")
	tables := "'" + strings.Join(workTables(), "', '") + "'"
	for _, name := range strings.Fields(query(t, path, `SELECT group_concat(x.name, ' ') FROM sqlite_master m JOIN pragma_table_xinfo(m.name) x
		WHERE m.type = 'table' AND m.name IN (`+tables+`) AND x.name <> 'id'`) + " " +
		query(t, path, `SELECT group_concat(name, ' ') FROM sqlite_master WHERE tbl_name IN (`+tables+`) AND name NOT GLOB 'sqlite_*'`)) {
		if !strings.Contains(part, "`"+name+"`") {
			t.Errorf("the page does not mention %s", name)
		}
	}
}
