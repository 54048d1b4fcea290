package store_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/store"
)

type Counter struct {
	ID string `json:"id" onto:"key"`
	N  int    `json:"n"`
}

// Many callers count at once, and no one's step is lost.
func TestUpdateAtOnce(t *testing.T) {
	times := effort.Count(t, 250)
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		count(t, inMemory(t, onto.TypeOf[Counter]()), 64, times)
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		count(t, newStore(t, onto.TypeOf[Counter]()), 64, times)
	})
	t.Run("sqlite, from two handles", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "store.db")
		a := openAt(t, path, onto.TypeOf[Counter]())
		b := openAt(t, path, onto.TypeOf[Counter]())
		mustCommit(t, a, onto.Draft{}.Ensure(Counter{ID: "c"}))
		var callers sync.WaitGroup
		var tries atomic.Int64
		for _, s := range []*store.Store{a, b} {
			callers.Go(func() { tries.Add(increment(t, s, 8, 25)) })
		}
		callers.Wait()
		wantCount(t, b, 2*8*25)
		t.Logf("8 callers of each, 25 updates each: %d retries", tries.Load()-2*8*25)
	})
}

func count(t *testing.T, s *store.Store, callers, times int) {
	mustCommit(t, s, onto.Draft{}.Ensure(Counter{ID: "c"}))
	tries := increment(t, s, callers, times)
	wantCount(t, s, callers*times)
	t.Logf("%d callers, %d updates each: %d retries", callers, times, tries-int64(callers*times))
}

// increment lets callers increment the counter and returns how often they tried.
func increment(t *testing.T, s *store.Store, callers, times int) int64 {
	var tries atomic.Int64
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range times {
				_, err := store.Update(t.Context(), s, onto.Draft{}, store.Key{"c"}, func(c *Counter) error {
					tries.Add(1)
					c.N++
					return nil
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	return tries.Load()
}

func wantCount(t *testing.T, s *store.Store, want int) {
	t.Helper()
	c, err := store.GetVersion[Counter](t.Context(), s.Now(), "c")
	if err != nil || c.Value.N != want || c.Commit.ID != int64(want+1) {
		t.Errorf("got %+v, %v; want %d, each in a commit of its own", c, err, want)
	}
}

func inMemory(t *testing.T, types ...onto.Type) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), memory.New(nil).Open(), types...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// An update says who and why, and commits what else its draft wants.
func TestUpdate(t *testing.T) {
	s := crm(t)
	mustCommit(t, s, onto.Draft{}.Ensure(
		Customer{ID: "c1", Name: "Ada", Tier: "Silver"}, Product{SKU: "p1", Title: "Lamp"},
		Subscription{Link: onto.Between[Customer, Product]("c1", "p1"), Seats: 3},
	))
	d := onto.Draft{Actor: onto.Daemon("billing"), Comment: "upgrade", Metadata: map[string]any{"n": 1}}.
		Ensure(Product{SKU: "p2", Title: "Desk"})
	res, err := store.Update(t.Context(), s, d, store.Key{"c1", "p1"}, func(l *Subscription) error {
		if l.Left != "c1" || l.Right != "p1" {
			return fmt.Errorf("got %+v", l)
		}
		l.Seats++
		return nil
	})
	if err != nil || res.ID != 2 || res.At != 2 || res.Operations != 2 || res.Actor != d.Actor || res.Comment != "upgrade" || res.Metadata["n"] != int64(1) {
		t.Errorf("got %+v, %v", res, err)
	}
	l, err := store.GetVersion[Subscription](t.Context(), s.Now(), "c1", "p1")
	if err != nil || l.Value.Seats != 4 || l.Version.Commit != 2 || l.Commit.Comment != "upgrade" || l.Version.Identity != onto.RelationID("Subscription", "c1", "p1") {
		t.Errorf("got %+v, %v", l, err)
	}
	if l, err = store.GetVersion[Subscription](t.Context(), s.At(1), "c1", "p1"); err != nil || l.Value.Seats != 3 || l.Commit.ID != 1 {
		t.Errorf("at commit 1: got %+v, %v", l, err)
	}
	_, err = store.GetVersion[Customer](t.Context(), s.Now(), "c2")
	wantError(t, err, onto.NotFound, `Customer "c2"`)

	same := func(*Customer) error { return nil }
	res, err = store.Update(t.Context(), s, onto.Draft{}, store.Key{"c1"}, same)
	if err != nil || res.Changed() || res.At != 2 {
		t.Errorf("unchanged: got %+v, %v; want no commit, at commit 2", res, err)
	}
}

// What an update refuses leaves no trace.
func TestUpdateRefuses(t *testing.T) {
	s := crm(t)
	mustCommit(t, s, onto.Draft{}.Ensure(Customer{ID: "c1", Name: "Ada"}, Customer{ID: "c2", Name: "Bo"}, Product{SKU: "p1"}))
	mustCommit(t, s, onto.Draft{}.Delete(onto.EntityID("Customer", "c2")))
	planted := onto.Errorf(onto.VersionMismatch, "planted")
	rename := func(c *Customer) error { c.Name = "Eve"; return nil }
	calls := 0
	for _, c := range []struct {
		name   string
		d      onto.Draft
		key    store.Key
		change func(*Customer) error
		code   onto.Code
		texts  []string
	}{
		{"what does not exist", onto.Draft{}, store.Key{"c9"}, rename, onto.NotFound, []string{`Customer "c9"`}},
		{"what was deleted", onto.Draft{}, store.Key{"c2"}, rename, onto.NotFound, []string{`Customer "c2" was deleted by commit 2`}},
		{"a changed key", onto.Draft{}, store.Key{"c1"}, func(c *Customer) error { c.ID = "c7"; return nil }, onto.Invalid, []string{`Customer "c1"`, `Customer "c7"`}},
		{"an emptied key", onto.Draft{}, store.Key{"c1"}, func(c *Customer) error { c.ID = ""; return nil }, onto.Invalid, []string{"Customer key is empty"}},
		{"no key", onto.Draft{}, nil, rename, onto.Invalid, []string{"has 1 parts, not 0"}},
		{"too much of a key", onto.Draft{}, store.Key{"c1", "p1"}, rename, onto.Invalid, []string{"has 1 parts, not 2"}},
		{"no function", onto.Draft{}, store.Key{"c1"}, nil, onto.Invalid, []string{"no function"}},
		{"a bad value", onto.Draft{}, store.Key{"c1"}, func(c *Customer) error { c.Name = "\xff"; return nil }, onto.Invalid, []string{"field name"}},
		{"a bad draft", onto.Draft{Causation: -1}, store.Key{"c1"}, rename, onto.Invalid, []string{"causation"}},
		{"another want for the same thing", onto.Draft{}.Ensure(Customer{ID: "c1", Name: "Zoe"}), store.Key{"c1"}, rename, onto.Conflict, []string{"comes twice"}},
		{"a head that has moved", onto.Draft{}.ExpectHead(1), store.Key{"c1"}, rename, onto.HeadMismatch, nil},
		{"a version that was not expected", onto.Draft{}.ExpectVersion(onto.EntityID("Product", "p1"), 7), store.Key{"c1"}, rename, onto.VersionMismatch, []string{`Product "p1"`}},
		{"a function that fails", onto.Draft{}, store.Key{"c1"}, func(c *Customer) error { calls++; c.Name = "Eve"; return planted }, onto.VersionMismatch, []string{"planted"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			res, err := store.Update(t.Context(), s, c.d, c.key, c.change)
			wantError(t, err, c.code, c.texts...)
			if res.Changed() || res.At != 0 {
				t.Errorf("got %+v with an error", res)
			}
		})
	}
	if calls != 1 {
		t.Errorf("the function that fails was called %d times, want 1", calls)
	}
	func() {
		defer func() {
			if got := recover(); got != "planted" {
				t.Errorf("got panic %v", got)
			}
		}()
		_, _ = store.Update(t.Context(), s, onto.Draft{}, store.Key{"c1"}, func(c *Customer) error { c.Name = "Eve"; panic("planted") })
	}()
	_, err := store.Update(t.Context(), s, onto.Draft{}, store.Key{"c1"}, func(*Counter) error { return nil })
	wantError(t, err, onto.Invalid, "is not a type of this store")
	if head, err := s.Head(t.Context()); err != nil || head.ID != 2 {
		t.Errorf("got head %d, %v; want 2", head.ID, err)
	}
}

// An update that loses every race ends, and says how often it tried.
func TestUpdateLosesEveryRace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t, onto.TypeOf[Counter]())
		mustCommit(t, s, onto.Draft{}.Ensure(Counter{ID: "c"}))
		tries := 0
		spoiled := func(c *Counter) error {
			tries++
			mustCommit(t, s, onto.Draft{}.Ensure(Counter{ID: "c", N: tries}))
			c.N = -1
			return nil
		}
		_, err := store.Update(t.Context(), s, onto.Draft{}, store.Key{"c"}, spoiled)
		wantError(t, err, onto.VersionMismatch, `Counter "c"`, fmt.Sprintf("%d tries", store.MaxUpdates))
		if got, err := store.Get[Counter](t.Context(), s.Now(), "c"); err != nil || got.N != tries || tries != store.MaxUpdates {
			t.Errorf("got %+v, %v after %d tries", got, err, tries)
		}

		ctx, cancel := context.WithCancel(t.Context())
		tries = 0
		_, err = store.Update(ctx, s, onto.Draft{}, store.Key{"c"}, func(c *Counter) error {
			if tries == 2 {
				cancel()
			}
			return spoiled(c)
		})
		if !errors.Is(err, context.Canceled) || tries != 3 {
			t.Errorf("got %v after %d tries, want 3 and that it was cancelled", err, tries)
		}
	})
}

// What is deleted between two tries is not there any more.
func TestUpdateOfWhatIsDeleted(t *testing.T) {
	s := newStore(t, onto.TypeOf[Counter]())
	mustCommit(t, s, onto.Draft{}.Ensure(Counter{ID: "c"}))
	_, err := store.Update(t.Context(), s, onto.Draft{}, store.Key{"c"}, func(c *Counter) error {
		mustCommit(t, s, onto.Draft{}.Delete(onto.EntityID("Counter", "c")))
		c.N++
		return nil
	})
	wantError(t, err, onto.NotFound, "was deleted by commit 2")
}

// With an idempotency key an update is made once, whatever its function would say of
// the value that it has made.
func TestUpdateOnce(t *testing.T) {
	s := newStore(t, onto.TypeOf[Counter]())
	mustCommit(t, s, onto.Draft{}.Ensure(Counter{ID: "c", N: 1}, Counter{ID: "d", N: 1}))
	spend := func(c *Counter) error {
		if c.N == 0 {
			return errors.New("nothing is left")
		}
		c.N--
		return nil
	}
	d := onto.Draft{IdempotencyKey: "order-7", Comment: "spend"}
	first, err := store.Update(t.Context(), s, d, store.Key{"c"}, spend)
	if err != nil || first.ID != 2 || first.Repeated {
		t.Fatalf("got %+v, %v", first, err)
	}
	mustCommit(t, s, onto.Draft{}.Ensure(Counter{ID: "d", N: 5}))
	again, err := store.Update(t.Context(), s, d, store.Key{"c"}, spend)
	if err != nil || again.ID != 2 || again.At != 2 || !again.Repeated {
		t.Errorf("again: got %+v, %v; want commit 2 repeated", again, err)
	}
	for _, c := range []struct {
		d   onto.Draft
		key string
	}{{d, "d"}, {onto.Draft{IdempotencyKey: "order-7"}, "c"}, {d.Ensure(Counter{ID: "e"}), "c"}} {
		_, err := store.Update(t.Context(), s, c.d, store.Key{c.key}, spend)
		wantError(t, err, onto.IdempotencyConflict, "order-7")
	}
	_, err = s.Commit(t.Context(), d.Ensure(Counter{ID: "c", N: 0}))
	wantError(t, err, onto.IdempotencyConflict)
	_, err = store.Update(t.Context(), s, onto.Draft{IdempotencyKey: "order-8"}, store.Key{"c"}, spend)
	if err == nil || err.Error() != "nothing is left" {
		t.Errorf("got %v", err)
	}
	if got, err := store.Get[Counter](t.Context(), s.Now(), "c"); err != nil || got.N != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
}

// A program with an older type updates what it knows and keeps the rest.
func TestUpdateByAnOlderProgram(t *testing.T) {
	type newer struct {
		ID   string `json:"id" onto:"key"`
		N    int    `json:"n"`
		Unit string `json:"unit,omitempty"`
	}
	path := filepath.Join(t.TempDir(), "store.db")
	old := openAt(t, path, onto.TypeOf[Counter]())
	mustCommit(t, old, onto.Draft{}.Ensure(Counter{ID: "c", N: 1}))
	b, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = migrate(t, b, &store.Migration{Types: []onto.Type{onto.TypeOf[newer]().As("Counter")}})
	if err := errors.Join(err, b.Close()); err != nil {
		t.Fatal(err)
	}
	young := openAt(t, path, onto.TypeOf[newer]().As("Counter"))
	mustCommit(t, young, onto.Draft{}.Ensure(newer{ID: "c", N: 2, Unit: "kg"}))
	if _, err := store.Update(t.Context(), old, onto.Draft{}, store.Key{"c"}, func(c *Counter) error { c.N++; return nil }); err != nil {
		t.Fatal(err)
	}
	if got, err := store.Get[newer](t.Context(), young.Now(), "c"); err != nil || got != (newer{"c", 3, "kg"}) {
		t.Errorf("got %+v, %v; want 3 kg", got, err)
	}

	// A version that it brings back is whole.
	for commit, want := range map[int64]newer{1: {"c", 1, ""}, 2: {"c", 2, "kg"}} {
		v, err := old.At(commit).Get(t.Context(), onto.EntityID("Counter", "c"))
		if err != nil {
			t.Fatal(err)
		}
		mustCommit(t, old, onto.Draft{}.Ensure(v))
		if got, err := store.Get[newer](t.Context(), young.Now(), "c"); err != nil || got != want {
			t.Errorf("commit %d again: got %+v, %v; want %+v", commit, got, err, want)
		}
	}
}

// What changed nothing can be viewed like everything else.
func TestResultAt(t *testing.T) {
	s := newStore(t, onto.TypeOf[Counter]())
	if res := mustCommit(t, s, onto.Draft{}); res.At != 0 {
		t.Errorf("of an empty store: got %d", res.At)
	}
	for n := range 3 {
		mustCommit(t, s, onto.Draft{}.Ensure(Counter{ID: "c", N: n}))
	}
	keyed := onto.Draft{IdempotencyKey: "k"}.Ensure(Counter{ID: "d", N: 7})
	for _, c := range []struct {
		d    onto.Draft
		key  string
		n    int
		want int64
	}{
		{onto.Draft{}.Ensure(Counter{ID: "c", N: 2}), "c", 2, 3},
		{keyed, "d", 7, 4},
		{onto.Draft{}.Ensure(Counter{ID: "d", N: 8}), "d", 8, 5},
		{keyed, "d", 7, 4},
	} {
		res := mustCommit(t, s, c.d)
		got, err := store.Get[Counter](t.Context(), s.At(res.At), c.key)
		if err != nil || got.N != c.n || res.At != c.want {
			t.Errorf("%+v: got %+v, %v; want %d at commit %d", res, got, err, c.n, c.want)
		}
	}
}

// A function that updates the thing itself is stale for ever, but it ends, and an update
// of another thing is no obstacle.
func TestUpdateWithinAnUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t, onto.TypeOf[Counter]())
		mustCommit(t, s, onto.Draft{}.Ensure(Counter{ID: "c"}, Counter{ID: "d"}))
		within := func(key string) error {
			_, err := store.Update(t.Context(), s, onto.Draft{}, store.Key{"c"}, func(c *Counter) error {
				c.N = -1
				_, err := store.Update(t.Context(), s, onto.Draft{}, store.Key{key}, func(c *Counter) error { c.N++; return nil })
				return err
			})
			return err
		}
		wantError(t, within("c"), onto.VersionMismatch, "100 tries")
		if err := within("d"); err != nil {
			t.Error(err)
		}
		for key, want := range map[string]int{"c": -1, "d": 1} {
			if got, err := store.Get[Counter](t.Context(), s.Now(), key); err != nil || got.N != want {
				t.Errorf("got %+v, %v; want %d", got, err, want)
			}
		}
	})
}
