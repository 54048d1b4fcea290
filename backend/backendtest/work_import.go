package backendtest

import (
	"errors"
	"fmt"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func importStories() []workTale {
	return []workTale{
		{"an imported item is what it was", importFields},
		{"an imported item goes on from where it was", importGoesOn},
		{"an imported item whose key exists changes nothing", importKnown},
		{"an imported item has no id of another", importIDs},
		{"an import moves no times of later items", importTimes},
	}
}

// importedWays is how many states an imported item can have.
const importedWays = 5

// importedItem gives an item a state that it can have had in another queue.
func importedItem(i onto.WorkItem, way int, now time.Time) backend.WorkState {
	now = now.Truncate(time.Microsecond)
	i.Status, i.Attempt, i.Revised, i.Error, i.Owner, i.Until = onto.WorkPending, 0, 0, "", "", time.Time{}
	i.Created, i.Updated = now.Add(time.Duration(way)*time.Second-time.Hour), now.Add(-time.Minute)
	s := backend.WorkState{WorkItem: i}
	add := func(number int, as onto.AttemptStatus, reason string) *onto.WorkAttempt {
		s.Attempts = append(s.Attempts, onto.WorkAttempt{
			ID: fmt.Sprintf("%s:%d", i.ID, number), Item: i.ID, Number: number, Worker: "elsewhere", Run: "r9", Started: s.Created, Finished: s.Updated,
			Status: as, Error: reason, Class: "status", Diagnostic: []byte(`{"code":404}`),
		})
		return &s.Attempts[len(s.Attempts)-1]
	}
	switch way {
	case 0: // attempts of which only the number is known
		s.Status, s.Attempt, s.NotBefore = onto.WorkCompleted, 2, time.Time{}
	case 1: // the first attempt is not kept
		s.Status, s.Attempt, s.Revised, s.Error, s.NotBefore = onto.WorkFailed, 3, 1, "status 404: 100%_gone", time.Time{}
		add(2, onto.AttemptFailed, "timeout after 5 s").RetryAfter = s.Created.Add(time.Second)
		add(3, onto.AttemptFailed, s.Error)
	case 2: // of a clock that is ahead
		s.Created, s.Updated = now.Add(time.Hour), now.Add(time.Hour)
	case 3:
		s.Status, s.Error, s.NotBefore = onto.WorkSkipped, "not wanted", time.Time{}
	case 4: // all attempts are kept
		s.Attempt, s.Revised, s.Error, s.NotBefore = 2, 1, "timeout after 5 s", now.Add(1500*time.Millisecond)
		add(1, onto.AttemptReturned, "")
		add(2, onto.AttemptFailed, s.Error).RetryAfter = s.NotBefore
	}
	return s
}

// imported makes an item of each state, i1 to i5.
func (s *workStory) imported() []backend.WorkState {
	var list []backend.WorkState
	for way := range importedWays {
		list = append(list, importedItem(page(way+1), way, s.now()))
	}
	return list
}

// bringIn imports items that are new.
func (s *workStory) bringIn(items ...backend.WorkState) {
	s.Helper()
	fresh, err := s.ImportItems(s.ctx, items)
	s.must(err)
	for n, i := range items {
		if len(fresh) != len(items) || !fresh[n] {
			s.Fatalf("import: got %v, want %d that are new", fresh, len(items))
		}
		s.imports[i.ID] = i
	}
}

func importFields(s *workStory) {
	list := s.imported()
	list[0].Headers, list[0].Body, list[0].Metadata = []byte(`{"accept":"text/html"}`), "x\ny", []byte(`{"n":12345678901234567890}`)
	list[0].Priority, list[0].Run, list[0].Parent, list[0].Depth, list[0].Method, list[0].Key = -7, "r1", itemID(9), 3, "POST", "http:a:b:page:/1"
	s.bringIn(list...)
	for range 2 {
		for n, want := range list {
			s.want("the item", showWork(s.item(n+1)), showWork(want))
		}
		s.want("items", s.items(backend.WorkQuery{}), "i1 completed, i2 failed, i4 skipped, i5 pending, i3 pending")
		s.reopen()
		s = s.with(s.story)
	}
}

func importGoesOn(s *workStory) {
	s.bringIn(s.imported()...)
	s.take(wanted(9), "i3")
	s.move(2 * time.Second)
	five := s.take(wanted(9), "i5")[0]
	s.want("the attempt", fmt.Sprint(five.Attempt, five.Tries()), "3 2")
	s.finish(doing(backend.WorkFail, five))
	s.revise(revising(backend.ReviseRetry, backend.WorkQuery{}), 2)
	s.explained()
	again := s.also().take(wanted(9), "i2 i5")
	s.want("the attempt", fmt.Sprint(again[0].Attempt, again[0].Tries()), "5 1")
	s.complete(again...)
	s.revise(revising(backend.ReviseRecrawl, backend.WorkQuery{IDs: []string{itemID(1), itemID(4)}}), 2)
	taken := s.take(wanted(9), "i1 i4")
	s.want("the attempt", fmt.Sprint(taken[0].Attempt, taken[0].Tries(), taken[1].Attempt), "4 1 2")
	s.finish(doing(backend.WorkReturn, taken[0]), doing(backend.WorkRetry, taken[1]))
	s.want("items", s.items(backend.WorkQuery{}), "i1 pending, i2 completed, i4 pending, i5 completed, i3 in_progress")
}

func importKnown(s *workStory) {
	s.enqueue(page(1))
	list := s.imported()
	again := importedItem(edited(page(7), func(i *onto.WorkItem) { i.Key = list[1].Key }), 0, s.now())
	before := s.state()
	for n, want := range []string{"[]", "[false]", "[false true false]", "[false false false]"} {
		some := [][]backend.WorkState{nil, {list[0]}, {list[0], list[1], again}, {list[0], again, list[1]}}[n]
		fresh, err := s.ImportItems(s.ctx, some)
		s.must(err)
		s.want("fresh", fmt.Sprint(fresh), want)
		switch n {
		case 1:
			s.wantLines("the work", s.state(), before)
		case 2:
			s.imports[list[1].ID] = list[1]
			before = s.state()
		}
		s = s.also()
	}
	s.wantLines("the work", s.state(), before)
	if fresh, err := s.Enqueue(s.ctx, []onto.WorkItem{page(2)}); err != nil || fresh[0] {
		s.Errorf("an imported item was enqueued again: %v, error %v", fresh, err)
	}
}

func importIDs(s *workStory) {
	s.enqueue(page(1))
	before := s.state()
	list := s.imported()
	other := func(i backend.WorkState) backend.WorkState { i.Key += "?"; return i }
	for _, some := range [][]backend.WorkState{{list[1], other(list[0])}, {list[2], other(list[2])}} {
		if fresh, err := s.ImportItems(s.ctx, some); !errors.Is(err, onto.Conflict) {
			s.Errorf("got %v and error %v, want %s", fresh, err, onto.Conflict)
		}
	}
	s.wantLines("the work", s.state(), before)
	s.bringIn(list[1], list[2])
}

func importTimes(s *workStory) {
	s.enqueue(page(6))
	s.bringIn(s.imported()...)
	s.enqueue(page(7))
	s.move(time.Second)
	s.enqueue(page(8))
	for n, want := range map[int]string{7: "12:00:00.000001Z", 8: "12:00:01.000000Z"} {
		s.want("created", showTime(s.item(n).Created), want)
	}
}
