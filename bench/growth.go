package main

import (
	"fmt"

	"github.com/ontologia/onto/store"
)

func growthBenchmarks() []benchmark {
	return []benchmark{{"B10", "growth", "sqlite", growth}}
}

// growth is B10: the same on a small and on a large store, ten versions per
// key in both.
func growth(e *env) []row {
	const versions = 10
	w := plain()
	smallKeys, largeKeys := 1000, e.pick(100_000, 10_000)
	small := e.openStore(e.copied(e.history(w, smallKeys, versions)))
	large := e.openStore(e.copied(e.history(w, largeKeys, versions)))
	sizes := fmt.Sprintf("at %s versions / at %s", thousands(int64(largeKeys*versions)), thousands(int64(smallKeys*versions)))
	goal := atMost(1.5, "x")

	gets := e.alternate(e.getPlan(), e.latestGets("subject", large, w, largeKeys), e.latestGets("control", small, w, smallKeys))
	asOf := e.alternate(e.getPlan(), e.asOfGets("subject", large, w, largeKeys), e.asOfGets("control", small, w, smallKeys))
	commits := e.alternate(e.commitPlan(), e.newCommits(large, w, largeKeys), e.newCommits(small, w, smallKeys).as("control"))
	return []row{
		slower("growth of commit time "+sizes, commits[0], commits[1], goal),
		slower("growth of get time "+sizes, gets[0], gets[1], goal),
		slower("growth of as-of get time "+sizes, asOf[0], asOf[1], goal),
	}
}

// newCommits commits new entities one by one, from the from-th on.
func (e *env) newCommits(s *store.Store, w workload, from int) side {
	const batch = commitTurn
	return e.singleCommits(s, func() []any {
		from += batch
		return series(batch, func(i int) any { return w.thing(from-batch+i, 0) })
	})
}
