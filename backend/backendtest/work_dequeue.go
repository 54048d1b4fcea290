package backendtest

import (
	"fmt"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func dequeueStories() []workTale {
	return []workTale{
		{"an item that is taken says by whom", takeFields},
		{"an item is taken once", takeOnce},
		{"workers get the systems and the run that they ask for", takeOnly},
		{"an item is not taken before its time", takeLate},
		{"a time that has come has come", takeDue},
		{"an attempt is lost when its lease ends", takeLost},
		{"a lease of any item ends, whatever is asked for", takeLostElsewhere},
		{"workers are told when to come back", takeNext},
		{"an item that was tried too often is given up", takeWorn},
		{"an item whose last attempts were lost is given up", takeWornLost},
		{"what is given up uses no limit of its source", takeWornLimits},
	}
}

func takeFields(s *workStory) {
	s.enqueue(edited(pageIn(1, "r1"), func(i *onto.WorkItem) { i.Metadata = []byte(`{"n":1}`) }))
	s.move(time.Second + 999)
	r := wanted(9)
	r.Run, r.Lease = "r2", 1500*time.Microsecond+999
	got := s.asked(r)
	s.want("taken", showTaken(got), "0 lost, next 12:00:01.001500Z\n\t"+
		`i1 http/docs/page//1, key "http:docs:page:/1", GET "https://example.org/1", headers -, body "", metadata {"n":1}, priority 100, `+
		`run "r1", parent -, depth 0, not before -; in_progress, attempt 1, revised 0, created 12:00:00.000000Z, updated 12:00:01.000000Z, `+
		`error "", owner "one" until 12:00:01.001500Z`)
	s.want("the item", showWork(s.item(1)), showItem(got.Items[0])+"\n\t"+
		`i1:1 running by "one" in run "r2", 12:00:01.000000Z to -, retry after -, error "", class "", -`)
}

func takeOnce(s *workStory) {
	s.enqueue(pageRange(1, 6)...)
	s.take(wanted(0), "")
	s.take(wanted(2), "i1 i2")
	two := wanted(2)
	two.Worker = "two"
	s.also().take(two, "i3 i4")
	s.reopen()
	s = s.with(s.story)
	s.take(wanted(9), "i5 i6")
	s.take(wanted(9), "")
	s.enqueue(page(7))
	s.take(two, "i7")
}

func takeOnly(s *workStory) {
	feed := func(n int, run string) onto.WorkItem {
		return edited(pageIn(n, run), func(i *onto.WorkItem) { i.System, i.Key = "feed", "feed:"+i.Key })
	}
	s.enqueue(pageIn(1, ""), pageIn(2, "r1"), feed(3, "r1"), feed(4, "R1"), feed(5, ""), pageIn(6, "r1"), pageIn(7, "r2"))
	ask := func(run string, only bool, systems ...string) *backend.WorkRequest {
		r := wanted(9)
		r.Run, r.OnlyRun, r.Systems = run, only, systems
		return r
	}
	s.take(ask("", false, "csv"), "")
	s.take(ask("r1", true, "csv", "http"), "i2 i6")
	s.take(ask("r1", true), "i3")
	s.take(ask("r1", false, "feed"), "i4 i5")
	s.take(ask("r1", true), "")
	s.take(ask("", false), "i1 i7")
	s.want("the run of an attempt", s.last(5).Run, "r1")
	s.want("the run of an item", s.item(5).Run, "")
}

func takeLate(s *workStory) {
	s.enqueue(s.latePage(1, time.Minute), s.latePage(2, 2*time.Minute), page(3), s.latePage(4, -time.Minute), s.latePage(5, 0))
	s.take(wanted(9), "i3 i4 i5")
	s.want("items", s.items(backend.WorkQuery{}), "i1 pending, i2 pending, i3 in_progress, i4 in_progress, i5 in_progress")
	s.move(time.Minute - time.Microsecond)
	s.take(wanted(9), "")
	s.move(time.Microsecond)
	s.take(limited(1, backend.WorkLimit{Concurrent: 9}), "i1") // beside the leases that have ended, in its order
	s.want("its time", showTime(s.item(1).NotBefore), "-")
	s.want("the time of another", showTime(s.item(2).NotBefore), "12:02:00.000000Z")
}

// takeDue is about a clock that goes back.
func takeDue(s *workStory) {
	s.enqueue(s.latePage(1, time.Minute))
	s.move(time.Minute)
	s.take(wanted(0), "")
	s.want("the item", showFate(s.item(1).WorkItem),
		`i1 pending, attempt 0, revised 0, created 12:00:00.000000Z, updated 12:00:00.000000Z, error "", owner "" until -`)
	s.want("its time", showTime(s.item(1).NotBefore), "-")
	s.move(-time.Minute)
	s.take(wanted(9), "i1")
}

func takeLost(s *workStory) {
	s.enqueue(pageRange(1, 3)...)
	first := s.take(wanted(2), "i1 i2")
	s.move(time.Minute - time.Microsecond)
	if got := s.asked(wanted(1)); got.Lost != 0 || itemNames(got.Items) != "i3" {
		s.Fatalf("got %s, want i3", showTaken(got))
	}
	s.finish(doing(backend.WorkExtend, first[1]))
	s.move(time.Microsecond)
	two := wanted(9)
	two.Worker = "two"
	got := s.also().asked(two)
	if got.Lost != 1 || itemNames(got.Items) != "i1" {
		s.Fatalf("got %s, want i1, which was lost", showTaken(got))
	}
	s.want("the item", showFate(s.item(1).WorkItem),
		`i1 in_progress, attempt 2, revised 0, created 12:00:00.000000Z, updated 12:01:00.000000Z, error "", owner "two" until 12:02:00.000000Z`)
	s.wantLines("attempts", shown(s.item(1).Attempts, showAttempt), []string{
		`i1:1 lost by "one" in run "", 12:00:00.000000Z to 12:01:00.000000Z, retry after -, error "", class "", -`,
		`i1:2 running by "two" in run "", 12:01:00.000000Z to -, retry after -, error "", class "", -`,
	})
	if i := s.item(1); i.Tries() != 2 {
		s.Errorf("got %d tries, want 2: one was lost", i.Tries())
	}
	s.stale(first[0])
	s.complete(got.Items[0])
	s.move(time.Hour)
	if got := s.asked(wanted(0)); got.Lost != 2 {
		s.Errorf("got %d lost, want 2", got.Lost)
	}
	s.want("items", s.items(backend.WorkQuery{}), "i1 completed, i2 pending, i3 pending")
	if got := s.asked(wanted(0)); got.Lost != 0 {
		s.Errorf("got %d lost once more, want none", got.Lost)
	}
}

func takeLostElsewhere(s *workStory) {
	s.enqueue(pageIn(1, "r1"), pageOf(2, "news"))
	s.take(wanted(9), "i1 i2")
	s.move(time.Minute)
	r := wanted(9)
	r.Systems, r.Run, r.OnlyRun = []string{"feed"}, "r9", true
	if got := s.asked(r); got.Lost != 2 || len(got.Items) > 0 {
		s.Errorf("got %s, want 2 lost", showTaken(got))
	}
	s.want("items", s.items(backend.WorkQuery{}), "i1 pending, i2 pending")
}

func takeNext(s *workStory) {
	s.next(wanted(9), "", "-")
	s.enqueue(page(1), page(2), s.latePage(3, 40*time.Second), pageOf(4, "news"))
	s.next(wanted(0), "", "12:00:40.000000Z") // what could be taken now does not count
	short := wanted(1)
	short.Lease = 30 * time.Second
	i := s.next(short, "i1", "12:00:30.000000Z")[0]
	s.move(time.Second)
	s.next(wanted(1), "i2", "12:00:30.000000Z")
	s.finish(doing(backend.WorkExtend, i))
	s.next(wanted(0), "", "12:00:40.000000Z")
	o := doing(backend.WorkRetry, i)
	o.Delay = 10 * time.Second
	s.finish(o)
	s.next(wanted(1), "i4", "12:00:11.000000Z")
	only := wanted(9)
	only.Systems = []string{"feed"}
	s.next(only, "", "12:01:01.000000Z") // leases count, whatever they are of
	only.Systems, only.OnlyRun, only.Run = nil, true, "r1"
	s.next(only, "", "12:01:01.000000Z")
	s.move(10 * time.Second)
	s.next(wanted(9), "i1", "12:00:40.000000Z")
}

func shown[T any](list []T, show func(T) string) []string {
	var lines []string
	for _, v := range list {
		lines = append(lines, show(v))
	}
	return lines
}

// atMost asks for items that were tried fewer times than that.
func atMost(tries, limit int) *backend.WorkRequest {
	r := wanted(limit)
	r.MaxTries = tries
	return r
}

func takeWorn(s *workStory) {
	s.enqueue(pageRange(1, 2)...)
	for n := range 2 {
		i := s.take(atMost(9, 1), "i1")[0]
		o := doing(backend.WorkRetry, i)
		o.Error = fmt.Sprint("failure ", n+1)
		s.finish(o)
	}
	s.bringIn(importedItem(page(5), 4, s.now())) // tried once, the other attempt was returned
	s.move(2 * time.Second)
	r := atMost(2, 9)
	r.Worker, r.Run = "two", "r2"
	got := s.asked(r)
	const err = "given up after 2 attempts: this run makes at most 2; the last failure was: failure 2"
	const attempt = `i1:3 failed by "two" in run "r2", 12:00:02.000000Z to 12:00:02.000000Z, retry after -, error "` + err + `", class "status", -`
	s.want("taken", itemNames(got.Items), "i5 i2")
	if len(got.GivenUp) != 1 || len(got.GivenUp[0].Attempts) != 1 {
		s.Fatalf("got %s, want i1, which is given up", showTaken(got))
	}
	s.want("given up", showFate(got.GivenUp[0].WorkItem),
		`i1 failed, attempt 3, revised 0, created 12:00:00.000000Z, updated 12:00:02.000000Z, error "`+err+`", owner "" until -`)
	s.want("its attempt", showAttempt(got.GivenUp[0].Attempts[0]), attempt)
	s.want("the item", showFate(s.item(1).WorkItem), showFate(got.GivenUp[0].WorkItem))
	s.want("its attempt", showAttempt(s.last(1)), attempt)
	s.explained()
	if again := s.also().asked(r); len(again.GivenUp) > 0 {
		s.Errorf("it is given up once more: %s", showTaken(again))
	}
	s.revise(revising(backend.ReviseRetry, backend.WorkQuery{}), 1)
	if i := s.take(atMost(1, 9), "i1")[0]; i.Tries() != 1 {
		s.Errorf("got %d tries after a retry, want 1", i.Tries())
	}
}

func takeWornLost(s *workStory) {
	s.enqueue(page(1))
	s.take(wanted(1), "i1")
	s.move(time.Minute)
	s.take(atMost(2, 1), "i1")
	s.move(time.Minute)
	got := s.asked(atMost(2, 1))
	if got.Lost != 1 || len(got.Items) > 0 || len(got.GivenUp) != 1 {
		s.Fatalf("got %s, want i1, which is lost and given up", showTaken(got))
	}
	a := s.last(1)
	s.want("the reason", a.Class+": "+a.Error, "lost: given up after 2 attempts, the last one lost: the process may have ended during it")
	imported := importedItem(page(2), 0, s.now())
	imported.Status = onto.WorkPending // of its two attempts only the number is known
	s.bringIn(imported)
	if got := s.asked(atMost(1, 1)); len(got.GivenUp) != 1 {
		s.Fatalf("got %s, want i2, which is given up", showTaken(got))
	}
	a = s.last(2)
	s.want("the reason", a.Class+": "+a.Error, backend.ClassGivenUp+": given up after 2 attempts: this run makes at most 1")
}

func takeWornLimits(s *workStory) {
	s.enqueue(pageRange(1, 4)...)
	for _, i := range s.take(wanted(2), "i1 i2") {
		s.finish(doing(backend.WorkRetry, i))
	}
	r := limited(2, backend.WorkLimit{Every: time.Second})
	r.MaxTries = 1
	got := s.asked(r)
	s.want("taken and given up", itemNames(got.Items)+"; "+fmt.Sprint(len(got.GivenUp)), "; 2") // as many as asked for
	s.take(r, "i3")
	s.take(r, "")
	s.want("items", s.items(backend.WorkQuery{}), "i1 failed, i2 failed, i3 in_progress, i4 pending")
}
