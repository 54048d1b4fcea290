package backendtest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/effort"
)

func manyStories() []workTale {
	return []workTale{
		{"many items are taken and finished at once", manyAtOnce},
		{"many leases end at once", manyLost},
	}
}

// mixedPages makes items of three sources and some priorities.
func mixedPages(n int) []onto.WorkItem {
	var list []onto.WorkItem
	for i := range n {
		item := pageOf(i+1, []string{"docs", "news", "blog"}[i%3])
		item.Priority = 100 + i%7
		list = append(list, item)
	}
	return list
}

func manyAtOnce(s *workStory) {
	items := mixedPages(600)
	s.enqueue(items...)
	if fresh, err := s.Enqueue(s.ctx, mixedPages(601)); err != nil || slices.Index(fresh, true) != 600 {
		s.Fatalf("got %d new at %d and error %v, want the last one", len(fresh), slices.Index(fresh, true), err)
	}
	slices.SortStableFunc(items, func(a, b onto.WorkItem) int { return cmp.Compare(a.Priority, b.Priority) })
	taken := s.take(wanted(400), itemNames(items[:400]))
	list := make([]backend.WorkOutcome, 0, 450)
	var want []string
	for n, i := range taken { // most are completed; some are not held, fail, or come twice
		o, verdict := doing(backend.WorkComplete, i), "done"
		switch {
		case n%50 == 7:
			o.Worker, verdict = "two", "error "+string(onto.LeaseExpired)
		case n%50 == 20:
			o.Attempt, verdict = 2, "error "+string(onto.LeaseExpired)
		case n%60 == 31:
			o = doing(backend.WorkFail, i)
		case n%60 == 45:
			list, want = append(list, o), append(want, verdict)
			verdict = "error " + string(onto.LeaseExpired)
		}
		list, want = append(list, o), append(want, verdict)
	}
	verdicts, err := s.Finish(s.ctx, list)
	s.must(err)
	s.wantLines("verdicts", shown(verdicts, func(v backend.WorkVerdict) string { return outcome("done", v.Err) }), want)
	counts := map[onto.WorkStatus]int64{}
	stats, err := s.WorkStats(s.ctx, &backend.WorkQuery{})
	s.must(err)
	for _, c := range stats {
		counts[c.Status] += c.Items
	}
	s.want("counts", fmt.Sprint(counts), "map[completed:377 failed:7 in_progress:16 pending:201]")
	s.revise(revising(backend.ReviseRecrawl, backend.WorkQuery{}), 384)
	s.explained()
	again := s.asked(wanted(999)).Items
	if len(again) != 585 || again[0].ID != taken[0].ID {
		s.Errorf("got %d items from %s on, want 585 from %s on", len(again), itemName(again[0].ID), itemName(taken[0].ID))
	}
}

// manyLost has more leases end than one transaction may like to deal with.
func manyLost(s *workStory) {
	n := effort.Count(s.T, 2100) * 10
	for part := range slices.Chunk(mixedPages(n), 3000) {
		s.enqueue(part...)
	}
	for range 10 {
		if got := s.asked(wanted(n / 10)); len(got.Items) != n/10 {
			s.Fatalf("got %d items, want %d", len(got.Items), n/10)
		}
	}
	s.enqueue(urgentPage(n+1, 1), urgentPage(n+2, 1))
	r := wanted(1)
	r.Lease = time.Hour
	held := s.take(r, itemName(itemID(n+1)))[0]
	s.move(time.Minute)
	r = limited(2, backend.WorkLimit{Concurrent: 1})
	r.Finish = []backend.WorkOutcome{doing(backend.WorkComplete, held)}
	got := s.also().asked(r)
	s.want("verdicts", showVerdicts(got.Verdicts), "done")
	s.want("taken", itemNames(got.Items), itemNames([]onto.WorkItem{page(n + 2), page(8)})) // the first ones of docs and of news
	if got.Lost != n {
		s.Errorf("got %d lost, want %d", got.Lost, n)
	}
	s.revise(revising(backend.ReviseSkip, backend.WorkQuery{}), int64(n)-1)
}
