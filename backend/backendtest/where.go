package backendtest

import (
	"fmt"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func whereStories() []tale {
	return []tale{
		{"a filter chooses", func(s *story) { s.allKinds(); s.tellWhere() }},
		{"a filter over fields that are indexed later", func(s *story) { s.allKinds(); s.indexAll(); s.tellWhere() }},
		{"a filter as of each commit", whereAsOf},
		{"a filter in a history", whereHistory},
		{"only these keys", onlyKeys},
		{"only these endpoints", visits().of(onlyTies)},
		{"only these subjects and attributes", claims().of(onlyTies)},
		{"more keys than a statement takes", manyKeys},
		{"a filter of many values", manyValues},
	}
}

// indexAll marks every field of the types for an index.
func (s *story) indexAll() {
	s.Helper()
	s.register(flagged(func(_ string, f *onto.Field) { f.Index = true })...)
}

// flagged returns the types of the tests with other flags.
func flagged(mark func(typ string, f *onto.Field)) []onto.Schema {
	list := testSchemas()
	for _, s := range list {
		for i := range s.Fields {
			mark(s.Name, &s.Fields[i])
		}
	}
	return list
}

// allKinds writes persons with values of every kind.
func (s *story) allKinds() {
	s.Helper()
	var writes []backend.Write
	for key, fields := range map[string]string{
		"a": `{"n":1,"t":"Ada","v":true}`,
		"b": `{"n":2,"t":"ada","v":1}`,
		"c": `{"t":"50%_\\","v":"1"}`,
		"d": `{}`,
		"e": `{"n":-3,"v":[1,"x",null,true,{"k":"x"}]}`,
		"f": `{"v":{"k":"x","q":{"z":1.5},"w":null}}`,
		"g": `{"v":1.5}`,
		"h": `{"v":9007199254740993}`,
		"i": `{"t":"Élan","v":""}`,
		"j": `{"v":[]}`,
		"k": `{"v":false}`,
		"l": `{"v":0}`,
		"m": `{"n":9007199254740993,"t":"","v":"true"}`,
		"o": `{}`,
	} {
		writes = append(writes, set(person(key), fields))
	}
	s.commit(writes...)
}

// tellWhere asks about allKinds, with one filter of each form. What filters mean is
// defined by the cases of package filtertest.
func (s *story) tellWhere() {
	n, t, v := onto.Path("n"), onto.Path("t"), onto.Path("v")
	for _, test := range []struct {
		where onto.Filter
		want  string
	}{
		{v.Eq(true), "a"},
		{v.Eq(9007199254740993), "h"},
		{v.In(1, "1", true), "a b c"},
		{v.IsNull(), "d o"},
		{n.Ne(2), "a e m"},
		{n.Ge(1), "a b m"},
		{t.Contains("%"), "c"},
		{onto.Path("v", "k").Eq("x"), "f"},
		{v.Some().Eq("x"), "e"},
		{onto.Not{Of: n.IsNull()}, "a b e m"},
		{v.Gt(9007199254740992.0), "h"}, // not expressible as text
		{onto.And{}, "a b c d e f g h i j k l m o"},
		{onto.Or{}, ""},
		{onto.And{onto.Or{t.Eq("Ada"), t.Eq("ada")}, onto.Or{n.Gt(1), v.IsFalse()}}, "b"},
	} {
		q := persons(backend.Head)
		q.Where = test.where
		s.askAll([]asking{{q, test.want}})
		q.At = 1
		s.askAll([]asking{{q, test.want}})
	}
}

// changing writes a and b: a's number grows, b is deleted and comes back.
func (s *story) changing() {
	s.Helper()
	s.commit(set(person("a"), `{"n":1}`), set(person("b"), `{"n":2}`), set(city("a"), `{"n":2}`))
	s.commit(set(person("a"), `{"n":2}`))
	s.commit(remove(person("b")))
	s.commit(set(person("a"), `{"n":3,"t":"x"}`), set(person("b"), `{"n":2,"t":"y"}`))
	s.commit(remove(person("a")))
}

func whereAsOf(s *story) {
	s.changing()
	for at, want := range map[int64]string{0: "", 1: "b", 2: "a b", 3: "a", 4: "b", 5: "b", 9: "b", backend.Head: "b"} {
		q := persons(at)
		q.Where = onto.Path("n").Eq(2)
		s.askAll([]asking{{q, want}})
	}
}

func whereHistory(s *story) {
	s.changing()
	n, a := onto.Path("n"), person("a")
	q := *historyOf(onto.KindEntity, tPerson, backend.Head)
	with := func(change func(q *backend.Query)) backend.Query {
		q := q
		change(&q)
		return q
	}
	s.askAll([]asking{
		{with(func(q *backend.Query) { q.Where = n.Eq(2) }), "b@1 a@2 b@4"},
		{with(func(q *backend.Query) { q.Where = n.IsNull() }), "-b@3 -a@5"},
		{with(func(q *backend.Query) { q.Where = onto.Not{Of: n.Eq(2)} }), "a@1 -b@3 a@4 -a@5"},
		{with(func(q *backend.Query) { q.Where, q.At = n.Ge(2), 3 }), "b@1 a@2"},
		{with(func(q *backend.Query) { q.Where, q.Since = n.Ge(2), 1 }), "a@2 a@4 b@4"},
		{with(func(q *backend.Query) { q.Where, q.Identity = n.Ge(2), &a }), "a@2 a@4"},
		{with(func(q *backend.Query) { q.Where, q.Limit = n.Ge(2), 2 }), "b@1 a@2"},
		{with(func(q *backend.Query) { q.Where, q.Offset, q.Limit = n.Ge(2), 1, 2 }), "a@2 a@4"},
		{with(func(q *backend.Query) { q.Keys = []string{"b"} }), "b@1 -b@3 b@4"},
		{with(func(q *backend.Query) { q.Keys, q.Where = []string{"b"}, n.IsNotNull() }), "b@1 b@4"},
		{with(func(q *backend.Query) { q.Order = []onto.Order{n.Desc()} }), "a@4 b@1 a@2 b@4 a@1 -b@3 -a@5"},
		{with(func(q *backend.Query) { q.Order, q.Since, q.At = []onto.Order{n.Asc()}, 1, 4 }), "a@2 b@4 a@4 -b@3"},
		{with(func(q *backend.Query) { q.After = &backend.Place{Commit: 2, Identity: person("zoe")} }), "-b@3 a@4 b@4 -a@5"},
		{with(func(q *backend.Query) { q.After, q.Limit = &backend.Place{Commit: 1, Identity: a}, 2 }), "b@1 a@2"},
	})
}

func onlyKeys(s *story) {
	s.commit(put(person("a"), 1), put(person("b"), 2), put(person("c"), 3), put(person(`d"'%`), 4), put(city("b"), 5))
	s.commit(remove(person("b")))
	for _, test := range []struct {
		at   int64
		keys []string
		want string
	}{
		{backend.Head, nil, `a c d"'%`},
		{backend.Head, []string{}, ""},
		{backend.Head, []string{"c", "a"}, "a c"},
		{backend.Head, []string{"c", "a", "c", "nobody", "b", "A", ""}, "a c"},
		{backend.Head, []string{`d"'%`}, `d"'%`},
		{1, []string{"b", "c"}, "b c"},
		{0, []string{"b", "c"}, ""},
	} {
		q := persons(test.at)
		q.Keys = test.keys
		s.askAll([]asking{{q, test.want}})
		q.Where = onto.Path("n").Lt(4)
		s.askAll([]asking{{q, strings.TrimSpace(strings.TrimSuffix(test.want, `d"'%`))}})
	}
	q := persons(1)
	q.Keys, q.Limit, q.After = []string{"c", "b", "a"}, 1, &backend.Place{Identity: person("a")}
	s.askAll([]asking{{q, "b"}})
}

func onlyTies(s *story, of variety) {
	s.commit(put(of.tie("a", "x", "1"), 1), put(of.tie("a", "y", "1"), 2), put(of.tie("a", "y", "2"), 3), put(of.tie("b", "x", "1"), 4), put(knows("a", "x"), 5), put(note("a", "x", "1"), 6))
	s.commit(remove(of.tie("a", "y", "1")), put(of.tie("c", "y", "1"), 6))
	at := func(at int64, left, right []string) backend.Query {
		return backend.Query{Kind: of.Kind, Type: of.Name, At: at, LeftKeys: left, RightKeys: right}
	}
	history := at(backend.Head, []string{"a"}, []string{"y"})
	history.Mode = backend.History
	filtered := at(1, []string{"a", "b"}, nil)
	filtered.Where, filtered.Order = onto.Path("n").Gt(1), []onto.Order{onto.Path("n").Desc()}
	s.askAll([]asking{
		{at(backend.Head, []string{"a"}, nil), "a>x/1 a>y/2"},
		{at(backend.Head, nil, []string{"y"}), "a>y/2 c>y/1"},
		{at(backend.Head, []string{"c", "a"}, []string{"y", "z"}), "a>y/2 c>y/1"},
		{at(backend.Head, []string{"a"}, []string{}), ""},
		{at(backend.Head, []string{}, nil), ""},
		{at(backend.Head, []string{"x"}, nil), ""},
		{at(1, []string{"a"}, []string{"y"}), "a>y/1 a>y/2"},
		{history, "a>y/1@1 a>y/2@1 -a>y/1@2"},
		{filtered, "b>x/1 a>y/2 a>y/1"},
	})
}

func manyKeys(s *story) {
	s.commit(put(person("k00007"), 1), put(person("k39999"), 2), put(person("other"), 3), put(knows("k00007", "k39999"), 1), put(claim("k00007", "k39999", "1"), 1))
	keys := make([]string, 40_000)
	for i := range keys {
		keys[i] = fmt.Sprintf("k%05d", i)
	}
	q := persons(backend.Head)
	q.Keys = keys
	related := backend.Query{Kind: onto.KindRelation, Type: tKnows, At: backend.Head, LeftKeys: keys, RightKeys: keys}
	claimed := backend.Query{Kind: onto.KindFact, Type: tClaim, At: backend.Head, LeftKeys: keys, RightKeys: keys}
	s.askAll([]asking{{q, "k00007 k39999"}, {related, "k00007>k39999"}, {claimed, "k00007>k39999/1"}})
}

// manyValues asks with long lists and deep filters.
func manyValues(s *story) {
	s.allKinds()
	values := make([]any, 2000)
	for i := range values {
		values[i] = i + 2
	}
	q := persons(backend.Head)
	q.Where = onto.Path("n").In(values...)
	s.askAll([]asking{{q, "b"}})
	any := make(onto.Or, 50)
	for i := range any {
		any[i] = onto.And{onto.Path("n").Eq(i), onto.Path("t").Ne(fmt.Sprint(i))}
	}
	q.Where = any
	s.askAll([]asking{{q, "a b"}})
}
