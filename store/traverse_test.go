package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
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

type Node struct {
	ID string `json:"id" onto:"key"`
}

type Edge struct {
	onto.Link[Node, Node]
}

// TestTraverseAgainstBruteForce compares routes in a random graph, larger than
// a batch, with those that plain loops find.
func TestTraverseAgainstBruteForce(t *testing.T) {
	const nodes = 40
	random := rand.New(rand.NewPCG(7, 7))
	s := newStore(t, onto.TypeOf[Node](), onto.TypeOf[Edge]())
	draft := onto.Draft{}
	exists := map[int]bool{}
	for n := range nodes {
		if exists[n] = random.IntN(8) > 0; exists[n] {
			draft = draft.Ensure(Node{fmt.Sprintf("%02d", n)})
		}
	}
	edges := map[[2]int]bool{}
	for range 300 {
		e := [2]int{random.IntN(nodes), random.IntN(nodes)}
		edges[e] = true
		draft = draft.Ensure(Edge{onto.Between[Node, Node](fmt.Sprintf("%02d", e[0]), fmt.Sprintf("%02d", e[1]))})
	}
	mustCommit(t, s, draft)
	for _, backward := range [][]bool{{false}, {true}, {false, true}, {false, false, true}} {
		var hops []store.Hop
		for _, back := range backward {
			hops = append(hops, store.Hop{Relation: "Edge", Back: back})
		}
		got := strings.Fields(list(t, s.Now().Find("Node").Traverse(hops...).All(t.Context()), showRoute))
		var want []string
		for n := range nodes {
			if exists[n] {
				want = append(want, routes([]int{n}, nil, backward, edges, exists)...)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v: got %d routes, want %d", backward, len(got), len(want))
		}
	}
}

// routes extends a route in every way, in order.
func routes(route []int, used [][2]int, backward []bool, edges map[[2]int]bool, exists map[int]bool) []string {
	if len(backward) == 0 {
		var keys []string
		for _, n := range route {
			keys = append(keys, fmt.Sprintf("%02d", n))
		}
		return []string{strings.Join(keys, ">")}
	}
	var found []string
	from := route[len(route)-1]
	for to := range 100 {
		edge := [2]int{from, to}
		if backward[0] {
			edge = [2]int{to, from}
		}
		if edges[edge] && exists[to] && !slices.Contains(route, to) && !slices.Contains(used, edge) {
			found = append(found, routes(append(slices.Clip(route), to), append(slices.Clip(used), edge), backward[1:], edges, exists)...)
		}
	}
	return found
}
