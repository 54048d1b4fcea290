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
)

// openWork opens a new store with a clock.
func openWork(t *testing.T) (string, *busClock, *sqlite.Backend) {
	t.Helper()
	path, clock := filepath.Join(t.TempDir(), "work.db"), newBusClock()
	return path, clock, open(t, path, &sqlite.Options{Now: clock.Now})
}

// newItem makes an item from "id", "id source" or "id source run".
func newItem(spec string) onto.WorkItem {
	words := append(strings.Fields(spec), "", "")
	it := onto.WorkItem{ID: words[0], System: "http", Source: "docs", Type: "page", Resource: words[0], URI: "https://example.org/" + words[0], Method: "GET", Priority: onto.DefaultWorkPriority}
	if words[1] != "" {
		it.Source = words[1]
	}
	it.Run, it.Key = words[2], it.System+":"+it.Source+":page:"+it.ID
	return it
}

func enqueue(t *testing.T, b backend.WorkQueue, specs ...string) {
	t.Helper()
	var items []onto.WorkItem
	for _, spec := range specs {
		items = append(items, newItem(spec))
	}
	fresh, err := b.Enqueue(t.Context(), items)
	if err != nil || slices.Contains(fresh, false) {
		t.Fatalf("enqueued %v, error %v; want all of them new", fresh, err)
	}
}

// workRequest asks for items of any source.
func workRequest(limit int) *backend.WorkRequest {
	return &backend.WorkRequest{Worker: "w", Run: "r", Limit: limit, Lease: time.Minute}
}

// dequeue takes items, and fails if they are not those that are wanted.
func dequeue(t *testing.T, b backend.WorkQueue, limit int, want string) []onto.WorkItem {
	t.Helper()
	got, err := b.Dequeue(t.Context(), workRequest(limit))
	var ids []string
	for _, it := range got.Items {
		ids = append(ids, it.ID)
	}
	if err != nil || strings.Join(ids, " ") != want {
		t.Fatalf("dequeued %q, error %v; want %q", ids, err, want)
	}
	return got.Items
}

func outcome(do backend.WorkDo, it onto.WorkItem) backend.WorkOutcome {
	o := backend.WorkOutcome{Item: it.ID, Attempt: it.Attempt, Worker: it.Owner, Do: do, Lease: time.Minute}
	if do == backend.WorkFail || do == backend.WorkRetry || do == backend.WorkSkip {
		o.Error, o.Class, o.Delay = "planted", "timeout", 10*time.Minute
	}
	return o
}

// finish ends attempts the same way, and fails if a lease was lost.
func finish(t *testing.T, b backend.WorkQueue, do backend.WorkDo, items ...onto.WorkItem) {
	t.Helper()
	var list []backend.WorkOutcome
	for _, it := range items {
		list = append(list, outcome(do, it))
	}
	verdicts, err := b.Finish(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range verdicts {
		if v.Err != nil {
			t.Fatalf("%s: %v", items[i].ID, v.Err)
		}
	}
}

func revise(t *testing.T, b backend.WorkQueue, do backend.WorkRevising, want int64, ids ...string) {
	t.Helper()
	n, err := b.Revise(t.Context(), &backend.WorkRevision{Items: backend.WorkQuery{IDs: ids}, Do: do, By: onto.Operator("ana"), Reason: "a test"})
	if err != nil || n != want {
		t.Fatalf("revised %d, error %v; want %d", n, err, want)
	}
}

// complete takes and completes all that can be taken, and returns how many that were.
func completeAll(t *testing.T, b backend.WorkQueue) int {
	t.Helper()
	for n := 0; ; {
		got, err := b.Dequeue(t.Context(), workRequest(7))
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Items) == 0 {
			return n
		}
		n += len(got.Items)
		finish(t, b, backend.WorkComplete, got.Items...)
	}
}

// workStats counts items by status.
func workStats(t *testing.T, b backend.WorkQueue) string {
	t.Helper()
	list, err := b.WorkStats(t.Context(), &backend.WorkQuery{})
	if err != nil {
		t.Fatal(err)
	}
	counts := map[onto.WorkStatus]int64{}
	for _, c := range list {
		counts[c.Status] += c.Items
	}
	var words []string
	for _, s := range slices.Sorted(slices.Values(onto.WorkStatuses())) {
		if counts[s] > 0 {
			words = append(words, fmt.Sprint(s, " ", counts[s]))
		}
	}
	return strings.Join(words, ", ")
}
