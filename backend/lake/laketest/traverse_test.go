package laketest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
	reference "github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/store"
)

type stop struct {
	ID   string `json:"id" onto:"key"`
	Zone int    `json:"zone"`
}

type ride struct {
	onto.Link[stop, stop]
	Minutes int `json:"minutes"`
}

// Routes with filters on relations and on what they lead to are those of the reference,
// whose routes package store compares with plain loops.
func TestRoutesAreThoseOfTheReference(t *testing.T) {
	for name, inProcess := range map[string]int64{"in process": 0, "with DuckDB": -1} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(3, 5))
			var stores [2]*store.Store
			for i, b := range []backend.Backend{reference.New(nil).Open(), openTrusted(t, memory.New(nil), inProcess)} {
				s, err := store.Open(t.Context(), b, onto.TypeOf[stop](), onto.TypeOf[ride]())
				if err != nil {
					t.Fatal(err)
				}
				stores[i] = s
			}
			key := func() string { return fmt.Sprintf("%02d", random.IntN(12)) }
			for range 3 {
				stops, rides := map[string]stop{}, map[string]ride{}
				for range 20 {
					k := key()
					stops[k] = stop{k, random.IntN(4)}
					from, to := key(), key()
					rides[from+to] = ride{onto.Between[stop, stop](from, to), random.IntN(9)}
				}
				draft := onto.Draft{}
				for _, s := range stops {
					draft = draft.Ensure(s)
				}
				for _, r := range rides {
					draft = draft.Ensure(r)
				}
				for _, s := range stores {
					if _, err := s.Commit(t.Context(), draft); err != nil {
						t.Fatal(err)
					}
				}
			}
			found := 0
			near, quick := onto.Path("zone").Le(1), onto.Path("minutes").Lt(5)
			for _, hops := range [][]store.Hop{
				{store.Via("ride")}, {store.Via("ride").To(near)}, {store.Back("ride").Where(quick)},
				{store.Via("ride").Where(quick, onto.Right("zone").Gt(0)), store.Back("ride").To(near).Where(onto.Left("zone").Ne(3))},
			} {
				for at := int64(1); at <= 3; at++ {
					want, got := routesOf(t, stores[0], at, hops), routesOf(t, stores[1], at, hops)
					if !slices.Equal(got, want) {
						t.Errorf("commit %d: got %s, want %s", at, got, want)
					}
					found += len(want)
				}
			}
			t.Log(found, "routes")
		})
	}
}

// routesOf lists the routes from all stops, and how many were counted.
func routesOf(t *testing.T, s *store.Store, at int64, hops []store.Hop) []string {
	t.Helper()
	routes := s.At(at).Find("stop").Traverse(hops...)
	var list []string
	for r, err := range routes.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		text := r.Source.Key
		for _, step := range r.Path {
			text += fmt.Sprintf(" %s %s", step.Relation.Fields, step.Entity)
		}
		list = append(list, text)
	}
	n, err := routes.Count(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return append(list, fmt.Sprint(n))
}
