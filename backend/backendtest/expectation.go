package backendtest

import (
	"errors"
	"fmt"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func expectationStories() []tale {
	return []tale{
		{"expectations of the head", headExpectations},
		{"expectations of a version", versionExpectations},
		{"expectations see the state before the draft", expectationsSeeBefore},
		{"expectations count without changes", expectationsWithoutChanges},
		{"expectations come before stamps", expectationsBeforeStamps},
		{"a cause is a commit", causes},
		{"a fence is an expectation that is no part of the draft", fence},
		{"the error tells which expectation failed", failedExpectation},
	}
}

func causes(s *story) {
	caused := func(by int64, writes ...backend.Write) *backend.Draft {
		d := draft(writes...)
		d.Causation = by
		return d
	}
	s.refused(onto.NotFound, caused(1, put(person("ada"), 1))) // the commit that it would make
	s.commit(put(person("ada"), 1))
	for _, by := range []int64{2, 3, 999} {
		s.refused(onto.NotFound, caused(by, put(person("ada"), 2)))
		s.refused(onto.NotFound, caused(by)) // also if it changes nothing
		s.refusedStream(onto.NotFound, caused(by), put(person("ada"), 2))
	}
	early := caused(2, put(person("ada"), 2))
	early.Expect = []onto.Expectation{headIs(7)}
	s.refused(onto.NotFound, early)
	s.wantHead(1)

	d := keyed("k", put(person("ada"), 2))
	d.Causation = 1
	made := s.do(d).Commit
	s.want("its cause", fmt.Sprint(made.Causation), "1")
	s.stream(caused(2), put(person("ada"), 3))
	s.want("the cause of a stream", fmt.Sprint(s.resolve(onto.AtCommit(3)).Causation), "2")
	s.repeats(d, made)
}

func headExpectations(s *story) {
	write := put(person("ada"), 1)
	s.refused(onto.HeadMismatch, expecting([]onto.Expectation{headIs(1)}, write))
	s.do(expecting([]onto.Expectation{headIs(0)}, write))
	s.refused(onto.HeadMismatch, expecting([]onto.Expectation{headIs(0)}, put(person("ada"), 2)))
	s.refused(onto.HeadMismatch, expecting([]onto.Expectation{headIs(1), headIs(2)}, put(person("ada"), 2)))
	s.do(expecting([]onto.Expectation{headIs(1), headIs(1)}, put(person("ada"), 2)))
	s.wantHead(2)
}

func versionExpectations(s *story) {
	ada, bob, cy, link := person("ada"), person("bob"), person("cy"), visit("ada", "rome", "t1")
	s.commit(put(ada, 1), put(cy, 1), put(link, 1))
	s.commit(put(bob, 1))
	s.commit(remove(cy))
	s.commit(put(ada, 2))
	tests := []struct {
		expect onto.Expectation
		holds  bool
	}{
		{isAt(ada, 4), true},
		{isAt(ada, 1), false},
		{isAt(ada, 3), false},
		{isAt(ada, 0), false},
		{isAt(bob, 2), true},
		{isAt(bob, 4), false},
		{isAt(cy, 0), true}, // deleted
		{isAt(cy, 3), false},
		{isAt(cy, 1), false},
		{isAt(person("dan"), 0), true}, // never there
		{isAt(person("dan"), 1), false},
		{isAt(link, 1), true},
		{isAt(visit("ada", "rome", "t2"), 0), true},
		{isAt(visit("ada", "rome", "t2"), 1), false},
		{isAt(city("ada"), 0), true}, // same key, other type
	}
	head := s.resolve(onto.Point{}).ID
	for i, test := range tests {
		d := expecting([]onto.Expectation{test.expect}, put(person("new"), i))
		if !test.holds {
			s.refused(onto.VersionMismatch, d)
			continue
		}
		head++
		if r := s.do(d); r.ID != head {
			s.Errorf("%s at %d: got commit %d, want %d", test.expect.Identity, test.expect.Commit, r.ID, head)
		}
	}
	s.refused(onto.VersionMismatch, expecting([]onto.Expectation{isAt(bob, 2), isAt(ada, 1)}, put(ada, 3)))
}

func expectationsSeeBefore(s *story) {
	ada := person("ada")
	s.do(expecting([]onto.Expectation{isAt(ada, 0), headIs(0)}, put(ada, 1)))
	s.do(expecting([]onto.Expectation{isAt(ada, 1)}, remove(ada)))
	s.do(expecting([]onto.Expectation{isAt(ada, 0)}, put(ada, 2)))
	s.wantState(onto.KindEntity, tPerson, `Person "ada" @3 {"id":"ada","n":2}`)
}

func expectationsWithoutChanges(s *story) {
	ada := person("ada")
	s.refused(onto.HeadMismatch, expecting([]onto.Expectation{headIs(3)}))
	s.refused(onto.VersionMismatch, expecting([]onto.Expectation{isAt(ada, 3)}))
	s.commit(put(ada, 1))
	s.refused(onto.VersionMismatch, expecting([]onto.Expectation{isAt(ada, 0)}, put(ada, 1)))
	s.nothing(expecting([]onto.Expectation{isAt(ada, 1), headIs(1)}, put(ada, 1)))
}

func expectationsBeforeStamps(s *story) {
	stale := stamped(put(person("ada"), 1), 2)
	s.refused(onto.HeadMismatch, expecting([]onto.Expectation{headIs(1)}, stale))
	s.refused(onto.VersionMismatch, expecting([]onto.Expectation{isAt(person("ada"), 1)}, stale))
	s.refused(onto.SchemaOutdated, expecting([]onto.Expectation{headIs(0)}, stale))
	s.wantState(onto.KindEntity, tPerson)
	s.wantLines("commits", s.commits(backend.CommitQuery{Until: backend.Head}), nil)
}

func fence(s *story) {
	ada := person("ada")
	s.commit(put(ada, 1))
	fenced := func(value int, fence ...onto.Expectation) *backend.Draft {
		d := keyed("k", put(ada, value))
		d.Fence = fence
		return d
	}
	s.refused(onto.Stale, fenced(2, headIs(0)))
	s.refused(onto.Stale, fenced(2, isAt(ada, 0)))
	s.refused(onto.Stale, fenced(2, headIs(1), isAt(person("bob"), 1)))
	d := fenced(2)
	d.Expect, d.Fence = []onto.Expectation{headIs(1)}, []onto.Expectation{headIs(0)}
	s.refused(onto.Stale, d)
	d.Expect = []onto.Expectation{headIs(0)}
	s.refused(onto.HeadMismatch, d)
	d = fenced(2, headIs(0))
	d.Writes = nil
	s.refusedStream(onto.Stale, d, put(ada, 2))
	first := s.do(fenced(2, headIs(1), isAt(ada, 1))).Commit
	s.repeats(fenced(2, headIs(7)), first)
	s.repeats(fenced(2), first)
}

// failedExpectation: expectations of the head are looked at first, fences in their order.
func failedExpectation(s *story) {
	ada, bob := person("ada"), person("bob")
	s.commit(put(ada, 1))
	both := func(d *backend.Draft, code onto.Code, want onto.Expectation) {
		s.Helper()
		_, single := s.Append(s.ctx, d)
		streamed := *d
		streamed.Writes = nil
		_, stream := s.AppendStream(s.ctx, &streamed, sequence(d.Writes, nil))
		for what, err := range map[string]error{"append": single, "append a stream": stream} {
			s.wantCode(what, err, code)
			if e := (*onto.Error)(nil); !errors.As(err, &e) || e.Expectation == nil || *e.Expectation != want {
				s.Errorf("%s: the error %v does not have the expectation %+v that failed", what, err, want)
			}
		}
	}
	write := put(ada, 2)
	both(expecting([]onto.Expectation{headIs(0)}, write), onto.HeadMismatch, headIs(0))
	both(expecting([]onto.Expectation{isAt(ada, 1), isAt(bob, 1), isAt(ada, 0)}, write), onto.VersionMismatch, isAt(bob, 1))
	both(expecting([]onto.Expectation{isAt(bob, 1), headIs(1), headIs(7)}, write), onto.HeadMismatch, headIs(7))
	both(fenced(draft(write), headIs(1), headIs(0), isAt(ada, 0)), onto.Stale, headIs(0))
	both(fenced(draft(write), isAt(ada, 1), isAt(ada, 0), headIs(0)), onto.Stale, isAt(ada, 0))
	both(fenced(expecting([]onto.Expectation{isAt(ada, 7)}, write), isAt(ada, 0)), onto.VersionMismatch, isAt(ada, 7))
}
