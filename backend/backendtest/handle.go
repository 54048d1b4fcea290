package backendtest

import (
	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func handleStories() []tale {
	return []tale{
		{"each sees the other's commits at once", handlesSeeEachOther},
		{"ids have no gaps across handles", handlesShareIDs},
		{"expectations know one winner", handlesExpect},
		{"an idempotency key is known to both", handlesShareKeys},
		{"types registered through one bind the other", handlesShareTypes},
		{"a reader's moment outlives the other's writes", handlesOneMoment},
		{"appends through both at once", func(s *story) { s.appendConcurrently(s, s.open()) }},
		{"whole commits are seen through both", func(s *story) { s.seeWholeCommits(s, s.open()) }},
		{"counting through both", func(s *story) { s.count(expects(), person("counter"), s, s.open()) }},
		{"counting with fences through both", func(s *story) { s.count(fences(), claim("counter", "n", "1"), s, s.open()) }},
		{"an expectation has one winner through both", func(s *story) { s.raceExpectation(expects(), s, s.open()) }},
		{"what is written once has one winner through both", func(s *story) { s.raceOnce(s, s.open()) }},
		{"one key raced through both", func(s *story) { s.raceKey(s, s.open()) }},
	}
}

func handlesSeeEachOther(s *story) {
	other := s.through(s.open())
	for n := range 10 {
		writer, reader := s, other
		if n%2 == 1 {
			writer, reader = other, s
		}
		c := writer.commit(put(person("ada"), n), put(visit("ada", "rome", "t"), n), put(claim("ada", "n", "1"), n))
		reader.want("head", showCommit(reader.resolve(onto.Point{})), showCommit(c))
		reader.wantLines("everything", reader.everything(), writer.everything())
		reader.want("get", reader.get(person("ada"), backend.Head), writer.get(person("ada"), c.ID))
	}
	other.commit(remove(person("ada")))
	s.wantState(onto.KindEntity, tPerson)
}

func handlesShareIDs(s *story) {
	handles := []*story{s, s.through(s.open()), s.through(s.open())}
	for n := range 30 {
		h := handles[n%3]
		if c := h.commit(put(person("ada"), n)); c.ID != int64(n+1) {
			s.Fatalf("got commit %d, want %d", c.ID, n+1)
		}
		h.nothing(draft(put(person("ada"), n)))
	}
}

func handlesExpect(s *story) {
	other := s.through(s.open())
	s.do(expecting([]onto.Expectation{headIs(0)}, put(person("ada"), 1)))
	other.refused(onto.HeadMismatch, expecting([]onto.Expectation{headIs(0)}, put(person("ada"), 2)))
	other.do(expecting([]onto.Expectation{isAt(person("ada"), 1)}, put(person("ada"), 2)))
	s.refused(onto.VersionMismatch, expecting([]onto.Expectation{isAt(person("ada"), 1)}, put(person("ada"), 3)))
	s.nothing(expecting([]onto.Expectation{headIs(2)}, put(person("ada"), 2)))
	s.refused(onto.Stale, fenced(draft(put(person("ada"), 3)), isAt(person("ada"), 1)))
	s.do(fenced(draft(put(person("ada"), 3)), isAt(person("ada"), 2)))
	other.refused(onto.Stale, fenced(draft(put(person("ada"), 4)), isAt(person("ada"), 2)))
}

func handlesShareKeys(s *story) {
	other := s.through(s.open())
	s.commit(put(person("bob"), 1))
	d := rich("k", put(person("ada"), 1))
	first := s.do(d).Commit
	other.repeats(d, first)
	other.refused(onto.IdempotencyConflict, rich("k", put(person("ada"), 2)))
}

func handlesShareTypes(s *story) {
	other := s.through(s.open())
	tag := onto.EntityID("Tag", "x")
	other.refused(onto.SchemaOutdated, draft(put(tag, 1)))
	s.register(tagged("Tag"))
	other.wantLines("schemas", other.schemas(), s.schemas())
	other.commit(put(tag, 1))
	different := tagged("Tag")
	different.Fields = append(different.Fields, onto.Field{Name: "n", Type: onto.Int})
	_, err := other.Register(s.ctx, &backend.Registration{Schemas: []onto.Schema{different}})
	other.wantCode("register", err, onto.SchemaOutdated)
	other.register(tagged("Tag"))
	s.wantState(onto.KindEntity, "Tag", `Tag "x" @1 {"id":"x","n":1}`)
}

func handlesOneMoment(s *story) {
	other := s.through(s.open())
	s.manyCommits(10)
	for _, q := range questions() {
		want := list(s, q.ask(s.ctx, s), func(line string) string { return line })
		var got []string
		for line, err := range q.ask(s.ctx, s) {
			s.must(err)
			got = append(got, line)
			if len(got) <= 10 {
				n := int(other.resolve(onto.Point{}).ID)
				other.commit(put(person("p000009"), n), put(person("zoe"), n))
			}
		}
		s.wantLines(q.name, got, want)
	}
}
