package backendtest

import (
	"fmt"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func onceStories() []tale {
	return []tale{
		{"a write once makes the first version only", onceFirst},
		{"what is written once repeats the newest version", onceRepeatsNewest},
		{"an identity that was deleted is used up", onceUsedUp},
		{"a write once that is refused refuses its draft", onceRefusesAll},
		{"writes once in a stream", onceStream},
		{"an identity once and twice in a stream", onceTwice},
		{"a write once is judged after stamps and admission", onceOrder},
		{"a write once of an older program is merged first", onceMerged},
		{"a draft of writes once is repeated by its key", onceKeyed},
		{"derived writes are no part of a draft", derivedIsNoPart},
		{"derived writes of a stream are no part of it", derivedStream},
		{"a fence is judged after expectations and before stamps", fenceOrder},
		{"a fence knows what was deleted", fenceDeleted},
		{"a stale draft leaves its key free", fenceLeavesKeyFree},
	}
}

func onceFirst(s *story) {
	for i, id := range []onto.Identity{claim("ada", "n", "1"), note("free", "mood", "1"), person("ada"), visit("ada", "rome", "t")} {
		if c := s.commit(once(put(id, 1))); c.ID != int64(i+1) || c.Operations != 1 {
			s.Errorf("%s: got %s, want commit %d with 1 operation", id, showCommit(c), i+1)
		}
		s.nothing(draft(once(put(id, 1))))
		s.refused(onto.Conflict, draft(once(put(id, 2))))
		s.refused(onto.Conflict, draft(once(set(id, `{"n":1,"t":"more"}`))))
		s.refused(onto.Conflict, draft(once(set(id, `{}`))))
		s.want("what is there", s.get(id, backend.Head), row(id, int64(i+1), 1))
	}
	s.reopen()
	s.refused(onto.Conflict, draft(once(put(claim("ada", "n", "1"), 2))))
	s.nothing(draft(once(put(claim("ada", "n", "1"), 1))))
	s.commit(once(put(claim("ada", "n", "2"), 1)), once(put(claim("ada", "n", "1"), 1)))
}

// onceRepeatsNewest repeats facts, which do not know their place in the first commit nor
// its number.
func onceRepeatsNewest(s *story) {
	id := claim("ada", "n", "1")
	first := set(id, `{"n":1,"seq":3,"valid_from":"2026-01-01T00:00:00.000000+00:00"}`)
	s.commit(once(first))
	same := []string{
		`{"n":1,"valid_from":"2026-01-01T00:00:00.000000+00:00"}`,
		`{"n":1,"seq":4,"valid_from":"2026-01-01T00:00:00.000000+00:00"}`,
		`{"asserted":7,"n":1,"seq":3,"valid_from":"2026-01-01T00:00:00.000000+00:00"}`,
	}
	for _, fields := range same {
		s.nothing(draft(once(set(id, fields))))
	}
	s.want("the fact", s.get(id, backend.Head), fmt.Sprintf("%s @1 %s", id, first.Fields))
	for _, fields := range []string{
		`{"n":1}`, `{"n":1,"seq":3,"valid_from":"2026-01-02T00:00:00.000000+00:00"}`, `{"kind":"accepted","n":1,"valid_from":"2026-01-01T00:00:00.000000+00:00"}`,
		`{"n":1.5,"valid_from":"2026-01-01T00:00:00.000000+00:00"}`, `{"n":"1","valid_from":"2026-01-01T00:00:00.000000+00:00"}`,
	} {
		s.refused(onto.Conflict, draft(once(set(id, fields))))
	}
	s.commit(set(id, same[0])) // which is a change for writes that are not once
	s.commit(set(id, `{"asserted":1,"n":1,"revoked":true,"valid_from":"2026-01-01T00:00:00.000000+00:00","valid_until":"2026-02-01T00:00:00.000000+00:00"}`))
	s.refused(onto.Conflict, draft(once(first))) // says something else than the newest
	s.nothing(draft(once(set(id, `{"n":1,"revoked":true,"valid_from":"2026-01-01T00:00:00.000000+00:00","valid_until":"2026-02-01T00:00:00.000000+00:00"}`))))
}

func onceUsedUp(s *story) {
	id := claim("ada", "n", "1")
	s.commit(once(put(id, 1)))
	s.commit(remove(id))
	for _, n := range []int{1, 2} {
		s.refused(onto.Conflict, draft(once(put(id, n))))
		s.refusedStream(onto.Conflict, draft(), once(put(id, n)))
	}
	s.reopen()
	s.refused(onto.Conflict, draft(once(put(id, 1))))
	s.commit(put(id, 1)) // a revert
	s.nothing(draft(once(put(id, 1))))
	s.wantLines("history", s.scan(historyOf(onto.KindFact, tClaim, backend.Head)), []string{
		row(id, 1, 1), id.String() + " @2 deleted", row(id, 3, 1),
	})
}

func onceRefusesAll(s *story) {
	s.commit(once(put(claim("ada", "n", "1"), 1)))
	for _, first := range []string{"0", "2"} { // before and after the one that is refused
		s.refused(onto.Conflict, draft(once(put(claim("ada", "n", first), 1)), once(put(claim("ada", "n", "1"), 2)), put(person("ada"), 1)))
	}
	if c := s.commit(once(put(claim("ada", "n", "0"), 1)), once(put(claim("ada", "n", "1"), 1))); c.ID != 2 || c.Operations != 1 {
		s.Errorf("got %s, want commit 2 with 1 operation", showCommit(c))
	}
}

func onceStream(s *story) {
	const n = 2500
	many := func(from, value int) []backend.Write {
		list := make([]backend.Write, n)
		for i := range list {
			list[i] = once(put(claim(fmt.Sprintf("p%06d", from+i), "n", "1"), value))
		}
		return list
	}
	if r := s.stream(draft(), many(0, 1)...); r.ID != 1 || r.Operations != n {
		s.Fatalf("got %s, want commit 1 with %d operations", showCommit(r.Commit), n)
	}
	if r := s.stream(draft(), many(0, 1)...); r.Changed() {
		s.Errorf("the same once more: got %s, want no commit", showCommit(r.Commit))
	}
	if r := s.stream(draft(), many(100, 1)...); r.ID != 2 || r.Operations != 100 {
		s.Errorf("some of it again: got %s, want commit 2 with 100 operations", showCommit(r.Commit))
	}
	s.refusedStream(onto.Conflict, draft(), append(many(n+100, 1), once(put(claim("p000007", "n", "1"), 2)))...)
	if got := len(s.scan(stateOf(onto.KindFact, tClaim, backend.Head))); got != n+100 {
		s.Errorf("claims: got %d, want %d", got, n+100)
	}
}

// onceTwice has facts that come twice, which their place in the draft does not tell apart.
func onceTwice(s *story) {
	id := claim("ada", "n", "1")
	s.refusedStream(onto.Conflict, draft(), once(put(id, 1)), once(put(id, 2)))
	s.refusedStream(onto.Conflict, draft(), once(put(id, 1)), put(id, 1))
	s.refusedStream(onto.Conflict, draft(), once(put(id, 1)), remove(id))
	r := s.stream(draft(), once(set(id, `{"n":1,"seq":1}`)), once(put(claim("ada", "n", "2"), 1)), once(set(id, `{"n":1,"seq":3}`)), once(put(claim("ada", "n", "0"), 1)))
	if r.ID != 1 || r.Operations != 3 {
		s.Errorf("got %s, want commit 1 with 3 operations", showCommit(r.Commit))
	}
	s.want("the first counts", s.get(id, backend.Head), id.String()+` @1 {"n":1,"seq":1}`)
}

func onceOrder(s *story) {
	id := claim("ada", "n", "1")
	s.commit(once(put(id, 1)))
	other := once(put(id, 2))
	s.refused(onto.HeadMismatch, expecting([]onto.Expectation{headIs(0)}, other))
	s.refused(onto.SchemaOutdated, draft(stamped(other, 2)))
	s.refused(onto.SchemaOutdated, draft(other, stamped(put(visit("ada", "rome", "t"), 1), 2)))
	asked := 0
	d := draft()
	d.Admit = func(_ *backend.Write, newest *onto.Version) (bool, error) {
		asked++
		return newest == nil, nil
	}
	if r := s.stream(d, other, once(put(claim("ada", "n", "2"), 1))); r.ID != 2 || r.Operations != 1 || asked < 2 {
		s.Errorf("got %s after %d questions, want commit 2 with 1 operation", showCommit(r.Commit), asked)
	}
}

// onceMerged lets programs with several versions of a type repeat the same fact.
func onceMerged(s *story) {
	id := claim("ada", "zip", "1")
	s.evolve(adding(grown(tClaim, zipField())))
	newer := once(stamped(set(id, `{"kind":"moved","zip":"z"}`), 2))
	older := once(set(id, `{"kind":"moved"}`))
	s.commit(newer)
	s.nothing(draft(older))
	s.refused(onto.Conflict, draft(once(set(id, `{"kind":"stayed"}`))))
	s.nothing(draft(once(knowing(stamped(set(id, `{"zip":"z"}`), 2), "zip"))))
	s.refused(onto.Conflict, draft(once(knowing(stamped(set(id, `{"zip":"y"}`), 2), "zip"))))
	s.commit(once(put(claim("ada", "n", "2"), 1))) // by the older program
	s.wantState(onto.KindFact, tClaim, `Claim "ada" n ["2"] @2 v2 {"n":1}`, `Claim "ada" zip ["1"] @1 v2 {"kind":"moved","zip":"z"}`)
}

func onceKeyed(s *story) {
	id := claim("ada", "n", "1")
	d := keyed("k", once(put(id, 1)))
	first := s.do(d).Commit
	s.repeats(d, first)
	s.commit(put(id, 7))
	s.repeats(d, first) // although it would be refused now
	s.commit(remove(id))
	s.reopen()
	s.repeats(d, first)
	s.refused(onto.IdempotencyConflict, keyed("k", once(put(id, 2))))
	s.refused(onto.Conflict, keyed("k2", once(put(id, 1))))
	s.do(keyed("k2", once(put(claim("ada", "n", "2"), 1)))) // which left the key free
	s.wantHead(4)
}

// derivedIsNoPart repeats a draft after what was derived has changed.
func derivedIsNoPart(s *story) {
	fact, state := once(put(claim("ada", "n", "1"), 1)), person("ada")
	with := func(writes ...backend.Write) *backend.Draft { return keyed("k", append(writes, fact)...) }
	first := s.do(with(derived(put(state, 1)))).Commit
	if first.Operations != 2 {
		s.Errorf("got %s, want 2 operations", showCommit(first))
	}
	s.want("the state", s.get(state, backend.Head), row(state, 1, 1))
	s.commit(put(state, 5))
	for range 2 {
		s.repeats(with(derived(put(state, 1))), first)
		s.repeats(with(derived(put(state, 6))), first)
		s.repeats(with(derived(remove(state))), first)
		s.repeats(with(), first)
		s.repeats(with(derived(put(person("bob"), 1)), derived(put(note("x", "y", "z"), 1))), first)
		s.refused(onto.IdempotencyConflict, with(put(state, 1)))
		s.refused(onto.IdempotencyConflict, keyed("k", derived(fact)))
		s.reopen()
	}
	stale := with(derived(put(state, 6)))
	stale.Fence = []onto.Expectation{isAt(state, 1)}
	s.repeats(stale, first)
	s.commit(derived(put(state, 9))) // it counts like any other
	s.nothing(draft(derived(put(state, 9))))
	s.refused(onto.SchemaOutdated, draft(stamped(derived(put(state, 8)), 2)))
}

func derivedStream(s *story) {
	fact, state := once(put(claim("ada", "n", "1"), 1)), person("ada")
	first := s.stream(keyed("k"), fact, derived(put(state, 1))).Commit
	s.wantRepeat(s.stream(keyed("k"), derived(put(state, 2)), fact), first)
	s.wantRepeat(s.stream(keyed("k"), fact), first)
	s.repeats(keyed("k", fact, derived(put(state, 3))), first)
	s.refusedStream(onto.IdempotencyConflict, keyed("k"), fact, put(state, 1))
	s.refusedStream(onto.Conflict, draft(), put(state, 4), derived(put(state, 4)))
	s.wantHead(1)
}

// fenced adds a fence to a draft.
func fenced(d *backend.Draft, fence ...onto.Expectation) *backend.Draft {
	d.Fence = fence
	return d
}

func fenceOrder(s *story) {
	ada, fact := person("ada"), claim("ada", "n", "1")
	s.commit(put(ada, 1), once(put(fact, 1)))
	stale := stamped(put(ada, 2), 2)
	d := fenced(expecting([]onto.Expectation{isAt(ada, 0)}, stale), headIs(0))
	s.refused(onto.VersionMismatch, d)
	d.Expect = []onto.Expectation{isAt(ada, 1)}
	s.refused(onto.Stale, d)
	d.Fence = []onto.Expectation{headIs(1), isAt(fact, 0)}
	s.refused(onto.Stale, d)
	d.Fence = []onto.Expectation{headIs(1), isAt(fact, 1)}
	s.refused(onto.SchemaOutdated, d)
	s.refused(onto.Stale, fenced(draft(once(put(fact, 2))), isAt(ada, 0)))
	s.refused(onto.Conflict, fenced(draft(once(put(fact, 2))), isAt(ada, 1)))
	s.refused(onto.Stale, fenced(draft(), isAt(ada, 0))) // also if there is nothing to write
	s.refused(onto.Stale, fenced(draft(put(ada, 1)), isAt(fact, 0)))
	s.nothing(fenced(draft(put(ada, 1)), isAt(fact, 1), headIs(1)))
	s.refusedStream(onto.Stale, fenced(draft(), isAt(fact, 0)), put(ada, 2))
	s.refusedStream(onto.HeadMismatch, fenced(expecting([]onto.Expectation{headIs(0)}), isAt(fact, 0)), put(ada, 2))
	if r := s.stream(fenced(draft(), isAt(fact, 1)), put(ada, 2)); r.ID != 2 {
		s.Errorf("got %s, want commit 2", showCommit(r.Commit))
	}
}

func fenceDeleted(s *story) {
	fact := claim("ada", "n", "1")
	s.commit(once(put(fact, 1)))
	s.commit(remove(fact))
	s.refused(onto.Stale, fenced(draft(put(person("ada"), 1)), isAt(fact, 1)))
	s.refused(onto.Stale, fenced(draft(put(person("ada"), 1)), isAt(fact, 2)))
	s.do(fenced(draft(put(person("ada"), 1)), isAt(fact, 0), isAt(claim("ada", "n", "never"), 0)))
	s.wantHead(3)
}

func fenceLeavesKeyFree(s *story) {
	s.refused(onto.Stale, fenced(keyed("k", put(person("ada"), 1)), headIs(1)))
	s.refused(onto.Stale, fenced(keyed("k", put(person("ada"), 1)), isAt(person("ada"), 1)))
	if r := s.do(fenced(keyed("k", put(person("ada"), 2)), headIs(0))); r.ID != 1 || r.Repeated {
		s.Errorf("the key was not free: got commit %d, repeated %v", r.ID, r.Repeated)
	}
}
