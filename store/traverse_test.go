package store_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/store"
)

func showRoute(r store.Route) string {
	text := r.Source.Key
	for _, s := range r.Path {
		text += ">" + s.Entity.Key
	}
	return text
}

func TestTraverse(t *testing.T) {
	s := shop(t)
	customers := func(v store.View) store.Query[onto.Version] { return v.Find("Customer") }
	for _, c := range []struct {
		name string
		t    store.Traversal
		want string
	}{
		{"one hop", customers(s.Now()).Traverse(store.Via("Subscription")), "c1>p1 c2>p1"},
		{"in the past", customers(s.At(1)).Traverse(store.Via("Subscription")), "c1>p1 c2>p1 c3>p2"},
		{"there and back", customers(s.At(1)).Traverse(store.Via("Subscription"), store.Back("Subscription")), "c1>p1>c2 c2>p1>c1"},
		{"back", s.At(1).Find("Product").Traverse(store.Back("Subscription")), "p1>c1 p1>c2 p2>c3"},
		{"filtered", customers(s.Now()).Where(onto.Path("id").Eq("c2")).Traverse(store.Via("Subscription"), store.Back("Subscription")), "c2>p1>c1"},
		{"limited", customers(s.At(1)).Traverse(store.Via("Subscription")).Limit(2), "c1>p1 c2>p1"},
		{"sources limited", customers(s.At(1)).Limit(1).Traverse(store.Via("Subscription")), "c1>p1"},
		{"sources sorted", customers(s.At(1)).OrderBy(onto.Path("name").Desc()).Traverse(store.Via("Subscription")), "c3>p2 c2>p1 c1>p1"},
	} {
		if got := list(t, c.t.All(t.Context()), showRoute); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestTraverseMistakes(t *testing.T) {
	s := shop(t)
	for _, c := range []struct {
		t    store.Traversal
		want []string
	}{
		{s.Now().Find("Customer").Traverse(), []string{"no hop"}},
		{s.Now().Find("Customer").Traverse(store.Back("Subscription")), []string{"no way over it from Customer", "other way"}},
		{s.Now().Find("Customer").Traverse(store.Via("Subscripton")), []string{"did you mean Subscription?"}},
		{s.Now().Find("Customer").Traverse(store.Via("Customer")), []string{"kind"}},
		{s.Now().Find("Subscription").Traverse(store.Via("Subscription")), []string{"starts at entities"}},
		{s.Now().Find("Customer").Traverse(store.Via("Subscription")).Limit(-1), []string{"negative"}},
	} {
		for _, err := range c.t.All(t.Context()) {
			wantError(t, err, onto.Invalid, c.want...)
		}
	}
}

// A hop can ask for relations, for entities, or for both, and routes can be counted.
func TestTraverseFilters(t *testing.T) {
	s := shop(t)
	customers, products := s.At(1).Find("Customer"), s.At(1).Find("Product")
	for _, c := range []struct {
		name string
		t    store.Traversal
		want string
	}{
		{"where it leads", customers.Traverse(store.Via("Subscription").To(onto.Path("sku").Eq("p2"))), "c3>p2"},
		{"on the way", customers.Traverse(store.Via("Subscription").To(onto.Path("sku").Eq("p1")), store.Back("Subscription").To(onto.Path("id").Eq("c2"))), "c1>p1>c2"},
		{"by the relation's ends", customers.Traverse(store.Via("Subscription").Where(onto.Left("id").Ne("c1"), onto.Right("sku").Eq("p1"))), "c2>p1"},
		{"back", products.Traverse(store.Back("Subscription").To(onto.Path("id").Gt("c1"))), "p1>c2 p2>c3"},
		{"nowhere", customers.Traverse(store.Via("Subscription").To(onto.Path("sku").Eq("p3"))), ""},
	} {
		if got := list(t, c.t.All(t.Context()), showRoute); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		if n, err := c.t.Limit(1).Count(t.Context()); err != nil || n != int64(len(strings.Fields(c.want))) {
			t.Errorf("%s: counted %d (error %v), want those of %q", c.name, n, err, c.want)
		}
	}
	for _, c := range []struct {
		hop  store.Hop
		want []string
	}{
		{store.Via("Subscription").To(onto.Path("skuu").Eq("p1")), []string{"Product has no field skuu", "did you mean sku?"}},
		{store.Via("Subscription").Where(onto.Path("sku").Eq("p1")), []string{"Subscription has no field sku", `Right("sku")`}},
		{store.Via("Subscription").To(onto.Left("id").Eq("c1")), []string{"Product is an entity and has no endpoints"}},
	} {
		_, err := customers.Traverse(c.hop).Count(t.Context())
		wantError(t, err, onto.Invalid, c.want...)
	}
}

type Node struct {
	ID    string `json:"id" onto:"key"`
	Color int    `json:"color"`
}

type Edge struct {
	onto.Link[Node, Node]
	Weight int `json:"weight"`
}

// graph is a state of nodes and edges.
type graph struct {
	colors map[int]int // of nodes that exist
	edges  map[[2]int]int
}

// step is a hop and what the model knows of it.
type step struct {
	back          bool
	color, weight int // at least, of the node and of the edge; 0 for all
	from          int // the color of the left end at most; 9 for all
}

func (s step) hop() store.Hop {
	h := store.Hop{Relation: "Edge", Back: s.back}
	if s.color > 0 {
		h = h.To(onto.Path("color").Ge(s.color))
	}
	if s.weight > 0 {
		h = h.Where(onto.Path("weight").Ge(s.weight))
	}
	if s.from < 9 {
		h = h.Where(onto.Left("color").Le(s.from))
	}
	return h
}

// TestTraverseAgainstBruteForce compares routes in random graphs, larger than a batch,
// now and before, with those that plain loops find.
func TestTraverseAgainstBruteForce(t *testing.T) {
	for name, open := range map[string]func() backend.Backend{
		"memory": func() backend.Backend { return memory.New(nil).Open() },
		"sqlite": func() backend.Backend {
			b, err := sqlite.Open(t.Context(), ":memory:", nil)
			if err != nil {
				t.Fatal(err)
			}
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := store.Open(t.Context(), open(), onto.TypeOf[Node](), onto.TypeOf[Edge]())
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			traverseGraphs(t, s)
		})
	}
}

func traverseGraphs(t *testing.T, s *store.Store) {
	const nodes = 40
	random := rand.New(rand.NewPCG(7, 7))
	states := []graph{{colors: map[int]int{}, edges: map[[2]int]int{}}}
	for range 2 {
		now, draft := graph{maps.Clone(states[len(states)-1].colors), maps.Clone(states[len(states)-1].edges)}, onto.Draft{}
		for n := range nodes {
			if random.IntN(8) > 0 {
				now.colors[n] = random.IntN(4)
				draft = draft.Ensure(Node{name(n), now.colors[n]})
			}
		}
		written := map[[2]int]bool{}
		for range 150 {
			e := [2]int{random.IntN(nodes), random.IntN(nodes)}
			if written[e] {
				continue
			}
			written[e] = true
			now.edges[e] = random.IntN(4)
			draft = draft.Ensure(Edge{onto.Between[Node, Node](name(e[0]), name(e[1])), now.edges[e]})
		}
		mustCommit(t, s, draft)
		states = append(states, now)
	}
	found := 0
	for _, steps := range [][]step{
		{{from: 9}}, {{back: true, from: 9}}, {{from: 9}, {back: true, from: 9}}, {{from: 9}, {from: 9}, {back: true, from: 9}},
		{{color: 2, from: 9}}, {{back: true, weight: 2, from: 9}}, {{color: 1, from: 9}, {back: true, color: 3, weight: 1, from: 2}}, {{from: 1}, {color: 2, from: 9}, {back: true, from: 0}},
	} {
		var hops []store.Hop
		for _, step := range steps {
			hops = append(hops, step.hop())
		}
		for at := int64(1); at < int64(len(states)); at++ {
			g := states[at]
			var want []string
			for n := range nodes {
				if _, exists := g.colors[n]; exists {
					want = append(want, g.routes([]int{n}, nil, steps)...)
				}
			}
			routes := s.At(at).Find("Node").Traverse(hops...)
			if got := strings.Fields(list(t, routes.All(t.Context()), showRoute)); !slices.Equal(got, want) {
				t.Errorf("commit %d, %v: got %d routes, want %d", at, steps, len(got), len(want))
			}
			if n, err := routes.Count(t.Context()); err != nil || n != int64(len(want)) {
				t.Errorf("commit %d, %v: counted %d routes (error %v), want %d", at, steps, n, err, len(want))
			}
			found += len(want)
		}
	}
	t.Log(found, "routes")
}

func name(n int) string { return fmt.Sprintf("%02d", n) }

// routes extends a route in every way, in order.
func (g graph) routes(route []int, used [][2]int, steps []step) []string {
	if len(steps) == 0 {
		var keys []string
		for _, n := range route {
			keys = append(keys, name(n))
		}
		return []string{strings.Join(keys, ">")}
	}
	var found []string
	from, s := route[len(route)-1], steps[0]
	for to := range 100 {
		edge := [2]int{from, to}
		if s.back {
			edge = [2]int{to, from}
		}
		weight, leads := g.edges[edge]
		color, exists := g.colors[to]
		left, known := g.colors[edge[0]]
		if leads && exists && !slices.Contains(route, to) && !slices.Contains(used, edge) &&
			weight >= s.weight && color >= s.color && (s.from == 9 || known && left <= s.from) {
			found = append(found, g.routes(append(slices.Clip(route), to), append(slices.Clip(used), edge), steps[1:])...)
		}
	}
	return found
}
