package backendtest

import (
	"fmt"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func finishStories() []workTale {
	return []workTale{
		{"an outcome ends an attempt and decides an item", finishEach},
		{"a retry comes after its delay", finishRetry},
		{"a returned item was not tried", finishReturn},
		{"an extended lease ends later, and that is all", finishExtend},
		{"an item is told from another attempt by number and worker", finishFence},
		{"an item is held until it returns, also after its lease", finishHeld},
		{"outcomes are applied one after the other", finishList},
		{"outcomes come before leases end and items are taken", finishFirst},
		{"metadata is replaced", finishMetadata},
		{"what was discovered is enqueued with the outcome", finishDiscovered},
		{"nothing is discovered by an attempt that was lost", finishDiscoveredStale},
	}
}

func finishEach(s *workStory) {
	s.enqueue(pageRange(1, 5)...)
	i := s.take(wanted(9), "i1 i2 i3 i4 i5")
	s.move(time.Second)
	for n, do := range []backend.WorkDo{backend.WorkComplete, backend.WorkFail, backend.WorkRetry, backend.WorkSkip, backend.WorkReturn} {
		o := doing(do, i[n])
		o.Delay, o.Class, o.Diagnostic = 1500, "status", fmt.Appendf(nil, `{"code":%d}`, n)
		s.finish(o)
	}
	var fates, attempts []string
	for n := range 5 {
		fates = append(fates, showFate(s.item(n+1).WorkItem)+", not before "+showTime(s.item(n+1).NotBefore))
		attempts = append(attempts, shown(s.item(n+1).Attempts, showAttempt)...)
	}
	end := func(n int, status, err string) string {
		return fmt.Sprintf(`i%d %s, created 12:00:00.00000%dZ, updated 12:00:01.000000Z, error %q, owner "" until -, not before `, n, status, n-1, err)
	}
	s.wantLines("items", fates, []string{
		end(1, "completed, attempt 1, revised 0", "") + "-", end(2, "failed, attempt 1, revised 0", "it failed") + "-",
		end(3, "pending, attempt 1, revised 0", "it failed") + "12:00:01.000001Z", end(4, "skipped, attempt 1, revised 0", "it failed") + "-",
		end(5, "pending, attempt 1, revised 1", "") + "-",
	})
	begin := `by "one" in run "", 12:00:00.000000Z to 12:00:01.000000Z, retry after `
	s.wantLines("attempts", attempts, []string{
		`i1:1 completed ` + begin + `-, error "", class "status", {"code":0}`,
		`i2:1 failed ` + begin + `-, error "it failed", class "status", {"code":1}`,
		`i3:1 failed ` + begin + `12:00:01.000001Z, error "it failed", class "status", {"code":2}`,
		`i4:1 skipped ` + begin + `-, error "it failed", class "status", {"code":3}`,
		`i5:1 returned ` + begin + `-, error "", class "status", {"code":4}`,
	})
	for n := range i {
		s.stale(i[n])
	}
	s.also().stale(i[0])
}

func finishRetry(s *workStory) {
	s.enqueue(page(1), page(2))
	i := s.take(wanted(1), "i1")[0]
	for n := 1; n <= 3; n++ {
		o := doing(backend.WorkRetry, i)
		o.Delay, o.Error = time.Duration(n)*time.Second, fmt.Sprint("failure ", n)
		s.finish(o)
		s.move(o.Delay - time.Microsecond)
		s.want("the error", s.item(1).Error, o.Error)
		s.take(limited(9, backend.WorkLimit{Concurrent: n % 2}), map[bool]string{true: "i2"}[n == 1])
		s.move(time.Microsecond)
		i = s.take(wanted(9), "i1")[0]
		if i.Attempt != n+1 || i.Tries() != n+1 || i.Error != o.Error {
			s.Errorf("got %s, want attempt %d", showFate(i), n+1)
		}
	}
	s.complete(i)
	s.want("the error", s.item(1).Error, "")
	s.want("the attempt", showTime(s.last(1).RetryAfter), "-")
}

func finishReturn(s *workStory) {
	s.enqueue(page(1))
	i := s.take(wanted(1), "i1")[0]
	s.finish(doing(backend.WorkRetry, i))
	for n := range 3 {
		i = s.take(wanted(1), "i1")[0]
		if i.Attempt != n+2 || i.Tries() != 2 {
			s.Errorf("got %s after %d tries, want attempt %d after 2", showFate(i), i.Tries(), n+2)
		}
		s.finish(doing(backend.WorkReturn, i))
		s.want("the error", s.item(1).Error, "it failed") // of the last failure
	}
	if i := s.item(1); i.Tries() != 1 {
		s.Errorf("got %d tries, want 1", i.Tries())
	}
}

func finishExtend(s *workStory) {
	s.enqueue(page(1))
	i := s.take(wanted(1), "i1")[0]
	s.move(50 * time.Second)
	o := doing(backend.WorkExtend, i)
	o.Lease, o.Metadata, o.Error, o.Class = 30*time.Second+999, []byte(`{"no":1}`), "no", "no"
	s.finish(o)
	want := i
	want.Until = s.now().Add(30 * time.Second)
	s.want("the item", showItem(s.item(1).WorkItem), showItem(want))
	s.want("the attempt", showAttempt(s.last(1)), `i1:1 running by "one" in run "", 12:00:00.000000Z to -, retry after -, error "", class "", -`)
	s.move(30*time.Second - time.Microsecond)
	s.take(wanted(9), "")
	o.Lease = time.Second
	s.finish(o) // it can be shorter as well
	s.move(time.Second)
	s.take(wanted(9), "i1")
}

func finishFence(s *workStory) {
	s.enqueue(page(1), page(2))
	i := s.take(wanted(1), "i1")[0]
	for _, spoil := range []func(*onto.WorkItem){
		func(i *onto.WorkItem) { i.Owner = "two" },
		func(i *onto.WorkItem) { i.Owner = "One" },
		func(i *onto.WorkItem) { i.Owner = "" },
		func(i *onto.WorkItem) { i.Attempt++ },
		func(i *onto.WorkItem) { i.Attempt-- },
		func(i *onto.WorkItem) { i.ID = itemID(2) },
		func(i *onto.WorkItem) { i.ID = itemID(3) },
	} {
		s.stale(edited(i, spoil))
	}
	s.finish(doing(backend.WorkReturn, i))
	again := s.take(wanted(1), "i1")[0] // by the same worker
	s.stale(i)
	s.complete(again)
	s.stale(again)
	s.stale(edited(s.item(1).WorkItem, func(i *onto.WorkItem) { i.Owner = "" }))
}

func finishHeld(s *workStory) {
	s.enqueue(page(1), page(2), page(3))
	i := s.take(wanted(9), "i1 i2 i3")
	s.move(time.Hour)
	s.also().complete(i[0])
	s.finish(doing(backend.WorkExtend, i[1]))
	s.take(wanted(0), "")
	s.stale(i[2]) // it has returned
	s.complete(i[1])
	s.want("items", s.items(backend.WorkQuery{}), "i1 completed, i2 completed, i3 pending")
}

func finishList(s *workStory) {
	s.enqueue(pageRange(1, 3)...)
	i := s.take(wanted(9), "i1 i2 i3")
	wrong := doing(backend.WorkComplete, i[1])
	wrong.Worker = "two"
	list := []backend.WorkOutcome{
		doing(backend.WorkExtend, i[0]), doing(backend.WorkComplete, i[0]), doing(backend.WorkFail, i[0]), wrong,
		doing(backend.WorkSkip, i[1]), doing(backend.WorkReturn, i[2]), doing(backend.WorkComplete, i[2]),
	}
	verdicts, err := s.Finish(s.ctx, list)
	s.must(err)
	lost := "error " + string(onto.LeaseExpired)
	s.want("verdicts", showVerdicts(verdicts), strings.Join([]string{"done", "done", lost, lost, "done", "done", lost}, ", "))
	s.want("items", s.items(backend.WorkQuery{}), "i1 completed, i2 skipped, i3 pending")
	if verdicts, err := s.Finish(s.ctx, nil); err != nil || len(verdicts) != 0 {
		s.Errorf("of nothing: got %v and error %v", verdicts, err)
	}
}

func finishFirst(s *workStory) {
	s.enqueue(pageRange(1, 6)...)
	one := backend.WorkLimit{Concurrent: 4}
	i := s.take(limited(9, one), "i1 i2 i3 i4")
	s.move(time.Minute)
	r := limited(2, one)
	r.Finish = []backend.WorkOutcome{
		doing(backend.WorkComplete, i[0]), doing(backend.WorkReturn, i[1]), doing(backend.WorkComplete, i[0]), doing(backend.WorkExtend, i[3]),
	}
	r.Finish[0].Discovered = []onto.WorkItem{urgentPage(7, 1), page(2)}
	got := s.asked(r)
	s.want("verdicts", showVerdicts(got.Verdicts), "done [true false], done, error "+string(onto.LeaseExpired)+", done")
	s.want("taken", itemNames(got.Items), "i7 i2")
	if got.Lost != 1 {
		s.Errorf("got %d lost, want 1", got.Lost)
	}
	s.want("items", s.items(backend.WorkQuery{}), "i7 in_progress, i1 completed, i2 in_progress, i3 pending, i4 in_progress, i5 pending, i6 pending")
	if w := s.item(2); w.Tries() != 1 || w.Attempts[0].Status != onto.AttemptReturned {
		s.Errorf("got %s, want one that was returned first", showWork(w))
	}
	r.Limit, r.Finish = 0, []backend.WorkOutcome{doing(backend.WorkFail, got.Items[0])}
	s.take(r, "")
	s.want("items", s.items(backend.WorkQuery{Limit: 1}), "i7 failed")
}

func finishMetadata(s *workStory) {
	s.enqueue(edited(page(1), func(i *onto.WorkItem) { i.Metadata = []byte(`{"n":0}`) }))
	for n, do := range []backend.WorkDo{backend.WorkRetry, backend.WorkReturn, backend.WorkFail, backend.WorkSkip, backend.WorkComplete} {
		i := s.take(wanted(1), "i1")[0]
		o := doing(do, i)
		o.Metadata = fmt.Appendf(nil, `{"n":%d}`, n+1)
		s.finish(o)
		s.want("metadata after "+showDo(do), showRaw(s.item(1).Metadata), fmt.Sprintf(`{"n":%d}`, n+1))
		if n > 1 {
			s.revise(revising(backend.ReviseRecrawl, backend.WorkQuery{}), 1)
		}
	}
	s.complete(s.take(wanted(1), "i1")...)
	s.want("metadata that was left", showRaw(s.item(1).Metadata), `{"n":5}`)
}

func finishDiscovered(s *workStory) {
	s.enqueue(page(1), page(2))
	i := s.take(wanted(9), "i1 i2")
	s.move(time.Second)
	child := func(n, of, depth int) onto.WorkItem {
		return edited(urgentPage(n, 50), func(c *onto.WorkItem) { c.Parent, c.Depth, c.Run = itemID(of), depth, "r1" })
	}
	known := edited(child(5, 1, 1), func(c *onto.WorkItem) { c.Key = page(2).Key })
	done, skipped := doing(backend.WorkComplete, i[0]), doing(backend.WorkSkip, i[1])
	done.Discovered = []onto.WorkItem{child(3, 1, 1), child(4, 1, 1), known}
	skipped.Discovered = []onto.WorkItem{edited(child(6, 2, 1), func(c *onto.WorkItem) { c.Key = child(4, 1, 1).Key }), child(7, 2, 1)}
	verdicts := s.finish(done, skipped)
	s.want("fresh", fmt.Sprint(verdicts[0].Fresh, verdicts[1].Fresh), "[true true false] [false true]")
	s.want("items", s.items(backend.WorkQuery{}), "i3 pending, i4 pending, i7 pending, i1 completed, i2 skipped")
	s.want("a child", showItem(s.item(7).WorkItem), `i7 http/docs/page//7, key "http:docs:page:/7", GET "https://example.org/7", headers -, body "", metadata -, `+
		`priority 50, run "r1", parent i2, depth 1, not before -; pending, attempt 0, revised 0, created 12:00:01.000002Z, updated 12:00:01.000002Z, error "", owner "" until -`)
	s.want("children", s.items(backend.WorkQuery{Parent: itemID(1)}), "i3 pending, i4 pending")
	s.take(wanted(9), "i3 i4 i7")
}

func finishDiscoveredStale(s *workStory) {
	s.enqueue(page(1), page(2))
	i := s.take(wanted(9), "i1 i2")
	s.move(time.Minute)
	again := s.take(wanted(1), "i1")[0]
	late, right := doing(backend.WorkComplete, i[0]), doing(backend.WorkComplete, again)
	late.Discovered, right.Discovered = []onto.WorkItem{page(3), page(4)}, []onto.WorkItem{page(4)}
	verdicts, err := s.Finish(s.ctx, []backend.WorkOutcome{late, right})
	s.must(err)
	if onto.CodeOf(verdicts[0].Err) != onto.LeaseExpired || verdicts[1].Err != nil || fmt.Sprint(verdicts[1].Fresh) != "[true]" {
		s.Errorf("got verdicts %v", verdicts)
	}
	s.want("items", s.items(backend.WorkQuery{}), "i1 completed, i2 pending, i4 pending")
}
