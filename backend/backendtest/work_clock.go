package backendtest

import (
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// workClockStories are about times of a clock that was wrong.
func workClockStories() []workTale {
	return []workTale{
		{"a lease of a clock that was ahead has ended", workClockLease},
		{"the delay of a retry by a clock that was ahead has ended", workClockDelay},
		{"a delay of a right clock can be of any length", workClockLongDelay},
		{"a rate that a clock which was ahead used up allows items again", workClockRate},
	}
}

func workClockLease(s *workStory) {
	s.enqueue(pageRange(1, 3)...)
	s.move(decade)
	i := s.take(wanted(2), "i1 i2")
	s.move(-decade)
	s.finish(doing(backend.WorkExtend, i[1]))
	two := wanted(9)
	two.Worker = "two"
	got := s.also().asked(two)
	if got.Lost != 1 || itemNames(got.Items) != "i1 i3" {
		s.Fatalf("got %s, want i1, which was lost, and i3", showTaken(got))
	}
	s.want("next", showTime(got.Next), "12:01:00.000000Z")
	s.stale(i[0])
	s.complete(i[1], got.Items[0])
}

func workClockDelay(s *workStory) {
	s.enqueue(pageRange(1, 2)...)
	s.move(decade)
	o := doing(backend.WorkRetry, s.take(wanted(1), "i1")[0])
	o.Delay = 24 * time.Hour
	s.finish(o)
	s.take(wanted(9), "i2")
	s.move(-decade)
	s.complete(s.take(wanted(9), "i1 i2")...)
}

func workClockLongDelay(s *workStory) {
	s.move(decade)
	s.enqueue(page(9)) // items are created later than it from now on
	s.move(-decade)
	s.enqueue(page(1), s.latePage(2, 1000*time.Hour))
	o := doing(backend.WorkRetry, s.take(wanted(1), "i9")[0])
	o.Delay = 1000*time.Hour - time.Minute
	s.finish(o)
	s.complete(s.take(wanted(9), "i1")...)
	s.move(1000*time.Hour - time.Minute - time.Microsecond)
	s.take(wanted(9), "")
	s.move(time.Microsecond)
	s.complete(s.take(wanted(9), "i9")...)
	s.move(time.Minute)
	s.take(wanted(9), "i2")
}

func workClockRate(s *workStory) {
	s.enqueue(pageRange(1, 9)...)
	rate := every(2*time.Second, 2)
	s.move(decade)
	s.complete(s.take(limited(9, rate), "i1 i2")...)
	s.move(-decade)
	s.complete(s.take(limited(9, rate), "i3 i4")...)
	s.take(limited(9, rate), "")
	s.move(2 * time.Second)
	s.take(limited(9, rate), "i5")
}

// completeAll sets the clock right. What is there can be completed by then, or within an hour
// and the longest delay, but for what has to wait for its time.
func (r *workload) completeAll() {
	r.place.clock.set(startOfClocks())
	r.completeReady()
	r.place.clock.move(backend.MaxLease + time.Minute)
	r.completeReady()
	r.compare()
	now := r.place.Now()
	for w, err := range workOf(r.reference).WorkItems(r.Context(), &backend.WorkQuery{Status: []onto.WorkStatus{onto.WorkPending, onto.WorkInProgress}, Attempts: true}) {
		if err != nil {
			r.Fatal(err)
		}
		if !w.NotBefore.After(now) || len(w.Attempts) > len(r.imports[w.ID].Attempts) {
			r.Fatalf("the clock is right again, and this is not done: %s", showWork(w))
		}
	}
}

// completeReady takes and completes items until there are none.
func (r *workload) completeReady() {
	for {
		before := len(r.taken)
		r.step(0, shift{Do: dequeueChore, Limit: 50, Lease: time.Minute, Systems: []int{-1}})
		var ends []outcomeSketch
		for i := range r.taken[before:] {
			ends = append(ends, outcomeSketch{Do: backend.WorkComplete, Which: i})
		}
		if len(ends) == 0 {
			return
		}
		r.step(0, shift{Do: finishChore, Ends: ends})
	}
}
