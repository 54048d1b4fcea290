package main

import (
	"fmt"

	"github.com/ontologia/onto/store"
)

func growthBenchmarks() []benchmark {
	return []benchmark{{"B10", "growth", "sqlite", growth}}
}

// growthVersions is how many versions each key has, however large the store.
const growthVersions = 10

// growthGoal is how much slower the largest store may be.
const growthGoal = 1.5

// growth is B10: the same on a small and on a large store.
func growth(e *env) []row {
	keys := []int{1000, e.pick(100_000, 10_000)}
	sizes := fmt.Sprintf("at %s versions / at %s", thousands(int64(keys[1]*growthVersions)), thousands(int64(keys[0]*growthVersions)))
	var rows []row
	for _, c := range e.curves(keys) {
		goal := atMost(growthGoal, "x")
		if c.per != "" {
			goal = noGoal()
		}
		rows = append(rows, slower(fmt.Sprintf("growth of %s time%s %s", c.name, c.per, sizes), c.taken[1], c.taken[0], goal))
	}
	return rows
}

// curve is what an operation takes on stores of several sizes.
type curve struct {
	name  string
	taken []samples // by size
	per   string    // " per entity" if it reads them all: such work grows with the store
}

// curves measures stores of so many keys. At each turn all sizes have theirs.
func (e *env) curves(keys []int) []curve {
	w := plain()
	stores := series(len(keys), func(i int) *store.Store { return e.openStore(e.copied(e.history(w, keys[i], growthVersions))) })
	measure := func(name string, p plan, of func(i int) side) curve {
		sides := series(len(keys), func(i int) side { return of(i).as(sideOfSize(i)) })
		return curve{name: name, taken: e.alternate(p, sides...)}
	}
	get := measure("get", e.getPlan(), func(i int) side { return e.latestGets("", stores[i], w, keys[i]) })
	asOf := measure("as-of get", e.getPlan(), func(i int) side { return e.asOfGets("", stores[i], w, keys[i]) })
	scan := measure("filtered scan", e.scanPlan(), func(i int) side { return e.entityScans(stores[i], w, keys[i]) })
	scan.per = " per entity"
	commit := measure("commit", e.commitPlan(), func(i int) side { return e.newCommits(stores[i], w, keys[i]) })
	return []curve{commit, get, asOf, scan}
}

// sideOfSize names a side in profiles: the smallest store is the control.
func sideOfSize(i int) string {
	if i == 0 {
		return "control"
	}
	return "subject"
}

// newCommits commits new entities one by one, from the from-th on.
func (e *env) newCommits(s *store.Store, w workload, from int) side {
	const batch = commitTurn
	return e.singleCommits(s, func() []any {
		from += batch
		return series(batch, func(i int) any { return w.thing(from-batch+i, 0) })
	})
}

// entityScans scans all entities for one in ten. An operation is one entity that is
// read, whether or not it matches.
func (e *env) entityScans(s *store.Store, w workload, keys int) side {
	c := ofTier("Gold")
	want, times := c.count(w, keys, growthVersions-1), scanTurn(keys)
	query := store.Find[Customer](s.Now()).Where(c.filter)
	return side{"", func() (int, func()) {
		return times * keys, func() {
			for range times {
				got := found(e, query)
				e.assert(got == want, "a scan of %d keys gives %d answers, want %d", keys, got, want)
			}
		}
	}}
}
