package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/store"
)

// Many callers of two handles transfer money between few accounts, some by updates of one of
// them: no money is made or lost, and no account is overdrawn.
func TestTransfersAtOnce(t *testing.T) {
	const accounts, callers, start = 5, 12, 100
	times := max(5, effort.Count(t, 150))
	everywhere(t, func(t *testing.T, open func(...onto.Type) *store.Store) {
		handles := []*store.Store{open(onto.TypeOf[Account]()), open(onto.TypeOf[Account]())}
		name := func(i int) string { return fmt.Sprint("a", i) }
		var all []Account
		for i := range accounts {
			all = append(all, Account{name(i), start})
		}
		mustCommit(t, handles[0], onto.Draft{}.Ensure(all))
		var moved, given atomic.Int64
		var wg sync.WaitGroup
		for g := range callers {
			wg.Go(func() {
				s, r := handles[g%len(handles)], rand.New(rand.NewPCG(uint64(g), 1))
				for range times {
					from, amount := r.IntN(accounts), 1+r.IntN(start)
					if r.IntN(10) == 0 {
						_, err := store.Update(t.Context(), s, onto.Draft{}, store.Key{name(from)}, func(a *Account) error { a.Balance++; return nil })
						if given.Add(1); err != nil {
							t.Error(err)
						}
						continue
					}
					_, err := transfer(t.Context(), s, onto.Draft{}, name(from), name((from+1+r.IntN(accounts-1))%accounts), amount)
					if err == nil {
						moved.Add(1)
					} else if !errors.Is(err, errPoor) {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		for _, s := range handles {
			sum := 0
			for a, err := range store.Find[Account](s.Now()).All(t.Context()) {
				if err != nil || a.Balance < 0 {
					t.Errorf("got %+v, %v", a, err)
				}
				sum += a.Balance
			}
			if want := accounts*start + int(given.Load()); sum != want {
				t.Errorf("there is %d money, want %d", sum, want)
			}
			if head, err := s.Head(t.Context()); err != nil || head.ID != 1+moved.Load()+given.Load() {
				t.Errorf("got head %d, %v after %d transfers and %d updates", head.ID, err, moved.Load(), given.Load())
			}
		}
	})
}

// Callers that look at all accounts, and each write another one, keep a rule about all of
// them, which writes alone would break: at least one account must have money.
func TestTransactWriteSkew(t *testing.T) {
	everywhere(t, func(t *testing.T, open func(...onto.Type) *store.Store) {
		handles := []*store.Store{open(onto.TypeOf[Account]()), open(onto.TypeOf[Account]())}
		errLast := errors.New("it is the last one")
		empty := func(ctx context.Context, s *store.Store, key string) error {
			_, err := store.Transact(ctx, s, onto.Draft{}, func(tx *store.Tx) error {
				n, err := store.Find[Account](tx).Where(onto.Path("balance").Gt(0)).Count(ctx)
				switch {
				case err != nil:
					return err
				case n == 1:
					return errLast
				}
				return tx.Ensure(Account{key, 0})
			})
			return err
		}
		const accounts = 6
		for range max(2, effort.Count(t, 20)) {
			var all []Account
			for i := range accounts {
				all = append(all, Account{fmt.Sprint("a", i), 1})
			}
			mustCommit(t, handles[0], onto.Draft{}.Ensure(all))
			var last atomic.Int64
			var wg sync.WaitGroup
			for i := range accounts {
				wg.Go(func() {
					err := empty(t.Context(), handles[i%len(handles)], all[i].ID)
					if errors.Is(err, errLast) {
						last.Add(1)
					} else if err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			n, err := store.Find[Account](handles[1].Now()).Where(onto.Path("balance").Gt(0)).Count(t.Context())
			if err != nil || n != 1 || last.Load() != 1 {
				t.Fatalf("%d accounts have money, %v, and %d callers were refused; want 1 of each", n, err, last.Load())
			}
		}
	})
}
