package upkeep_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// enqueue adds items of a source.
func (s *shop) enqueue(source string, items int) {
	s.t.Helper()
	for range items {
		s.n++
		id := fmt.Sprintf("00000000-0000-4000-8000-%012d", s.n)
		i := onto.WorkItem{ID: id, System: "http", Source: source, Type: "page", Resource: id, Key: "http:" + source + ":page:" + id, URI: "https://example.org/", Method: "GET", Priority: 100}
		if _, err := s.Enqueue(s.t.Context(), []onto.WorkItem{i}); err != nil {
			s.t.Fatal(err)
		}
	}
}

// take takes items for a worker, under a lease of a minute.
func (s *shop) take(worker string, items int) []onto.WorkItem {
	s.t.Helper()
	r, err := s.Dequeue(s.t.Context(), &backend.WorkRequest{Worker: worker, Limit: items, Lease: time.Minute})
	if err != nil || len(r.Items) != items {
		s.t.Fatalf("took %d items of %d: %v", len(r.Items), items, err)
	}
	return r.Items
}

func (s *shop) finish(do backend.WorkDo, items ...onto.WorkItem) {
	s.t.Helper()
	for _, i := range items {
		o := backend.WorkOutcome{Item: i.ID, Attempt: i.Attempt, Worker: i.Owner, Do: do}
		if do == backend.WorkFail {
			o.Error, o.Class = "connection refused", "network"
		}
		verdicts, err := s.Finish(s.t.Context(), []backend.WorkOutcome{o})
		if err != nil || verdicts[0].Err != nil {
			s.t.Fatal(err, verdicts)
		}
	}
}

// Items of workers that are gone are reported, once their leases ended long ago, until a
// run takes them over.
func TestHeldWork(t *testing.T) {
	s := openBus(t)
	s.enqueue("docs", 3)
	s.take("w1", 2)
	s.take("w2", 1)
	s.want("under way", false)
	s.now = s.now.Add(5 * time.Minute)
	s.want("leases that ended just now", false)
	s.now = s.now.Add(time.Hour)
	held := [3]string{"work_held", "3 work items are in progress by 2 workers that are gone: the first was to be done by 2026-02-10T12:01:00", "work list --status in_progress"}
	s.want("dead workers", false, held)
	s.want("dead workers, quick", true, held)
	s.finish(backend.WorkComplete, s.take("w3", 3)...)
	s.want("taken over", false)
}

// Sources that only fail are reported until one of their items is completed.
func TestSourcesThatOnlyFail(t *testing.T) {
	s := openBus(t)
	s.enqueue("docs", 2)
	s.finish(backend.WorkFail, s.take("w", 2)...)
	s.enqueue("my site", 1)
	s.finish(backend.WorkFail, s.take("w", 1)...)
	s.enqueue("wiki", 2)
	s.finish(backend.WorkFail, s.take("w", 1)...)
	s.finish(backend.WorkComplete, s.take("w", 1)...)
	s.enqueue("new", 1)
	docs := [3]string{"work_only_fails", `source "docs" of system "http" has 2 failed items and none that is completed, with the error "connection refused"`, "work list --status failed --source docs"}
	odd := [3]string{"work_only_fails", `source "my site"`, "work list --status failed"} // no name for a command line
	s.want("two sources", false, docs, odd)
	s.want("two sources, quick", true)
	if _, err := s.Revise(t.Context(), &backend.WorkRevision{Items: backend.WorkQuery{Source: "docs"}, Do: backend.ReviseRetry}); err != nil {
		t.Fatal(err)
	}
	s.want("one is tried again", false, odd)
	s.finish(backend.WorkComplete, s.take("w", 1)...)
	s.finish(backend.WorkFail, s.take("w", 1)...)
	s.want("one works now", false, odd)
}
