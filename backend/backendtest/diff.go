package backendtest

import (
	"fmt"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func diffStories() []tale {
	return []tale{
		{"what came, changed and went", diffOperations},
		{"what is the same again is left out", diffLeavesOut},
		{"the changes of one commit", diffOfCommit},
		{"changes of one type", diffOfType},
		{"changes up to the head", diffToHead},
	}
}

func diffOperations(s *story) {
	s.commit(put(person("gone"), 1), put(person("kept"), 1), put(person("other"), 1))
	s.commit(put(person("other"), 2), put(person("new"), 2))
	s.commit(remove(person("gone")), put(person("other"), 3))
	s.wantLines("diff", s.diff(1, 3), []string{
		`Person "gone": @1 {"id":"gone","n":1}, then @3 deleted`,
		`Person "new": nothing, then @2 {"id":"new","n":2}`,
		`Person "other": @1 {"id":"other","n":1}, then @3 {"id":"other","n":3}`,
	})
	want := map[string]onto.Operation{"gone": onto.OperationDelete, "new": onto.OperationInsert, "other": onto.OperationUpdate}
	for c, err := range s.Diff(s.ctx, &backend.DiffQuery{From: 1, To: 3}) {
		s.must(err)
		if got := c.Operation(); got != want[c.Key] {
			s.Errorf("%s: got operation %s, want %s", c.Identity, got, want[c.Key])
		}
	}
}

func diffLeavesOut(s *story) {
	back, again, brief := person("back"), person("again"), person("brief")
	s.commit(put(back, 1), put(again, 1), put(person("dead"), 1))
	s.commit(remove(person("dead")))
	s.commit(put(back, 2), put(brief, 1), remove(again), put(person("dead"), 2))
	s.commit(put(back, 1), remove(brief), put(again, 1), remove(person("dead")))
	s.wantLines("from 2 to 4", s.diff(2, 4), nil)
	s.wantLines("from 1 to 4", s.diff(1, 4), []string{
		`Person "dead": @1 {"id":"dead","n":1}, then @4 deleted`,
	})
	s.wantLines("from 3 to 4", s.diff(3, 4), []string{
		`Person "again": nothing, then @4 {"id":"again","n":1}`,
		`Person "back": @3 {"id":"back","n":2}, then @4 {"id":"back","n":1}`,
		`Person "brief": @3 {"id":"brief","n":1}, then @4 deleted`,
		`Person "dead": @3 {"id":"dead","n":2}, then @4 deleted`,
	})
}

func diffOfCommit(s *story) {
	s.threeCommits()
	want := [][]string{
		{`Person "ada": nothing, then @1 {"id":"ada","n":1}`},
		{`Person "ada": @1 {"id":"ada","n":1}, then @2 {"id":"ada","n":2}`, `Person "bob": nothing, then @2 {"id":"bob","n":2}`},
		{`Person "ada": @2 {"id":"ada","n":2}, then @3 deleted`},
	}
	for i, want := range want {
		s.wantLines(fmt.Sprintf("commit %d", i+1), s.diff(int64(i), int64(i+1)), want)
	}
	for c := range int64(4) {
		s.wantLines(fmt.Sprintf("from %d to itself", c), s.diff(c, c), nil)
	}
}

func diffOfType(s *story) {
	s.commit(put(person("x"), 1), put(city("x"), 1), put(knows("x", "y"), 1), put(visit("x", "y", "1"), 1), put(visit("x", "y", "0"), 1),
		put(claim("x", "n", "1"), 1), put(claim("x", "n", "0"), 1), put(note("x", "n", "1"), 1))
	ask := func(kind onto.Kind, typ string) []string {
		return list(s, s.Diff(s.ctx, &backend.DiffQuery{From: 0, To: backend.Head, Kind: kind, Type: typ}), showChange)
	}
	s.wantLines("cities", ask(onto.KindEntity, tCity), []string{`City "x": nothing, then @1 {"id":"x","n":1}`})
	s.wantLines("visits", ask(onto.KindRelation, tVisit), []string{
		`Visit "x" → "y" ["0"]: nothing, then @1 {"n":1}`,
		`Visit "x" → "y" ["1"]: nothing, then @1 {"n":1}`,
	})
	s.wantLines("claims", ask(onto.KindFact, tClaim), []string{
		`Claim "x" n ["0"]: nothing, then @1 {"n":1}`,
		`Claim "x" n ["1"]: nothing, then @1 {"n":1}`,
	})
	s.wantLines("visits as facts", ask(onto.KindFact, tVisit), nil)
	s.wantLines("of an unknown type", ask(onto.KindEntity, "Nobody"), nil)
}

func diffToHead(s *story) {
	s.threeCommits()
	for _, to := range []int64{backend.Head, 3, 4, 99} {
		s.wantLines(fmt.Sprintf("from 2 to %d", to), s.diff(2, to), []string{
			`Person "ada": @2 {"id":"ada","n":2}, then @3 deleted`,
		})
	}
	s.wantLines("from head to head", s.diff(backend.Head, backend.Head), nil)
	s.wantLines("from 3 to head", s.diff(3, backend.Head), nil)
}
