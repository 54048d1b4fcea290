package memory_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
)

// An item is taken and lost, fails, is revised and completed, and each step shows.
func TestLifeOfAWorkItem(t *testing.T) {
	ctx := t.Context()
	now := time.Date(2026, 2, 10, 12, 0, 0, 0, time.UTC)
	b := memory.New(&memory.Options{Now: func() time.Time { return now }}).Open()
	check := func(want string) {
		t.Helper()
		for i, err := range b.WorkItems(ctx, &backend.WorkQuery{Attempts: true}) {
			got := fmt.Sprintf("%s after %d tries:", i.Status, i.Tries())
			for _, a := range i.Attempts {
				got += " " + string(a.Status)
			}
			if err != nil || got != want {
				t.Errorf("got %s and error %v, want %s", got, err, want)
			}
		}
	}
	take := func(lost int) {
		t.Helper()
		got, err := b.Dequeue(ctx, &backend.WorkRequest{Worker: "w", Limit: 2, Lease: time.Minute})
		if err != nil || len(got.Items) != 1 || got.Lost != lost || !got.Next.Equal(now.Add(time.Minute)) {
			t.Fatalf("got %v and error %v, want one item", got, err)
		}
	}
	finish := func(o backend.WorkOutcome) {
		t.Helper()
		o.Item, o.Worker = "i", "w"
		if verdicts, err := b.Finish(ctx, []backend.WorkOutcome{o}); err != nil || verdicts[0].Err != nil {
			t.Fatalf("got %v and error %v", verdicts, err)
		}
	}
	if fresh, err := b.Enqueue(ctx, []onto.WorkItem{{ID: "i", Key: "k"}, {ID: "j", Key: "k"}}); err != nil || fmt.Sprint(fresh) != "[true false]" {
		t.Fatalf("got %v and error %v", fresh, err)
	}
	check("pending after 0 tries:")
	take(0)
	check("in_progress after 1 tries: running")
	now = now.Add(time.Minute)
	take(1)
	check("in_progress after 2 tries: lost running")
	finish(backend.WorkOutcome{Attempt: 2, Do: backend.WorkReturn})
	check("pending after 1 tries: lost returned")
	take(0)
	finish(backend.WorkOutcome{Attempt: 3, Do: backend.WorkFail})
	check("failed after 2 tries: lost returned failed")
	if n, err := b.Revise(ctx, &backend.WorkRevision{Do: backend.ReviseRetry}); n != 1 || err != nil {
		t.Fatalf("got %d and error %v", n, err)
	}
	check("pending after 0 tries: lost returned failed revised")
	take(0)
	finish(backend.WorkOutcome{Attempt: 5, Do: backend.WorkComplete})
	check("completed after 1 tries: lost returned failed revised completed")
}
