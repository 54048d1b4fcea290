package backendtest

import (
	"context"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func sequenceStories() []tale {
	return []tale{
		{"stopping early releases everything", stopEarly},
		{"an unused sequence holds nothing", unusedSequence},
		{"reads within reads", nestedReads},
		{"a sequence shows one moment", oneMoment},
	}
}

// question is something that can be asked of a backend and answers in many lines.
type question struct {
	name string
	ask  func(ctx context.Context, b backend.Backend) iter.Seq2[string, error]
}

// questions returns each method that answers with a sequence, asked about
// persons at the head.
func questions() []question {
	return []question{
		{"state", func(ctx context.Context, b backend.Backend) iter.Seq2[string, error] {
			return words(b.Scan(ctx, stateOf(onto.KindEntity, tPerson, backend.Head)), showVersion)
		}},
		{"history", func(ctx context.Context, b backend.Backend) iter.Seq2[string, error] {
			return words(b.Scan(ctx, historyOf(onto.KindEntity, tPerson, backend.Head)), showVersion)
		}},
		{"state in an order", func(ctx context.Context, b backend.Backend) iter.Seq2[string, error] {
			q := persons(backend.Head)
			q.Where, q.Order = onto.Path("id").Gt(""), []onto.Order{onto.Path("t").Asc(), onto.Path("id").Desc()}
			return words(b.Scan(ctx, &q), showVersion)
		}},
		{"groups", func(ctx context.Context, b backend.Backend) iter.Seq2[string, error] {
			a := personsBy([]onto.Operand{onto.Path("id")}, onto.Count(), onto.Path("n").Sum())
			return words(b.Aggregate(ctx, &a), showGroup)
		}},
		{"diff", func(ctx context.Context, b backend.Backend) iter.Seq2[string, error] {
			return words(b.Diff(ctx, &backend.DiffQuery{From: 0, To: backend.Head}), showChange)
		}},
		{"commits", func(ctx context.Context, b backend.Backend) iter.Seq2[string, error] {
			return words(b.Commits(ctx, &backend.CommitQuery{Until: backend.Head}), showCommit)
		}},
	}
}

// words formats each item of a sequence.
func words[T any](seq iter.Seq2[T, error], show func(T) string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for item, err := range seq {
			if !yield(show(item), err) {
				return
			}
		}
	}
}

// manyCommits writes n persons, one in each commit.
func (s *story) manyCommits(n int) {
	s.Helper()
	for _, w := range rows(n, 1) {
		s.commit(w)
	}
}

func stopEarly(s *story) {
	s.manyCommits(20)
	for round := range 10 {
		for _, q := range questions() {
			for _, err := range q.ask(s.ctx, s) {
				s.must(err)
				break
			}
		}
		s.commit(put(person("ada"), round))
		s.stream(draft(), put(person("bob"), round))
	}
	s.must(s.Close())
}

func unusedSequence(s *story) {
	s.manyCommits(3)
	for _, q := range questions() {
		_ = q.ask(s.ctx, s)
	}
	s.commit(put(person("ada"), 1))
	s.must(s.Close())
}

func nestedReads(s *story) {
	s.manyCommits(5)
	for _, outer := range questions() {
		n := 0
		for _, err := range outer.ask(s.ctx, s) {
			s.must(err)
			n++
			for _, inner := range questions() {
				lines, err := collect(inner.ask(s.ctx, s), func(line string) string { return line })
				if err != nil || len(lines) != 5 {
					s.Fatalf("%s within %s: got %d lines and error %v, want 5 lines", inner.name, outer.name, len(lines), err)
				}
			}
			s.wantHead(5)
			s.want("get", s.get(person("p000003"), backend.Head), `Person "p000003" @4 {"id":"p000003","n":1}`)
		}
		if n != 5 {
			s.Errorf("%s: got %d lines, want 5", outer.name, n)
		}
	}
}

// oneMoment writes while it reads; the read must not see it.
func oneMoment(s *story) {
	for _, q := range questions() {
		s := s.another()
		s.manyCommits(10)
		same := func(line string) string { return line }
		want := list(s, q.ask(s.ctx, s), same)
		var got []string
		for line, err := range q.ask(s.ctx, s) {
			s.must(err)
			got = append(got, line)
			n := len(got)
			s.commit(put(person("p000004"), n+1), put(person("p000009"), n+1), put(person("zoe"), n))
			s.stream(draft(), remove(person("p000007")), put(person("p000008"), n+1))
			s.commit(put(person("p000007"), n+1))
		}
		s.wantLines(q.name+" read while writing", got, want)
	}
}
