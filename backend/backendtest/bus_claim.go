package backendtest

import (
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func claimStories() []busTale {
	return []busTale{
		{"each handler claims each event", claimEach},
		{"a claim says what it is", claimFields},
		{"handlers get the types and the namespace that they ask for", claimTypes},
		{"a claimed event is not claimed until its lease ends", claimLease},
		{"a claim that ran out is held until it is taken", claimHeld},
		{"a claim is told from another one by session and time", claimFence},
		{"an event is not claimed before its time", claimDelayed},
		{"a clock that was set back does not prolong a delay", claimDelayedBack},
		{"a claim tells when to come back", claimNext},
		{"settlements come before claims", claimSettles},
		{"an event without a handler waits", claimLate},
		{"events of many kinds are claimed in one order", claimMixed},
	}
}

func claimEach(s *busStory) {
	s.emit(event(1, "paid"), event(2, "paid"), event(3, "paid"))
	s.claim(request("billing", 2, "paid"), "e1 e2")
	s.claim(request("mail", 9, "paid"), "e1 e2 e3")
	s.claim(request("billing", 2, "paid"), "e3")
	s.claim(request("billing", 2, "paid"), "")
	s.claim(request("mail", 2, "paid"), "")
	s.emit(event(4, "paid"))
	s.also().claim(request("mail", 1, "paid"), "e4")
	s.claim(request("billing", 1, "paid"), "e4")
}

func claimFields(s *busStory) {
	e := keyedEvent(1, "paid", "order 1")
	e.Root, e.Depth, e.Parent, e.ReplayOf = eventID(7), 3, eventID(8), eventID(9)
	d := draft(put(person("ada"), 1))
	d.Events = []backend.NewEvent{e}
	s.do(d)
	s.move(time.Second)
	c := s.one("billing", "paid")
	s.want("claim", showClaim(c), `e1 shop/paid {"n":1} at 12:00:00.000000Z, priority 100, root e7, depth 3, parent e8, key "order 1", replays e9, in commit 1, `+
		"claimed by billing of one at 12:00:01.000000Z until 12:01:01.000000Z, 0 attempts, 0 deliveries, lost false")
	s.want("state", showState(s.event(1)), "claimed: "+showEvent(c.Event)+"\n\t"+
		`billing of one at 12:00:01.000000Z until 12:01:01.000000Z, available 12:00:01.000000Z, acked -, dead -, 0 attempts, 0 deliveries, error ""`)
	s.move(time.Minute)
	if got := s.event(1).Status; got != onto.EventPending {
		s.Errorf("after the lease: got %s, want %s", got, onto.EventPending)
	}
}

func claimTypes(s *busStory) {
	other := event(3, "paid")
	other.Namespace = "other"
	s.emit(event(1, "paid"), event(2, "shipped"), other, event(4, "Paid"), event(5, "lost"), event(6, "paid.late"))
	s.claim(request("billing", 9, "shipped", "paid"), "e1 e2")
	r := request("billing", 9, "paid")
	r.Namespace = "other"
	s.claim(r, "e3")
	s.claim(request("billing", 9, "lost", "Paid", "nothing"), "e4 e5")
	s.claim(request("billing", 0, "paid.late"), "")
	s.claim(request("Billing", 9, "paid.late"), "e6")
	s.claim(request("billing", 9, "paid", "shipped", "Paid", "lost", "paid.late"), "e6")
}

func claimLease(s *busStory) {
	s.emit(event(1, "paid"), event(2, "paid"))
	s.claim(request("billing", 1, "paid"), "e1")
	s.move(time.Minute - time.Microsecond)
	s.claim(request("billing", 9, "paid"), "e2")
	s.want("events", s.events(backend.EventQuery{}), "e1 claimed, e2 claimed")
	s.move(time.Microsecond)
	s.want("events", s.events(backend.EventQuery{}), "e1 pending, e2 claimed")
	c := s.claim(request("billing", 9, "paid"), "e1")[0]
	if !c.Lost {
		s.Error("a claim whose lease ended is not said to be lost")
	}
	s.ack(c)
	s.move(time.Hour)
	s.claim(request("billing", 9, "paid"), "e2")
}

func claimHeld(s *busStory) {
	s.emit(event(1, "paid"), event(2, "paid"))
	c := s.claim(request("billing", 2, "paid"), "e1 e2")
	s.move(time.Hour)
	s.ack(c[0])
	started := settling(backend.Start, c[1])
	started.Deliveries = 3
	s.settle(started)
	other := s.also()
	r := request("billing", 9, "paid")
	r.Session = "two"
	taken := other.claim(r, "e2")[0]
	if !taken.Lost || taken.Deliveries != 3 {
		s.Errorf("got %s, want a lost claim with 3 deliveries", showClaim(taken))
	}
	s.stale(c[1])
	other.stale(c[1])
	s.ack(taken)
	s.stale(taken)
	s.want("events", s.events(backend.EventQuery{}), "e1 acked, e2 acked")
}

func claimFence(s *busStory) {
	s.emit(event(1, "paid"))
	c := s.one("billing", "paid")
	for _, spoil := range []func(*onto.Claim){
		func(c *onto.Claim) { c.Session = "two" },
		func(c *onto.Claim) { c.Claimed = c.Claimed.Add(time.Microsecond) },
		func(c *onto.Claim) { c.Claimed = c.Claimed.Add(-time.Microsecond) },
		func(c *onto.Claim) { c.Handler = "mail" },
		func(c *onto.Claim) { c.ID = eventID(2) },
	} {
		wrong := c
		spoil(&wrong)
		s.stale(wrong)
	}
	s.move(time.Minute)
	again := s.one("billing", "paid") // by the same session
	s.stale(c)
	again.Claimed = again.Claimed.In(time.FixedZone("east", 3600)) // the same moment
	s.ack(again)
}

func claimDelayed(s *busStory) {
	until := event(3, "paid")
	until.NotBefore = s.now().Add(time.Minute)
	s.emit(delayed(1, "paid", time.Hour), urgent(2, "paid", 1), until)
	s.claim(request("billing", 9, "paid"), "e2")
	if n := len(s.event(1).Claims); n != 0 {
		s.Errorf("an event that nobody claimed: got %d claims, want none", n)
	}
	s.want("events", s.events(backend.EventQuery{}), "e1 pending, e3 pending, e2 claimed")
	s.move(time.Minute)
	c := s.claim(request("billing", 9, "paid"), "e3 e2")[0]
	s.want("available", showTime(s.claimed(3).Available), "12:01:00.000000Z")
	s.ack(c)
	s.move(59*time.Minute - time.Microsecond)
	s.claim(request("billing", 9, "paid"), "e2")
	s.move(time.Microsecond)
	c = s.claim(request("billing", 9, "paid"), "e1")[0]
	if c.Lost {
		s.Error("the first claim is said to be lost")
	}
	s.claim(request("late", 9, "paid"), "e1 e3 e2") // whose first claim comes afterwards
	for _, claim := range s.event(1).Claims {
		s.want("available to "+claim.Handler, showTime(claim.Available), "13:00:00.000000Z")
	}
}

// claimDelayedBack emits an event when the clock was set back: its time is after that of
// the event before, and its delay begins now.
func claimDelayedBack(s *busStory) {
	s.emit(event(1, "paid"))
	s.move(-time.Hour)
	e := s.emit(delayed(2, "paid", time.Minute))[0]
	s.want("time", showTime(e.Time), "12:00:00.000001Z")
	s.want("not before", showTime(e.NotBefore), "11:01:00.000000Z")
	s.claim(request("billing", 9, "paid"), "e1")
	s.move(time.Minute - time.Microsecond)
	s.claim(request("billing", 9, "paid"), "")
	s.move(time.Microsecond)
	s.claim(request("billing", 9, "paid"), "e1 e2")
}

func claimNext(s *busStory) {
	next := func(r *backend.ClaimRequest, claims, want string) []onto.Claim {
		s.Helper()
		got := s.asked(r)
		s.want("claims", claimNames(got.Claims), claims)
		s.want("next", showTime(got.Next), want)
		return got.Claims
	}
	next(request("billing", 9, "paid"), "", "-")
	s.emit(event(1, "paid"), event(2, "paid"), event(3, "shipped"), keyedEvent(4, "keyed", "k"), keyedEvent(5, "keyed", "k"))
	next(request("billing", 1, "paid"), "e1", "12:01:00.000000Z")
	s.move(time.Second)
	c := next(request("billing", 9, "paid"), "e2", "12:01:00.000000Z")[0]
	next(request("billing", 9, "shipped"), "e3", "12:01:01.000000Z")
	next(request("mail", 0, "paid"), "", "-") // what it could claim now does not count
	s.emit(delayed(6, "paid", 20*time.Second))
	next(request("billing", 9, "paid"), "", "12:00:21.000000Z")
	t := settling(backend.Release, c)
	t.Delay = 10 * time.Second
	s.settle(t)
	next(request("billing", 9, "paid"), "", "12:00:11.000000Z")
	keyed := next(request("billing", 9, "keyed"), "e4", "12:01:01.000000Z")
	s.ack(keyed[0])
	next(request("billing", 0, "keyed"), "", "-")
	s.move(2 * time.Minute)
	next(request("billing", 1, "paid"), "e1", "12:03:01.000000Z")
}

func claimSettles(s *busStory) {
	s.emit(keyedEvent(1, "paid", "k"), keyedEvent(2, "paid", "k"), event(3, "paid"), event(4, "paid"), event(5, "paid"))
	c := s.claim(request("billing", 4, "paid"), "e1 e3 e4 e5")
	r := request("billing", 9, "paid")
	r.Settle = []backend.Settlement{
		settling(backend.Ack, c[0]), settling(backend.Return, c[1]), settling(backend.Return, c[1]), settling(backend.Bury, c[2]), settling(backend.Start, c[3]),
	}
	r.Settle[4].Deliveries = 1
	got := s.asked(r)
	if names := claimNames(got.Claims); names != "e2 e3" {
		s.Fatalf("got claims %s, want e2 e3", names)
	}
	for i, err := range got.Verdicts {
		if want := i == 2; (err != nil) != want || err != nil && onto.CodeOf(err) != onto.LeaseExpired {
			s.Errorf("verdict %d: got %v", i, err)
		}
	}
	s.want("events", s.events(backend.EventQuery{}), "e1 acked, e2 claimed, e3 claimed, e4 dead_lettered, e5 claimed")
	r.Limit, r.Settle = 0, []backend.Settlement{settling(backend.Ack, got.Claims[0])}
	s.claim(r, "")
	s.want("events", s.events(backend.EventQuery{Status: onto.EventAcked}), "e1 acked, e2 acked")
}

func claimLate(s *busStory) {
	for n := range 30 {
		s.emit(urgent(n+1, "paid", 100-n%3))
	}
	s.move(24 * time.Hour)
	s.reopen()
	s = s.with(s.story)
	s.claim(request("billing", 5, "paid"), "e1 e4 e7 e10 e13")
	s.claim(request("billing", 7, "paid"), "e16 e19 e22 e25 e28 e2 e5")
	s.emit(urgent(31, "paid", 101))
	s.claim(request("billing", 2, "paid"), "e31 e8")
}

// claimMixed has events that are new, released, returned, delayed and lost at once.
func claimMixed(s *busStory) {
	s.emit(urgent(1, "a", 10), urgent(2, "b", 30), urgent(3, "a", 20), delayed(4, "b", time.Minute), event(5, "a"))
	c := s.claim(request("billing", 3, "a", "b"), "e5 e2 e3")
	s.settle(settling(backend.Release, c[0]))
	t := settling(backend.Return, c[1])
	t.Delay = 2 * time.Minute
	s.settle(t)
	s.emit(urgent(6, "b", 20))
	s.move(time.Minute + time.Second)
	got := s.claim(request("billing", 9, "b", "a"), "e4 e5 e3 e6 e1")
	for i, lost := range []bool{false, false, true, false, false} {
		if got[i].Lost != lost {
			s.Errorf("%s: lost %v, want %v", eventName(got[i].ID), got[i].Lost, lost)
		}
	}
	s.move(time.Minute)
	s.claim(request("billing", 2, "b", "a"), "e4 e5")
	s.claim(request("billing", 9, "b"), "e2 e6")
}
