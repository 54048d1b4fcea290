package backendtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func workCallStories() []workTale {
	return []workTale{
		{"a cancelled call changes nothing about work", workCancelled},
		{"a closed handle answers nothing about work", workClosed},
		{"reopening gives the work back", workReopened},
		{"two handles share one queue", workHandles},
		{"a list of items is of one moment", workMoment},
		{"a clock that cannot be right is not believed", workClock},
		{"the write lease stops no work", workLease},
		{"a watcher notices work", workWatched},
	}
}

// workReads are the calls that change nothing.
func workReads() []string { return []string{"WorkItems", "WorkStats", "WorkRuns", "plan of CleanWork"} }

// calls calls each method of a work queue once and returns the errors by name.
func (s *workStory) calls(ctx context.Context, i onto.WorkItem) map[string]error {
	errs := map[string]error{}
	_, errs["Enqueue"] = s.Enqueue(ctx, []onto.WorkItem{page(900)})
	brought := importedItem(page(901), 0, s.now())
	if _, errs["ImportItems"] = s.ImportItems(ctx, []backend.WorkState{brought}); errs["ImportItems"] == nil {
		s.imports[brought.ID] = brought
	}
	_, errs["Dequeue"] = s.Dequeue(ctx, limited(9, every(time.Second, 1)))
	_, errs["Finish"] = s.Finish(ctx, []backend.WorkOutcome{doing(backend.WorkComplete, i)})
	_, errs["Revise"] = s.Revise(ctx, revising(backend.ReviseRecrawl, backend.WorkQuery{}))
	_, errs["WorkItems"] = collect(s.WorkItems(ctx, &backend.WorkQuery{Attempts: true}), showWork)
	_, errs["WorkStats"] = s.WorkStats(ctx, &backend.WorkQuery{})
	_, errs["WorkRuns"] = s.WorkRuns(ctx)
	_, errs["plan of CleanWork"] = s.CleanWork(ctx, &backend.WorkCleaning{Items: true, Attempts: true, Runs: true}, nil)
	_, errs["CleanWork"] = s.CleanWork(ctx, &backend.WorkCleaning{Items: true, Apply: true}, nil)
	errs["SaveRun"] = s.SaveRun(ctx, onto.WorkRun{ID: "new", Started: s.now(), Status: "running"}, true)
	return errs
}

// busy has items of each status, one whose lease has ended and one that waits, and returns
// an item that is held.
func (s *workStory) busy() onto.WorkItem {
	s.Helper()
	s.allFates()
	s.enqueue(s.latePage(6, time.Second), page(7))
	s.move(time.Minute)
	s.must(s.SaveRun(s.ctx, onto.WorkRun{ID: "r1", Started: s.now(), Status: "running"}, true))
	return s.take(wanted(1), "i1")[0]
}

func workCancelled(s *workStory) {
	i := s.busy()
	before := s.state()
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	for name, err := range s.calls(ctx, i) {
		if !errors.Is(err, context.Canceled) {
			s.Errorf("%s: got error %v, want %v", name, err, context.Canceled)
		}
	}
	s.wantLines("the work", s.state(), before)
	s.complete(i)
}

func workClosed(s *workStory) {
	i := s.busy()
	before := s.state()
	s.must(s.Close())
	for name, err := range s.calls(s.ctx, i) {
		if onto.CodeOf(err) != onto.Closed {
			s.Errorf("%s: got error %v, want code %q", name, err, onto.Closed)
		}
	}
	s.Backend = s.open()
	s.wantLines("the work", s.with(s.story).state(), before)
}

func workReopened(s *workStory) {
	i := s.busy()
	for range 2 {
		before := s.state()
		s.reopen()
		s = s.with(s.story)
		s.wantLines("after reopening", s.state(), before)
	}
	s.take(wanted(1), "i2")
	s.complete(i)
}

func workHandles(s *workStory) {
	other := s.also()
	for n := range 6 {
		one, two := s, other
		if n%2 == 1 {
			one, two = other, s
		}
		one.enqueue(page(2*n+1), page(2*n+2))
		two.wantLines("the work", two.state(), one.state())
		i := two.take(wanted(9), fmt.Sprintf("i%d i%d", 2*n+1, 2*n+2))
		one.take(wanted(9), "")
		one.complete(i[0])
		two.stale(i[0])
		two.finish(doing(backend.WorkFail, i[1]))
		one.revise(revising(backend.ReviseSkip, backend.WorkQuery{IDs: []string{i[1].ID}}), 1)
		one.commit(put(person("ada"), n))
		two.wantLines("the work", two.state(), one.state())
	}
}

// workMoment writes while a list is read.
func workMoment(s *workStory) {
	s.enqueue(pageRange(1, 20)...)
	other := s.also()
	items := other.take(wanted(20), "i1 i2 i3 i4 i5 i6 i7 i8 i9 i10 i11 i12 i13 i14 i15 i16 i17 i18 i19 i20")
	q := &backend.WorkQuery{Attempts: true}
	want := list(s.story, s.WorkItems(s.ctx, q), showWork)
	var got []string
	for w, err := range s.WorkItems(s.ctx, q) {
		s.must(err)
		got = append(got, showWork(w))
		n := len(got)
		other.complete(items[20-n])
		other.enqueue(urgentPage(100+n, 200-n))
	}
	s.wantLines("items", got, want)
	for range s.WorkItems(s.ctx, q) {
		break
	}
}

func workClock(s *workStory) {
	i := s.busy()
	before := s.state()
	now := s.place.Now()
	s.place.clock.set(now.AddDate(9000, 0, 0))
	for name, err := range s.calls(s.ctx, i) {
		reads := slices.Contains(workReads(), name)
		if reads && err != nil || !reads && onto.CodeOf(err) != onto.Invalid {
			s.Errorf("%s: got error %v", name, err)
		}
	}
	s.place.clock.set(now)
	s.wantLines("the work", s.state(), before)
	s.complete(i)
}

func workLease(s *workStory) {
	leases, ok := backend.As[backend.Leaser](s.Backend)
	if !ok {
		return
	}
	i := s.busy()
	_, err := leases.Acquire(s.ctx, &backend.LeaseRequest{Name: onto.WriteLease, Owner: "another", TTL: time.Hour})
	s.must(err)
	for name, err := range s.calls(s.ctx, i) {
		if err != nil {
			s.Errorf("%s: got error %v", name, err)
		}
	}
}

func workWatched(s *workStory) {
	w, ok := backend.As[backend.Watcher](s.Backend)
	if !ok {
		return
	}
	other := s.also()
	var taken []onto.WorkItem
	for _, change := range []struct {
		name string
		make func()
	}{
		{"enqueue", func() { other.enqueue(page(1)) }},
		{"dequeue", func() { taken = other.take(wanted(1), "i1") }},
		{"finish", func() { other.complete(taken...) }},
		{"revise", func() { other.revise(revising(backend.ReviseRecrawl, backend.WorkQuery{}), 1) }},
	} {
		mark, err := w.Await(s.ctx, 0)
		s.must(err)
		change.make()
		if now, err := w.Await(s.ctx, mark); err != nil || now == mark {
			s.Errorf("%s: got mark %d after %d and error %v", change.name, now, mark, err)
		}
	}
}
