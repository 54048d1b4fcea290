package main

import (
	"encoding/json"
	"fmt"

	"github.com/ontologia/onto/store"
)

func getBenchmarks() []benchmark {
	return []benchmark{
		{"B5", "latest get", "sqlite", getLatest},
		{"B6", "as-of get", "sqlite", getAsOf},
	}
}

// getLatest is B5.
func getLatest(e *env) []row {
	w, n := plain(), e.entities()
	s := e.openStore(e.history(w, n, 1))
	r := e.openRaw(e.rawRows(w, n, indexed), indexed)
	tight := e.openRaw(e.rawRows(w, n, withoutRowID), withoutRowID)
	taken := e.alternate(e.getPlan(),
		e.latestGets("subject", s, w, n),
		e.rawGets(r, w, n),
		e.rawGets(tight, w, n))
	return []row{
		faster("latest get, typed / raw primary-key select + json.Unmarshal", taken[0], taken[1], atLeast(1.0)),
		faster("latest get, typed / the same on a WITHOUT ROWID table", taken[0], taken[2], noGoal()),
	}
}

// getTurn is how many reads are made in a turn.
const getTurn = 1000

func (e *env) getPlan() plan { return plan{rounds: e.pick(30, 15), turns: e.pick(4, 2)} }

// latestGets reads random keys at the head.
func (e *env) latestGets(name string, s *store.Store, w workload, n int) side {
	return side{name, func() (int, func()) {
		keys := e.randomKeys(w, n)
		return len(keys), func() {
			for _, key := range keys {
				c, err := store.Get[Customer](e.ctx, s.Now(), key)
				e.must(err)
				e.checkKey(&c, key)
			}
		}
	}}
}

// rawGets does the same by hand.
func (e *env) rawGets(r *raw, w workload, n int) side {
	return side{"control", func() (int, func()) {
		keys := e.randomKeys(w, n)
		return len(keys), func() {
			for _, key := range keys {
				fields, err := r.fields(e.ctx, key)
				e.must(err)
				var c Customer
				e.must(json.Unmarshal(fields, &c))
				e.checkKey(&c, key)
			}
		}
	}}
}

// checkKey costs no more than a comparison.
func (e *env) checkKey(c *Customer, key string) {
	if c.ID != key {
		e.must(fmt.Errorf("got %s for %s", c.ID, key))
	}
}

func (e *env) randomKeys(w workload, n int) []string {
	return series(getTurn, func(int) string { return w.key(e.random.IntN(n)) })
}

// getAsOf is B6.
func getAsOf(e *env) []row {
	return []row{
		e.asOfRow(e.keysOf(10), 10, atLeast(0.65)),
		e.asOfRow(e.keysOf(1000), 1000, atLeast(0.35)),
	}
}

func (e *env) asOfRow(keys, versions int, g goal) row {
	w := plain()
	s := e.openStore(e.history(w, keys, versions))
	taken := e.alternate(e.getPlan(), e.asOfGets("subject", s, w, keys), e.latestGets("control", s, w, keys))
	what := fmt.Sprintf("as-of get, %s versions per key / latest get", thousands(int64(versions)))
	return faster(what, taken[0], taken[1], g)
}

// asOfGets reads random keys as of random commits, none before every key has
// its first version.
func (e *env) asOfGets(name string, s *store.Store, w workload, keys int) side {
	head, err := s.Head(e.ctx)
	e.must(err)
	first := commitsPerVersion(keys)
	return side{name, func() (int, func()) {
		list := e.randomKeys(w, keys)
		commits := series(len(list), func(int) int64 { return int64(first + e.random.IntN(int(head.ID)-first+1)) })
		return len(list), func() {
			for i, key := range list {
				c, err := store.Get[Customer](e.ctx, s.At(commits[i]), key)
				e.must(err)
				e.checkKey(&c, key)
			}
		}
	}}
}
