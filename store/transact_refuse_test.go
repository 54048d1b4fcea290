package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/store"
)

// What a transaction refuses leaves no trace.
func TestTransactRefuses(t *testing.T) {
	s := openAtWith(t, t.TempDir()+"/store.db", &store.Options{MaxBatch: 20}, onto.TypeOf[Account]())
	mustCommit(t, s, onto.Draft{}.Ensure(Account{"a", 1}))
	none := func(*store.Tx) error { return nil }
	deposit := func(tx *store.Tx) error { return tx.Ensure(Account{"a", 2}) }
	planted := onto.Errorf(onto.Stale, "planted")
	ended, end := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer end()
	for _, c := range []struct {
		name  string
		ctx   context.Context
		d     onto.Draft
		do    func(tx *store.Tx) error
		code  onto.Code
		texts []string
	}{
		{"no function", nil, onto.Draft{}, nil, onto.Invalid, []string{"no function"}},
		{"a bad draft", nil, onto.Draft{Causation: -1}, none, onto.Invalid, []string{"causation"}},
		{"a function that fails", nil, onto.Draft{}, func(tx *store.Tx) error { return errors.Join(deposit(tx), planted) }, onto.Stale, []string{"planted"}},
		{"both want it", nil, onto.Draft{}.Ensure(Account{"a", 3}), deposit, onto.Conflict, []string{"comes twice"}},
		{"a head that has moved", nil, onto.Draft{}.ExpectHead(0), deposit, onto.HeadMismatch, nil},
		{"a version that was not expected, and no writes", nil, onto.Draft{}.ExpectVersion(onto.EntityID("Account", "a"), 7), none, onto.VersionMismatch, nil},
		{"a cause that is not there, and no writes", nil, onto.Draft{Causation: 9}, none, onto.NotFound, []string{"commit 9"}},
		{"too many intents", nil, onto.Draft{}.Ensure(Account{"b", 1}), func(tx *store.Tx) error {
			for i := range 20 {
				if err := tx.Ensure(Account{fmt.Sprint("n", i), i}); err != nil {
					return fmt.Errorf("at %d: %w", i, err)
				}
			}
			return nil
		}, onto.TooLarge, []string{"at 19", "more than 20 intents"}},
		{"too many reads", nil, onto.Draft{}, func(tx *store.Tx) error {
			for range 5 {
				for i := range 21 {
					if _, err := store.Get[Account](t.Context(), tx, fmt.Sprint("n", i)); err != nil && onto.CodeOf(err) != onto.NotFound {
						return err
					}
				}
			}
			return nil
		}, onto.TooLarge, []string{"read more than 20 things", "Find"}},
		{"too many events", nil, onto.Draft{}.Emit(seen{}), func(tx *store.Tx) error {
			for range 20 {
				tx.Emit(seen{})
			}
			return deposit(tx)
		}, onto.TooLarge, []string{"21 events"}},
		{"a bad event", nil, onto.Draft{}, func(tx *store.Tx) error { tx.Emit(7); return deposit(tx) }, onto.Invalid, []string{"is no event"}},
		{"an unknown type", nil, onto.Draft{}, func(tx *store.Tx) error {
			wantError(t, tx.Ensure(Counter{ID: "c"}), onto.Invalid, "is not a type of this store")
			_, err := tx.Find("Nothing").Count(t.Context())
			return err
		}, onto.Invalid, []string{"Nothing"}},
		{"a bad key", nil, onto.Draft{}, func(tx *store.Tx) error { _, err := store.Get[Account](t.Context(), tx); return err }, onto.Invalid, []string{"1 parts, not 0"}},
		{"a deadline", ended, onto.Draft{}, deposit, "", []string{"deadline exceeded"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx := c.ctx
			if ctx == nil {
				ctx = t.Context()
			}
			res, err := store.Transact(ctx, s, c.d, c.do)
			if c.code == "" && errors.Is(err, context.DeadlineExceeded) {
				return
			}
			wantError(t, err, c.code, c.texts...)
			if res.Changed() || res.At != 0 {
				t.Errorf("got %+v with an error", res)
			}
		})
	}
	func() {
		defer func() {
			if got := recover(); got != "planted" {
				t.Errorf("got panic %v", got)
			}
		}()
		_, _ = store.Transact(t.Context(), s, onto.Draft{}, func(tx *store.Tx) error {
			if err := deposit(tx); err != nil {
				return err
			}
			panic("planted")
		})
	}()
	if head, err := s.Head(t.Context()); err != nil || head.ID != 1 {
		t.Errorf("got head %d, %v; want 1", head.ID, err)
	}
	s.Close()
	_, err := store.Transact(t.Context(), s, onto.Draft{}, deposit)
	wantError(t, err, onto.Closed)
	_, err = s.Pin(t.Context())
	wantError(t, err, onto.Closed)
}

// openAtWith is openAt with options.
func openAtWith(t *testing.T, path string, o *store.Options, types ...onto.Type) *store.Store {
	t.Helper()
	b, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.OpenWith(t.Context(), b, o, types...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// A transaction is of no use once its function has returned, or panicked.
func TestTransactEnds(t *testing.T) {
	s := inMemory(t, onto.TypeOf[Account]())
	mustCommit(t, s, onto.Draft{}.Ensure(Account{"a", 1}))
	var kept []*store.Tx
	if _, err := store.Transact(t.Context(), s, onto.Draft{}, func(tx *store.Tx) error { kept = append(kept, tx); return nil }); err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = store.Transact(t.Context(), s, onto.Draft{}, func(tx *store.Tx) error { kept = append(kept, tx); panic("planted") })
	}()
	for _, tx := range kept {
		tx.Emit(seen{})
		_, get := tx.Get(t.Context(), onto.EntityID("Account", "a"))
		_, typed := store.Get[Account](t.Context(), tx, "a")
		_, version := store.GetVersion[Account](t.Context(), tx, "a")
		_, find := store.Find[Account](tx).Count(t.Context())
		_, untyped := tx.Find("Account").Count(t.Context())
		for _, err := range []error{get, typed, version, find, untyped, tx.Ensure(Account{"a", 2}), tx.Merge(Account{"a", 2}), tx.Delete(Account{"a", 2})} {
			wantError(t, err, onto.Closed, "the transaction has ended", "within the function")
		}
		if a, err := store.Get[Account](t.Context(), tx.View(), "a"); err != nil || a.Balance != 1 {
			t.Errorf("its view: got %+v, %v", a, err)
		}
	}
}

// earlier.
func TestTransactLosesEveryRace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t, onto.TypeOf[Account](), onto.TypeOf[Counter]())
		mustCommit(t, s, onto.Draft{}.Ensure(Account{"a", 0}, Counter{ID: "c"}))
		ctx, cancel := context.WithCancel(t.Context())
		tries, last := 0, 0
		spoiled := func(tx *store.Tx) error {
			_, err := store.Get[Account](t.Context(), tx, "a")
			if tries++; tries == last {
				cancel()
			}
			mustCommit(t, s, onto.Draft{}.Ensure(Account{"a", tries}))
			return errors.Join(err, tx.Ensure(Counter{ID: "c", N: -1}))
		}
		began := time.Now()
		_, err := store.Transact(t.Context(), s, onto.Draft{}, spoiled)
		wantError(t, err, onto.VersionMismatch, "the transaction", `Account "a"`, fmt.Sprintf("%d tries", store.MaxUpdates))
		var e *onto.Error
		if !errors.As(err, &e) || e.Expectation == nil || e.Expectation.Identity != onto.EntityID("Account", "a") {
			t.Errorf("the error does not say what has changed: %+v", e)
		}
		if took := time.Since(began); tries != store.MaxUpdates || took < 30*time.Second || took > 2*time.Minute {
			t.Errorf("%d tries in %v", tries, took)
		}
		tries, last = 0, 3
		_, err = store.Transact(ctx, s, onto.Draft{}, spoiled)
		if !errors.Is(err, context.Canceled) || tries != 3 {
			t.Errorf("got %v after %d tries, want 3 and that it was cancelled", err, tries)
		}
		if got, err := store.Get[Counter](t.Context(), s.Now(), "c"); err != nil || got.N != 0 {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

// and one within another ends.
func TestTransactionsCross(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t, onto.TypeOf[Account]())
		mustCommit(t, s, onto.Draft{}.Ensure(Account{"a", 1000}, Account{"b", 1000}, Account{"c", 1000}))
		names := []string{"a", "b", "c"}
		began := time.Now()
		done := make(chan error)
		const callers = 30
		for i := range callers {
			go func() {
				_, err := store.Transact(t.Context(), s, onto.Draft{}, func(tx *store.Tx) error {
					a, errA := store.Get[Account](t.Context(), tx, names[i%3])
					time.Sleep(time.Millisecond) // so that all have read the same
					b, errB := store.Get[Account](t.Context(), tx, names[(i+1+i%2)%3])
					a.Balance, b.Balance = a.Balance-1, b.Balance+1
					return errors.Join(errA, errB, tx.Ensure(a, b))
				})
				done <- err
			}()
		}
		for range callers {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(began); took > 4*time.Second { // less than a queue is waited for
			t.Errorf("it took %v", took)
		}
		n := 0
		_, err := store.Transact(t.Context(), s, onto.Draft{}, func(tx *store.Tx) error {
			a, err := store.Get[Account](t.Context(), tx, "a")
			if n++; n <= 2 { // the second time, the outer one is at the front of the queue
				_, inner := transfer(t.Context(), s, onto.Draft{}, "a", "b", 1)
				_, update := store.Update(t.Context(), s, onto.Draft{}, store.Key{"a"}, func(a *Account) error { a.Balance++; return nil })
				err = errors.Join(err, inner, update)
			}
			a.Balance++
			return errors.Join(err, tx.Ensure(a))
		})
		if err != nil || n != 3 {
			t.Errorf("got %v after %d tries", err, n)
		}
	})
}
