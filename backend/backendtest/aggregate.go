package backendtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/filter"
)

func aggregateStories() []tale {
	return []tale{
		{"aggregates over values of every kind", func(s *story) { s.figures(); s.tellAggregates() }},
		{"aggregates over indexed fields", func(s *story) { s.indexAll(); s.figures(); s.tellAggregates() }},
		{"aggregates over nothing", aggregateNothing},
		{"groups", func(s *story) { s.figures(); s.tellGroups() }},
		{"groups of indexed fields", func(s *story) { s.figures(); s.indexAll(); s.tellGroups() }},
		{"aggregates as of each commit", aggregateAsOf},
		{"aggregates over a history", aggregateHistory},
		{"aggregates over endpoints", aggregateEndpoints},
		{"aggregates over left endpoints", visits().of(aggregateLeft)},
		{"aggregates over subjects", claims().of(aggregateLeft)},
		{"aggregates over what search finds", aggregateSearch},
		{"groups of periods", groupPeriods},
		{"different values are counted", countDistinct},
		{"sums of integers are exact", exactSums},
		{"a sum beyond int64 is an error", sumOverflows},
	}
}

// cleanAggregation makes an aggregation as the store hands it on.
func cleanAggregation(t failer, a backend.Aggregation, types []onto.Schema) *backend.Aggregation {
	t.Helper()
	a.Query = *clean(t, a.Query, types)
	scope := &filter.Scope{Schema: a.Schema, Left: a.Left, Right: a.Right}
	a.By, a.Compute = slices.Clone(a.By), slices.Clone(a.Compute)
	for _, list := range [][]onto.Operand{a.By, a.Compute} {
		for i := range list {
			var err error
			if list[i], err = filter.CheckOperand(list[i], scope); err != nil {
				t.Fatalf("aggregate: %v", err)
			}
		}
	}
	return &a
}

// describeAggregation formats an aggregation.
func describeAggregation(a *backend.Aggregation) string {
	text := describeQuery(&a.Query)
	for _, o := range a.By {
		text += ", group by " + filter.FormatOperand(o)
	}
	for _, o := range a.Compute {
		text += ", compute " + filter.FormatOperand(o)
	}
	return text
}

// showGroup puts a group on one line: what it is grouped by, then its values.
func showGroup(g onto.Group) string {
	join := func(values []json.RawMessage) string {
		var list []string
		for _, v := range values {
			if v == nil {
				v = json.RawMessage("null")
			}
			list = append(list, string(v))
		}
		return strings.Join(list, " ")
	}
	if len(g.By) == 0 {
		return join(g.Values)
	}
	return join(g.By) + ": " + join(g.Values)
}

// reckon compares the groups of an aggregation, asked with and without the type.
func (s *story) reckon(a backend.Aggregation, want ...string) {
	s.Helper()
	s.reckonOf(testSchemas(), a, want...)
}

// reckonOf is reckon with these types.
func (s *story) reckonOf(types []onto.Schema, a backend.Aggregation, want ...string) {
	s.Helper()
	c := cleanAggregation(s.T, a, types)
	s.wantLines(describeAggregation(c), list(s, s.Aggregate(s.ctx, c), showGroup), want)
	c.Schema = nil
	s.wantLines(describeAggregation(c)+", without the type", list(s, s.Aggregate(s.ctx, c), showGroup), want)
}

// personsBy aggregates persons at the head.
func personsBy(by []onto.Operand, compute ...onto.Operand) backend.Aggregation {
	return backend.Aggregation{Query: persons(backend.Head), By: by, Compute: compute}
}

// figures writes persons to be counted.
func (s *story) figures() {
	s.Helper()
	s.commit(
		set(person("a"), `{"n":1,"t":"x","v":1.5}`),
		set(person("b"), `{"n":2,"t":"x","v":2}`),
		set(person("c"), `{"n":3,"t":"y","v":"s"}`),
		set(person("d"), `{"t":"y","v":[1,"],[",{"k":[2,3]}]}`),
		set(person("e"), `{"n":10,"v":[]}`),
		set(person("f"), `{"v":true}`),
		set(person("g"), `{"n":-2,"t":"Y","v":{"k":1,"z":null}}`),
		set(person("h"), `{"t":""}`),
		set(city("z"), `{"n":1000,"t":"x","v":1000}`),
	)
}

// tellAggregates asks about figures.
func (s *story) tellAggregates() {
	n, t, v := onto.Path("n"), onto.Path("t"), onto.Path("v")
	s.reckon(personsBy(nil, onto.Count()), "8")
	s.reckon(personsBy(nil, n.Sum(), n.Avg(), n.Min(), n.Max(), onto.Count()), "14 2.8 -2 10 8")
	s.reckon(personsBy(nil, v.Sum(), v.Avg(), v.Min(), v.Max(), v.AvgLen()), `3.5 1.75 true "s" 1.5`)
	s.reckon(personsBy(nil, t.Min(), t.Max()), `"" "y"`)
	s.reckon(personsBy(nil, onto.Path("v", "k").Sum(), onto.Path("v", "nothing").Max(), onto.Path("v", "k").AvgLen()), "1 null null")
	s.reckon(personsBy(nil, n.Max(), n.Max(), onto.Count(), onto.Count()), "10 10 8 8")
	a := personsBy(nil, onto.Count(), n.Sum(), v.Min())
	a.Where = onto.Or{t.Eq("x"), v.Some().Eq(1)}
	s.reckon(a, "3 3 1.5")
	a.Where, a.Keys = nil, []string{"g", "a", "nobody"}
	s.reckon(a, "2 -1 1.5")
}

func aggregateNothing(s *story) {
	n, v := onto.Path("n"), onto.Path("v")
	nothing := personsBy(nil, onto.Count(), n.Sum(), n.Avg(), n.Min(), n.Max(), v.AvgLen())
	s.reckon(nothing, "0 null null null null null")
	s.figures()
	nothing.Where = onto.Path("id").Eq("nobody")
	s.reckon(nothing, "0 null null null null null")
	nothing.By = []onto.Operand{onto.Path("t")}
	s.reckon(nothing)
	strings := personsBy(nil, onto.Count(), v.Sum(), v.Avg(), v.AvgLen(), v.Min())
	strings.Where = v.Eq("s")
	s.reckon(strings, `1 null null null "s"`)
	nothing.Where, nothing.Keys = nil, []string{}
	s.reckon(nothing)
	nothing.By, nothing.Keys, nothing.At = nil, nil, 0
	s.reckon(nothing, "0 null null null null null")
}

// tellGroups asks about figures.
func (s *story) tellGroups() {
	n, t, v := onto.Path("n"), onto.Path("t"), onto.Path("v")
	s.reckon(personsBy([]onto.Operand{t}, onto.Count(), n.Sum()),
		`"": 1 null`, `"Y": 1 -2`, `"x": 2 3`, `"y": 2 3`, `null: 2 10`)
	s.reckon(personsBy([]onto.Operand{n}, onto.Count()),
		"-2: 1", "1: 1", "2: 1", "3: 1", "10: 1", "null: 3")
	s.reckon(personsBy([]onto.Operand{v}, onto.Count(), n.Max()),
		"true: 1 null", "1.5: 1 1", "2: 1 2", `"s": 1 3`, `[1,"],[",{"k":[2,3]}]: 1 null`, "[]: 1 10", `{"k":1,"z":null}: 1 -2`, "null: 1 null")
	s.reckon(personsBy([]onto.Operand{onto.Path("v", "k"), t}, onto.Count()),
		`1 "Y": 1`, `null "": 1`, `null "x": 2`, `null "y": 2`, `null null: 2`)
	s.reckon(personsBy([]onto.Operand{onto.Path("v", "z")}, onto.Count()), "null: 8")
	s.reckon(personsBy([]onto.Operand{t}), `"": `, `"Y": `, `"x": `, `"y": `, `null: `)
	s.commit(set(person("i"), `{"v":1}`), set(person("j"), `{"v":"1"}`), set(person("k"), `{"v":1.0}`), set(person("l"), `{"v":false}`), set(person("m"), `{"v":0}`))
	a := personsBy([]onto.Operand{v}, onto.Count())
	a.Where = onto.Path("id").Ge("h")
	s.reckon(a, "false: 1", "0: 1", "1: 2", `"1": 1`, "null: 1")
}

func aggregateAsOf(s *story) {
	s.changing()
	for at, want := range map[int64][]string{0: nil, 1: {"1: 1", "2: 1"}, 2: {"2: 2"}, 3: {"2: 1"}, 4: {"2: 1", "3: 1"}, 5: {"2: 1"}, backend.Head: {"2: 1"}} {
		a := personsBy([]onto.Operand{onto.Path("n")}, onto.Count())
		a.At = at
		s.reckon(a, want...)
	}
}

func aggregateHistory(s *story) {
	s.changing()
	n, b := onto.Path("n"), person("b")
	a := personsBy([]onto.Operand{n}, onto.Count())
	a.Mode = backend.History
	s.reckon(a, "1: 1", "2: 3", "3: 1", "null: 2")
	a.Since, a.At = 1, 4
	s.reckon(a, "2: 2", "3: 1", "null: 1")
	a.Since, a.Identity, a.Compute = 0, &b, []onto.Operand{onto.Count(), n.Sum()}
	s.reckon(a, "2: 2 4", "null: 1 null")
	a.By, a.Where = nil, n.IsNull()
	s.reckon(a, "1 null")
}

func aggregateEndpoints(s *story) {
	s.travels(visits())
	left, right := onto.Left("n"), onto.Right("n")
	a := backend.Aggregation{
		Query: backend.Query{Kind: onto.KindRelation, Type: tVisit, At: 1},
		By:    []onto.Operand{left}, Compute: []onto.Operand{onto.Count(), onto.Path("n").Sum(), right.Max()},
	}
	s.reckon(a, "1: 2 4 10", "2: 1 1 10", "null: 1 4 10")
	a.At = 4
	s.reckon(a, "5: 2 4 20", "null: 2 5 20")
	a.By, a.Where = []onto.Operand{onto.Right("id"), onto.Left("t")}, left.IsNotNull()
	s.reckon(a, `"rome" "x": 1 1 20`, `null "x": 1 3 null`)
	a.By, a.Where, a.Mode, a.At = []onto.Operand{right}, nil, backend.History, backend.Head
	s.reckon(a, "10: 3 6 10", "20: 2 2 20", "null: 1 3 null")
}

func aggregateLeft(s *story, of variety) {
	s.travels(of)
	left, n := onto.Left("n"), onto.Path("n")
	a := backend.Aggregation{
		Query: backend.Query{Kind: of.Kind, Type: of.Name, At: 1}, By: []onto.Operand{left}, Compute: []onto.Operand{onto.Count(), n.Sum()},
	}
	s.reckon(a, "1: 2 4", "2: 1 1", "null: 1 4")
	a.At = 4
	s.reckon(a, "5: 2 4", "null: 2 5")
	a.By, a.Where, a.Compute = []onto.Operand{onto.Left("t")}, left.IsNotNull(), []onto.Operand{onto.Count(), left.Sum(), n.Max()}
	s.reckon(a, `"x": 2 10 3`)
	a.By, a.Where, a.Mode, a.At = []onto.Operand{left}, nil, backend.History, backend.Head
	s.reckon(a, "1: 2 2 3", "2: 1 2 1", "5: 1 5 2", "null: 2 null 4")
}

func aggregateSearch(s *story) {
	s.texts()
	s.register(searchable()...)
	a := personsBy(nil, onto.Count(), onto.Path("t").Max())
	a.Search = wordsOf("ada*")
	c := cleanAggregation(s.T, a, searchable())
	s.wantLines("what search finds", list(s, s.Aggregate(s.ctx, c), showGroup), []string{`4 "adam"`})
}

func exactSums(s *story) {
	n := onto.Path("n")
	s.commit(set(person("a"), `{"n":9007199254740993,"t":"x"}`), set(person("b"), `{"n":9007199254740992}`), set(person("c"), `{"n":0,"t":"x"}`))
	a := personsBy(nil, n.Sum(), n.Max(), n.Min())
	s.reckon(a, "18014398509481985 9007199254740993 0")
	a.By = []onto.Operand{onto.Path("t")}
	s.reckon(a, `"x": 9007199254740993 9007199254740993 0`, "null: 9007199254740992 9007199254740992 9007199254740992")
	s.commit(set(person("a"), `{"n":9223372036854775807}`), set(person("b"), `{"n":1}`), set(person("c"), `{"n":-1}`))
	a.By = nil
	s.reckon(a, "9223372036854775807 9223372036854775807 -1") // although it is exceeded on the way
	s.commit(set(person("a"), `{"n":-9223372036854775807}`), set(person("b"), `{"n":-1}`), set(person("c"), `{"n":0}`))
	s.reckon(a, "-9223372036854775808 0 -9223372036854775807")
}

func sumOverflows(s *story) {
	s.commit(set(person("a"), `{"n":9223372036854775807,"t":"x","v":9223372036854775807}`), set(person("b"), `{"n":1,"t":"y"}`), set(person("c"), `{"n":5,"t":"x","v":0.5}`))
	overflow := func(a backend.Aggregation) {
		s.Helper()
		c := cleanAggregation(s.T, a, testSchemas())
		_, err := collect(s.Aggregate(s.ctx, c), showGroup)
		s.wantCode(describeAggregation(c), err, onto.TooLarge)
		if !strings.Contains(err.Error(), "$.n") || onto.HintOf(err).Text == "" {
			s.Errorf("got error %q with hint %q, want the path $.n and a hint", err, onto.HintOf(err))
		}
	}
	n := onto.Path("n")
	overflow(personsBy(nil, n.Sum()))
	overflow(personsBy(nil, onto.Count(), n.Max(), n.Sum()))
	overflow(personsBy([]onto.Operand{onto.Path("t")}, n.Sum()))
	past := personsBy(nil, n.Sum())
	past.At = 1
	s.commit(set(person("a"), `{"n":-9223372036854775807,"t":"x"}`), set(person("b"), `{"n":-2,"t":"x"}`), set(person("c"), `{"n":3}`))
	overflow(past)
	overflow(personsBy([]onto.Operand{onto.Path("t")}, n.Sum()))
	s.reckon(personsBy(nil, n.Sum(), onto.Count()), "-9223372036854775806 3")
	past.Compute = []onto.Operand{n.Avg(), onto.Path("v").Sum()}
	got := list(s, s.Aggregate(s.ctx, cleanAggregation(s.T, past, testSchemas())), func(g onto.Group) string {
		return fmt.Sprintf("%.5s %.5s", g.Values[0], g.Values[1])
	})
	s.wantLines("the average and the sum of floats", got, []string{"30744 9.223"})
}
