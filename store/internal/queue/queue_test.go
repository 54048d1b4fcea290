package queue_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store/internal/queue"
)

func ids(keys ...string) []onto.Identity {
	var list []onto.Identity
	for _, k := range keys {
		list = append(list, onto.EntityID("T", k))
	}
	return list
}

// Callers of one identity get to the front in the order in which they came.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q queue.Queues
		var mu sync.Mutex
		var order []int
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				place := q.Join(ids("a")[0])
				defer place.Leave()
				if err := place.Advance(t.Context()); err != nil {
					t.Error(err)
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				time.Sleep(time.Millisecond)
			})
			synctest.Wait()
		}
		all.Wait()
		if !slices.IsSorted(order) || len(order) != 20 {
			t.Errorf("got the order %v", order)
		}
	})
}

// Lines that cross do not wait for each other, and only one caller is at the front of each
// queue.
func TestLinesCross(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q queue.Queues
		var mu sync.Mutex
		at := map[onto.Identity]int{}
		enter := func(list []onto.Identity, by int) {
			mu.Lock()
			defer mu.Unlock()
			for _, id := range list {
				if at[id] += by; at[id] > 1 {
					t.Errorf("%d callers are at the front of %s", at[id], id)
				}
			}
		}
		began := time.Now()
		lists := [][]onto.Identity{ids("a", "b"), ids("b", "c"), ids("a", "c"), ids("a", "b", "c"), ids("c"), ids()}
		var all sync.WaitGroup
		for i := range 60 {
			all.Go(func() {
				line := queue.Line{Queues: &q}
				defer line.Leave()
				for n := range 3 { // the same twice, then another
					list := lists[(i+n/2)%len(lists)]
					if err := line.Advance(t.Context(), list); err != nil {
						t.Error(err)
					}
					enter(list, 1)
					time.Sleep(time.Millisecond)
					enter(list, -1)
				}
			})
		}
		all.Wait()
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v: callers waited for each other", took)
		}
	})
}

// A caller does not wait for ever, nor longer than its context, and leaves nothing behind.
func TestWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q queue.Queues
		first := queue.Line{Queues: &q}
		if err := first.Advance(t.Context(), ids("a", "b")); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		second := queue.Line{Queues: &q}
		if err := second.Advance(t.Context(), ids("b", "c")); err != nil || time.Since(began) < time.Second {
			t.Errorf("got %v after %v, want to go on after some seconds", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		third := queue.Line{Queues: &q}
		if err := third.Advance(ctx, ids("c")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		third.Leave()
		first.Leave()
		second.Leave()
		began = time.Now()
		if err := third.Advance(t.Context(), ids("a", "b", "c")); err != nil || time.Since(began) > 0 {
			t.Errorf("got %v after %v for queues that are empty", err, time.Since(began))
		}
		third.Leave()
	})
}
