package backendtest

import (
	"errors"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// runFaults makes appends fail at each point a backend names.
func runFaults(t *testing.T, target Target) {
	archive := isArchive(t, target)
	for _, point := range target.Points {
		t.Run(point, func(t *testing.T) {
			runStories(t, target, []tale{
				{"draft", func(s *story) { s.survives(point, s.sendDraft) }},
				{"stream", func(s *story) { s.survives(point, s.sendStream) }},
				{"evolution", func(s *story) { s.survivesEvolving(point) }},
				{"draft of a handler", func(s *story) { s.survivesHandling(point, s.sendDraft) }},
				{"stream of a handler", func(s *story) { s.survivesHandling(point, s.sendStream) }},
			})
			if archive {
				runStories(t, target, archiving([]archiveTale{
					{"restoration", func(s *archiveStory) { s.survivesRestoring(point) }},
					{"restoration that purges", func(s *archiveStory) { s.survivesPurging(point) }},
				}))
			}
		})
	}
}

func (s *story) sendDraft(b backend.Backend, d *backend.Draft) (onto.Result, error) {
	return b.Append(s.ctx, d)
}

func (s *story) sendStream(b backend.Backend, d *backend.Draft) (onto.Result, error) {
	header := *d
	header.Writes = nil
	return b.AppendStream(s.ctx, &header, sequence(d.Writes, nil))
}

// survives makes an append fail: nothing of it is visible, through this handle, another
// one or a later one, and the same draft is accepted afterwards.
func (s *story) survives(point string, apply func(backend.Backend, *backend.Draft) (onto.Result, error)) {
	s.lively()
	other := s.through(s.open())
	before := s.everything()
	d := rich("fault", put(person("ada"), 100), remove(person("bob")), put(visit("x", "y", "z"), 1), once(put(claim("x", "n", "1"), 1)))
	planted := errors.New("planted at " + point)
	for range 3 {
		s.target.Fault(s.T, s.Backend, point, planted)
		r, err := apply(s.Backend, d)
		if !errors.Is(err, planted) || r.Changed() {
			s.Fatalf("got %s and error %v, want an error that wraps the planted one", showCommit(r.Commit), err)
		}
		s.wantLines("through the same handle", s.everything(), before)
		s.wantLines("through another handle", other.everything(), before)
		Check(s.T, s.Backend)
		s.reopen()
		s.wantLines("after reopening", s.everything(), before)
	}
	s.target.Fault(s.T, s.Backend, point, planted)
	if _, err := apply(s.Backend, d); !errors.Is(err, planted) {
		s.Fatalf("got error %v, want one that wraps the planted one", err)
	}
	r, err := apply(s.Backend, d)
	s.must(err)
	if head := other.resolve(onto.Point{}); r.Repeated || r.ID != 7 || r.Operations != 4 || head.ID != 7 {
		s.Errorf("afterwards: got %s, repeated %v, head %d; want commit 7 with 4 operations", showCommit(r.Commit), r.Repeated, head.ID)
	}
}

// survivesEvolving makes a stream that evolves types fail: types and rows are as they
// were, through every handle, and the same stream is accepted afterwards.
func (s *story) survivesEvolving(point string) {
	s.lively()
	other := s.through(s.open())
	before := s.whole()
	e := adding(grown(tPerson, levelField()), grown(tClaim, zipField()), tagged("New"))
	e.End = []backend.EndedType{{Kind: onto.KindEntity, Type: tCity, Purge: true}, {Kind: onto.KindFact, Type: tNote, Purge: true}, {Kind: onto.KindRelation, Type: tKnows}}
	d := s.evolving(e)
	writes := []backend.Write{
		stamped(set(person("ada"), `{"level":1}`), 2), stamped(set(claim("ada", "n", "2"), `{"n":1}`), 2), remove(knows("ada", "bob")), put(onto.EntityID("New", "x"), 1),
	}
	planted := errors.New("planted at " + point)
	for range 2 {
		s.target.Fault(s.T, s.Backend, point, planted)
		r, err := s.AppendStream(s.ctx, d, sequence(writes, nil))
		if !errors.Is(err, planted) || r.Changed() {
			s.Fatalf("got %s and error %v, want an error that wraps the planted one", showCommit(r.Commit), err)
		}
		s.wantLines("through the same handle", s.whole(), before)
		s.wantLines("through another handle", other.whole(), before)
		Check(s.T, s.Backend)
		s.refused(onto.SchemaOutdated, draft(stamped(put(person("ada"), 8), 2)))
		s.reopen()
		s.wantLines("after reopening", s.whole(), before)
	}
	if r := s.stream(d, writes...); r.ID != 7 || r.Operations != 4 {
		s.Errorf("afterwards: got %s, want commit 7 with 4 operations", showCommit(r.Commit))
	}
	other.want("persons", other.versionsOf(tPerson), "v1 since 1, v2 since 7")
	other.wantNever(onto.TypeName{Kind: onto.KindFact, Name: tNote}, 7, note("ada", "mood", "1"))
	other.wantNever(cities().TypeName, 7, city("rome"), city("oslo"))
}

// survivesHandling makes a draft with acks, events and a position fail: the bus is as it
// was, and the claim is still held.
func (s *story) survivesHandling(point string, apply func(backend.Backend, *backend.Draft) (onto.Result, error)) {
	b, ok := backend.As[backend.Bus](s.Backend)
	if !ok {
		return
	}
	bus := &busStory{s, b}
	bus.emit(keyedEvent(1, "paid", "k"), keyedEvent(2, "paid", "k"))
	d := riding(acking(rich("fault", put(person("ada"), 1)), bus.one("billing", "paid")), event(3, "told"))
	d.Causation = 0 // the store is empty
	if _, ok := backend.As[backend.Positions](s.Backend); ok {
		d.Advance = &onto.Advance{Name: "mirror", To: 7}
	}
	other := bus.also()
	before := append(bus.state(), s.everything()...)
	planted := errors.New("planted at " + point)
	for range 2 {
		s.target.Fault(s.T, s.Backend, point, planted)
		if _, err := apply(s.Backend, d); !errors.Is(err, planted) {
			s.Fatalf("got error %v, want one that wraps the planted one", err)
		}
		s.wantLines("through another handle", append(other.state(), other.everything()...), before)
		s.reopen()
		bus = bus.with(s)
		s.wantLines("after reopening", append(bus.state(), s.everything()...), before)
		bus.claim(request("billing", 9, "paid"), "")
	}
	r, err := apply(s.Backend, d)
	bus.made(1, r, err)
	s.want("events", bus.events(backend.EventQuery{}), "e1 acked, e2 pending, e3 pending")
	other.claim(request("billing", 9, "paid"), "e2")
	Check(s.T, s.Backend)
}
