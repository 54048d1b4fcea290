package backendtest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func workRaceStories() []workTale {
	return []workTale{
		{"an item is taken by one of many", raceTakes},
		{"many workers keep to the concurrency of a source", raceConcurrency},
		{"many workers keep to the rate of a source", raceRate},
		{"an attempt is ended by one of many", raceFinish},
		{"of many items with one key one is new", raceEnqueue},
		{"a run is started by one of many", raceRuns},
		{"workers that discover and commit at once work on each item once", raceCrawl},
		{"a cleaning while work goes on removes only what is over", raceClean},
	}
}

// racing lets workers of two handles work at once.
func (s *workStory) racing(workers int, work func(worker int, q *workStory) error) {
	s.Helper()
	handles := []*workStory{s, s.also()}
	s.together(workers, []backend.Backend{s.Backend, handles[1].Backend}, func(worker int, _ backend.Backend) error {
		return work(worker, handles[worker%2])
	})
}

// end ends an attempt, and returns why not.
func (s *workStory) end(o backend.WorkOutcome) error {
	verdicts, err := s.Finish(s.ctx, []backend.WorkOutcome{o})
	if err != nil {
		return err
	}
	return verdicts[0].Err
}

// emptying takes items and completes them until nothing is left, and calls during with
// each request's items while they are in progress.
func (s *workStory) emptying(workers int, r *backend.WorkRequest, during func([]onto.WorkItem)) {
	s.Helper()
	s.racing(workers, func(worker int, q *workStory) error {
		mine := *r
		mine.Worker = fmt.Sprint("w", worker)
		for {
			got, err := q.Dequeue(s.ctx, &mine)
			if err != nil || len(got.Items) == 0 && got.Next.IsZero() {
				return err
			}
			during(got.Items)
			for _, i := range got.Items {
				if err := q.end(doing(backend.WorkComplete, i)); err != nil {
					return err
				}
			}
		}
	})
}

func raceTakes(s *workStory) {
	const items = 60
	s.enqueue(pageRange(1, items)...)
	var mu sync.Mutex // guards taken
	taken := map[string]int{}
	s.emptying(6, wanted(2), func(list []onto.WorkItem) {
		mu.Lock()
		defer mu.Unlock()
		for _, i := range list {
			taken[i.ID]++
		}
	})
	for n := range items {
		if w := s.item(n + 1); taken[w.ID] != 1 || w.Status != onto.WorkCompleted || len(w.Attempts) != 1 {
			s.Errorf("taken %d times: %s", taken[w.ID], showWork(w))
		}
	}
}

func raceConcurrency(s *workStory) {
	const most = 3
	for n := range 20 {
		s.enqueue(pageOf(2*n+1, "docs"), pageOf(2*n+2, "news"))
	}
	var mu sync.Mutex // guards busy
	busy, peak := map[string]int{}, 0
	s.racing(6, func(worker int, q *workStory) error {
		r := limited(4, backend.WorkLimit{Concurrent: most})
		r.Worker = fmt.Sprint("w", worker)
		for {
			got, err := q.Dequeue(s.ctx, r)
			if err != nil || len(got.Items) == 0 && got.Next.IsZero() {
				return err
			}
			mu.Lock()
			for _, i := range got.Items {
				busy[i.Source]++
				peak = max(peak, busy[i.Source])
			}
			mu.Unlock()
			for _, i := range got.Items {
				mu.Lock()
				busy[i.Source]-- // before it can be seen
				mu.Unlock()
				if err := q.end(doing(backend.WorkComplete, i)); err != nil {
					return err
				}
			}
		}
	})
	if peak > most {
		s.Errorf("got %d items of a source in progress at once, want at most %d", peak, most)
	}
	if left := s.items(backend.WorkQuery{Status: []onto.WorkStatus{onto.WorkPending, onto.WorkInProgress}}); left != "" {
		s.Errorf("left: %s", left)
	}
}

// raceRate has a clock that advances whenever it is read. Attempts say when items were
// taken.
func raceRate(s *workStory) {
	const gap, burst, items = 20 * time.Microsecond, 3, 40
	s.enqueue(pageRange(1, items)...)
	s.place.clock.run(time.Microsecond)
	s.emptying(4, limited(5, every(gap, burst)), func([]onto.WorkItem) {})
	s.place.clock.run(0)
	var taken []time.Time
	for n := range items {
		taken = append(taken, s.last(n+1).Started)
	}
	for i := range taken {
		for j := i; j < len(taken); j++ {
			if most := burst + int(taken[j].Sub(taken[i])/gap); j-i+1 > most {
				s.Fatalf("%d items from %s to %s, want at most %d", j-i+1, showTime(taken[i]), showTime(taken[j]), most)
			}
		}
	}
}

func raceFinish(s *workStory) {
	for round := range s.times(3) {
		s.enqueue(page(100*round + 1))
		i := s.take(wanted(1), itemName(itemID(100*round+1)))[0]
		var won atomic.Int64
		s.racing(8, func(worker int, q *workStory) error {
			o := doing([]backend.WorkDo{backend.WorkComplete, backend.WorkSkip}[worker%2], i)
			o.Discovered = []onto.WorkItem{edited(pageOf(100*round+10+worker, "found"), func(c *onto.WorkItem) { c.NotBefore = s.now().Add(time.Hour) })}
			err := q.end(o)
			if errors.Is(err, onto.LeaseExpired) {
				return nil
			}
			won.Add(1)
			return err
		})
		if won.Load() != 1 {
			s.Errorf("round %d: %d won, want 1", round, won.Load())
		}
		if found := len(list(s.story, s.WorkItems(s.ctx, &backend.WorkQuery{Source: "found"}), showWork)); found != round+1 {
			s.Errorf("round %d: got %d discovered, want %d", round, found, round+1)
		}
	}
}

func raceEnqueue(s *workStory) {
	const workers, keys = 6, 20
	var fresh atomic.Int64
	s.racing(workers, func(worker int, q *workStory) error {
		for n := range keys {
			item := page(1000*worker + n)
			item.Key = fmt.Sprint("key ", n)
			got, err := q.Enqueue(s.ctx, []onto.WorkItem{item})
			if err != nil {
				return err
			}
			if got[0] {
				fresh.Add(1)
			}
		}
		return nil
	})
	seen, last := 0, time.Time{}
	for w, err := range s.WorkItems(s.ctx, &backend.WorkQuery{}) {
		s.must(err)
		if seen++; !w.Created.After(last) {
			s.Errorf("%s was created with another one", showItem(w.WorkItem))
		}
		last = w.Created
	}
	if seen != keys || fresh.Load() != keys {
		s.Errorf("got %d items and %d that were new, want %d", seen, fresh.Load(), keys)
	}
}

func raceRuns(s *workStory) {
	var started atomic.Int64
	s.racing(8, func(worker int, q *workStory) error {
		err := q.SaveRun(s.ctx, onto.WorkRun{ID: "r", Started: s.now(), Status: "running", Options: fmt.Appendf(nil, `{"worker":%d}`, worker)}, true)
		if errors.Is(err, onto.Conflict) {
			return nil
		}
		started.Add(1)
		return err
	})
	if started.Load() != 1 {
		s.Errorf("%d started, want 1", started.Load())
	}
}

// raceCrawl works as a crawler does: each page leads to two others, and makes a commit.
func raceCrawl(s *workStory) {
	const last = 63
	s.enqueue(page(1))
	number := map[string]int{}
	for n := 1; n <= last; n++ {
		number[page(n).Key] = n
	}
	s.racing(4, func(worker int, q *workStory) error {
		r := limited(2, backend.WorkLimit{Concurrent: 5})
		r.Worker = fmt.Sprint("w", worker)
		for {
			got, err := q.Dequeue(s.ctx, r)
			if err != nil || len(got.Items) == 0 && got.Next.IsZero() {
				return err
			}
			for _, i := range got.Items {
				n := number[i.Key]
				o := doing(backend.WorkComplete, i)
				for _, child := range []int{2 * n, 2*n + 1, n / 2} {
					if child >= 1 && child <= last {
						found := edited(page(child), func(c *onto.WorkItem) { c.Parent, c.Depth = i.ID, i.Depth+1 })
						found.ID = itemID(1000*n + child)
						o.Discovered = append(o.Discovered, found)
					}
				}
				if _, err := q.Append(s.ctx, draft(put(person(i.Key), 1))); err != nil {
					return err
				}
				if err := q.end(o); err != nil {
					return err
				}
			}
		}
	})
	s.wantHead(last)
	depths := map[int]int{}
	for w, err := range s.WorkItems(s.ctx, &backend.WorkQuery{Attempts: true}) {
		s.must(err)
		if depths[w.Depth]++; w.Status != onto.WorkCompleted || len(w.Attempts) != 1 {
			s.Errorf("got %s", showWork(w))
		}
	}
	s.want("items by depth", fmt.Sprint(depths), "map[0:1 1:2 2:4 3:8 4:16 5:32]")
}

// raceClean removes items and attempts while workers skip items and an operator makes some
// pending again.
func raceClean(s *workStory) {
	const items, workers = 60, 5
	s.enqueue(pageRange(1, items)...)
	var removed, working atomic.Int64
	working.Store(workers - 2)
	s.racing(workers, func(worker int, q *workStory) error {
		r := wanted(3)
		r.Worker = fmt.Sprint("w", worker)
		switch worker {
		case 0:
			for working.Load() > 0 {
				plan, err := q.CleanWork(s.ctx, &backend.WorkCleaning{Items: true, Attempts: true, Keep: 5, Apply: true}, nil)
				if err != nil {
					return err
				}
				removed.Add(plan.Items)
			}
			return nil
		case 1:
			for range 10 {
				if _, err := q.Revise(s.ctx, revising(backend.ReviseRecrawl, backend.WorkQuery{})); err != nil {
					return err
				}
			}
			return nil
		}
		defer working.Add(-1)
		for {
			got, err := q.Dequeue(s.ctx, r)
			if err != nil || len(got.Items) == 0 && got.Next.IsZero() {
				return err
			}
			for _, i := range got.Items {
				if err := q.end(doing(backend.WorkSkip, i)); err != nil {
					return err
				}
			}
		}
	})
	forgetAttempts(s.ctx, s.WorkQueue, s.imports)
	left := int64(len(list(s.story, s.WorkItems(s.ctx, &backend.WorkQuery{}), showWork)))
	if left < 5 || left+removed.Load() != items {
		s.Errorf("%d items were removed and %d are left, of %d", removed.Load(), left, items)
	}
}
