package backendtest

import (
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func emitStories() []busTale {
	return []busTale{
		{"events are kept as they were emitted", emitted},
		{"events are in order of priority, then of arrival", emittedInOrder},
		{"each event is later than the one before it", emittedLater},
		{"events are found", eventsFound},
		{"a tick fires once", ticks},
		{"times are kept in microseconds", busPrecision},
		{"answers of the bus are copies", busCopies},
	}
}

func emitted(s *busStory) {
	second := event(2, "shipped")
	second.Namespace, second.Payload, second.Priority, second.OrderingKey = "other", []byte(`["é",{"a":null}]`), -5, "order 1"
	second.Root, second.Depth, second.Parent, second.ReplayOf = eventID(7), 3, eventID(8), eventID(9)
	third := event(3, "paid")
	third.NotBefore = s.now().Add(time.Hour)
	want := []string{
		`e1 shop/paid {"n":1} at 12:00:00.000000Z, priority 100, root e1, depth 0, parent -`,
		`e2 other/shipped ["é",{"a":null}] at 12:00:00.000001Z, priority -5, root e7, depth 3, parent e8, key "order 1", replays e9`,
		`e3 shop/paid {"n":1} at 12:00:00.000002Z, priority 100, root e3, depth 0, parent -, not before 13:00:00.000000Z`,
	}
	for i, e := range s.emit(event(1, "paid"), second, third) {
		s.want("emitted", showEvent(e), want[i])
	}
	for i, line := range want {
		e := s.event(i + 1)
		s.want("kept", showEvent(e.Event), line)
		if e.Status != onto.EventPending || len(e.Claims) != 0 {
			s.Errorf("got %s, want a pending event without claims", showState(e))
		}
	}
	if none := s.emit(); len(none) != 0 {
		s.Errorf("got %s, want none", showEvents(none))
	}
	s.wantHead(0)
	s.reopen()
	s.want("kept", showEvent(s.with(s.story).event(2).Event), want[1])
}

func emittedInOrder(s *busStory) {
	for n, priority := range []int{100, 50, 200, 100, 0, 200, 100, -1} {
		s.emit(urgent(n+1, "paid", priority))
	}
	s.want("events", s.events(backend.EventQuery{}),
		"e3 pending, e6 pending, e1 pending, e4 pending, e7 pending, e2 pending, e5 pending, e8 pending")
	s.claim(request("billing", 5, "paid"), "e3 e6 e1 e4 e7")
	s.claim(request("billing", 5, "paid"), "e2 e5 e8")
}

func emittedLater(s *busStory) {
	s.emit(event(1, "paid"), event(2, "paid"))
	s.move(-time.Hour)
	other := event(3, "paid")
	other.Namespace = "other"
	s.emit(other)
	s.place.clock.move(time.Hour + 900*time.Nanosecond)
	s.emit(event(4, "paid"))
	d := draft(put(person("ada"), 1))
	d.Events = []backend.NewEvent{event(5, "paid")}
	s.do(d)
	s.move(time.Second)
	s.emit(event(6, "paid"))
	for n, want := range []string{"", "12:00:00.000000Z", "12:00:00.000001Z", "12:00:00.000002Z", "12:00:00.000003Z", "12:00:00.000004Z", "12:00:01.000000Z"} {
		if n > 0 {
			s.want(eventName(eventID(n)), showTime(s.event(n).Time), want)
		}
	}
	s.move(-2 * time.Hour)
	s.clean(backend.Cleaning{Before: s.now().Add(24 * time.Hour), Apply: true})
	s.emit(event(7, "paid"))
	s.want("after cleaning", showTime(s.event(7).Time), "12:00:01.000001Z")
}

func eventsFound(s *busStory) {
	other := event(3, "paid")
	other.Namespace = "other"
	s.emit(event(1, "paid"), event(2, "shipped"), other, event(4, "lost"))
	d := draft(put(person("ada"), 1))
	d.Events = []backend.NewEvent{event(5, "paid"), urgent(6, "paid", 500)}
	s.do(d)
	s.ack(s.one("mail", "shipped"))
	s.settle(settling(backend.Bury, s.one("post", "lost")))
	s.claim(request("billing", 2, "paid"), "e6 e1")
	for _, test := range []struct {
		q    backend.EventQuery
		want string
	}{
		{backend.EventQuery{}, "e6 claimed, e1 claimed, e2 acked, e3 pending, e4 dead_lettered, e5 pending"},
		{backend.EventQuery{Limit: 2}, "e6 claimed, e1 claimed"},
		{backend.EventQuery{Namespace: "shop", Types: []string{"paid", "lost"}}, "e6 claimed, e1 claimed, e4 dead_lettered, e5 pending"},
		{backend.EventQuery{Namespace: "other"}, "e3 pending"},
		{backend.EventQuery{Namespace: "nowhere"}, ""},
		{backend.EventQuery{Types: []string{"paid"}, Limit: 3}, "e6 claimed, e1 claimed, e3 pending"},
		{backend.EventQuery{ID: eventID(2)}, "e2 acked"},
		{backend.EventQuery{ID: eventID(2), Namespace: "other"}, ""},
		{backend.EventQuery{ID: eventID(99)}, ""},
		{backend.EventQuery{Commit: 1}, "e6 claimed, e5 pending"},
		{backend.EventQuery{Commit: 2}, ""},
		{backend.EventQuery{Status: onto.EventPending}, "e3 pending, e5 pending"},
		{backend.EventQuery{Status: onto.EventPending, Limit: 1}, "e3 pending"},
		{backend.EventQuery{Status: onto.EventClaimed}, "e6 claimed, e1 claimed"},
		{backend.EventQuery{Status: onto.EventAcked}, "e2 acked"},
		{backend.EventQuery{Status: onto.EventDead, Types: []string{"lost"}}, "e4 dead_lettered"},
	} {
		s.want("events", s.events(test.q), test.want)
	}
}

// tick emits an event for a tick, and reports whether it was emitted.
func (s *busStory) tick(n int, namespace, schedule string, t time.Time) bool {
	s.Helper()
	list, err := s.Emit(s.ctx, &backend.Emission{
		Events: []backend.NewEvent{event(n, "due")}, Tick: &backend.Tick{Namespace: namespace, Schedule: schedule, Time: t},
	})
	s.must(err)
	return len(list) == 1
}

func ticks(s *busStory) {
	noon, n := s.now(), 0
	for _, test := range []struct {
		namespace, schedule string
		after               time.Duration
		want                bool
	}{
		{"shop", "daily", 0, true},
		{"shop", "daily", 0, false},
		{"shop", "daily", -time.Hour, false},
		{"shop", "hourly", 0, true},
		{"other", "daily", -time.Hour, true},
		{"other", "daily", 0, true},
		{"shop", "daily", time.Microsecond, true},
		{"shop", "daily", 24 * time.Hour, true},
		{"shop", "daily", time.Hour, false},
	} {
		n++
		before := s.state()
		if got := s.also().tick(n, test.namespace, test.schedule, noon.Add(test.after)); got != test.want {
			s.Errorf("tick %d of %s/%s: emitted %v, want %v", n, test.namespace, test.schedule, got, test.want)
		}
		if !test.want {
			s.wantLines("the bus", s.state(), before)
		}
	}
	s.want("events", s.events(backend.EventQuery{}), "e1 pending, e4 pending, e5 pending, e6 pending, e7 pending, e8 pending")
	s.wantLines("namespaces", s.spaces(), []string{
		"namespace other: 0 events, 0 dead letters\n\tschedule other/daily at 12:00:00.000000Z",
		"namespace shop: 6 events, 0 dead letters\n\ttype due: 6 events, handled false\n\tschedule shop/daily at 2026-02-11T12:00:00.000000Z\n\tschedule shop/hourly at 12:00:00.000000Z",
	})
}

func busPrecision(s *busStory) {
	s.move(1999 * time.Nanosecond)
	s.want("emitted", showEvent(s.emit(delayed(1, "paid", 2500*time.Nanosecond))[0]),
		`e1 shop/paid {"n":1} at 12:00:00.000001Z, priority 100, root e1, depth 0, parent -, not before 12:00:00.000003Z`)
	s.move(2001 * time.Nanosecond)
	r := request("billing", 1, "paid")
	r.Lease = 1700 * time.Nanosecond
	c := s.claim(r, "e1")[0]
	s.want("claim", showTime(c.Claimed)+" until "+showTime(c.Until), "12:00:00.000004Z until 12:00:00.000005Z")
	t := settling(backend.Release, c)
	t.Delay = 3900 * time.Nanosecond
	s.settle(t)
	s.want("released", showClaimState(s.claimed(1)),
		`billing of one at 12:00:00.000004Z until 12:00:00.000004Z, available 12:00:00.000007Z, acked -, dead -, 0 attempts, 0 deliveries, error "it failed"`)
	s.move(3 * time.Microsecond)
	c = s.claim(r, "e1")[0]
	_, err := s.Beat(s.ctx, &backend.Beat{Session: onto.Session{ID: "one", Namespace: "shop"}, Claims: []onto.Claim{c}, Lease: 2999})
	s.must(err)
	s.want("extended", showTime(s.claimed(1).Until), "12:00:00.000009Z")
	s.ack(c)
}

// busCopies spoils what it handed in and what it got.
func busCopies(s *busStory) {
	spoil := func(text []byte) {
		for i := range text {
			text[i] = 'X'
		}
	}
	given := []backend.NewEvent{event(1, "paid"), event(2, "paid")}
	list, err := s.Emit(s.ctx, &backend.Emission{Events: given})
	s.must(err)
	notice, riding := event(3, onto.DeadLetterType), event(4, "paid")
	c := s.claim(request("billing", 2, "paid"), "e1 e2")
	dead := settling(backend.Bury, c[0])
	dead.Notice = &notice
	s.settle(dead)
	d := draft(put(person("ada"), 1))
	d.Events = []backend.NewEvent{riding}
	s.do(d)
	session := &backend.Beat{Session: onto.Session{ID: "one", Namespace: "shop", Metadata: []byte(`{"pid":1}`)}}
	_, err = s.Beat(s.ctx, session)
	s.must(err)
	before := s.state()
	for _, text := range [][]byte{given[0].Payload, given[1].Payload, list[0].Payload, list[1].Payload, notice.Payload, riding.Payload,
		c[0].Payload, c[1].Payload, session.Metadata} {
		spoil(text)
	}
	for e, err := range s.Events(s.ctx, &backend.EventQuery{}) {
		s.must(err)
		spoil(e.Payload)
	}
	for l, err := range s.DeadLetters(s.ctx, &backend.DeadLetterQuery{}) {
		s.must(err)
		spoil(l.Event.Payload)
	}
	spaces, err := s.Namespaces(s.ctx, sessionTTL)
	s.must(err)
	for _, n := range spaces {
		for _, session := range n.Sessions {
			spoil(session.Metadata)
		}
	}
	s.wantLines("the bus", s.state(), before)
}
