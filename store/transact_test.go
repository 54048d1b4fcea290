package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/store"
)

type Account struct {
	ID      string `json:"id" onto:"key"`
	Balance int    `json:"balance"`
}

var errPoor = errors.New("not enough money")

// transfer moves money from one account to another.
func transfer(ctx context.Context, s *store.Store, d onto.Draft, from, to string, amount int) (onto.Result, error) {
	return store.Transact(ctx, s, d, func(tx *store.Tx) error {
		a, err := store.Get[Account](ctx, tx, from)
		if err != nil {
			return err
		}
		b, err := store.Get[Account](ctx, tx, to)
		if err != nil {
			return err
		}
		if a.Balance < amount {
			return errPoor
		}
		a.Balance, b.Balance = a.Balance-amount, b.Balance+amount
		return tx.Ensure(a, b)
	})
}

func wantBalances(t *testing.T, s *store.Store, want ...int) {
	t.Helper()
	var got []int
	for a, err := range store.Find[Account](s.Now()).All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, a.Balance)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got balances %v, want %v", got, want)
	}
}

// A transaction is one commit, which says what its draft says.
func TestTransact(t *testing.T) {
	everywhere(t, func(t *testing.T, open func(...onto.Type) *store.Store) {
		s := open(onto.TypeOf[Account](), onto.TypeOf[Counter]())
		mustCommit(t, s, onto.Draft{}.Ensure(Account{"a", 10}, Account{"b", 0}))
		d := onto.Draft{Actor: onto.Operator("ana"), Comment: "rent", Metadata: map[string]any{"n": 1}}.Ensure(Counter{ID: "c"}).Emit(seen{"draft"})
		res, err := transfer(t.Context(), s, d, "a", "b", 7)
		if err != nil || res.ID != 2 || res.At != 2 || res.Operations != 3 || res.Events != 1 || res.Actor != d.Actor || res.Comment != "rent" || res.Metadata["n"] != int64(1) {
			t.Errorf("got %+v, %v", res, err)
		}
		wantBalances(t, s, 3, 7)
		_, err = transfer(t.Context(), s, d, "a", "b", 7)
		if err != errPoor {
			t.Errorf("got %v, want the error of the function as it is", err)
		}
		_, err = transfer(t.Context(), s, d, "a", "x", 1)
		wantError(t, err, onto.NotFound, `Account "x"`)
		wantBalances(t, s, 3, 7)
		if head, err := s.Head(t.Context()); err != nil || head.ID != 2 {
			t.Errorf("got head %d, %v", head.ID, err)
		}
	})
}

type seen struct {
	By string `json:"by"`
}

// Reads are of the moment at which the try began, and see nothing that the transaction writes.
func TestTransactReadsOneMoment(t *testing.T) {
	everywhere(t, func(t *testing.T, open func(...onto.Type) *store.Store) {
		s, other := open(onto.TypeOf[Account]()), open(onto.TypeOf[Account]())
		mustCommit(t, s, onto.Draft{}.Ensure(Account{"a", 1}, Account{"b", 1}))
		mustCommit(t, other, onto.Draft{}.Ensure(Account{"b", 2})) // another handle: the try has to ask
		tries := 0
		res, err := store.Transact(t.Context(), s, onto.Draft{}, func(tx *store.Tx) error {
			tries++
			if tries == 1 {
				mustCommit(t, other, onto.Draft{}.Ensure(Account{"a", 5}, Account{"b", 5}))
			}
			a, err := store.GetVersion[Account](t.Context(), tx, "a")
			if err != nil {
				return err
			}
			if err := tx.Ensure(Account{"b", 100}, Account{"c", 100}); err != nil {
				return err
			}
			b, err := tx.Get(t.Context(), onto.EntityID("Account", "b"))
			if err != nil {
				return err
			}
			_, err = tx.Get(t.Context(), onto.EntityID("Account", "c"))
			wantError(t, err, onto.NotFound)
			n, err := store.Find[Account](tx.View()).Count(t.Context())
			want := map[int]string{1: `1 2 2 1`, 2: `5 3 2 3`}[tries]
			if got := fmt.Sprint(a.Value.Balance, b.Commit, n, a.Commit.ID); got != want || err != nil {
				t.Errorf("try %d: got %s, %v; want %s", tries, got, err, want)
			}
			return err
		})
		if err != nil || tries != 2 || res.ID != 4 {
			t.Errorf("got %+v, %v after %d tries", res, err, tries)
		}
		wantBalances(t, s, 5, 100, 100)
	})
}

// What a transaction has read makes it stale when another writer changes it, and nothing else.
func TestTransactIsFenced(t *testing.T) {
	get := func(ctx context.Context, tx *store.Tx, key string) error {
		_, err := tx.Get(ctx, onto.EntityID("Account", key))
		if onto.CodeOf(err) == onto.NotFound {
			return nil
		}
		return err
	}
	typed := func(ctx context.Context, tx *store.Tx, key string) error {
		_, err := store.Get[Account](ctx, tx, key)
		if onto.CodeOf(err) == onto.NotFound {
			return nil
		}
		return err
	}
	for name, c := range map[string]struct {
		read  func(ctx context.Context, tx *store.Tx) error
		spoil onto.Draft
		tries int
	}{
		"nothing":         {func(context.Context, *store.Tx) error { return nil }, onto.Draft{}.Ensure(Account{"a", 9}), 1},
		"another thing":   {func(ctx context.Context, tx *store.Tx) error { return get(ctx, tx, "b") }, onto.Draft{}.Ensure(Account{"a", 9}), 1},
		"a change":        {func(ctx context.Context, tx *store.Tx) error { return get(ctx, tx, "a") }, onto.Draft{}.Ensure(Account{"a", 9}), 2},
		"a typed change":  {func(ctx context.Context, tx *store.Tx) error { return typed(ctx, tx, "a") }, onto.Draft{}.Ensure(Account{"a", 9}), 2},
		"a deletion":      {func(ctx context.Context, tx *store.Tx) error { return typed(ctx, tx, "a") }, onto.Draft{}.Delete(onto.EntityID("Account", "a")), 2},
		"what was not":    {func(ctx context.Context, tx *store.Tx) error { return get(ctx, tx, "x") }, onto.Draft{}.Ensure(Account{"x", 9}), 2},
		"not there":       {func(ctx context.Context, tx *store.Tx) error { return typed(ctx, tx, "x") }, onto.Draft{}.Ensure(Account{"x", 9}), 2},
		"what was":        {func(ctx context.Context, tx *store.Tx) error { return get(ctx, tx, "gone") }, onto.Draft{}.Ensure(Account{"gone", 9}), 2},
		"no longer there": {func(ctx context.Context, tx *store.Tx) error { return typed(ctx, tx, "gone") }, onto.Draft{}.Ensure(Account{"b", 9}), 1},
		"a view": {func(ctx context.Context, tx *store.Tx) error {
			_, err := store.Get[Account](ctx, tx.View(), "a")
			return err
		}, onto.Draft{}.Ensure(Account{"a", 9}), 1},
		"a question": {func(ctx context.Context, tx *store.Tx) error {
			_, err := store.Find[Account](tx).Where(onto.Path("balance").Gt(100)).Count(ctx)
			return err
		}, onto.Draft{}.Ensure(Account{"y", 9}), 2},
		"an untyped question": {func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.Find("Account").Exists(ctx)
			return err
		}, onto.Draft{}.Ensure(Counter{ID: "y"}), 2},
		"a question and a thing": {func(ctx context.Context, tx *store.Tx) error {
			_, _, err := tx.Find("Account").First(ctx)
			return errors.Join(err, get(ctx, tx, "a"))
		}, onto.Draft{}.Ensure(Account{"b", 9}), 2},
	} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, open func(...onto.Type) *store.Store) {
				s := open(onto.TypeOf[Account](), onto.TypeOf[Counter]())
				mustCommit(t, s, onto.Draft{}.Ensure(Account{"a", 1}, Account{"b", 1}, Account{"gone", 1}))
				mustCommit(t, s, onto.Draft{}.Delete(onto.EntityID("Account", "gone")))
				tries := 0
				_, err := store.Transact(t.Context(), s, onto.Draft{}, func(tx *store.Tx) error {
					if err := c.read(t.Context(), tx); err != nil {
						return err
					}
					if tries++; tries == 1 {
						mustCommit(t, s, c.spoil)
					}
					return tx.Ensure(Account{"written", tries})
				})
				if err != nil || tries != c.tries {
					t.Errorf("got %v after %d tries, want %d", err, tries, c.tries)
				}
				if got, err := store.Get[Account](t.Context(), s.Now(), "written"); err != nil || got.Balance != c.tries {
					t.Errorf("got %+v, %v", got, err)
				}
			})
		})
	}
}

// What a transaction says last of a thing counts; what it merges it has not written before.
func TestTransactWrites(t *testing.T) {
	everywhere(t, func(t *testing.T, open func(...onto.Type) *store.Store) {
		s := open(onto.TypeOf[Customer]())
		id := onto.EntityID("Customer", "c1")
		tier := func(key, tier string) onto.Entity {
			return onto.Entity{Type: "Customer", Key: key, Fields: map[string]any{"tier": tier}}
		}
		ensure := func(key, name string) Customer { return Customer{ID: key, Name: name, Tier: "Silver"} }
		for _, c := range []struct {
			name string
			do   func(tx *store.Tx) error
			want string
			err  string
		}{
			{"replaced", func(tx *store.Tx) error {
				return errors.Join(tx.Ensure(ensure("c1", "A")), tx.Ensure(ensure("c1", "B")))
			}, "c1 B Silver", ""},
			{"replaced within one call", func(tx *store.Tx) error { return tx.Ensure(ensure("c1", "A"), ensure("c2", "X"), ensure("c1", "B")) }, "c1 B Silver, c2 X Silver", ""},
			{"deleted", func(tx *store.Tx) error {
				return errors.Join(tx.Ensure(ensure("c1", "A"), ensure("c2", "X")), tx.Delete(id))
			}, "c2 X Silver", ""},
			{"ensured again", func(tx *store.Tx) error { return errors.Join(tx.Delete(id), tx.Ensure(ensure("c1", "A"))) }, "c1 A Silver", ""},
			{"merged", func(tx *store.Tx) error { return tx.Merge(tier("c0", "Gold")) }, "c0 Zero Gold", ""},
			{"ensured after a merge", func(tx *store.Tx) error {
				return errors.Join(tx.Merge(tier("c0", "Gold")), tx.Ensure(ensure("c0", "Null")))
			}, "c0 Null Silver", ""},
			{"merged after a write", func(tx *store.Tx) error {
				return errors.Join(tx.Ensure(ensure("c0", "Null")), tx.Merge(tier("c0", "Gold")))
			}, "", `Customer "c0" is merged, and the transaction has written it before`},
			{"merged after a merge", func(tx *store.Tx) error {
				return errors.Join(tx.Merge(tier("c0", "Gold")), tx.Merge(tier("c0", "Gold")))
			}, "", "has written it before"},
			{"merged twice in a call", func(tx *store.Tx) error { return tx.Merge(tier("c0", "Gold"), tier("c0", "Iron")) }, "", "has written it before"},
			{"what fails writes nothing", func(tx *store.Tx) error {
				wantError(t, tx.Ensure(ensure("c5", "E"), ensure("", "F")), onto.Invalid, "key is empty")
				wantError(t, tx.Merge(tier("c0", "Gold"), tier("c0", "Iron")), onto.Conflict)
				wantError(t, tx.Delete(id, 7), onto.Invalid, "cannot be deleted")
				return tx.Merge(tier("c0", "Iron"))
			}, "c0 Zero Iron", ""},
			{"many", func(tx *store.Tx) error {
				for round := range 2 {
					for i := range 40 {
						if err := tx.Ensure(ensure(fmt.Sprint("m", i), fmt.Sprint(round))); err != nil {
							return err
						}
					}
				}
				wantError(t, tx.Merge(tier("new", "Gold"), tier("m39", "Gold")), onto.Conflict)
				for i := range 39 {
					if err := tx.Delete(onto.EntityID("Customer", fmt.Sprint("m", i))); err != nil {
						return err
					}
				}
				return nil
			}, "m39 1 Silver", ""},
		} {
			t.Run(c.name, func(t *testing.T) {
				for v, err := range s.Now().Find("Customer").All(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					mustCommit(t, s, onto.Draft{}.Delete(v))
				}
				mustCommit(t, s, onto.Draft{}.Ensure(ensure("c0", "Zero")))
				_, err := store.Transact(t.Context(), s, onto.Draft{}, c.do)
				if c.err != "" {
					wantError(t, err, onto.Conflict, c.err, "merge all its fields at once")
					c.want = "c0 Zero Silver"
				} else if err != nil {
					t.Fatal(err)
				}
				var got []string
				for v, err := range store.Find[Customer](s.Now()).All(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					if v != ensure("c0", "Zero") || c.want == "c0 Zero Silver" {
						got = append(got, fmt.Sprint(v.ID, " ", v.Name, " ", v.Tier))
					}
				}
				if got := strings.Join(got, ", "); got != c.want {
					t.Errorf("got %s, want %s", got, c.want)
				}
			})
		}
	})
}

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

// A transaction that writes nothing makes no commit, and is not judged.
func TestTransactOnlyReads(t *testing.T) {
	everywhere(t, func(t *testing.T, open func(...onto.Type) *store.Store) {
		s := open(onto.TypeOf[Account]())
		mustCommit(t, s, onto.Draft{}.Ensure(Account{"a", 1}))
		tries := 0
		res, err := store.Transact(t.Context(), s, onto.Draft{Comment: "look"}, func(tx *store.Tx) error {
			tries++
			_, err := store.Find[Account](tx).Count(t.Context())
			mustCommit(t, s, onto.Draft{}.Ensure(Account{"a", 2}))
			return err
		})
		if err != nil || tries != 1 || res.Changed() || res.At != 1 || res.Comment != "" {
			t.Errorf("got %+v, %v after %d tries", res, err, tries)
		}
		res, err = store.Transact(t.Context(), s, onto.Draft{}, func(tx *store.Tx) error { return tx.Ensure(Account{"a", 2}) })
		if err != nil || res.Changed() || res.At != 2 {
			t.Errorf("what is so already: got %+v, %v", res, err)
		}
	})
}

// With an idempotency key a transaction is made once, whatever its function would do again.
func TestTransactOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, open func(...onto.Type) *store.Store) {
		s := open(onto.TypeOf[Account](), onto.TypeOf[person](), onto.TypeOf[contract]())
		mustCommit(t, s, onto.Draft{}.Ensure(Account{"a", 10}, Account{"b", 0}))
		pay := onto.Fact{Type: "contract", Subject: "ada", Attribute: "salary", Value: 1}
		d := onto.Draft{IdempotencyKey: "order-7", Comment: "rent"}.Assert(pay)
		first, err := transfer(t.Context(), s, d, "a", "b", 7)
		if err != nil || first.ID != 2 || first.Repeated {
			t.Fatalf("got %+v, %v", first, err)
		}
		again, err := transfer(t.Context(), s, d.Given(onto.EntityID("Account", "a"), 1), "a", "b", 8)
		if err != nil || again.ID != 2 || again.At != 2 || !again.Repeated {
			t.Errorf("again: got %+v, %v; want commit 2 repeated", again, err)
		}
		other := d
		other.Comment = "food"
		_, err = transfer(t.Context(), s, other, "a", "b", 1)
		wantError(t, err, onto.IdempotencyConflict, "order-7")
		_, err = s.Commit(t.Context(), d)
		wantError(t, err, onto.IdempotencyConflict)
		_, err = store.Update(t.Context(), s, d, store.Key{"a"}, func(*Account) error { return nil })
		wantError(t, err, onto.IdempotencyConflict)
		wantBalances(t, s, 3, 7)

		// A repetition that comes while the function runs is answered as well.
		d = onto.Draft{IdempotencyKey: "order-8"}
		ran := 0
		res, err := store.Transact(t.Context(), s, d, func(tx *store.Tx) error {
			if ran++; ran == 1 {
				if _, err := transfer(t.Context(), s, d, "a", "b", 1); err != nil {
					return err
				}
			}
			return tx.Ensure(Account{"a", 99})
		})
		if err != nil || res.ID != 3 || !res.Repeated {
			t.Errorf("got %+v, %v; want commit 3 repeated", res, err)
		}
		wantBalances(t, s, 2, 8)
	})
}

// A transaction that loses every race ends, and says how often it tried; the context ends it
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

// Transactions that want the same things in another order do not wait for each other for ever,
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

// The view of Pin stays as it is, and so does what holds in it.
func TestPin(t *testing.T) {
	everywhere(t, func(t *testing.T, open func(...onto.Type) *store.Store) {
		s := open(onto.TypeOf[Account](), onto.TypeOf[person](), onto.TypeOf[contract]())
		empty, err := s.Pin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		pay := onto.Fact{Type: "contract", Subject: "ada", Attribute: "salary", Value: 1}
		mustCommit(t, s, onto.Draft{}.Ensure(Account{"a", 1}).Assert(pay))
		starts := pay
		starts.Value, starts.From = 2, time.Now().Add(10*time.Millisecond)
		mustCommit(t, s, onto.Draft{}.Assert(starts))
		time.Sleep(15 * time.Millisecond)
		pinned, err := s.Pin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		later := pay
		later.Value = 3
		mustCommit(t, s, onto.Draft{}.Ensure(Account{"a", 2}).Assert(later))
		if a, err := store.Get[Account](t.Context(), pinned, "a"); err != nil || a.Balance != 1 {
			t.Errorf("got %+v, %v", a, err)
		}
		if c, err := store.About[contract](t.Context(), pinned, "ada"); err != nil || c.Salary != 2 {
			t.Errorf("got %+v, %v; want what holds when the view was pinned", c, err)
		}
		if n, err := store.Find[Account](empty).Count(t.Context()); err != nil || n != 0 {
			t.Errorf("the empty store: got %d, %v", n, err)
		}
	})
}

// A program with an older type changes what it knows, and lists that it cannot know stay.
func TestTransactByAnOlderProgram(t *testing.T) {
	type line struct {
		SKU string `json:"sku"`
	}
	type newLine struct {
		SKU string `json:"sku"`
		Qty int    `json:"qty,omitempty"`
	}
	type older struct {
		ID    string `json:"id" onto:"key"`
		N     int    `json:"n"`
		Lines []line `json:"lines"`
	}
	type newer struct {
		ID    string    `json:"id" onto:"key"`
		N     int       `json:"n"`
		Lines []newLine `json:"lines"`
	}
	path := t.TempDir() + "/store.db"
	old := openAt(t, path, onto.TypeOf[older]().As("Basket"))
	b, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = migrate(t, b, &store.Migration{Types: []onto.Type{onto.TypeOf[newer]().As("Basket")}})
	if err := errors.Join(err, b.Close()); err != nil {
		t.Fatal(err)
	}
	young := openAt(t, path, onto.TypeOf[newer]().As("Basket"))
	mustCommit(t, young, onto.Draft{}.Ensure(newer{"b", 1, []newLine{{"s", 3}}}))
	_, err = store.Transact(t.Context(), old, onto.Draft{}, func(tx *store.Tx) error {
		v, err := store.Get[older](t.Context(), tx, "b")
		v.N++
		return errors.Join(err, tx.Ensure(v))
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := store.Get[newer](t.Context(), young.Now(), "b"); err != nil || got.N != 2 || len(got.Lines) != 1 || got.Lines[0].Qty != 3 {
		t.Errorf("got %+v, %v", got, err)
	}
}

// Facts of the draft and of the transaction are in the order in which they were asserted, and
// what is computed of them is computed once for each try.
func TestTransactFacts(t *testing.T) {
	b := &spoiler{Backend: memory.New(nil).Open()}
	s, err := store.Open(t.Context(), b, onto.TypeOf[Account](), onto.TypeOf[person](), onto.TypeOf[contract]())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	appended, tries := 0, 0
	b.before = func(*backend.Draft) { appended++ }
	say := func(n int) onto.Fact {
		return onto.Fact{Type: "contract", Subject: "ada", Attribute: "salary", Value: n}
	}
	_, err = store.Transact(t.Context(), s, onto.Draft{Comment: "counted"}.Assert(say(1), say(2)), func(tx *store.Tx) error {
		tries++
		if _, err := store.Get[Account](t.Context(), tx, "a"); tries == 1 {
			wantError(t, err, onto.NotFound)
			mustCommit(t, s, onto.Draft{}.Ensure(Account{"a", 1}))
		}
		return tx.Ensure(say(3), []onto.Fact{say(4), say(tries + 10)})
	})
	if err != nil || tries != 2 || appended != 2 {
		t.Errorf("got %v; %d drafts were appended in %d tries, want 2", err, appended, tries)
	}
	var got []int
	for f, err := range s.Now().Facts("contract").About("ada").Every().All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		var n int
		if err := f.Decode(&n); err != nil {
			t.Fatal(err)
		}
		if int(f.Seq) >= len(got) {
			got = append(got, make([]int, int(f.Seq)+1-len(got))...)
		}
		got[f.Seq] = n
	}
	if !slices.Equal(got, []int{1, 2, 3, 4, 12}) {
		t.Errorf("got facts %v", got)
	}
}
