package backendtest

import (
	"fmt"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func appendStories() []tale {
	return []tale{
		{"a new store is empty", newStoreIsEmpty},
		{"commits are numbered from 1", commitsAreNumbered},
		{"what changes nothing makes no commit", noChangeNoCommit},
		{"only what changes makes a version", onlyChanges},
		{"put replaces all fields", putReplaces},
		{"delete and insert again", deleteAndInsertAgain},
		{"a draft of all types", allTypes},
		{"a refused draft uses up no id", refusedUsesNoID},
		{"the draft stays the caller's", draftStaysCallers},
		{"answers are the caller's", answersAreCallers},
	}
}

func newStoreIsEmpty(s *story) {
	s.wantHead(0)
	s.want("commit 0", showCommit(s.resolve(onto.AtCommit(0))), "no commit")
	s.wantState(onto.KindEntity, tPerson)
	s.want("get", s.get(person("ada"), backend.Head), "not found")
	s.wantLines("commits", s.commits(backend.CommitQuery{Until: backend.Head}), nil)
	s.wantLines("diff", s.diff(0, backend.Head), nil)
}

func commitsAreNumbered(s *story) {
	for n := 1; n <= 5; n++ {
		c := s.commit(put(person("ada"), n))
		if c.ID != int64(n) || c.Operations != 1 {
			s.Errorf("commit %d: got id %d with %d operations, want id %d with 1", n, c.ID, c.Operations, n)
		}
		s.wantHead(int64(n))
	}
	s.wantState(onto.KindEntity, tPerson, `Person "ada" @5 {"id":"ada","n":5}`)
}

func noChangeNoCommit(s *story) {
	s.nothing(draft())
	s.nothing(draft(remove(person("ada")), remove(knows("ada", "bob"))))
	s.commit(put(person("ada"), 1), put(knows("ada", "bob"), 1), put(person("cy"), 1))
	s.nothing(draft(put(person("ada"), 1)))
	s.nothing(draft(put(person("ada"), 1), put(knows("ada", "bob"), 1), remove(person("dan"))))
	s.commit(remove(person("cy")))
	s.nothing(draft(remove(person("cy"))))
	s.wantHead(2)
}

func onlyChanges(s *story) {
	s.commit(put(person("ada"), 1), put(person("bob"), 1))
	c := s.commit(put(person("ada"), 1), put(person("bob"), 2), remove(person("cy")))
	if c.Operations != 1 {
		s.Errorf("operations: got %d, want 1", c.Operations)
	}
	s.wantState(onto.KindEntity, tPerson,
		`Person "ada" @1 {"id":"ada","n":1}`,
		`Person "bob" @2 {"id":"bob","n":2}`)
}

func putReplaces(s *story) {
	s.commit(put(person("ada"), 1))
	s.commit(putValue(person("ada"), `"text"`))
	s.want("ada", s.get(person("ada"), backend.Head), `Person "ada" @2 {"id":"ada","v":"text"}`)
}

func deleteAndInsertAgain(s *story) {
	s.commit(put(person("ada"), 1), put(person("bob"), 1))
	s.commit(remove(person("ada")))
	s.wantState(onto.KindEntity, tPerson, `Person "bob" @1 {"id":"bob","n":1}`)
	s.want("ada", s.get(person("ada"), backend.Head), `Person "ada" @2 deleted`)
	s.commit(put(person("ada"), 1))
	s.commit(remove(person("ada")), put(person("bob"), 2))
	s.commit(put(person("ada"), 3))
	s.wantLines("history", s.scan(historyOf(onto.KindEntity, tPerson, backend.Head)), []string{
		`Person "ada" @1 {"id":"ada","n":1}`,
		`Person "bob" @1 {"id":"bob","n":1}`,
		`Person "ada" @2 deleted`,
		`Person "ada" @3 {"id":"ada","n":1}`,
		`Person "ada" @4 deleted`,
		`Person "bob" @4 {"id":"bob","n":2}`,
		`Person "ada" @5 {"id":"ada","n":3}`,
	})
	s.wantState(onto.KindEntity, tPerson,
		`Person "ada" @5 {"id":"ada","n":3}`,
		`Person "bob" @4 {"id":"bob","n":2}`)
}

func allTypes(s *story) {
	c := s.commit(
		put(person("x"), 1), put(city("x"), 2), put(knows("x", "x"), 3),
		put(visit("x", "x", "t1"), 4), put(visit("x", "x", "t2"), 5), put(claim("x", "n", "c1"), 6), put(note("x", "y", "c2"), 7))
	if c.Operations != 7 {
		s.Errorf("operations: got %d, want 7", c.Operations)
	}
	s.wantLines("diff", s.diff(0, 1), []string{
		`City "x": nothing, then @1 {"id":"x","n":2}`,
		`Person "x": nothing, then @1 {"id":"x","n":1}`,
		`Claim "x" n ["c1"]: nothing, then @1 {"n":6}`,
		`Note "x" y ["c2"]: nothing, then @1 {"n":7}`,
		`Knows "x" → "x": nothing, then @1 {"n":3}`,
		`Visit "x" → "x" ["t1"]: nothing, then @1 {"n":4}`,
		`Visit "x" → "x" ["t2"]: nothing, then @1 {"n":5}`,
	})
	s.commit(remove(visit("x", "x", "t1")), remove(city("x")), remove(note("x", "y", "c2")))
	s.wantState(onto.KindEntity, tCity)
	s.wantState(onto.KindEntity, tPerson, `Person "x" @1 {"id":"x","n":1}`)
	s.wantState(onto.KindRelation, tKnows, `Knows "x" → "x" @1 {"n":3}`)
	s.wantState(onto.KindRelation, tVisit, `Visit "x" → "x" ["t2"] @1 {"n":5}`)
	s.wantState(onto.KindFact, tClaim, `Claim "x" n ["c1"] @1 {"n":6}`)
	s.wantState(onto.KindFact, tNote)
}

func refusedUsesNoID(s *story) {
	s.commit(put(person("ada"), 1))
	for n := range 3 {
		s.refused(onto.HeadMismatch, expecting([]onto.Expectation{headIs(7)}, put(person("ada"), 2)))
		s.refused(onto.SchemaOutdated, draft(put(person("ada"), 2), stamped(put(person("bob"), 2), 9)))
		s.refusedStream(onto.Conflict, draft(), put(person("bob"), 2), put(person("bob"), 3))
		s.nothing(draft(put(person("ada"), 1+n)))
		if c := s.commit(put(person("ada"), 2+n)); c.ID != int64(2+n) {
			s.Errorf("id: got %d, want %d", c.ID, 2+n)
		}
	}
}

func draftStaysCallers(s *story) {
	d := keyed("k", put(person("bob"), 1), put(person("ada"), 1))
	d.Metadata = []byte(`{"why":"test"}`)
	digest := backend.DigestOf(d)
	s.do(d)
	if backend.DigestOf(d) != digest {
		s.Error("append changed the draft")
	}
	before := s.everything()
	for i := range d.Writes {
		fill(d.Writes[i].Fields, 'x')
	}
	fill(d.Metadata, 'x')
	s.wantLines("the store after the draft was overwritten", s.everything(), before)
}

// answersAreCallers overwrites everything that was returned and asks again.
func answersAreCallers(s *story) {
	d := keyed("k", put(person("ada"), 1))
	d.Metadata = []byte(`{"list":[1,2],"why":"test"}`)
	spoil := func(c onto.Commit) {
		list, ok := c.Metadata["list"].([]any)
		if !ok {
			s.Fatalf("got %s, want metadata with a list", showCommit(c))
		}
		list[0], c.Metadata["why"] = "spoiled", "spoiled"
	}
	spoil(s.do(d).Commit)
	before := append(s.everything(), s.diff(0, 1)...)

	spoil(s.do(d).Commit)
	spoil(s.resolve(onto.Point{}))
	for c, err := range s.Commits(s.ctx, &backend.CommitQuery{Until: backend.Head}) {
		s.must(err)
		spoil(c)
	}
	v, err := s.Get(s.ctx, person("ada"), backend.Head)
	s.must(err)
	fill(v.Fields, 'x')
	for _, mode := range []backend.Mode{backend.State, backend.History} {
		q := backend.Query{Kind: onto.KindEntity, Type: tPerson, At: backend.Head, Mode: mode}
		for v, err := range s.Scan(s.ctx, &q) {
			s.must(err)
			fill(v.Fields, 'x')
		}
	}
	for c, err := range s.Diff(s.ctx, &backend.DiffQuery{From: 0, To: 1}) {
		s.must(err)
		fill(c.After.Fields, 'x')
	}
	s.spoilSchemas()
	s.wantLines("the store after answers were overwritten", append(s.everything(), s.diff(0, 1)...), before)
}

func (s *story) spoilSchemas() {
	before := s.schemas()
	for _, v := range s.schemaVersions() {
		fill(v.JSON, 'x')
		for i := range v.Schema.Fields {
			v.Schema.Fields[i].Name = "spoiled"
		}
	}
	for _, v := range s.register(testSchemas()...) {
		fill(v.JSON, 'x')
		clear(v.Schema.Fields)
	}
	s.wantLines("schemas after answers were overwritten", s.schemas(), before)
}

func (s *story) schemaVersions() []onto.SchemaVersion {
	s.Helper()
	list, err := s.Schemas(s.ctx)
	s.must(err)
	return list
}

// schemas returns all schemas in words.
func (s *story) schemas() []string {
	s.Helper()
	var lines []string
	for _, v := range s.schemaVersions() {
		lines = append(lines, showSchema(v))
	}
	return lines
}

func fill(data []byte, with byte) {
	for i := range data {
		data[i] = with
	}
}

// rows makes writes of n persons with ids in order.
func rows(n, value int) []backend.Write {
	list := make([]backend.Write, n)
	for i := range list {
		list[i] = put(person(fmt.Sprintf("p%06d", i)), value)
	}
	return list
}
