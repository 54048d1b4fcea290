package sqlite_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/child"
	"github.com/ontologia/onto/internal/effort"
)

// A process that enqueues, dequeues, finishes or revises is killed, at random moments and at
// each point of a transaction. What it acknowledged is there, nothing is half there, the
// check is clean, and what is left can be taken.
func TestKilledAtWork(t *testing.T) {
	t.Parallel()
	kills := effort.Count(t, 200)
	for _, op := range []string{"enqueue", "dequeue", "finish", "revise"} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			random := effort.Rand(t)
			path := filepath.Join(t.TempDir(), "killed.db")
			makeThings(t, path)
			got := &worked{counts: map[string]int{}, ended: map[string]bool{}}
			for i := range kills {
				killWorker(t, random, "work", []string{path, op, fmt.Sprint("w", i), "20ms"}, i, []string{"begin", "commit", "committed"}, got.note)
				if t.Failed() {
					return
				}
				if i%10 == 9 || i == kills-1 {
					got.verify(t, path)
				}
			}
			left := completeLater(t, path)
			t.Logf("%d kills; acknowledged: %v; %d items completed after that", kills, got.counts, left)
		})
	}
}

// worked is what workers have printed.
type worked struct {
	counts map[string]int
	lines  []string
	ended  map[string]bool // attempts
}

// note takes a line. An attempt ends once.
func (a *worked) note(line string) error {
	words := strings.Fields(line)
	a.counts[words[0]]++
	a.lines = append(a.lines, line)
	if !slices.Contains([]string{"completed", "failed", "skipped", "returned"}, words[0]) {
		return nil
	}
	if a.ended[words[1]] {
		return fmt.Errorf("attempt %s has ended twice", words[1])
	}
	a.ended[words[1]] = true
	return nil
}

// verify fails for what was acknowledged and is not there, and for what is half there.
func (a *worked) verify(t *testing.T, path string) {
	t.Helper()
	b, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close() // so that the next one recovers the file
	if got := busCodes(t, b); got != nil {
		t.Errorf("got findings %v", got)
	}
	ask, end := asker(t, path)
	defer end()
	for _, line := range a.lines {
		words := strings.Fields(line)
		want, sql := "1", fmt.Sprintf(`SELECT count(*) FROM work_attempts WHERE attempt_id = '%s' AND worker = '%s' AND status = '%s'`, words[1], words[2], words[0])
		switch words[0] {
		case "enqueued":
			want, sql = words[2], fmt.Sprintf(`SELECT count(*) FROM work_items WHERE work_item_id GLOB '%s*'`, words[1])
		case "took":
			sql = fmt.Sprintf(`SELECT count(*) FROM work_attempts WHERE attempt_id = '%s' AND worker = '%s'`, words[1], words[2])
		case "revised":
			want, sql = words[2], fmt.Sprintf(`SELECT count(*) FROM work_attempts WHERE run_id = '%s' AND status = 'revised'`, words[1])
		}
		if got := ask(sql); got != want {
			t.Errorf("%s: %s are there, want %s", line, got, want)
		}
		if words[0] == "completed" {
			if got := ask(fmt.Sprintf(`SELECT count(*) FROM work_items WHERE work_item_id GLOB 'found-%s-*'`, words[1])); got != words[3] {
				t.Errorf("%s: %s of what was discovered are there", line, got)
			}
		}
	}
	a.lines = a.lines[:0]
	wantNoHalfWork(t, ask)
}

// wantNoHalfWork fails for calls of which only a part is there.
func wantNoHalfWork(t *testing.T, ask func(string) string) {
	t.Helper()
	for what, sql := range map[string]string{
		"calls that lack an item": `SELECT count(*) FROM work_items e WHERE e.work_item_id GLOB 'w*-*-[1-9]' AND NOT EXISTS (
			SELECT 1 FROM work_items f WHERE f.work_item_id = substr(e.work_item_id, 1, length(e.work_item_id) - 1) || (substr(e.work_item_id, -1) - 1))`,
		"calls of one item": `SELECT count(*) FROM work_items e WHERE e.work_item_id GLOB 'w*-*-0' AND NOT EXISTS (
			SELECT 1 FROM work_items f WHERE f.work_item_id = substr(e.work_item_id, 1, length(e.work_item_id) - 1) || '1')`,
		"discoveries of one item": `SELECT count(*) FROM (SELECT 1 FROM work_items WHERE work_item_id GLOB 'found-*' GROUP BY substr(work_item_id, 1, length(work_item_id) - 2) HAVING count(*) <> 2)`,
		"discoveries of attempts that are not completed": `SELECT count(*) FROM work_items e WHERE e.work_item_id GLOB 'found-*' AND NOT EXISTS (
			SELECT 1 FROM work_attempts a WHERE a.attempt_id = substr(e.work_item_id, 7, length(e.work_item_id) - 8) AND a.status = 'completed')`,
		"items whose parent is missing":       `SELECT count(*) FROM work_items e WHERE e.discovered_from IS NOT NULL AND NOT EXISTS (SELECT 1 FROM work_items p WHERE p.work_item_id = e.discovered_from)`,
		"attempts under way at items at rest": `SELECT count(*) FROM work_attempts a JOIN work_items i USING (work_item_id) WHERE a.status = 'running' AND (i.status <> 'in_progress' OR i.attempt <> a.attempt_no)`,
		"items in progress without an attempt": `SELECT count(*) FROM work_items i WHERE i.status = 'in_progress' AND NOT EXISTS (
			SELECT 1 FROM work_attempts a WHERE a.work_item_id = i.work_item_id AND a.attempt_no = i.attempt AND a.status = 'running')`,
		"revisions of which a part is there": `SELECT count(*) FROM (SELECT run_id FROM work_attempts WHERE status = 'revised' GROUP BY run_id
			HAVING count(*) <> CAST(substr(run_id, -1) AS INTEGER))`,
	} {
		if got := ask(sql); got != "0" {
			t.Errorf("%s %s", got, what)
		}
	}
}

// completeLater completes everything an hour from now, when all leases have ended, and
// returns how many items that were.
func completeLater(t *testing.T, path string) int {
	t.Helper()
	b := open(t, path, &sqlite.Options{Now: func() time.Time { return time.Now().Add(time.Hour) }})
	n, r := 0, workRequest(1000)
	for {
		got, err := b.Dequeue(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Items) == 0 {
			break
		}
		n, r.Finish = n+len(got.Items), nil
		for _, it := range got.Items {
			r.Finish = append(r.Finish, outcome(backend.WorkComplete, it))
		}
	}
	if got := workStats(t, b); strings.Contains(got, "pending") || strings.Contains(got, "progress") {
		t.Errorf("left are %s", got)
	}
	if got := busCodes(t, b); got != nil {
		t.Errorf("at the end: got findings %v", got)
	}
	return n
}

// Four processes on one source never have more of its items in progress than it may have,
// and never start more than its rate and its burst allow: by the times that are stored.
func TestFourProcessesOnOneSource(t *testing.T) {
	t.Parallel()
	items := effort.Count(t, 3000)
	path := filepath.Join(t.TempDir(), "shared.db")
	b := open(t, path, nil)
	var specs []string
	for i := range items {
		specs = append(specs, fmt.Sprint("i", i))
	}
	enqueue(t, b, specs...)
	var workers []*child.Process
	took := make(chan string)
	for i := range 4 {
		p := child.Start(t, "work", path, "limited", fmt.Sprint("w", i), "10s")
		workers = append(workers, p)
		go func() {
			for line := range p.Lines() {
				took <- line
			}
			took <- ""
		}()
	}
	by := map[string]int{}
	for n := 0; n < items; n++ {
		line := <-took
		if line == "" {
			t.Fatal("a worker has ended early")
		}
		by[strings.Fields(line)[2]]++
	}
	for _, p := range workers {
		p.Stdin.Close()
	}
	for range workers {
		if line := <-took; line != "" {
			t.Errorf("an item was taken twice: %s", line)
		}
	}
	for _, p := range workers {
		if err := p.Wait(); err != nil {
			t.Error(err)
		}
	}
	wantLimits(t, path, items, sourceLimit())
	if got := workStats(t, b); got != fmt.Sprint("completed ", items) {
		t.Errorf("got %s", got)
	}
	t.Logf("%d items by %v", items, by)
}

// wantLimits fails if stored attempts, which are all completed, exceed a limit.
func wantLimits(t *testing.T, path string, items int, limit backend.WorkLimit) {
	t.Helper()
	type change struct {
		at time.Time
		by int
	}
	var changes []change
	var starts []time.Time
	for line := range strings.SplitSeq(query(t, path, `SELECT started_at, finished_at FROM work_attempts ORDER BY started_at`), "\n") {
		first, last, _ := strings.Cut(line, "|")
		from, err := time.Parse(time.RFC3339Nano, first)
		to, err2 := time.Parse(time.RFC3339Nano, last)
		if err != nil || err2 != nil {
			t.Fatal(line, err, err2)
		}
		starts = append(starts, from)
		changes = append(changes, change{from, 1}, change{to, -1})
	}
	if len(starts) != items {
		t.Errorf("%d attempts at %d items", len(starts), items)
	}
	slices.SortStableFunc(changes, func(a, b change) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return a.by - b.by // an end makes room at once
	})
	now, most := 0, 0
	for _, c := range changes {
		now += c.by
		most = max(most, now)
	}
	if most > limit.Concurrent {
		t.Errorf("%d were in progress at once, want at most %d", most, limit.Concurrent)
	}
	for i := range starts {
		for j := i + limit.Burst; j < len(starts); j++ {
			if least := time.Duration(j-i+1-limit.Burst) * limit.Every; starts[j].Sub(starts[i]) < least {
				t.Fatalf("items %d to %d were started within %s, want at least %s", i, j, starts[j].Sub(starts[i]), least)
			}
		}
	}
	t.Logf("at most %d at once; %d starts in %s", most, len(starts), starts[len(starts)-1].Sub(starts[0]))
}
