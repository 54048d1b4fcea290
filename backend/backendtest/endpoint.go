package backendtest

import (
	"fmt"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/filter"
)

func endpointStories() []tale {
	return []tale{
		{"filters on endpoints as of each commit", visits().of(endpointsAsOf)},
		{"filters on subjects as of each commit", claims().of(endpointsAsOf)},
		{"filters on indexed endpoints", visits().of(indexedEndpoints)},
		{"filters on indexed subjects", claims().of(indexedEndpoints)},
		{"filters on endpoints in a history", visits().of(endpointsInHistory)},
		{"filters on subjects in a history", claims().of(endpointsInHistory)},
		{"orders by endpoints", visits().of(endpointOrder)},
		{"orders by subjects", claims().of(endpointOrder)},
		{"endpoints of one type", endpointsOfOneType},
	}
}

// travels writes visits whose travellers and cities change, are deleted, come back or
// never existed, or as much of another type. There are cities with the keys of persons.
func (s *story) travels(of variety) {
	s.Helper()
	s.commit(
		set(person("ada"), `{"n":1,"t":"x"}`), set(person("bob"), `{"n":2,"v":true}`),
		set(city("rome"), `{"n":10}`), set(city("ada"), `{"n":77}`),
		set(of.tie("ada", "rome", "1"), `{"n":1}`), set(of.tie("bob", "rome", "1"), `{"n":1}`),
		set(of.tie("ada", "oslo", "1"), `{"n":3}`), set(of.tie("zed", "rome", "1"), `{"n":4}`),
	)
	s.commit(set(person("ada"), `{"n":5,"t":"x"}`))
	s.commit(remove(city("rome")))
	s.commit(set(city("rome"), `{"n":20}`), remove(person("bob")), set(person("rome"), `{"n":99}`))
	s.commit(set(of.tie("ada", "rome", "1"), `{"n":2}`))
	s.commit(remove(of.tie("bob", "rome", "1")), set(city("oslo"), `{"n":1,"v":true}`))
}

func endpointsAsOf(s *story, of variety) {
	s.travels(of)
	s.tellEndpoints(of)
}

func indexedEndpoints(s *story, of variety) {
	s.indexAll()
	s.travels(of)
	s.tellEndpoints(of)
}

// askEnds asks about the endpoints of a type; facts have none at their right.
func (s *story) askEnds(of variety, tests []asking) {
	s.Helper()
	for _, test := range tests {
		_, right := filter.UsesEndpoints(test.q.Where)
		right = right || slices.ContainsFunc(test.q.Order, func(o onto.Order) bool { return o.Operand.Side == onto.RightSide })
		if of.Kind == onto.KindFact && right {
			continue
		}
		s.askAll([]asking{test})
		if test.q.Limit == 0 && test.q.Order != nil {
			s.wantPages(test.q, 1, 2, 3)
		}
	}
}

// tellEndpoints asks about travels.
func (s *story) tellEndpoints(of variety) {
	const everyone, later = "ada>oslo/1 ada>rome/1 bob>rome/1 zed>rome/1", "ada>oslo/1 ada>rome/1 zed>rome/1"
	left, right := onto.Left("n"), onto.Right("n")
	for _, test := range []struct {
		where onto.Filter
		want  map[int64]string
	}{
		{left.Eq(1), map[int64]string{1: "ada>oslo/1 ada>rome/1", 2: "", 6: ""}},
		{left.Eq(5), map[int64]string{1: "", 2: "ada>oslo/1 ada>rome/1", 6: "ada>oslo/1 ada>rome/1"}},
		{left.Ne(1), map[int64]string{0: "", 1: "bob>rome/1", 2: "ada>oslo/1 ada>rome/1 bob>rome/1", 4: "ada>oslo/1 ada>rome/1"}},
		{right.Eq(10), map[int64]string{1: "ada>rome/1 bob>rome/1 zed>rome/1", 3: "", 4: ""}},
		{right.Ge(20), map[int64]string{1: "", 3: "", 4: "ada>rome/1 bob>rome/1 zed>rome/1", 6: "ada>rome/1 zed>rome/1"}},
		{right.IsNull(), map[int64]string{1: "ada>oslo/1", 3: everyone, 4: "ada>oslo/1", 6: ""}},
		{onto.Not{Of: right.Eq(10)}, map[int64]string{1: "ada>oslo/1", 3: everyone, 4: everyone, 6: later}},
		{onto.Left("id").IsNull(), map[int64]string{1: "zed>rome/1", 4: "bob>rome/1 zed>rome/1", 6: "zed>rome/1"}},
		{onto.Right("id").IsNotNull(), map[int64]string{1: "ada>rome/1 bob>rome/1 zed>rome/1", 3: "", 6: later}},
		{onto.Left("v").IsTrue(), map[int64]string{1: "bob>rome/1", 4: ""}},
		{onto.Right("v").Eq(true), map[int64]string{5: "", 6: "ada>oslo/1"}},
		{onto.And{left.Ge(1), right.Ge(1), onto.Path("n").Le(2)}, map[int64]string{1: "ada>rome/1 bob>rome/1", 3: "", 5: "ada>rome/1"}},
		{onto.Or{left.IsNull(), right.IsNull()}, map[int64]string{1: "ada>oslo/1 zed>rome/1", 3: everyone, 6: "zed>rome/1"}},
		{onto.Not{Of: onto.Or{left.Eq(5), onto.Right("t").Eq("x")}}, map[int64]string{1: everyone, 2: "bob>rome/1 zed>rome/1"}},
	} {
		for at, want := range test.want {
			q := backend.Query{Kind: of.Kind, Type: of.Name, At: at, Where: test.where}
			s.askEnds(of, []asking{{q, want}})
			if at == 6 {
				q.At = backend.Head
				s.askEnds(of, []asking{{q, want}})
			}
		}
	}
	for _, where := range []onto.Filter{right.Eq(10), onto.Or{left.Eq(2), left.IsNull()}} {
		q := backend.Query{Kind: of.Kind, Type: of.Name, At: 1, Where: where, LeftKeys: []string{"bob", "zed"}}
		s.askEnds(of, []asking{{q, "bob>rome/1 zed>rome/1"}})
		q.RightKeys, q.Limit, q.Offset = []string{"rome"}, 1, 1
		s.askEnds(of, []asking{{q, "zed>rome/1"}})
	}
}

// endpointsInHistory looks at the endpoints as of each version's own commit.
func endpointsInHistory(s *story, of variety) {
	s.travels(of)
	left, right := onto.Left("n"), onto.Right("n")
	history := func(where onto.Filter) backend.Query {
		q := *historyOf(of.Kind, of.Name, backend.Head)
		q.Where = where
		return q
	}
	early := history(right.Eq(10))
	early.At = 4
	late := history(right.IsNotNull())
	late.Since = 4
	ordered, byLeft := history(nil), history(nil)
	ordered.Order = []onto.Order{right.Desc(), left.Asc()}
	byLeft.Order = []onto.Order{left.Desc()}
	s.askEnds(of, []asking{
		{history(left.Eq(1)), "ada>oslo/1@1 ada>rome/1@1"},
		{history(left.Eq(5)), "ada>rome/1@5"},
		{history(right.Eq(10)), "ada>rome/1@1 bob>rome/1@1 zed>rome/1@1"},
		{history(right.Eq(20)), "ada>rome/1@5 -bob>rome/1@6"},
		{history(left.IsNull()), "zed>rome/1@1 -bob>rome/1@6"},
		{history(onto.And{onto.Path("n").IsNull(), right.Gt(1)}), "-bob>rome/1@6"},
		{history(onto.And{onto.Path("n").IsNull(), left.IsNull()}), "-bob>rome/1@6"},
		{early, "ada>rome/1@1 bob>rome/1@1 zed>rome/1@1"},
		{late, "ada>rome/1@5 -bob>rome/1@6"},
		{ordered, "ada>rome/1@5 -bob>rome/1@6 ada>rome/1@1 bob>rome/1@1 zed>rome/1@1 ada>oslo/1@1"},
		{byLeft, "ada>rome/1@5 bob>rome/1@1 ada>oslo/1@1 ada>rome/1@1 zed>rome/1@1 -bob>rome/1@6"},
	})
}

func endpointOrder(s *story, of variety) {
	s.travels(of)
	left, right := onto.Left("n"), onto.Right("n")
	for _, test := range []struct {
		at    int64
		order []onto.Order
		want  string
	}{
		{1, []onto.Order{left.Asc()}, "ada>oslo/1 ada>rome/1 bob>rome/1 zed>rome/1"},
		{1, []onto.Order{left.Desc()}, "bob>rome/1 ada>oslo/1 ada>rome/1 zed>rome/1"},
		{2, []onto.Order{left.Asc()}, "bob>rome/1 ada>oslo/1 ada>rome/1 zed>rome/1"},
		{1, []onto.Order{right.Asc(), left.Desc()}, "bob>rome/1 ada>rome/1 zed>rome/1 ada>oslo/1"},
		{6, []onto.Order{right.Asc()}, "ada>oslo/1 ada>rome/1 zed>rome/1"},
		{6, []onto.Order{onto.Right("id").Desc(), onto.Path("n").Desc()}, "zed>rome/1 ada>rome/1 ada>oslo/1"},
		{6, []onto.Order{onto.Left("id").Desc(), onto.Path("n").Asc()}, "ada>rome/1 ada>oslo/1 zed>rome/1"},
	} {
		s.askEnds(of, []asking{{backend.Query{Kind: of.Kind, Type: of.Name, At: test.at, Order: test.order}, test.want}})
	}
}

// endpointsOfOneType tells left and right apart where both are persons.
func endpointsOfOneType(s *story) {
	s.commit(put(person("a"), 1), put(person("b"), 2), put(knows("a", "b"), 1), put(knows("b", "a"), 1), put(knows("a", "a"), 1), put(knows("b", "c"), 1))
	s.commit(put(person("a"), 3))
	for i, test := range []struct {
		at    int64
		where onto.Filter
		want  string
	}{
		{1, onto.And{onto.Left("n").Eq(1), onto.Right("n").Eq(2)}, "a>b"},
		{1, onto.And{onto.Left("n").Eq(1), onto.Right("n").Eq(1)}, "a>a"},
		{1, onto.And{onto.Left("n").Eq(2), onto.Right("n").Eq(1)}, "b>a"},
		{2, onto.And{onto.Left("n").Eq(2), onto.Right("n").Eq(1)}, ""},
		{2, onto.Left("n").Eq(3), "a>a a>b"},
		{2, onto.And{onto.Left("n").Eq(2), onto.Right("n").IsNull()}, "b>c"},
	} {
		q := backend.Query{Kind: onto.KindRelation, Type: tKnows, At: test.at, Where: test.where}
		s.want(fmt.Sprint("question ", i), s.ask(q), test.want)
	}
}
