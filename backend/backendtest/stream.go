package backendtest

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func streamStories() []tale {
	return []tale{
		{"a stream is one commit", streamIsOneCommit},
		{"a stream may be in any order", streamInAnyOrder},
		{"an identity twice in a stream", streamTwice},
		{"a stream that changes nothing", streamNoChange},
		{"a stream has the verdicts of a draft", streamVerdicts},
		{"an error ends the stream and undoes it", streamError},
		{"a stream may read the store it writes", streamReadsStore},
		{"a stream of thousands", longStream},
	}
}

func streamIsOneCommit(s *story) {
	s.commit(put(person("ada"), 1), put(person("bob"), 1))
	d := rich("k")
	r := s.stream(d, put(visit("ada", "rome", "t1"), 1), remove(person("bob")), put(person("ada"), 1), put(city("rome"), 1))
	if r.ID != 2 || r.Operations != 3 || r.Repeated {
		s.Errorf("got commit %d with %d operations, repeated %v; want commit 2 with 3", r.ID, r.Operations, r.Repeated)
	}
	s.want("the commit listed", showCommit(s.resolve(onto.Point{})), showCommit(r.Commit))
	s.wantLines("diff", s.diff(1, 2), []string{
		`City "rome": nothing, then @2 {"id":"rome","n":1}`,
		`Person "bob": @1 {"id":"bob","n":1}, then @2 deleted`,
		`Visit "ada" → "rome" ["t1"]: nothing, then @2 {"n":1}`,
	})
}

func streamInAnyOrder(s *story) {
	s.stream(draft(), put(knows("b", "a"), 1), put(person("c"), 1), put(person("a"), 1), put(knows("a", "z"), 1), put(person("b"), 1))
	s.wantLines("history", s.scan(historyOf(onto.KindEntity, tPerson, backend.Head)), []string{
		`Person "a" @1 {"id":"a","n":1}`,
		`Person "b" @1 {"id":"b","n":1}`,
		`Person "c" @1 {"id":"c","n":1}`,
	})
	s.wantLines("history", s.scan(historyOf(onto.KindRelation, tKnows, backend.Head)), []string{
		`Knows "a" → "z" @1 {"n":1}`,
		`Knows "b" → "a" @1 {"n":1}`,
	})
}

func streamTwice(s *story) {
	ada, bob := person("ada"), person("bob")
	r := s.stream(draft(), put(ada, 1), put(bob, 1), put(ada, 1), put(ada, 1))
	if r.Operations != 2 {
		s.Errorf("operations: got %d, want 2", r.Operations)
	}
	s.refusedStream(onto.Conflict, draft(), put(ada, 2), put(bob, 2), put(ada, 3))
	s.refusedStream(onto.Conflict, draft(), put(ada, 2), remove(ada))
	s.refusedStream(onto.Conflict, draft(), remove(ada), put(bob, 7), put(ada, 2))
	s.refusedStream(onto.Conflict, draft(), put(ada, 1), put(ada, 2)) // the first changes nothing
	s.refusedStream(onto.Conflict, draft(), put(ada, 2), put(ada, 1)) // nor does the second here
	r = s.stream(draft(), remove(ada), remove(ada))
	if r.Operations != 1 {
		s.Errorf("operations: got %d, want 1", r.Operations)
	}
	s.wantState(onto.KindEntity, tPerson, `Person "bob" @1 {"id":"bob","n":1}`)
}

func streamNoChange(s *story) {
	s.commit(put(person("ada"), 1))
	before := s.everything()
	for _, writes := range [][]backend.Write{nil, {put(person("ada"), 1)}, {remove(person("bob")), put(person("ada"), 1)}} {
		if r := s.stream(keyed("k"), writes...); r.Changed() || r.Repeated {
			s.Errorf("got %s, repeated %v; want no commit", showCommit(r.Commit), r.Repeated)
		}
	}
	s.wantLines("the store", s.everything(), before)
	s.do(keyed("k", put(person("ada"), 2)))
	s.wantHead(2)
}

func streamVerdicts(s *story) {
	ada := person("ada")
	s.commit(put(ada, 1))
	s.refusedStream(onto.HeadMismatch, expecting([]onto.Expectation{headIs(0)}), put(ada, 2))
	s.refusedStream(onto.VersionMismatch, expecting([]onto.Expectation{isAt(ada, 0)}), put(ada, 2))
	s.refusedStream(onto.SchemaOutdated, draft(), put(person("bob"), 1), stamped(put(ada, 2), 2))
	s.refusedStream(onto.SchemaOutdated, draft(), put(onto.EntityID("Nobody", "x"), 1))
	s.refusedStream(onto.HeadMismatch, expecting([]onto.Expectation{headIs(9)}))
	r := s.stream(expecting([]onto.Expectation{headIs(1), isAt(ada, 1)}), put(ada, 2))
	if r.ID != 2 {
		s.Errorf("got commit %d, want 2", r.ID)
	}
}

func streamError(s *story) {
	s.commit(put(person("ada"), 1))
	before := s.everything()
	planted := errors.New("the source broke")
	for _, n := range []int{0, 1, 3000} {
		for _, b := range []backend.Backend{s, s.port()} {
			_, err := b.AppendStream(s.ctx, keyed("k"), sequence(rows(n, 1), planted))
			if err != planted {
				s.Fatalf("after %d rows: got error %v, want the one of the sequence as it is", n, err)
			}
		}
		s.wantLines(fmt.Sprintf("the store after %d rows and an error", n), s.everything(), before)
	}
	r := s.stream(keyed("k"), put(person("ada"), 2))
	if r.ID != 2 || r.Repeated {
		s.Errorf("after errors: got commit %d, repeated %v; want commit 2", r.ID, r.Repeated)
	}
}

// streamReadsStore writes what it reads, as a migration does.
func streamReadsStore(s *story) {
	s.stream(draft(), rows(50, 1)...)
	r, err := s.port().AppendStream(s.ctx, draft(), func(yield func(backend.Write, error) bool) {
		for v, err := range s.Scan(s.ctx, stateOf(onto.KindEntity, tPerson, backend.Head)) {
			if err == nil {
				_, err = s.Get(s.ctx, v.Identity, backend.Head)
			}
			if !yield(put(v.Identity, 2), err) {
				return
			}
		}
	})
	s.must(err)
	if r.ID != 2 || r.Operations != 50 {
		s.Errorf("got commit %d with %d operations, want commit 2 with 50", r.ID, r.Operations)
	}
}

func longStream(s *story) {
	const n = 5000
	shuffled := rows(n, 1)
	rand.New(rand.NewPCG(1, 2)).Shuffle(n, func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	if r := s.stream(draft(), shuffled...); r.ID != 1 || r.Operations != n {
		s.Fatalf("got commit %d with %d operations, want commit 1 with %d", r.ID, r.Operations, n)
	}
	again := rows(n, 1)
	again[7] = remove(again[7].Identity)
	again[4321] = put(again[4321].Identity, 2)
	if r := s.stream(draft(), again...); r.ID != 2 || r.Operations != 2 {
		s.Fatalf("got commit %d with %d operations, want commit 2 with 2", r.ID, r.Operations)
	}
	if got := len(s.scan(stateOf(onto.KindEntity, tPerson, backend.Head))); got != n-1 {
		s.Errorf("persons: got %d, want %d", got, n-1)
	}
}

// numbered yields n writes and calls before ahead of each.
func numbered(n int, before func(i int)) iter.Seq2[backend.Write, error] {
	return func(yield func(backend.Write, error) bool) {
		for i, w := range rows(n, 1) {
			before(i)
			if !yield(w, nil) {
				return
			}
		}
	}
}
