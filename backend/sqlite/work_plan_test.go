package sqlite_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
)

func workTable() *regexp.Regexp {
	return regexp.MustCompile(`\b(` + strings.Join(workTables(), "|") + `)\b`)
}

// workPlans is what plans of statements about work may do. Lists without a condition and
// counts read what they are asked for, which is everything.
func workPlans() planRules {
	return planRules{
		grows:  []string{"work_items", "work_attempts", "onto_work_sources"},
		named:  []string{"work_items", "work_attempts"},
		sorted: true,
		mayScan: map[string]string{
			`SELECT source_system, source_name, coalesce(run_id, ''), status, count(*) FROM work_items WHERE true GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`:                                                                 "counts of all items",
			`SELECT source_system, source_name, coalesce(run_id, ''), status, count(*) FROM work_items WHERE true AND status IN (SELECT value FROM json_each(?)) GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`:                  "counts of all items",
			`SELECT source_system, source_name, coalesce(run_id, ''), status, count(*) FROM work_items WHERE true AND source_system = ? AND source_name = ? AND resource_type = ? GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`: "counts of a source, which has no index of all its items",
			`SELECT (SELECT created_at FROM commits ORDER BY id DESC LIMIT 1), (SELECT last_at FROM onto_bus), (SELECT last_at FROM onto_work), (SELECT started_at FROM work_attempts ORDER BY rowid DESC LIMIT 1)`:        "the last attempt, by its rowid",
		},
	}
}

// Every statement of work finds what it needs by an index that it names, with and without
// statistics, on a file with many completed items.
func TestPlansOfWork(t *testing.T) {
	path, all := recordWork(t)
	wantAllStatements(t, "internal/work", 25, []string{"explain.go"}, all)
	for _, analyzed := range []bool{false, true} {
		if analyzed {
			runSQL(t, path, `ANALYZE`)
		}
		for _, sql := range all {
			if err := workPlans().judge(sql, planOf(t, path, sql)); err != nil {
				t.Errorf("with statistics: %t: %v", analyzed, err)
			}
		}
	}
	t.Logf("%d statements", len(all))
}

// A statement about work that names no index, or scans, is found.
func TestWorkPlansThatScan(t *testing.T) {
	path, _ := recordWork(t)
	for _, sql := range []string{
		`SELECT work_item_id FROM work_items WHERE status = 'pending' ORDER BY priority, created_at LIMIT ?`,
		`SELECT count(*) FROM work_items i WHERE i.depth = ?`,
		`SELECT 1 FROM work_attempts WHERE attempt_id = ?`,
		`UPDATE work_attempts SET status = 'lost' WHERE worker = ?`,
		`SELECT work_item_id FROM work_items INDEXED BY ix_work_items_status WHERE status = ? ORDER BY created_at LIMIT 1`,
		`DELETE FROM onto_work_sources WHERE free_at < ?`,
	} {
		if workPlans().judge(sql, planOf(t, path, sql)) == nil {
			t.Errorf("nothing is said about: %s: %v", sql, planOf(t, path, sql))
		}
	}
}

// recordWork does everything that a queue can do on a file with many completed items, and
// returns the statements that this took.
func recordWork(t *testing.T) (string, []string) {
	t.Helper()
	path, clock, b := openWork(t)
	seen := &statements{seen: map[string]bool{}}
	b.OnPrepare(seen.add)
	workEverything(t, b, clock)
	askEverything(t, b)
	cleanEverything(t, b, clock)
	for from := 0; from < 10_000; from += 1000 {
		var specs []string
		for i := range 1000 {
			specs = append(specs, fmt.Sprint("m", from+i))
		}
		enqueue(t, b, specs...)
	}
	r := workRequest(1000)
	for {
		got, err := b.Dequeue(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Items) == 0 {
			return path, seen.about(workTable())
		}
		r.Finish = nil
		for _, it := range got.Items {
			r.Finish = append(r.Finish, outcome(backend.WorkComplete, it))
		}
	}
}

// workEverything enqueues, takes, finishes and revises in every way.
func workEverything(t *testing.T, b *sqlite.Backend, clock *busClock) {
	t.Helper()
	enqueue(t, b, "a", "b", "c", "d", "e", "f", "g other", "h other r", "i docs r", "j")
	old := backend.WorkState{WorkItem: newItem("old")}
	old.Status, old.Attempt, old.Created, old.Updated = onto.WorkCompleted, 1, clock.Now(), clock.Now()
	old.Attempts = []onto.WorkAttempt{{Item: "old", Number: 1, Worker: "w", Started: clock.Now(), Finished: clock.Now(), Status: onto.AttemptCompleted}}
	if fresh, err := b.ImportItems(t.Context(), []backend.WorkState{old}); err != nil || !fresh[0] {
		t.Fatalf("imported %v, error %v", fresh, err)
	}
	limits := map[backend.WorkSource]backend.WorkLimit{{System: "http", Source: "other"}: {Concurrent: 5, Every: time.Millisecond, Burst: 2}}
	items := dequeue(t, b, 6, "a b c d e f")
	for _, r := range []*backend.WorkRequest{
		{Worker: "w", Run: "r", Limit: 1, Lease: time.Minute, Limits: limits, Most: backend.WorkLimit{Concurrent: 1}},
		{Worker: "w", Run: "r", OnlyRun: true, Limit: 1, Lease: time.Minute, Limits: limits},
		{Worker: "w", Run: "r", OnlyRun: true, Systems: []string{"feed", "http"}, Limit: 1, Lease: time.Minute},
		{Worker: "w", Systems: []string{"feed", "http"}, Limit: 1, Lease: time.Minute},
	} {
		if _, err := b.Dequeue(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	var list []backend.WorkOutcome
	for i, do := range []backend.WorkDo{backend.WorkExtend, backend.WorkComplete, backend.WorkFail, backend.WorkRetry, backend.WorkSkip, backend.WorkReturn} {
		o := outcome(do, items[i])
		o.Discovered = []onto.WorkItem{newItem("found" + items[i].ID)}
		o.Metadata = []byte(`{}`)
		list = append(list, o)
	}
	if _, err := b.Finish(t.Context(), append(list, list[1])); err != nil {
		t.Fatal(err)
	}
	revise(t, b, backend.ReviseRetry, 1, "c")
	for _, q := range []backend.WorkQuery{{Run: "r"}, {Parent: "a"}, {Source: "docs", Status: []onto.WorkStatus{onto.WorkFailed}}} {
		if _, err := b.Revise(t.Context(), &backend.WorkRevision{Items: q, Do: backend.ReviseSkip, By: onto.Operator("ana"), Run: "s"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, start := range []bool{true, false} {
		if err := b.SaveRun(t.Context(), onto.WorkRun{ID: "r", Started: clock.Now(), Status: "running"}, start); err != nil {
			t.Fatal(err)
		}
	}
	clock.advance(time.Hour)
	finish(t, b, backend.WorkComplete, dequeue(t, b, 2, "a c")...) // one was lost, one revised

	clock.advance(48 * time.Hour) // which is wrong
	got, err := b.Dequeue(t.Context(), workRequest(1))
	if err != nil || len(got.Items) != 1 {
		t.Fatalf("got %v, error %v", got.Items, err)
	}
	finish(t, b, backend.WorkRetry, got.Items[0])
	clock.advance(-48 * time.Hour)
	dequeue(t, b, 0, "")
}

// askEverything asks every question.
func askEverything(t *testing.T, b *sqlite.Backend) {
	t.Helper()
	for _, q := range []backend.WorkQuery{{}, {IDs: []string{"a"}, Attempts: true}, {Keys: []string{"x"}}, {Run: "r"}, {Parent: "a"}, {System: "http", Source: "docs", Type: "page"},
		{Status: []onto.WorkStatus{onto.WorkFailed}}, {IDs: []string{"a"}, Status: []onto.WorkStatus{onto.WorkFailed}, Error: "x", Limit: 2}} {
		for _, err := range b.WorkItems(t.Context(), &q) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.WorkStats(t.Context(), &q); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.WorkRuns(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// cleanEverything removes something of each kind.
func cleanEverything(t *testing.T, b *sqlite.Backend, clock *busClock) {
	t.Helper()
	if err := b.SaveRun(t.Context(), onto.WorkRun{ID: "gone", Started: clock.Now(), Finished: clock.Now(), Status: "finished"}, true); err != nil {
		t.Fatal(err)
	}
	for n, c := range []backend.WorkCleaning{
		{Items: true, Attempts: true, Runs: true, Keep: 1, Before: clock.Now().Add(time.Hour)},
		{Attempts: true, Apply: true},
		{Items: true, Keep: 1, Of: backend.WorkQuery{Source: "docs", Run: "r"}},
		{Items: true, Of: backend.WorkQuery{Source: "docs", IDs: []string{"old"}}, Apply: true},
		{Runs: true, Apply: true},
	} {
		plan, err := b.CleanWork(t.Context(), &c, nil)
		if err != nil || c.Apply && plan.Items+plan.Attempts+plan.Runs == 0 {
			t.Errorf("%d: removed %+v, error %v", n, plan, err)
		}
	}
}
