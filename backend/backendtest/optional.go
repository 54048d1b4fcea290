package backendtest

import (
	"fmt"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func optionalStories() []tale {
	return append(leaseStories(), []tale{
		{"a check of a sound store finds nothing", checkSound},
		{"a check notices relations to what does not exist", checkEndpoints},
		{"a store tells what it holds", describe},
		{"a projection made anew says the same", rebuild},
		{"a store tells how it answers", explains},
	}...)
}

// explains asks how questions would be answered, which must not answer or fail any of
// them.
func explains(s *story) {
	if _, ok := backend.As[backend.Explainer](s.Backend); !ok {
		return
	}
	s.lively()
	s.register(searchable()...)
	before := s.everything()
	n := onto.Path("n")
	visited := backend.Query{Kind: onto.KindRelation, Type: tVisit, LeftKeys: []string{"ada"}}
	visited.Where, visited.Order = onto.Left("n").Gt(1), []onto.Order{onto.Right("t").Desc()}
	claimed := backend.Query{Kind: onto.KindFact, Type: tClaim, LeftKeys: []string{"ada"}, RightKeys: []string{"n", "t"}}
	claimed.Where, claimed.Order = onto.Left("n").Gt(1), []onto.Order{onto.Left("t").Desc()}
	found := persons(0)
	found.Search, found.Where, found.Limit, found.Offset = wordsOf("ada b*"), onto.Not{Of: n.Eq(1)}, 3, 1
	for _, mode := range []backend.Mode{backend.State, backend.History} {
		for _, at := range []int64{backend.Head, 2, 0} {
			for _, q := range []backend.Query{persons(0), found, visited, claimed} {
				q.Mode, q.At = mode, at
				for _, compute := range [][]onto.Operand{nil, {onto.Count(), n.Sum()}} {
					a := backend.Aggregation{Query: q, Compute: compute}
					if compute != nil {
						a.By, a.Order, a.Offset, a.Limit = []onto.Operand{onto.Path("t")}, nil, 0, 0
					}
					c := cleanAggregation(s.T, a, searchable())
					if err := explain(s.ctx, s.Backend, c); err != nil {
						s.Errorf("explain %s: %v", describeAggregation(c), err)
					}
				}
			}
		}
	}
	s.wantLines("the store", s.everything(), before)
}

// lively fills a store with some of everything.
func (s *story) lively() {
	s.threeCommits()
	s.do(rich("k", put(visit("ada", "rome", "t"), 1), put(person("ada"), 7), put(knows("ada", "bob"), 1),
		once(set(claim("ada", "n", "1"), `{"n":1,"valid_from":"2026-01-01T00:00:00.000000+00:00"}`)), put(note("ada", "mood", "1"), 1)))
	s.stream(draft(), put(city("rome"), 1), remove(visit("ada", "rome", "t")), put(city("oslo"), 1), remove(note("ada", "mood", "1")))
	s.commit(remove(city("oslo")))
}

func checkSound(s *story) {
	Check(s.T, s.Backend)
	s.lively()
	Check(s.T, s.Backend)
	c, ok := backend.As[backend.Checker](s.Backend)
	if !ok {
		return
	}
	for range c.Check(s.ctx) {
		break
	}
	s.commit(put(person("new"), 1))
}

func checkEndpoints(s *story) {
	c, ok := backend.As[backend.Checker](s.Backend)
	if !ok {
		return
	}
	s.commit(put(person("ada"), 1), put(person("bob"), 1), put(city("rome"), 1),
		put(knows("ada", "bob"), 1), put(knows("bob", "carl"), 1), put(visit("ada", "rome", "t"), 1),
		put(claim("ada", "n", "1"), 1), put(claim("zed", "n", "1"), 1), put(note("zed", "n", "1"), 1))
	s.commit(remove(city("rome")), put(knows("x", "y"), 1), put(claim("x", "n", "1"), 1))
	s.commit(remove(knows("x", "y")), remove(claim("x", "n", "1")))
	var got []string
	for f, err := range c.Check(s.ctx) {
		s.must(err)
		got = append(got, f.String())
	}
	slices.Sort(got)
	s.wantLines("findings", got, []string{
		`warning endpoint_missing: Claim "zed" n ["1"]: there is no Person "zed"`,
		`warning endpoint_missing: Knows "bob" → "carl": there is no Person "carl"`,
		`warning endpoint_missing: Visit "ada" → "rome" ["t"]: there is no City "rome"`,
	})
}

func describe(s *story) {
	d, ok := backend.As[backend.Describer](s.Backend)
	if !ok {
		return
	}
	s.lively()
	ask := func(stats bool) backend.Info {
		info, err := d.Describe(s.ctx, stats)
		s.must(err)
		if info.Backend == "" || info.StoreID == "" || info.Format == 0 {
			s.Errorf("got %+v, want a name, a store id and a format", info)
		}
		return info
	}
	var got []string
	for _, t := range ask(true).Types {
		got = append(got, fmt.Sprintf("%s %s v%d: %d of %d", t.Kind, t.Name, t.Version, t.Live, t.Versions))
	}
	s.wantLines("types", got, []string{
		"entity City v1: 1 of 3",
		"entity Person v1: 2 of 5",
		"fact Claim v1: 1 of 1",
		"fact Note v1: 0 of 2",
		"relation Knows v1: 1 of 1",
		"relation Visit v1: 0 of 2",
	})
	if got, want := len(ask(false).Types), len(testSchemas()); got != want {
		s.Errorf("types without stats: got %d, want %d", got, want)
	}
	id := ask(false).StoreID
	s.reopen()
	if d, ok = backend.As[backend.Describer](s.Backend); !ok || ask(false).StoreID != id {
		s.Errorf("the store id changed on reopening")
	}
	if other, ok := backend.As[backend.Describer](s.another().Backend); ok {
		if info, err := other.Describe(s.ctx, false); err != nil || info.StoreID == id {
			s.Errorf("another store: got id %s and error %v, want another id", info.StoreID, err)
		}
	}
}

func rebuild(s *story) {
	r, ok := backend.As[backend.Rebuilder](s.Backend)
	if !ok {
		return
	}
	s.lively()
	before := s.everything()
	last := int64(-1)
	n, err := r.RebuildProjection(s.ctx, func(done, total int64) {
		if done < last || done > total {
			s.Errorf("progress: got %d of %d after %d", done, total, last)
		}
		last = done
	})
	s.must(err)
	live := int64(0)
	for _, schema := range testSchemas() {
		live += int64(len(s.scan(stateOf(schema.Kind, schema.Name, backend.Head))))
	}
	if most := int64(8); n < live || n > most {
		s.Errorf("identities: got %d, want at least the %d that live and at most the %d there were", n, live, most)
	}
	s.wantLines("the store", s.everything(), before)
	s.want("what was deleted", s.get(city("oslo"), backend.Head), `City "oslo" @6 deleted`)
	s.commit(put(person("new"), 1))
	if _, err := r.RebuildProjection(s.ctx, nil); err != nil {
		s.Errorf("without progress: %v", err)
	}
	s.want("what is new", s.get(person("new"), backend.Head), `Person "new" @7 {"id":"new","n":1}`)
	s.want("head", showCommit(s.resolve(onto.Point{})), showCommit(s.resolve(onto.AtCommit(7))))
}
