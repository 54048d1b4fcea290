package backendtest

import (
	"fmt"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func historyStories() []tale {
	return []tale{
		{"history is by commit, then identity", historyOrder},
		{"history between two commits", historyBounds},
		{"history of one identity", historyOfIdentity},
		{"the first versions only", historyLimit},
		{"history of relations", visits().of(historyOfTies)},
		{"history of facts", claims().of(historyOfTies)},
	}
}

func historyOrder(s *story) {
	s.commit(put(person("b"), 1), put(person("c"), 1), put(city("a"), 1))
	s.commit(put(person("a"), 2), remove(person("c")))
	s.commit(put(city("b"), 3))
	s.commit(put(person("c"), 4), remove(person("a")))
	s.wantLines("history", s.scan(historyOf(onto.KindEntity, tPerson, backend.Head)), []string{
		`Person "b" @1 {"id":"b","n":1}`,
		`Person "c" @1 {"id":"c","n":1}`,
		`Person "a" @2 {"id":"a","n":2}`,
		`Person "c" @2 deleted`,
		`Person "a" @4 deleted`,
		`Person "c" @4 {"id":"c","n":4}`,
	})
	s.wantLines("history", s.scan(historyOf(onto.KindEntity, tCity, backend.Head)), []string{
		`City "a" @1 {"id":"a","n":1}`,
		`City "b" @3 {"id":"b","n":3}`,
	})
}

func historyBounds(s *story) {
	for n := range 5 {
		s.commit(put(person("ada"), n))
	}
	tests := []struct {
		since, at int64
		first     int
		last      int
	}{
		{0, backend.Head, 1, 5},
		{0, 5, 1, 5},
		{0, 9, 1, 5},
		{0, 3, 1, 3},
		{0, 0, 1, 0},
		{1, 3, 2, 3},
		{3, 3, 4, 3},
		{4, backend.Head, 5, 5},
		{5, backend.Head, 6, 5},
		{9, backend.Head, 10, 5},
		{3, 1, 4, 1},
	}
	for _, test := range tests {
		var want []string
		for c := test.first; c <= test.last; c++ {
			want = append(want, fmt.Sprintf(`Person "ada" @%d {"id":"ada","n":%d}`, c, c-1))
		}
		q := historyOf(onto.KindEntity, tPerson, test.at)
		q.Since = test.since
		s.wantLines(fmt.Sprintf("since %d as of %d", test.since, test.at), s.scan(q), want)
	}
}

func historyOfIdentity(s *story) {
	s.threeCommits()
	s.commit(put(person("ada"), 2), put(city("ada"), 1))
	ada, nobody := person("ada"), person("nobody")
	q := historyOf(onto.KindEntity, tPerson, backend.Head)
	q.Identity = &ada
	s.wantLines("ada", s.scan(q), []string{
		`Person "ada" @1 {"id":"ada","n":1}`,
		`Person "ada" @2 {"id":"ada","n":2}`,
		`Person "ada" @3 deleted`,
		`Person "ada" @4 {"id":"ada","n":2}`,
	})
	q.Since, q.At = 1, 3
	s.wantLines("ada, commits 2 and 3", s.scan(q), []string{
		`Person "ada" @2 {"id":"ada","n":2}`,
		`Person "ada" @3 deleted`,
	})
	q.Limit = 1
	s.wantLines("ada, commit 2", s.scan(q), []string{`Person "ada" @2 {"id":"ada","n":2}`})
	q.Identity = &nobody
	s.wantLines("nobody", s.scan(q), nil)
}

func historyLimit(s *story) {
	s.threeCommits()
	all := s.scan(historyOf(onto.KindEntity, tPerson, backend.Head))
	if len(all) != 4 {
		s.Fatalf("versions: got %d, want 4", len(all))
	}
	for limit := 1; limit <= 5; limit++ {
		q := historyOf(onto.KindEntity, tPerson, backend.Head)
		q.Limit = limit
		s.wantLines(fmt.Sprintf("%d at most", limit), s.scan(q), all[:min(limit, 4)])
	}
}

func historyOfTies(s *story, of variety) {
	one, two := of.tie("ada", "rome", "1"), of.tie("ada", "rome", "2")
	s.commit(put(two, 1), put(one, 1), put(knows("ada", "bob"), 1), put(note("ada", "rome", "1"), 1))
	s.commit(remove(one))
	s.commit(put(two, 3), put(one, 3))
	s.wantLines("all", s.scan(historyOf(of.Kind, of.Name, backend.Head)), []string{
		row(one, 1, 1),
		row(two, 1, 1),
		one.String() + " @2 deleted",
		row(one, 3, 3),
		row(two, 3, 3),
	})
	q := historyOf(of.Kind, of.Name, backend.Head)
	q.Identity = &two
	s.wantLines("the second", s.scan(q), []string{row(two, 1, 1), row(two, 3, 3)})
}
