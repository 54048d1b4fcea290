package backendtest

import (
	"time"

	"github.com/ontologia/onto/backend"
)

func limitStories() []workTale {
	return []workTale{
		{"a source has so many items in progress at once", limitConcurrent},
		{"what ends makes room", limitRoom},
		{"a rate gives one item at a time", limitRate},
		{"a burst comes after a pause", limitBurst},
		{"a rate holds across handles, and when they are reopened", limitShared},
		{"a rate is never exceeded by more than the burst", limitExact},
		{"a source at its limit stops no other one", limitOthers},
		{"limits are of a system and a source", limitNames},
		{"a rate says when it allows more", limitNext},
		{"rates that are too fine or too wide are none", limitExtremes},
	}
}

func limitConcurrent(s *workStory) {
	s.enqueue(pageRange(1, 6)...)
	two := backend.WorkLimit{Concurrent: 2}
	s.take(limited(9, two), "i1 i2")
	s.take(limited(9, two), "")
	other := s.also()
	r := limited(9, two)
	r.Worker = "two"
	other.take(r, "")
	s.take(limited(9, backend.WorkLimit{Concurrent: 3}), "i3") // a wider limit counts the same items
	s.take(limited(9, two), "")
	other.take(wanted(1), "i4")
	s.take(limited(9, backend.WorkLimit{Concurrent: 5}), "i5")
}

func limitRoom(s *workStory) {
	s.enqueue(pageRange(1, 8)...)
	two := backend.WorkLimit{Concurrent: 2}
	i := s.take(limited(9, two), "i1 i2")
	s.complete(i[0])
	i = s.also().take(limited(9, two), "i3")
	s.finish(doing(backend.WorkExtend, i[0]))
	s.take(limited(9, two), "")
	s.finish(doing(backend.WorkFail, i[0]))
	i = s.take(limited(1, two), "i4")
	s.finish(doing(backend.WorkReturn, i[0]))
	s.take(limited(9, two), "i4")
	s.move(time.Minute) // both leases have ended, and both items come back
	s.take(limited(9, two), "i2 i4")
}

// every is a limit by rate.
func every(d time.Duration, burst int) backend.WorkLimit {
	return backend.WorkLimit{Every: d, Burst: burst}
}

func limitRate(s *workStory) {
	s.enqueue(pageRange(1, 9)...)
	rate := every(2*time.Second, 0)
	s.take(limited(9, rate), "i1")
	s.take(limited(9, rate), "")
	s.move(2*time.Second - time.Microsecond)
	s.take(limited(9, rate), "")
	s.move(time.Microsecond)
	i := s.take(limited(9, rate), "i2")
	s.complete(i[0])
	s.take(limited(9, rate), "") // that it is over makes no room
	s.move(10 * time.Second)
	s.take(limited(9, rate), "i3") // a pause saves up nothing
	s.take(limited(9, rate), "")
	s.take(wanted(1), "i4") // a request without a limit, which is not counted
	s.move(2 * time.Second)
	s.take(limited(9, rate), "i5")
}

func limitBurst(s *workStory) {
	s.enqueue(pageRange(1, 12)...)
	rate := every(time.Second, 3)
	s.take(limited(2, rate), "i1 i2")
	s.take(limited(9, rate), "i3")
	s.take(limited(9, rate), "")
	s.move(time.Second)
	s.take(limited(9, rate), "i4")
	s.move(1500 * time.Millisecond)
	s.take(limited(9, rate), "i5")
	s.move(500 * time.Millisecond) // half a second was saved
	s.take(limited(9, rate), "i6")
	s.move(time.Hour)
	s.take(limited(9, rate), "i1 i2 i3") // whose leases have ended
	s.move(-59 * time.Minute)
	s.take(limited(9, rate), "") // a clock that goes back gives nothing
}

func limitShared(s *workStory) {
	s.enqueue(pageRange(1, 9)...)
	rate := every(time.Minute, 2)
	other := s.also()
	s.take(limited(1, rate), "i1")
	other.take(limited(9, rate), "i2")
	s.take(limited(9, rate), "")
	s.reopen()
	s = s.with(s.story)
	s.take(limited(9, rate), "")
	s.move(time.Minute)
	s.take(limited(9, rate), "i1")
	other.take(limited(9, rate), "")
	s.also().take(limited(9, rate), "")
}

// limitExact asks more often than the rate allows, for a while.
func limitExact(s *workStory) {
	const gap, burst, each = 100 * time.Millisecond, 4, 7 * time.Millisecond
	s.enqueue(pageRange(1, 60)...)
	handles := []*workStory{s, s.also()}
	var taken []time.Time
	start, last := s.now(), s.now()
	for n := range 500 {
		r := limited(1+n%3, every(gap, burst))
		r.Lease = time.Hour
		if n%100 > 80 {
			s.move(each) // nothing is asked for: a pause
			continue
		}
		last = s.now()
		for range handles[n%2].asked(r).Items {
			taken = append(taken, last)
		}
		s.move(each)
	}
	for i := range taken {
		for j := i; j < len(taken); j++ {
			if most := burst + int(taken[j].Sub(taken[i])/gap); j-i+1 > most {
				s.Fatalf("%d items from %s to %s, want at most %d", j-i+1, showTime(taken[i]), showTime(taken[j]), most)
			}
		}
	}
	if most := burst + int(last.Sub(start)/gap); len(taken) != most { // the pauses are shorter than the burst
		s.Errorf("got %d items in %s, want %d: as many as the rate allows", len(taken), last.Sub(start), most)
	}
}

func limitOthers(s *workStory) {
	s.enqueue(page(1), page(2), pageOf(3, "news"), page(4), pageOf(5, "news"), pageOf(6, "blog"))
	s.take(limited(3, backend.WorkLimit{Concurrent: 1}), "i1 i3 i6")
	s.take(limited(9, backend.WorkLimit{Concurrent: 1}), "")
	s.take(limited(9, backend.WorkLimit{Concurrent: 2}), "i2 i5")
	s.enqueue(pageOf(7, "wiki"), pageOf(8, "wiki"))
	s.take(limited(9, backend.WorkLimit{Concurrent: 2, Every: time.Minute}), "i7")
	s.take(limited(9, backend.WorkLimit{Concurrent: 2, Every: time.Minute, Burst: 2}), "i8")
}

func limitNames(s *workStory) {
	for n, source := range []string{"docs", "Docs", "news"} {
		s.enqueue(pageOf(10*n+1, source), pageOf(10*n+2, source), pageOf(10*n+3, source))
		feed := pageOf(10*n+4, source)
		feed.System, feed.Key = "feed", "feed "+feed.Key
		s.enqueue(feed)
	}
	r := wanted(99)
	r.Limits = map[backend.WorkSource]backend.WorkLimit{
		{System: "http", Source: "docs"}: {Concurrent: 2},
		{System: "http", Source: "Docs"}: {},
		{System: "feed", Source: "news"}: {Every: time.Minute},
	}
	r.Most = backend.WorkLimit{Concurrent: 1}
	s.take(r, "i1 i2 i4 i11 i12 i13 i14 i21 i24")
}

func limitNext(s *workStory) {
	s.enqueue(page(1), page(2), pageOf(3, "news"), pageOf(4, "news"))
	rate := every(10*time.Second, 1)
	s.next(limited(9, rate), "i1 i3", "12:00:10.000000Z")
	s.move(time.Second)
	s.next(limited(9, every(2*time.Second, 1)), "", "12:00:10.000000Z")
	full := rate
	full.Concurrent = 1
	s.next(limited(9, full), "", "12:01:00.000000Z") // an item has to end first
	s.move(9 * time.Second)
	s.next(limited(1, rate), "i2", "12:01:00.000000Z") // that of news could be taken now
	s.next(limited(0, rate), "", "12:01:00.000000Z")
	s.next(limited(9, rate), "i4", "12:01:00.000000Z") // nothing is left
	s.enqueue(page(5))
	s.next(limited(9, rate), "", "12:00:20.000000Z")
	s.next(limited(9, every(4*time.Second, 2)), "", "12:00:16.000000Z")
	only := limited(9, rate)
	only.Systems = []string{"feed"}
	s.next(only, "", "12:01:00.000000Z")
}

func limitExtremes(s *workStory) {
	s.enqueue(pageRange(1, 9)...)
	s.take(limited(3, every(999, 0)), "i1 i2 i3")
	s.take(limited(1, every(1999, 0)), "i4")
	s.take(limited(1, every(1999, 0)), "")
	s.move(time.Microsecond)
	s.take(limited(1, every(1999, 0)), "i5")
	s.take(limited(3, every(19*time.Minute, 1<<40)), "i6 i7 i8")
	s.next(limited(3, every(19*time.Minute, 2)), "", "12:01:00.000000Z")
}
