package store_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/store"
)

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
