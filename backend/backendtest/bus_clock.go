package backendtest

import (
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// clockStories are about times of a clock that was wrong.
func clockStories() []busTale {
	return []busTale{
		{"a lease of a clock that was ahead has ended", clockLease},
		{"a lease of the longest length has not", clockLongLease},
		{"a delay of a clock that was ahead has ended", clockDelay},
		{"a delay of a right clock can be of any length", clockLongDelay},
		{"a claim can be renewed when the clock is right again", clockRenewed},
		{"a claim that was ready for a clock that was ahead is ready again", clockReady},
		{"the newest time is that of when the store was opened", clockNewest},
	}
}

// decade is how far the wrong clocks of stories are ahead.
const decade = 10 * 365 * 24 * time.Hour

func clockLease(s *busStory) {
	s.emit(keyedEvent(1, "paid", "order 1"), keyedEvent(2, "paid", "order 1"), event(3, "paid"))
	s.move(decade)
	c := s.claim(request("billing", 9, "paid"), "e1 e3")
	s.move(-decade)
	s.want("events", s.events(backend.EventQuery{}), "e1 pending, e2 pending, e3 pending")
	if n := s.busyHandler("billing"); n.Waiting != 3 || n.Claimed != 0 {
		s.Errorf("got %+v, want 3 events that wait, none of them claimed", n)
	}
	r := request("billing", 9, "paid")
	r.Session = "two"
	taken := s.also().claim(r, "e1 e3")
	for _, c := range taken {
		if !c.Lost {
			s.Errorf("got %s, want a lost claim", showClaim(c))
		}
	}
	s.want("claim", showClaimState(s.claimed(3)),
		`billing of two at 12:00:00.000000Z until 12:01:00.000000Z, available 12:00:00.000000Z, acked -, dead -, 0 attempts, 0 deliveries, error ""`)
	s.stale(c[0])
	s.ack(taken[0])
	s.claim(r, "e2")
	s.move(time.Minute)
	s.claim(r, "e2 e3")
}

// busyHandler is what there is for a handler.
func (s *busStory) busyHandler(name string) backend.HandlerState {
	s.Helper()
	spaces, err := s.Namespaces(s.ctx, sessionTTL)
	s.must(err)
	for _, n := range spaces {
		for _, h := range n.Handlers {
			if h.Name == name {
				return h
			}
		}
	}
	s.Fatalf("there is no handler %s", name)
	return backend.HandlerState{}
}

func clockLongLease(s *busStory) {
	s.emit(event(1, "paid"))
	r := request("billing", 9, "paid")
	r.Lease = backend.MaxLease
	c := s.claim(r, "e1")[0]
	s.claim(r, "")
	s.want("events", s.events(backend.EventQuery{}), "e1 claimed")
	s.move(-time.Microsecond)
	c = s.claim(r, "e1")[0] // the lease is further ahead than any can be
	if !c.Lost {
		s.Errorf("got %s, want a lost claim", showClaim(c))
	}
}

func clockDelay(s *busStory) {
	s.emit(event(1, "paid"), event(2, "paid"))
	s.move(decade)
	c := s.claim(request("billing", 9, "paid"), "e1 e2")
	for i, do := range []backend.Settling{backend.Release, backend.Return} {
		t := settling(do, c[i])
		t.Delay = 24 * time.Hour
		s.settle(t)
	}
	s.claim(request("billing", 9, "paid"), "")
	s.move(-decade)
	for _, c := range s.claim(request("billing", 9, "paid"), "e1 e2") {
		if c.Lost {
			s.Errorf("got %s, want nothing lost", showClaim(c))
		}
	}
}

func clockLongDelay(s *busStory) {
	s.emit(event(1, "paid"), delayed(2, "paid", decade))
	t := settling(backend.Return, s.one("billing", "paid"))
	t.Delay = 1000 * time.Hour
	s.settle(t)
	s.move(1000*time.Hour - time.Microsecond)
	s.claim(request("billing", 9, "paid"), "")
	s.move(time.Microsecond)
	s.claim(request("billing", 9, "paid"), "e1")
	s.move(decade - 1000*time.Hour - time.Microsecond)
	s.claim(request("billing", 9, "paid"), "e1")
	s.move(time.Microsecond)
	s.claim(request("billing", 9, "paid"), "e2")
}

func clockRenewed(s *busStory) {
	s.emit(event(1, "paid"))
	s.move(decade)
	c := s.one("billing", "paid")
	s.move(-decade)
	s.want("lost", s.beat(alive("one", c)), "")
	s.want("events", s.events(backend.EventQuery{}), "e1 claimed")
	s.want("extended", showTime(s.claimed(1).Until), "12:01:00.000000Z")
	s.claim(request("billing", 9, "paid"), "")
	s.ack(c)
	s.move(time.Hour)
	s.claim(request("billing", 9, "paid"), "")
}

// clockReady has claims that a clock which was ahead made ready, and that no session took.
func clockReady(s *busStory) {
	s.emit(event(1, "paid"), event(2, "paid"), event(3, "paid"))
	c := s.claim(request("billing", 1, "paid"), "e1")
	s.move(decade)
	c = append(c, s.claim(request("billing", 2, "paid"), "e1 e2")...)
	t := settling(backend.Release, c[1])
	t.Delay = time.Hour
	s.settle(t)
	s.move(2 * time.Hour)
	s.claim(request("billing", 0, "paid"), "")
	s.move(-decade - 2*time.Hour)
	s.claim(request("billing", 9, "paid"), "e1 e2 e3")
}

func clockNewest(s *busStory) {
	newest := func(want string) {
		s.Helper()
		d, ok := backend.As[backend.Dated](s.Backend)
		if !ok {
			s.Fatal("a bus does not tell which times are stored")
		}
		at, err := d.Newest(s.ctx)
		s.must(err)
		s.want("newest", showTime(at), want)
	}
	newest("-")
	s.move(time.Second)
	s.emit(event(1, "paid"))
	newest("-")
	s = s.also()
	newest("12:00:01.000000Z")
	s.move(decade)
	s.emit(event(2, "paid"))
	newest("12:00:01.000000Z")
	s.move(time.Second - decade)
	s.commit(put(person("ada"), 1))
	s.move(time.Hour)
	d := draft(put(person("ada"), 2))
	s.do(d)
	s = s.also()
	newest("2036-02-08T12:00:01.000000Z")
}

// clockJumps draws by how much a clock jumps before some steps of random traffic: by their
// index.
func clockJumps() *rapid.Generator[map[int]time.Duration] {
	jump := rapid.SampledFrom([]time.Duration{
		2 * time.Hour, -2 * time.Hour, -decade, decade, 61 * time.Minute, -59 * time.Minute, 24 * time.Hour, -24 * time.Hour, 5 * time.Second, -5 * time.Second,
	})
	return rapid.MapOfN(rapid.IntRange(0, 250), jump, 0, 4)
}

// settleAll sets the clock right. What is there can be handled by then, or within an hour and
// the longest delay, but for what has to wait for its time.
func (r *traffic) settleAll() {
	r.place.clock.set(startOfClocks())
	r.settleReady()
	r.place.clock.move(backend.MaxLease + time.Minute)
	r.settleReady()
	r.compare()
	now := r.place.Now()
	for e, err := range busOf(r.reference).Events(r.Context(), &backend.EventQuery{}) {
		if err != nil {
			r.Fatal(err)
		}
		if e.NotBefore.After(now) {
			continue
		}
		open := func(c onto.ClaimState) bool { return c.Acked.IsZero() && c.Dead.IsZero() }
		if len(e.Claims) < len(busHandlers()) || slices.ContainsFunc(e.Claims, open) {
			r.Fatalf("the clock is right again, and this is not handled: %s", showState(e))
		}
	}
}

// settleReady claims and acks events for every handler until there are none.
func (r *traffic) settleReady() {
	for namespace := range busNamespaces() {
		for handler := range busHandlers() {
			for {
				before := len(r.claims)
				r.take(0, move{Do: claimDeed, Namespace: namespace, Handler: handler, Types: []int{0, 1, 2, 3}, Limit: 50, Lease: time.Minute})
				var acks []fate
				for i := range r.claims[before:] {
					acks = append(acks, fate{Do: backend.Ack, Which: i})
				}
				if len(acks) == 0 {
					break
				}
				r.take(0, move{Do: settleDeed, Settle: acks})
			}
		}
	}
}
