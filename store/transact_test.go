package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
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

// A transaction that loses every race ends, and says how often it tried; the context ends it
// Transactions that want the same things in another order do not wait for each other for ever,
// Facts of the draft and of the transaction are in the order in which they were asserted, and
