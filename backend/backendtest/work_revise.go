package backendtest

import (
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func reviseStories() []workTale {
	return []workTale{
		{"a revision changes only what it is for", reviseOnly},
		{"a revision leaves an attempt that says who and why", reviseNote},
		{"a revised item has not been tried", reviseTries},
		{"a revised item does not wait", reviseWaits},
		{"a revision can move items to another run", reviseRun},
		{"a revision is of the items that are selected", reviseSelected},
	}
}

// allFates has an item of each status: i1 is pending, and so on in their order.
func (s *workStory) allFates() {
	s.Helper()
	s.enqueue(pageRange(1, 5)...)
	i := s.take(wanted(9), "i1 i2 i3 i4 i5")
	s.finish(doing(backend.WorkReturn, i[0]), doing(backend.WorkComplete, i[2]), doing(backend.WorkFail, i[3]), doing(backend.WorkSkip, i[4]))
	s.want("items", s.items(backend.WorkQuery{}), "i1 pending, i2 in_progress, i3 completed, i4 failed, i5 skipped")
}

func reviseOnly(s *workStory) {
	for _, test := range []struct {
		do   backend.WorkRevising
		n    int64
		want string
	}{
		{backend.ReviseRetry, 1, "i1 pending, i2 in_progress, i3 completed, i4 pending, i5 skipped"},
		{backend.ReviseRecrawl, 3, "i1 pending, i2 in_progress, i3 pending, i4 pending, i5 pending"},
		{backend.ReviseSkip, 2, "i1 skipped, i2 in_progress, i3 completed, i4 skipped, i5 skipped"},
	} {
		o := s.with(s.another())
		o.allFates()
		untouched := showWork(o.item(2))
		o.revise(revising(test.do, backend.WorkQuery{}), test.n)
		o.want("after "+showRevising(test.do), o.items(backend.WorkQuery{}), test.want)
		o.want("the item in progress", showWork(o.item(2)), untouched)
		o.explained()
		o.revise(revising(test.do, backend.WorkQuery{Status: []onto.WorkStatus{onto.WorkInProgress}}), 0)
		if test.do != backend.ReviseRecrawl {
			o.revise(revising(test.do, backend.WorkQuery{}), 0)
		}
	}
}

func reviseNote(s *workStory) {
	s.allFates()
	s.move(time.Second)
	r := revising(backend.ReviseRecrawl, backend.WorkQuery{IDs: []string{itemID(3), itemID(4)}})
	r.Reason = `<a "reason">`
	s.revise(r, 2)
	s.revise(revising(backend.ReviseSkip, backend.WorkQuery{IDs: []string{itemID(4)}}), 1)
	r = revising(backend.ReviseSkip, backend.WorkQuery{IDs: []string{itemID(1)}})
	r.By, r.Reason = onto.Actor{}, ""
	s.revise(r, 1)
	s.want("recrawled", showFate(s.item(3).WorkItem),
		`i3 pending, attempt 2, revised 2, created 12:00:00.000002Z, updated 12:00:01.000000Z, error "", owner "" until -`)
	s.want("skipped", showFate(s.item(4).WorkItem),
		`i4 skipped, attempt 3, revised 2, created 12:00:00.000003Z, updated 12:00:01.000000Z, error "because", owner "" until -`)
	at := `12:00:01.000000Z to 12:00:01.000000Z, retry after -, error `
	s.wantLines("attempts", append(shown(s.item(4).Attempts[1:], showAttempt), showAttempt(s.last(3)), showAttempt(s.last(1))), []string{
		`i4:2 revised by "operator:ana" in run "", ` + at + `"", class "", {"by":"operator:ana","reason":"<a \"reason\">","was":"failed"}`,
		`i4:3 skipped by "operator:ana" in run "", ` + at + `"because", class "", {"by":"operator:ana","reason":"because","was":"pending"}`,
		`i3:2 revised by "operator:ana" in run "", ` + at + `"", class "", {"by":"operator:ana","reason":"<a \"reason\">","was":"completed"}`,
		`i1:2 skipped by "" in run "", ` + at + `"", class "", {"by":"","reason":"","was":"pending"}`,
	})
	before := s.state()
	s.reopen()
	s.wantLines("after reopening", s.with(s.story).state(), before)
}

func reviseTries(s *workStory) {
	s.enqueue(page(1))
	for range 3 {
		s.finish(doing(backend.WorkRetry, s.take(wanted(1), "i1")[0]))
	}
	s.finish(doing(backend.WorkFail, s.take(wanted(1), "i1")[0]))
	if i := s.item(1); i.Tries() != 4 {
		s.Errorf("got %d tries, want 4", i.Tries())
	}
	s.revise(revising(backend.ReviseRetry, backend.WorkQuery{}), 1)
	if i := s.item(1); i.Tries() != 0 || i.Attempt != 5 {
		s.Errorf("got %d tries and attempt %d, want none and 5", i.Tries(), i.Attempt)
	}
	s.finish(doing(backend.WorkReturn, s.take(wanted(1), "i1")[0]))
	i := s.take(wanted(1), "i1")[0]
	if i.Tries() != 1 || i.Attempt != 7 {
		s.Errorf("got %d tries and attempt %d, want 1 and 7", i.Tries(), i.Attempt)
	}
	s.complete(i)
}

func reviseWaits(s *workStory) {
	s.enqueue(s.latePage(1, time.Hour), page(2))
	o := doing(backend.WorkRetry, s.take(wanted(9), "i2")[0])
	o.Delay = time.Hour
	s.finish(o)
	s.revise(revising(backend.ReviseSkip, backend.WorkQuery{}), 2)
	s.want("their times", showTime(s.item(1).NotBefore)+" "+showTime(s.item(2).NotBefore), "- -")
	s.next(wanted(9), "", "-")
	s.revise(revising(backend.ReviseRecrawl, backend.WorkQuery{}), 2)
	s.take(wanted(9), "i1 i2")
}

func reviseRun(s *workStory) {
	s.enqueue(pageIn(1, "r1"), pageIn(2, "r1"), page(3))
	s.complete(s.take(wanted(9), "i1 i2 i3")...)
	r := revising(backend.ReviseRecrawl, backend.WorkQuery{Run: "r1"})
	s.revise(r, 2)
	r.Run, r.Do, r.Items = "r2", backend.ReviseSkip, backend.WorkQuery{IDs: []string{itemID(2)}}
	s.revise(r, 1)
	r.Do, r.Items = backend.ReviseRecrawl, backend.WorkQuery{IDs: []string{itemID(3)}}
	s.revise(r, 1)
	s.want("runs of items", s.item(1).Run+" "+s.item(2).Run+" "+s.item(3).Run, "r1 r2 r2")
	s.want("runs of attempts", s.last(1).Run+" "+s.last(2).Run+" "+s.last(3).Run, " r2 r2")
	only := wanted(9)
	only.Run, only.OnlyRun = "r2", true
	s.take(only, "i3")
}

func reviseSelected(s *workStory) {
	s.enqueue(page(1), pageOf(2, "news"), page(3), pageIn(4, "r1"), edited(page(5), func(i *onto.WorkItem) { i.Type, i.Parent = "item", itemID(1) }))
	for n, i := range s.take(wanted(9), "i1 i2 i3 i4 i5") {
		o := doing(backend.WorkFail, i)
		o.Error = []string{"timeout", "status 404", "status 500", "Timeout", "100%"}[n]
		s.finish(o)
	}
	for _, test := range []struct {
		q    backend.WorkQuery
		want string
	}{
		{backend.WorkQuery{Source: "news"}, "i2 pending"},
		{backend.WorkQuery{Error: "timeout"}, "i1 pending"},
		{backend.WorkQuery{Error: "%", Limit: 1, Attempts: true}, "i5 pending"},
		{backend.WorkQuery{Keys: []string{page(3).Key, "other"}}, "i3 pending"},
		{backend.WorkQuery{Run: "r1"}, "i4 pending"},
		{backend.WorkQuery{Limit: 1}, ""},
	} {
		n, err := s.Revise(s.ctx, revising(backend.ReviseRetry, test.q))
		s.must(err)
		s.want("revised", s.items(backend.WorkQuery{Status: []onto.WorkStatus{onto.WorkPending}}), test.want)
		s.complete(s.take(wanted(9), test.want[:max(0, len(test.want)-len(" pending"))])...)
		if want := min(1, len(test.want)); int(n) != want {
			s.Errorf("%+v: got %d, want %d", test.q, n, want)
		}
	}
	s.revise(revising(backend.ReviseRecrawl, backend.WorkQuery{Limit: 1}), 5) // a limit does not count
}
