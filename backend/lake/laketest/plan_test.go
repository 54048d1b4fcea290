package laketest

import (
	"fmt"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
	"github.com/ontologia/onto/store"
)

// A plan of a stream or of a revert makes few requests, however much it is about.
func TestRequestsOfPlans(t *testing.T) {
	const n = 3000
	c := &counting{Bucket: kept{memory.New(nil)}, n: map[string]int{}}
	l, err := lake.Open(t.Context(), c, &lake.Options{Trusted: true})
	must(t, err)
	s, err := store.Open(t.Context(), l, onto.TypeOf[Counter]())
	must(t, err)
	defer func() { must(t, s.Close()) }()
	requests := func() (sum int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, k := range c.n {
			sum += k
		}
		clear(c.n)
		return sum
	}
	counters := func(value int) func(yield func(any, error) bool) {
		return func(yield func(any, error) bool) {
			for i := range n {
				if !yield(Counter{ID: fmt.Sprint(i * 7919 % n), N: value}, nil) {
					return
				}
			}
		}
	}
	const most = 30
	check := func(what string, changes int) {
		t.Helper()
		got := requests()
		t.Logf("%s: %d changes, %d requests", what, changes, got)
		if changes != n || got > most {
			t.Errorf("%s: %d changes and %d requests, want %d and at most %d", what, changes, got, n, most)
		}
	}
	for value := range 2 {
		requests()
		changes := 0
		for p, err := range s.Preview(t.Context(), counters(value)) {
			must(t, err)
			if p.Changes {
				changes++
			}
		}
		check(fmt.Sprint("stream ", value+1), changes)
		_, err := s.CommitStream(t.Context(), onto.Draft{}, counters(value))
		must(t, err)
	}
	for _, commit := range []int64{2, 1} { // the second blocks the first
		requests()
		plan, err := s.PlanRevert(t.Context(), store.Revert{Commit: commit})
		must(t, err)
		changes := 0
		for _, err := range plan.Changes {
			must(t, err)
			changes++
		}
		check(fmt.Sprint("revert of commit ", commit), changes)
	}
}
