package backendtest

import (
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func settleStories() []busTale {
	return []busTale{
		{"an acked event is done for its handler", settleAck},
		{"a start counts, and nothing else changes", settleStart},
		{"a released claim is free after its delay", settleRelease},
		{"a returned claim is free after its delay", settleReturn},
		{"a buried event is done for its handler", settleBury},
		{"settlements are applied one after the other", settleList},
		{"the state of an event is the first that is true for a handler", settleStates},
	}
}

func settleAck(s *busStory) {
	s.emit(event(1, "paid"))
	c, other := s.one("billing", "paid"), s.one("mail", "paid")
	s.move(time.Second)
	c.Attempts, c.Deliveries = 2, 4
	s.ack(c)
	s.want("claims", showClaimState(s.event(1).Claims[0]),
		`billing of one at 12:00:00.000000Z until 12:01:00.000000Z, available 12:00:00.000000Z, acked 12:00:01.000000Z, dead -, 2 attempts, 4 deliveries, error ""`)
	s.stale(c)
	s.move(time.Hour)
	s.claim(request("billing", 9, "paid"), "")
	if got := s.claim(request("mail", 9, "paid"), "e1")[0]; got.Attempts != 0 || got.Deliveries != 0 {
		s.Errorf("another handler's claim: got %s, want no attempts and no deliveries", showClaim(got))
	}
	s.stale(other)
}

func settleStart(s *busStory) {
	s.emit(event(1, "paid"))
	c := s.one("billing", "paid")
	s.move(time.Second)
	c.Attempts, c.Deliveries = 1, 2
	s.settle(settling(backend.Start, c))
	s.want("claim", showClaimState(s.claimed(1)),
		`billing of one at 12:00:00.000000Z until 12:01:00.000000Z, available 12:00:00.000000Z, acked -, dead -, 1 attempts, 2 deliveries, error ""`)
	s.claim(request("billing", 9, "paid"), "")
	s.move(time.Minute)
	again := s.one("billing", "paid")
	s.want("claim", showClaim(again), showEvent(again.Event)+
		", claimed by billing of one at 12:01:01.000000Z until 12:02:01.000000Z, 1 attempts, 2 deliveries, lost true")
}

func settleRelease(s *busStory) {
	s.emit(event(1, "paid"))
	c := s.one("billing", "paid")
	s.move(time.Second)
	t := settling(backend.Release, c)
	t.Attempts, t.Deliveries, t.Delay = 1, 1, time.Hour
	s.settle(t)
	s.want("claim", showClaimState(s.claimed(1)),
		`billing of one at 12:00:00.000000Z until 12:00:01.000000Z, available 13:00:01.000000Z, acked -, dead -, 1 attempts, 1 deliveries, error "it failed"`)
	s.want("events", s.events(backend.EventQuery{}), "e1 pending")
	s.stale(c) // it is not held, though none has taken it
	if lost := s.beat(&backend.Beat{Session: onto.Session{ID: "one", Namespace: "shop"}, Claims: []onto.Claim{c}, Lease: time.Hour}); lost != "e1" {
		s.Errorf("beat: got %q lost, want e1", lost)
	}
	s.move(time.Hour - time.Microsecond)
	s.claim(request("billing", 9, "paid"), "")
	s.move(time.Microsecond)
	again := s.one("billing", "paid")
	if again.Lost || again.Attempts != 1 || again.Deliveries != 1 {
		s.Errorf("got %s, want one attempt, one delivery, and nothing lost", showClaim(again))
	}
	s.want("claim", showClaimState(s.claimed(1)),
		`billing of one at 13:00:01.000000Z until 13:01:01.000000Z, available 13:00:01.000000Z, acked -, dead -, 1 attempts, 1 deliveries, error "it failed"`)
	t = settling(backend.Release, again)
	t.Attempts, t.Error = 2, ""
	s.settle(t)
	if c := s.claimed(1); c.Error != "" || c.Attempts != 2 {
		s.Errorf("got %s, want the last error", showClaimState(c))
	}
	s.move(time.Microsecond)
	s.one("billing", "paid")
	s.stale(again)
	s.move(time.Hour)
	if again = s.one("billing", "paid"); !again.Lost {
		s.Error("a claim that ran out after one that was released is lost")
	}
}

func settleReturn(s *busStory) {
	s.emit(event(1, "paid"))
	s.settle(settling(backend.Release, s.one("billing", "paid")))
	c := s.one("billing", "paid")
	s.move(time.Second)
	t := settling(backend.Return, c)
	t.Delay, t.Error, t.Deliveries = time.Second, "which no return has", 1
	s.settle(t)
	s.want("claim", showClaimState(s.claimed(1)),
		`billing of one at 12:00:00.000000Z until 12:00:01.000000Z, available 12:00:02.000000Z, acked -, dead -, 0 attempts, 1 deliveries, error "it failed"`)
	s.stale(c)
	s.claim(request("billing", 9, "paid"), "")
	s.move(time.Second)
	if again := s.one("billing", "paid"); again.Lost {
		s.Error("a returned claim is said to be lost")
	}
}

func settleBury(s *busStory) {
	s.emit(event(1, "paid"))
	c := s.one("billing", "paid")
	s.move(time.Second)
	t := settling(backend.Bury, c)
	t.Attempts, t.Deliveries = 3, 4
	s.settle(t)
	s.want("claim", showClaimState(s.claimed(1)),
		`billing of one at 12:00:00.000000Z until 12:00:01.000000Z, available 12:00:01.000000Z, acked -, dead 12:00:01.000000Z, 3 attempts, 4 deliveries, error "it failed"`)
	s.stale(c)
	s.move(time.Hour)
	s.claim(request("billing", 9, "paid"), "")
	s.claim(request("mail", 9, "paid"), "e1")
	s.want("events", s.events(backend.EventQuery{}), "e1 dead_lettered")
}

func settleList(s *busStory) {
	s.emit(event(1, "paid"), event(2, "paid"))
	c := s.claim(request("billing", 2, "paid"), "e1 e2")
	unknown := c[1]
	unknown.ID = eventID(9)
	start := settling(backend.Start, c[0])
	start.Deliveries = 1
	ack := settling(backend.Ack, c[0])
	ack.Deliveries = 2
	verdicts, err := s.Settle(s.ctx, []backend.Settlement{
		start, ack, settling(backend.Release, c[0]), settling(backend.Ack, unknown), settling(backend.Return, c[1]), ack, settling(backend.Ack, c[1]),
	})
	s.must(err)
	var got string
	for _, v := range verdicts {
		got += outcome("done", v) + ", "
	}
	s.want("verdicts", got, "done, done, error lease_expired, error lease_expired, done, error lease_expired, error lease_expired, ")
	if c := s.claimed(1); c.Acked.IsZero() || c.Deliveries != 2 {
		s.Errorf("got %s, want it acked with 2 deliveries", showClaimState(c))
	}
	if verdicts, err = s.Settle(s.ctx, nil); err != nil || len(verdicts) != 0 {
		s.Errorf("no settlements: got %v and error %v", verdicts, err)
	}
}

func settleStates(s *busStory) {
	s.emit(event(1, "paid"), event(2, "paid"))
	status := func(want onto.EventStatus) {
		s.Helper()
		if got := s.event(1).Status; got != want {
			s.Errorf("got %s, want %s", got, want)
		}
	}
	status(onto.EventPending)
	billing := s.claim(request("billing", 1, "paid"), "e1")[0]
	mail := s.claim(request("mail", 1, "paid"), "e1")[0]
	zeta := s.claim(request("zeta", 1, "paid"), "e1")[0]
	status(onto.EventClaimed)
	s.settle(settling(backend.Release, billing))
	status(onto.EventClaimed)
	s.ack(mail)
	status(onto.EventAcked)
	s.settle(settling(backend.Bury, zeta))
	status(onto.EventDead)
	var handlers string
	for _, c := range s.event(1).Claims {
		handlers += c.Handler + " "
	}
	s.want("claims", handlers, "billing mail zeta ")
	s.want("the other event", s.events(backend.EventQuery{ID: eventID(2)}), "e2 pending")
}
