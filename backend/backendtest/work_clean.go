package backendtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func cleanWorkStories() []workTale {
	return []workTale{
		{"cleaning removes items that are over and old", cleanItems},
		{"cleaning keeps the newest items", cleanItemsKeep},
		{"cleaning leaves what is pending or in progress alone", cleanItemsOpen},
		{"cleaning removes the first attempts, and the others explain their item", cleanAttempts},
		{"cleaning keeps the newest attempts at each item", cleanAttemptsKeep},
		{"cleaning removes runs that nothing belongs to", cleanRuns},
		{"cleaning of work is planned first", cleanWorkPlanned},
		{"a removed item can be enqueued again", cleanKeys},
		{"many items are removed", cleanMany},
		{"a cleaning that was interrupted is repeated", cleanInterrupted},
		{"the newest time is also that of an attempt", cleanNewest},
	}
}

// forgetAttempts notes items of which attempts were removed as if they had been imported as
// they are now.
func forgetAttempts(ctx context.Context, q backend.WorkQueue, imports map[string]backend.WorkState) {
	for w, err := range q.WorkItems(ctx, &backend.WorkQuery{Attempts: true}) {
		if err == nil && w.Status != onto.WorkInProgress && len(w.Attempts) < w.Attempt {
			imports[w.ID] = w
		}
	}
}

func showCleaned(p backend.WorkCleanPlan) string {
	text := fmt.Sprintf("%d items, %d attempts, %d runs", p.Items, p.Attempts, p.Runs)
	for _, s := range p.Sources {
		text += fmt.Sprintf("; %s/%s %s: %d and %d", s.System, s.Source, s.Status, s.Items, s.Attempts)
	}
	return text
}

// clean cleans as is planned, and compares what was removed. Attempts explain what is left.
func (s *workStory) clean(c backend.WorkCleaning, want string) {
	s.Helper()
	before := s.state()
	plan, err := s.CleanWork(s.ctx, &c, nil)
	s.must(err)
	s.want("planned", showCleaned(plan), want)
	s.wantLines("after the plan", s.state(), before)
	c.Apply = true
	last, total := int64(0), plan.Items+plan.Attempts+plan.Runs
	plan, err = s.also().CleanWork(s.ctx, &c, func(done, of int64) {
		if done < last || done > of || of != total {
			s.Errorf("progress: got %d of %d after %d, want it of %d", done, of, last, total)
		}
		last = done
	})
	s.must(err)
	s.want("removed", showCleaned(plan), want)
	if last != total {
		s.Errorf("progress ended at %d, want %d", last, total)
	}
	forgetAttempts(s.ctx, s.WorkQueue, s.imports)
	s.explained()
	again, err := s.CleanWork(s.ctx, &c, nil)
	s.must(err)
	if again.Items+again.Attempts+again.Runs > 0 {
		s.Errorf("removed once more: %s", showCleaned(again))
	}
}

// over ends items one after the other, with an hour between them.
func (s *workStory) over(items ...onto.WorkItem) {
	s.Helper()
	for n, i := range items {
		s.finish(doing([]backend.WorkDo{backend.WorkComplete, backend.WorkFail, backend.WorkSkip}[n%3], i))
		s.move(time.Minute)
	}
}

func cleanItems(s *workStory) {
	s.enqueue(append(pageRange(1, 3), pageOf(4, "news"), page(5))...)
	s.over(s.long(9, "i1 i2 i3 i4 i5")...)
	s.clean(backend.WorkCleaning{Items: true, Before: s.item(1).Updated}, "0 items, 0 attempts, 0 runs")
	s.clean(backend.WorkCleaning{Items: true, Before: s.item(2).Updated.Add(1)}, "2 items, 2 attempts, 0 runs; http/docs completed: 1 and 1; http/docs failed: 1 and 1")
	s.want("items", s.items(backend.WorkQuery{}), "i3 skipped, i4 completed, i5 failed")
	s.clean(backend.WorkCleaning{Items: true, Of: backend.WorkQuery{Source: "news"}}, "1 items, 1 attempts, 0 runs; http/news completed: 1 and 1")
	s.clean(backend.WorkCleaning{Items: true, Of: backend.WorkQuery{Status: []onto.WorkStatus{onto.WorkFailed, onto.WorkPending}}}, "1 items, 1 attempts, 0 runs; http/docs failed: 1 and 1")
	s.want("items", s.items(backend.WorkQuery{}), "i3 skipped")
	counts, err := s.WorkStats(s.ctx, &backend.WorkQuery{})
	s.must(err)
	s.want("counts", showAll(counts, showWorkCount), `http/docs in run "": 1 skipped`)
}

// long takes items for an hour.
func (s *workStory) long(limit int, want string) []onto.WorkItem {
	s.Helper()
	r := wanted(limit)
	r.Lease = time.Hour
	return s.take(r, want)
}

func cleanItemsKeep(s *workStory) {
	s.enqueue(pageRange(1, 6)...)
	i := s.long(9, "i1 i2 i3 i4 i5 i6")
	s.over(i[5], i[4], i[3], i[2], i[1])
	s.clean(backend.WorkCleaning{Items: true, Keep: 5}, "0 items, 0 attempts, 0 runs")
	s.clean(backend.WorkCleaning{Items: true, Keep: 9, Before: s.now()}, "0 items, 0 attempts, 0 runs")
	s.clean(backend.WorkCleaning{Items: true, Keep: 4}, "1 items, 1 attempts, 0 runs; http/docs completed: 1 and 1")
	s.want("items", s.items(backend.WorkQuery{}), "i1 in_progress, i2 failed, i3 completed, i4 skipped, i5 failed")
	s.clean(backend.WorkCleaning{Items: true, Keep: 1, Before: s.item(3).Updated}, "2 items, 2 attempts, 0 runs; http/docs failed: 1 and 1; http/docs skipped: 1 and 1")
	s.clean(backend.WorkCleaning{Items: true, Keep: 1, Of: backend.WorkQuery{Status: []onto.WorkStatus{onto.WorkFailed}}}, "0 items, 0 attempts, 0 runs")
	s.want("items", s.items(backend.WorkQuery{}), "i1 in_progress, i2 failed, i3 completed")
}

func cleanItemsOpen(s *workStory) {
	s.allFates() // of each status, i1 in progress
	s.enqueue(page(6), s.latePage(7, time.Hour))
	open := s.items(backend.WorkQuery{Status: []onto.WorkStatus{onto.WorkPending, onto.WorkInProgress}})
	s.move(1000 * time.Hour)
	all := backend.WorkCleaning{Items: true, Attempts: true, Runs: true}
	plan, err := s.CleanWork(s.ctx, &all, nil)
	s.must(err)
	s.clean(all, showCleaned(plan))
	s.want("items", s.items(backend.WorkQuery{}), open)
}

// tried makes an item be tried and then completed at the last of some attempts, with an hour
// between these.
func (s *workStory) tried(n, times int) {
	s.Helper()
	s.enqueue(page(n))
	for left := times; left > 0; left-- {
		i := s.take(wanted(1), fmt.Sprint("i", n))[0]
		do := []backend.WorkDo{backend.WorkComplete, backend.WorkRetry, backend.WorkReturn}[min(left-1, 1+left%2)]
		s.finish(doing(do, i))
		s.move(time.Hour)
	}
}

func cleanAttempts(s *workStory) {
	s.tried(1, 6)
	third := s.item(1).Attempts[2]
	s.clean(backend.WorkCleaning{Attempts: true, Before: third.Finished}, "0 items, 2 attempts, 0 runs; http/docs completed: 0 and 2")
	w := s.item(1)
	s.want("attempts", fmt.Sprint(len(w.Attempts), w.Attempts[0].Number, w.Attempt, w.Revised), "4 3 6 2")
	s.revise(revising(backend.ReviseRecrawl, backend.WorkQuery{}), 1)
	s.clean(backend.WorkCleaning{Attempts: true}, "0 items, 0 attempts, 0 runs") // it is pending
	s.over(s.take(wanted(1), "i1")...)
	s.clean(backend.WorkCleaning{Attempts: true}, "0 items, 5 attempts, 0 runs; http/docs completed: 0 and 5")
	s.want("the attempt", showAttempt(s.last(1)), `i1:8 completed by "one" in run "", 18:00:00.000000Z to 18:00:00.000000Z, retry after -, error "", class "", -`)
	s.revise(revising(backend.ReviseRecrawl, backend.WorkQuery{}), 1)
	s.over(s.take(wanted(1), "i1")...)
	s.want("attempts", fmt.Sprint(len(s.item(1).Attempts), s.item(1).Attempt), "3 10")
	s.clean(backend.WorkCleaning{Attempts: true, Items: true}, "1 items, 3 attempts, 0 runs; http/docs completed: 1 and 3")
}

func cleanAttemptsKeep(s *workStory) {
	s.tried(1, 4)
	s.tried(2, 2)
	s.bringIn(importedItem(page(3), 1, s.now()), importedItem(page(4), 0, s.now())) // without the first attempt, and without any
	s.clean(backend.WorkCleaning{Attempts: true, Keep: 2}, "0 items, 2 attempts, 0 runs; http/docs completed: 0 and 2")
	s.clean(backend.WorkCleaning{Attempts: true, Keep: 1, Before: s.item(2).Attempts[0].Finished.Add(time.Microsecond)},
		"0 items, 2 attempts, 0 runs; http/docs completed: 0 and 2")
	s.clean(backend.WorkCleaning{Attempts: true, Keep: 1}, "0 items, 1 attempts, 0 runs; http/docs failed: 0 and 1")
	var left []string
	for n := range 4 {
		left = append(left, fmt.Sprint(len(s.item(n+1).Attempts)))
	}
	s.wantLines("attempts", left, []string{"1", "1", "1", "0"})
}

func cleanRuns(s *workStory) {
	save := func(id string, ended bool) {
		r := onto.WorkRun{ID: id, Started: s.now(), Status: "running"}
		if s.move(time.Minute); ended {
			r.Finished, r.Status = s.now(), "finished"
		}
		s.must(s.SaveRun(s.ctx, r, true))
	}
	for _, id := range []string{"r1", "r2", "r3", "r4", "r5", "r6", "r7"} {
		save(id, id != "r6")
	}
	s.enqueue(pageIn(1, "r1"), pageIn(2, "r3"), page(3), page(4),
		edited(s.latePage(5, time.Hour), func(i *onto.WorkItem) { i.Run = "r4" }))
	s.over(s.take(wanted(1), "i1")...)
	r := wanted(1)
	r.Run = "r5"
	s.take(r, "i2") // belongs to r3, and the attempt to r5
	runs, err := s.WorkRuns(s.ctx)
	s.must(err)
	s.clean(backend.WorkCleaning{Runs: true, Before: runs[1].Finished}, "0 items, 0 attempts, 1 runs")
	s.clean(backend.WorkCleaning{Runs: true, Keep: 2, Of: backend.WorkQuery{Run: "none"}}, "0 items, 0 attempts, 1 runs")
	s.clean(backend.WorkCleaning{Runs: true}, "0 items, 0 attempts, 2 runs") // r6 was killed
	runs, err = s.WorkRuns(s.ctx)
	s.must(err)
	s.want("runs", showAll(runs, func(r onto.WorkRun) string { return r.ID }), "r3\n      r4\n      r5")
	s.move(time.Hour)
	s.complete(s.long(9, "i2 i3 i4 i5")...)
	s.clean(backend.WorkCleaning{Runs: true}, "0 items, 0 attempts, 3 runs")
}

func cleanWorkPlanned(s *workStory) {
	s.tried(1, 3)
	s.must(s.SaveRun(s.ctx, onto.WorkRun{ID: "r1", Started: s.now(), Finished: s.now(), Status: "finished"}, true))
	s.move(time.Hour)
	s.clean(backend.WorkCleaning{}, "0 items, 0 attempts, 0 runs")
	s.clean(backend.WorkCleaning{Items: true, Attempts: true, Runs: true, Before: s.now()}, "1 items, 3 attempts, 1 runs; http/docs completed: 1 and 3")
	if left := s.state(); len(left) > 0 {
		s.Errorf("left: %v", left)
	}
}

func cleanKeys(s *workStory) {
	parent := page(1)
	s.enqueue(parent)
	o := doing(backend.WorkComplete, s.take(wanted(1), "i1")[0])
	child := edited(page(2), func(i *onto.WorkItem) { i.Parent = parent.ID })
	o.Discovered = []onto.WorkItem{child}
	s.finish(o)
	if fresh, err := s.Enqueue(s.ctx, []onto.WorkItem{page(1)}); err != nil || fresh[0] {
		s.Fatalf("got %v and error %v, want that it is known", fresh, err)
	}
	s.clean(backend.WorkCleaning{Items: true}, "1 items, 1 attempts, 0 runs; http/docs completed: 1 and 1")
	s.want("what was discovered from it", s.items(backend.WorkQuery{Parent: parent.ID}), "i2 pending")
	s.move(time.Second)
	s.enqueue(page(1))
	s.take(wanted(9), "i2 i1")
	s.want("the item", fmt.Sprint(s.item(1).Attempt), "1")
}

func cleanMany(s *workStory) {
	const many = 1200
	s.enqueue(pageRange(1, many)...)
	for left := many; left > 0; {
		got := s.asked(wanted(500)).Items
		s.complete(got...)
		left -= len(got)
	}
	s.enqueue(page(many + 1))
	s.clean(backend.WorkCleaning{Items: true, Keep: 7}, fmt.Sprintf("%d items, %[1]d attempts, 0 runs; http/docs completed: %[1]d and %[1]d", many-7))
	counts, err := s.WorkStats(s.ctx, &backend.WorkQuery{})
	s.must(err)
	s.want("counts", showAll(counts, showWorkCount), "http/docs in run \"\": 7 completed\n      http/docs in run \"\": 1 pending")
}

func cleanNewest(s *workStory) {
	s.enqueue(page(1))
	s.move(time.Hour)
	s.take(wanted(1), "i1")
	d, ok := backend.As[backend.Dated](s.also().Backend)
	if !ok {
		s.Fatal("a work queue does not tell which times are stored")
	}
	at, err := d.Newest(s.ctx)
	s.must(err)
	s.want("newest", showTime(at), "13:00:00.000000Z")
}

func cleanInterrupted(s *workStory) {
	const many = 1200
	var items []onto.WorkItem
	s.enqueue(pageRange(1, many)...)
	for len(items) < many {
		got := s.asked(wanted(500)).Items
		s.complete(got...)
		items = append(items, got...)
	}
	ctx, cancel := context.WithCancel(s.ctx)
	c := &backend.WorkCleaning{Items: true, Apply: true}
	plan, err := s.CleanWork(ctx, c, func(int64, int64) { cancel() })
	if err != nil && !errors.Is(err, context.Canceled) {
		s.Fatal(err)
	}
	counts, stats := s.WorkStats(s.ctx, &backend.WorkQuery{})
	s.must(stats)
	left := int64(0)
	for _, n := range counts {
		left += n.Items
	}
	if plan.Items+left != many || plan.Items == 0 {
		s.Errorf("%d items were removed and %d are left, of %d", plan.Items, left, many)
	}
	again, err := s.CleanWork(s.ctx, c, nil)
	if s.must(err); again.Items != left {
		s.Errorf("removed %d of %d", again.Items, left)
	}
}
