package backendtest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// busTale is a named story about a bus.
type busTale struct {
	name string
	tell func(*busStory)
}

// busStory is a story about a store that keeps events.
type busStory struct {
	*story
	backend.Bus
}

// busStories are for backends that are a [backend.Bus]. Others refuse what only a bus
// can do.
func busStories(t *testing.T, target Target) []tale {
	tales := []tale{{"storage without a bus refuses events, acks and positions", refusesBus}}
	if !isBus(t, target) {
		return tales
	}
	for _, t := range slices.Concat(emitStories(), claimStories(), clockStories(), settleStories(), orderingStories(), letterStories(), sessionStories(),
		rideStories(), followStories(), cleanStories(), busCallStories(), busRaceStories()) {
		tales = append(tales, tale{t.name, func(s *story) {
			b, ok := backend.As[backend.Bus](s.Backend)
			if !ok {
				s.Fatal("one store has a bus and the other does not")
			}
			t.tell(&busStory{s, b})
		}})
	}
	return tales
}

// isBus reports whether a target is a bus.
func isBus(t *testing.T, target Target) bool {
	t.Helper()
	b := target.Open(t, newPlace(t, t.TempDir()))
	_, ok := backend.As[backend.Bus](b)
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	return ok
}

// refusesBus is about backends that are no bus or keep no positions.
func refusesBus(s *story) {
	d := draft(put(person("ada"), 1))
	if _, ok := backend.As[backend.Positions](s.Backend); !ok {
		d.Advance = &onto.Advance{Name: "mirror", To: 1}
		s.refused(onto.UnsupportedOperation, d)
		s.refused(onto.UnsupportedOperation, &backend.Draft{Advance: d.Advance})
		s.refusedStream(onto.UnsupportedOperation, &backend.Draft{Advance: d.Advance}, d.Writes...)
	}
	if _, ok := backend.As[backend.Bus](s.Backend); !ok {
		d.Advance, d.Events = nil, []backend.NewEvent{event(1, "paid")}
		s.refused(onto.UnsupportedOperation, d)
		s.refused(onto.UnsupportedOperation, &backend.Draft{Events: d.Events})
		s.refusedStream(onto.UnsupportedOperation, &backend.Draft{Events: d.Events}, d.Writes...)
		d.Events, d.Acks = nil, []onto.Claim{{Event: event(1, "paid").Event, Handler: "billing", Session: "one", Claimed: s.place.Now()}}
		s.refused(onto.UnsupportedOperation, d)
		s.refusedStream(onto.UnsupportedOperation, &backend.Draft{Acks: d.Acks}, d.Writes...)
	}
	s.commit(put(person("ada"), 1))
}

// also continues the story through another handle.
func (s *busStory) also() *busStory {
	s.Helper()
	return s.with(s.through(s.open()))
}

// with is a story about the bus of another story.
func (s *busStory) with(other *story) *busStory {
	s.Helper()
	b, ok := backend.As[backend.Bus](other.Backend)
	if !ok {
		s.Fatal("one handle has a bus and the other does not")
	}
	return &busStory{other, b}
}

// move moves the clock.
func (s *busStory) move(d time.Duration) { s.place.clock.move(d) }

// now is the time as it is stored.
func (s *busStory) now() time.Time { return s.place.Now().Truncate(time.Microsecond) }

// emit emits events without a commit.
func (s *busStory) emit(events ...backend.NewEvent) []onto.Event {
	s.Helper()
	list, err := s.Emit(s.ctx, &backend.Emission{Events: events})
	if err != nil || len(list) != len(events) {
		s.Fatalf("emit: got %d events and error %v, want %d", len(list), err, len(events))
	}
	return list
}

// event makes an event in namespace shop. Its number names it in tests.
func event(n int, typ string) backend.NewEvent {
	return backend.NewEvent{Event: onto.Event{
		ID: eventID(n), Namespace: "shop", Type: typ, Payload: []byte(`{"n":1}`), Priority: onto.DefaultPriority,
	}}
}

// keyedEvent makes an event with an ordering key.
func keyedEvent(n int, typ, key string) backend.NewEvent {
	e := event(n, typ)
	e.OrderingKey = key
	return e
}

// urgent makes an event with a priority.
func urgent(n int, typ string, priority int) backend.NewEvent {
	e := event(n, typ)
	e.Priority = priority
	return e
}

// delayed makes an event that is not to be handled at once.
func delayed(n int, typ string, d time.Duration) backend.NewEvent {
	e := event(n, typ)
	e.Delay = d
	return e
}

// request asks for events in namespace shop, for session one and a minute.
func request(handler string, limit int, types ...string) *backend.ClaimRequest {
	return &backend.ClaimRequest{Namespace: "shop", Handler: handler, Types: types, Session: "one", Limit: limit, Lease: time.Minute}
}

// asked answers a request that must be accepted.
func (s *busStory) asked(r *backend.ClaimRequest) backend.Claimed {
	s.Helper()
	got, err := s.Claim(s.ctx, r)
	if err != nil {
		s.Fatalf("claim: %v", err)
	}
	if len(got.Claims) > r.Limit || len(got.Verdicts) != len(r.Settle) {
		s.Fatalf("claim: got %d claims and %d verdicts, want at most %d and %d", len(got.Claims), len(got.Verdicts), r.Limit, len(r.Settle))
	}
	return got
}

// claim claims events, whose names must be these.
func (s *busStory) claim(r *backend.ClaimRequest, want string) []onto.Claim {
	s.Helper()
	claims := s.asked(r).Claims
	s.want(r.Handler+" claims", claimNames(claims), want)
	if s.Failed() {
		s.FailNow() // what follows needs these claims
	}
	return claims
}

// one claims the one event there is for a handler.
func (s *busStory) one(handler string, types ...string) onto.Claim {
	s.Helper()
	claims := s.asked(request(handler, 9, types...)).Claims
	if len(claims) != 1 {
		s.Fatalf("%s claims: got %q, want one event", handler, claimNames(claims))
	}
	return claims[0]
}

// settling makes a settlement.
func settling(do backend.Settling, c onto.Claim) backend.Settlement {
	t := backend.Settlement{Claim: c, Do: do}
	if do == backend.Release || do == backend.Bury {
		t.Error = "it failed"
	}
	return t
}

// settle settles a claim that is held.
func (s *busStory) settle(t backend.Settlement) {
	s.Helper()
	if verdicts, err := s.Settle(s.ctx, []backend.Settlement{t}); err != nil || len(verdicts) != 1 || verdicts[0] != nil {
		s.Fatalf("settle: got verdicts %v and error %v, want one that is nil", verdicts, err)
	}
}

func (s *busStory) ack(c onto.Claim) {
	s.Helper()
	s.settle(settling(backend.Ack, c))
}

// stale requires that a claim is not held: nothing can be done with it.
func (s *busStory) stale(c onto.Claim) {
	s.Helper()
	before := s.state()
	notice := event(999, onto.DeadLetterType)
	for _, do := range []backend.Settling{backend.Start, backend.Ack, backend.Release, backend.Return, backend.Bury} {
		t := settling(do, c)
		t.Attempts, t.Deliveries, t.Notice = 8, 9, &notice
		verdicts, err := s.Settle(s.ctx, []backend.Settlement{t})
		if err != nil || len(verdicts) != 1 || !errors.Is(verdicts[0], onto.LeaseExpired) {
			s.Fatalf("settle %s: got verdicts %v and error %v, want %s", showSettling(do), verdicts, err, onto.LeaseExpired)
		}
	}
	s.refuse(onto.LeaseExpired, &backend.Draft{Acks: []onto.Claim{c}})
	s.wantLines("the bus", s.state(), before)
}

// refuse appends a draft in both ways: it must fail with a code and change nothing.
func (s *busStory) refuse(code onto.Code, d *backend.Draft) {
	s.Helper()
	before := s.state()
	s.refused(code, d)
	header := *d
	header.Writes = nil
	s.refusedStream(code, &header, d.Writes...)
	s.wantLines("the bus", s.state(), before)
}

// state formats everything that can be asked about a bus and positions.
func (s *busStory) state() []string {
	s.Helper()
	lines := list(s.story, s.Events(s.ctx, &backend.EventQuery{}), showState)
	lines = append(lines, list(s.story, s.DeadLetters(s.ctx, &backend.DeadLetterQuery{Resolved: true}), showLetter)...)
	spaces, err := s.Namespaces(s.ctx, sessionTTL)
	s.must(err)
	for _, n := range spaces {
		lines = append(lines, showNamespace(n))
	}
	if p, ok := backend.As[backend.Positions](s.Backend); ok {
		at, err := p.Positions(s.ctx)
		s.must(err)
		lines = append(lines, showPositions(at))
	}
	return lines
}

// events returns the names of events and what has become of them.
func (s *busStory) events(q backend.EventQuery) string {
	s.Helper()
	return strings.Join(list(s.story, s.Events(s.ctx, &q), func(e backend.EventState) string {
		return eventName(e.ID) + " " + string(e.Status)
	}), ", ")
}

// event returns an event and what has become of it.
func (s *busStory) event(n int) backend.EventState {
	s.Helper()
	for e, err := range s.Events(s.ctx, &backend.EventQuery{ID: eventID(n)}) {
		s.must(err)
		return e
	}
	s.Fatalf("%s does not exist", eventName(eventID(n)))
	return backend.EventState{}
}

// claimed returns the state of the one claim on an event.
func (s *busStory) claimed(n int) onto.ClaimState {
	s.Helper()
	e := s.event(n)
	if len(e.Claims) != 1 {
		s.Fatalf("%s: got %d claims, want 1", eventName(e.ID), len(e.Claims))
	}
	return e.Claims[0]
}

// letters formats dead letters.
func (s *busStory) letters(q backend.DeadLetterQuery) []string {
	s.Helper()
	return list(s.story, s.DeadLetters(s.ctx, &q), showLetter)
}

// spaces formats the namespaces.
func (s *busStory) spaces() []string {
	s.Helper()
	list, err := s.Namespaces(s.ctx, sessionTTL)
	s.must(err)
	var lines []string
	for _, n := range list {
		lines = append(lines, showNamespace(n))
	}
	return lines
}
