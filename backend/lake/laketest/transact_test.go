package laketest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// Callers of two handles transfer between counters, and look at all of them before: the sum
// stays, and no counter goes below zero.
func TestTransactAtOnce(t *testing.T) {
	const counters, callers, times, start = 4, 8, 5, 3
	dir := t.TempDir()
	var handles []*store.Store
	for range 2 {
		s, err := store.Open(t.Context(), openFiles(t, dir, 0), onto.TypeOf[Counter]())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		handles = append(handles, s)
	}
	var all []Counter
	for i := range counters {
		all = append(all, Counter{fmt.Sprint("c", i), start})
	}
	if _, err := handles[0].Commit(t.Context(), onto.Draft{}.Ensure(all)); err != nil {
		t.Fatal(err)
	}
	errNone := errors.New("there is none")
	sum := func(counters store.Query[Counter]) (n int, err error) {
		for c, err := range counters.All(t.Context()) {
			if err != nil || c.N < 0 {
				return 0, errors.Join(err, fmt.Errorf("got %+v", c))
			}
			n += c.N
		}
		return n, nil
	}
	transfer := func(s *store.Store, from, to string, whole bool) error {
		_, err := store.Transact(t.Context(), s, onto.Draft{}, func(tx *store.Tx) error {
			a, errA := store.Get[Counter](t.Context(), tx, from)
			b, errB := store.Get[Counter](t.Context(), tx, to)
			if err := errors.Join(errA, errB); err != nil {
				return err
			}
			if whole {
				if n, err := sum(store.Find[Counter](tx)); n != counters*start {
					return errors.Join(err, fmt.Errorf("the sum is %d", n))
				}
			}
			if a.N == 0 {
				return errNone
			}
			a.N, b.N = a.N-1, b.N+1
			return tx.Ensure(a, b)
		})
		if errors.Is(err, errNone) {
			return nil
		}
		return err
	}
	var wg sync.WaitGroup
	for g := range callers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 2))
			for range times {
				from := r.IntN(counters)
				if err := transfer(handles[g%2], all[from].ID, all[(from+1+r.IntN(counters-1))%counters].ID, r.IntN(4) == 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, s := range handles {
		if n, err := sum(store.Find[Counter](s.Now())); err != nil || n != counters*start {
			t.Errorf("the sum is %d, %v; want %d", n, err, counters*start)
		}
	}
}

// A draft that was computed from what has changed is stale at once, and the error says what.
func TestGiven(t *testing.T) {
	s, err := store.Open(t.Context(), openFiles(t, t.TempDir(), 0), onto.TypeOf[Counter]())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for n := range 2 {
		if _, err := s.Commit(t.Context(), onto.Draft{}.Ensure(Counter{"c", n})); err != nil {
			t.Fatal(err)
		}
	}
	id := onto.EntityID("Counter", "c")
	given := onto.Draft{}.Given(id, 2).Given(id, 1).GivenHead(1).Ensure(Counter{"d", 1})
	_, commit := s.Commit(t.Context(), given)
	_, update := store.Update(t.Context(), s, given, store.Key{"c"}, func(c *Counter) error { c.N++; return nil })
	_, transact := store.Transact(t.Context(), s, given, func(tx *store.Tx) error { return tx.Ensure(Counter{"e", 1}) })
	_, stream := s.CommitStream(t.Context(), given, func(func(any, error) bool) {})
	for _, err := range []error{commit, update, transact, stream} {
		var e *onto.Error
		if !errors.As(err, &e) || e.Code != onto.Stale || e.Expectation == nil || *e.Expectation != (onto.Expectation{Identity: id, Commit: 1}) {
			t.Errorf("got %v, want that %s has changed since commit 1", err, id)
		}
	}
}
