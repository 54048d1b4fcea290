package backendtest

import (
	"fmt"
	"math"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func readStories() []tale {
	return []tale{
		{"get as of each commit", getAsOf},
		{"state as of each commit", stateAsOf},
		{"types do not mix", typesDoNotMix},
		{"state is in order of code points", stateOrder},
		{"relations are in order of left, right and instance key", visits().of(tieOrder)},
		{"facts are in order of subject, attribute and id", claims().of(tieOrder)},
		{"state page by page", statePages},
		{"pages of relations", visits().of(tiePages)},
		{"pages of facts", claims().of(tiePages)},
		{"pages after the place of another type", foreignPages},
	}
}

// threeCommits writes ada, who is put, changed and deleted, and bob, who is put later
// and stays.
func (s *story) threeCommits() {
	s.Helper()
	s.commit(put(person("ada"), 1))
	s.commit(put(person("ada"), 2), put(person("bob"), 2))
	s.commit(remove(person("ada")))
}

func getAsOf(s *story) {
	s.threeCommits()
	tests := []struct {
		at       int64
		ada, bob string
	}{
		{0, "not found", "not found"},
		{1, `Person "ada" @1 {"id":"ada","n":1}`, "not found"},
		{2, `Person "ada" @2 {"id":"ada","n":2}`, `Person "bob" @2 {"id":"bob","n":2}`},
		{3, `Person "ada" @3 deleted`, `Person "bob" @2 {"id":"bob","n":2}`},
		{4, `Person "ada" @3 deleted`, `Person "bob" @2 {"id":"bob","n":2}`},
		{math.MaxInt64, `Person "ada" @3 deleted`, `Person "bob" @2 {"id":"bob","n":2}`},
		{backend.Head, `Person "ada" @3 deleted`, `Person "bob" @2 {"id":"bob","n":2}`},
	}
	for _, test := range tests {
		s.want(fmt.Sprintf("ada as of %d", test.at), s.get(person("ada"), test.at), test.ada)
		s.want(fmt.Sprintf("bob as of %d", test.at), s.get(person("bob"), test.at), test.bob)
		s.want(fmt.Sprintf("cy as of %d", test.at), s.get(person("cy"), test.at), "not found")
	}
}

func stateAsOf(s *story) {
	s.threeCommits()
	bob := `Person "bob" @2 {"id":"bob","n":2}`
	tests := []struct {
		at   int64
		want []string
	}{
		{0, nil},
		{1, []string{`Person "ada" @1 {"id":"ada","n":1}`}},
		{2, []string{`Person "ada" @2 {"id":"ada","n":2}`, bob}},
		{3, []string{bob}},
		{4, []string{bob}},
		{backend.Head, []string{bob}},
	}
	for _, test := range tests {
		s.wantLines(fmt.Sprintf("as of %d", test.at), s.scan(stateOf(onto.KindEntity, tPerson, test.at)), test.want)
	}
}

func typesDoNotMix(s *story) {
	s.register(tagged("person")) // differs from Person in case only
	s.commit(put(person("x"), 1), put(city("x"), 2), put(onto.EntityID("person", "x"), 3))
	s.commit(put(knows("x", "x"), 1), put(visit("x", "x", "t"), 2), put(claim("x", "x", "t"), 3), put(note("x", "x", "t"), 4))
	s.want("Person", s.get(person("x"), backend.Head), `Person "x" @1 {"id":"x","n":1}`)
	s.want("person", s.get(onto.EntityID("person", "x"), backend.Head), `person "x" @1 {"id":"x","n":3}`)
	s.want("a visit without its trip", s.get(visit("x", "x", ""), backend.Head), "not found")
	s.want("Knows with a trip", s.get(knows("x", "x").WithInstance("t"), backend.Head), "not found")
	s.wantState(onto.KindEntity, tPerson, `Person "x" @1 {"id":"x","n":1}`)
	s.wantState(onto.KindEntity, tCity, `City "x" @1 {"id":"x","n":2}`)
	s.wantState(onto.KindRelation, tVisit, `Visit "x" → "x" ["t"] @2 {"n":2}`)
	s.wantState(onto.KindFact, tClaim, `Claim "x" x ["t"] @2 {"n":3}`)
	s.wantState(onto.KindFact, tNote, `Note "x" x ["t"] @2 {"n":4}`)
	s.wantState(onto.KindFact, tVisit)
	s.wantState(onto.KindRelation, tClaim)
	s.want("a visit as a fact", s.get(onto.FactID(tVisit, "x", "x", "t"), backend.Head), "not found")
	s.want("another claim", s.get(claim("x", "x", "T"), backend.Head), "not found")
	s.wantState(onto.KindEntity, "Nobody")
	s.wantState(onto.KindEntity, tKnows)
	s.want("get of an unknown type", s.get(onto.EntityID("Nobody", "x"), backend.Head), "not found")
	s.wantLines("history of an unknown type", s.scan(historyOf(onto.KindEntity, "Nobody", backend.Head)), nil)
}

// stateOrder has keys that orders other than by code point would move: by case, by
// locale, by number, by UTF-16.
func stateOrder(s *story) {
	keys := []string{" ", "!", "10", "9", "A", "B", "Z", "_", "a", "aa", "ab", "b", "z", "~", "ß", "é", "\uFFFD", "😀"}
	want := make([]string, len(keys))
	var writes []backend.Write
	for i, key := range keys {
		writes = append(writes, put(person(key), i))
		want[i] = showVersion(onto.Version{Identity: person(key), Op: onto.Put, Commit: 1, SchemaVersion: 1, Fields: writes[i].Fields})
	}
	s.commit(writes...)
	s.wantState(onto.KindEntity, tPerson, want...)
	s.wantLines("history", s.scan(historyOf(onto.KindEntity, tPerson, backend.Head)), want)
}

func tieOrder(s *story, of variety) {
	s.commit(
		put(of.tie("b", "a", "1"), 1), put(of.tie("a", "b", "2"), 1), put(of.tie("a", "b", "10"), 1),
		put(of.tie("ab", "a", "0"), 1), put(of.tie("a", "ba", "0"), 1), put(of.tie("a", "a", "9"), 1))
	s.wantState(of.Kind, of.Name,
		row(of.tie("a", "a", "9"), 1, 1),
		row(of.tie("a", "b", "10"), 1, 1),
		row(of.tie("a", "b", "2"), 1, 1),
		row(of.tie("a", "ba", "0"), 1, 1),
		row(of.tie("ab", "a", "0"), 1, 1),
		row(of.tie("b", "a", "1"), 1, 1))
}

// page asks for the keys of one page of a state.
func (s *story) page(q backend.Query) []string {
	s.Helper()
	var keys []string
	for v, err := range s.Scan(s.ctx, &q) {
		s.must(err)
		keys = append(keys, v.Key+v.Left+v.Right+v.Instance)
	}
	return keys
}

func statePages(s *story) {
	s.commit(put(person("b"), 1), put(person("c"), 1), put(person("d"), 1), put(person("e"), 1), put(city("z"), 1))
	s.commit(remove(person("c")), put(person("f"), 1))
	tests := []struct {
		after string
		at    int64
		limit int
		want  []string
	}{
		{"", backend.Head, 0, []string{"b", "d", "e", "f"}},
		{"", backend.Head, 2, []string{"b", "d"}},
		{"b", backend.Head, 2, []string{"d", "e"}},
		{"c", backend.Head, 2, []string{"d", "e"}}, // deleted
		{"e", backend.Head, 2, []string{"f"}},
		{"f", backend.Head, 2, nil},
		{"a", backend.Head, 1, []string{"b"}}, // never there
		{"bb", backend.Head, 100, []string{"d", "e", "f"}},
		{"z", backend.Head, 0, nil},
		{"", 1, 3, []string{"b", "c", "d"}},
		{"b", 1, 2, []string{"c", "d"}},
		{"d", 1, 0, []string{"e"}},
		{"b", 0, 0, nil},
	}
	for _, test := range tests {
		q := backend.Query{Kind: onto.KindEntity, Type: tPerson, At: test.at, Limit: test.limit}
		if test.after != "" {
			q.After = &backend.Place{Identity: person(test.after)}
		}
		s.wantLines(fmt.Sprintf("after %q as of %d, %d at most", test.after, test.at, test.limit), s.page(q), test.want)
	}
}

func tiePages(s *story, of variety) {
	all := []onto.Identity{
		of.tie("a", "a", "1"), of.tie("a", "a", "2"), of.tie("a", "b", "1"), of.tie("a", "b", "2"),
		of.tie("aa", "a", "1"), of.tie("b", "a", "1"), of.tie("b", "a", "2"), of.tie("b", "b", "1"),
	}
	var writes []backend.Write
	var want []string
	for _, id := range all {
		writes = append(writes, put(id, 1))
		want = append(want, id.Left+id.Right+id.Instance)
	}
	s.commit(writes...)
	for i, id := range all {
		q := backend.Query{Kind: of.Kind, Type: of.Name, At: backend.Head, After: &backend.Place{Identity: id}}
		s.wantLines("after "+id.String(), s.page(q), want[i+1:])
		q.Limit = 1
		s.wantLines("next after "+id.String(), s.page(q), want[i+1:min(i+2, len(all))])
	}
	between := of.tie("a", "b", "1x")
	q := backend.Query{Kind: of.Kind, Type: of.Name, At: 1, After: &backend.Place{Identity: between}, Limit: 2}
	s.wantLines("after what was never there", s.page(q), want[3:5])
}

// foreignPages starts after places that no version of the type has: types come
// one after the other in the order of identity, and entities before facts before relations.
func foreignPages(s *story) {
	s.commit(put(person("a"), 1), put(person("b"), 1), put(visit("a", "a", "1"), 1), put(claim("a", "n", "1"), 1))
	s.commit(put(person("a"), 2))
	for _, test := range []struct {
		after            onto.Identity
		people, versions []string
		visits, claims   []string
	}{
		{onto.EntityID("A", "z"), []string{"a", "b"}, []string{"a", "b", "a"}, []string{"aa1"}, []string{"an1"}},
		{onto.EntityID("Z", ""), nil, []string{"a"}, []string{"aa1"}, []string{"an1"}},
		{onto.FactID("A", "z", "z", "z"), nil, []string{"a"}, []string{"aa1"}, []string{"an1"}},
		{onto.FactID("Z", "", "", ""), nil, []string{"a"}, []string{"aa1"}, nil},
		{onto.RelationID("A", "z", "z"), nil, []string{"a"}, []string{"aa1"}, nil},
		{onto.RelationID("Z", "", ""), nil, []string{"a"}, nil, nil},
	} {
		q := backend.Query{Kind: onto.KindEntity, Type: tPerson, At: backend.Head, After: &backend.Place{Identity: test.after, Commit: 1}}
		s.wantLines("people after "+test.after.String(), s.page(q), test.people)
		q.Mode = backend.History
		s.wantLines("versions of people after "+test.after.String(), s.page(q), test.versions)
		q.Mode, q.Kind, q.Type = backend.State, onto.KindRelation, tVisit
		s.wantLines("visits after "+test.after.String(), s.page(q), test.visits)
		q.Kind, q.Type = onto.KindFact, tClaim
		s.wantLines("claims after "+test.after.String(), s.page(q), test.claims)
	}
}
