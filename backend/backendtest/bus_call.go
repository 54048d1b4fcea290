package backendtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func busCallStories() []busTale {
	return []busTale{
		{"a cancelled call changes nothing on the bus", busCancelled},
		{"a closed handle answers nothing about the bus", busClosed},
		{"reopening gives the bus back", busReopened},
		{"two handles share one bus", busHandles},
		{"a list of events is of one moment", busMoment},
		{"a clock that cannot be right is not believed", busClock},
	}
}

// calls calls each method of a bus once and returns the errors by name.
func (s *busStory) calls(ctx context.Context, c onto.Claim) map[string]error {
	errs := map[string]error{}
	_, errs["Emit"] = s.Emit(ctx, &backend.Emission{Events: []backend.NewEvent{event(900, "paid")}})
	_, errs["Claim"] = s.Claim(ctx, request("new", 9, "paid"))
	_, errs["Settle"] = s.Settle(ctx, []backend.Settlement{settling(backend.Bury, c)})
	_, errs["Beat"] = s.Beat(ctx, alive("new", c))
	_, errs["Types"] = s.Types(ctx, "shop")
	_, errs["Namespaces"] = s.Namespaces(ctx, sessionTTL)
	_, errs["Clean"] = s.Clean(ctx, &backend.Cleaning{Before: s.now().Add(1 << 40), Unhandled: true, Apply: true}, nil)
	_, errs["Events"] = collect(s.Events(ctx, &backend.EventQuery{}), showState)
	_, errs["DeadLetters"] = collect(s.DeadLetters(ctx, &backend.DeadLetterQuery{}), showLetter)
	_, errs["Append"] = s.Append(ctx, riding(acking(draft(), c), event(901, "paid")))
	if p, ok := backend.As[backend.Positions](s.Backend); ok {
		_, errs["Positions"] = p.Positions(ctx)
		errs["Advance"] = p.Advance(ctx, onto.Advance{Name: "new", To: 1})
	}
	if w, ok := backend.As[backend.Watcher](s.Backend); ok {
		_, errs["Await"] = w.Await(ctx, 0)
	}
	return errs
}

// busy has an event that is claimed, one that waits and one that was given up.
func (s *busStory) busy() onto.Claim {
	s.Helper()
	s.emit(event(1, "paid"), event(2, "paid"), event(3, "lost"))
	s.settle(settling(backend.Bury, s.one("post", "lost")))
	s.beat(alive("one"))
	return s.claim(request("billing", 1, "paid"), "e1")[0]
}

func busCancelled(s *busStory) {
	c := s.busy()
	before := s.state()
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	for name, err := range s.calls(ctx, c) {
		if !errors.Is(err, context.Canceled) {
			s.Errorf("%s: got error %v, want %v", name, err, context.Canceled)
		}
	}
	s.wantLines("the bus", s.state(), before)
	s.ack(c)
}

func busClosed(s *busStory) {
	c := s.busy()
	before := s.state()
	s.must(s.Close())
	for name, err := range s.calls(s.ctx, c) {
		if onto.CodeOf(err) != onto.Closed {
			s.Errorf("%s: got error %v, want code %q", name, err, onto.Closed)
		}
	}
	s.Backend = s.open()
	s.wantLines("the bus", s.with(s.story).state(), before)
}

func busReopened(s *busStory) {
	c := s.busy()
	s.emit(keyedEvent(4, "paid", "k"), keyedEvent(5, "paid", "k"))
	if !s.tick(6, "shop", "daily", s.now()) {
		s.Error("the first tick did not fire")
	}
	keyed := s.claim(request("billing", 2, "paid"), "e2 e4")[1]
	for range 2 {
		before := s.state()
		s.reopen()
		s = s.with(s.story)
		s.wantLines("after reopening", s.state(), before)
		s.claim(request("billing", 9, "paid"), "")
	}
	s.ack(c)
	s.ack(keyed)
	s.claim(request("billing", 9, "paid"), "e5")
	if s.tick(7, "shop", "daily", s.now()) {
		s.Error("a tick fired twice")
	}
}

func busHandles(s *busStory) {
	other := s.also()
	for n := range 6 {
		one, two := s, other
		if n%2 == 1 {
			one, two = other, s
		}
		one.emit(keyedEvent(2*n+1, "paid", "k"), event(2*n+2, "paid"))
		two.wantLines("the bus", two.state(), one.state())
		c := two.claim(request("billing", 9, "paid"), fmt.Sprintf("e%d e%d", 2*n+1, 2*n+2))
		one.claim(request("billing", 9, "paid"), "")
		one.ack(c[0])
		two.stale(c[0])
		one.do(acking(draft(put(person("ada"), n)), c[1]))
		two.stale(c[1])
		two.wantLines("the bus", two.state(), one.state())
	}
}

// busMoment writes while a list is read.
func busMoment(s *busStory) {
	for n := range 20 {
		s.emit(event(n+1, "paid"))
	}
	other := s.also()
	claims := other.asked(request("billing", 20, "paid")).Claims
	want := list(s.story, s.Events(s.ctx, &backend.EventQuery{}), showState)
	var got []string
	for e, err := range s.Events(s.ctx, &backend.EventQuery{}) {
		s.must(err)
		got = append(got, showState(e))
		n := len(got)
		other.settle(settling(backend.Bury, claims[n-1]))
		other.emit(urgent(100+n, "paid", 1))
	}
	s.wantLines("events", got, want)
	for range s.Events(s.ctx, &backend.EventQuery{}) {
		break
	}
	letters := 0
	for _, err := range s.DeadLetters(s.ctx, &backend.DeadLetterQuery{}) {
		s.must(err)
		if letters++; letters == 1 {
			c := other.claim(request("billing", 1, "paid"), "e101")
			other.settle(settling(backend.Bury, c[0]))
		}
	}
	if letters != 20 {
		s.Errorf("got %d dead letters, want 20", letters)
	}
}

func busClock(s *busStory) {
	c := s.busy()
	before := s.state()
	now := s.place.Now()
	s.place.clock.set(now.AddDate(9000, 0, 0))
	for name, err := range s.calls(s.ctx, c) {
		reads := name == "Namespaces" || name == "Types" || name == "Events" || name == "DeadLetters" || name == "Positions" || name == "Await"
		if reads && err != nil || !reads && onto.CodeOf(err) != onto.Invalid {
			s.Errorf("%s: got error %v", name, err)
		}
	}
	s.place.clock.set(now)
	s.wantLines("the bus", s.state(), before)
	s.ack(c)
}
