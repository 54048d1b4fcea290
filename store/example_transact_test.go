package store_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/store"
)

// What is read and written belongs together: if another writer changes one of the accounts
// first, the function is called again with what is there then. What it refuses is not written.
func ExampleTransact() {
	ctx := context.Background()
	db, err := sqlite.Open(ctx, ":memory:", nil)
	if err != nil {
		log.Fatal(err)
	}
	s, err := store.Open(ctx, db, onto.TypeOf[Account]())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	commit(ctx, s, onto.Draft{Actor: onto.Operator("ana")}.Ensure(Account{"ana", 10}, Account{"bob", 0}))

	for range 2 {
		draft := onto.Draft{Actor: onto.Component("bank"), Comment: "7 from ana to bob"}
		res, err := store.Transact(ctx, s, draft, func(tx *store.Tx) error {
			ana, errAna := store.Get[Account](ctx, tx, "ana")
			bob, errBob := store.Get[Account](ctx, tx, "bob")
			if err := errors.Join(errAna, errBob); err != nil {
				return err
			}
			if ana.Balance < 7 {
				return fmt.Errorf("ana has only %d", ana.Balance)
			}
			ana.Balance, bob.Balance = ana.Balance-7, bob.Balance+7
			return tx.Ensure(ana, bob)
		})
		fmt.Println(res.Operations, err)
	}
	// Output:
	// 2 <nil>
	// 0 ana has only 3
}

// Several questions about one moment get answers that fit together.
func ExampleStore_Pin() {
	ctx := context.Background()
	s := open(ctx)
	defer s.Close()
	commit(ctx, s, onto.Draft{}.Ensure(Customer{ID: "c1", Name: "Ada", Tier: "Silver"}))

	v, err := s.Pin(ctx)
	if err != nil {
		log.Fatal(err)
	}
	commit(ctx, s, onto.Draft{}.Ensure(Customer{ID: "c2", Name: "Bo", Tier: "Gold"}))
	pinned, _ := store.Find[Customer](v).Count(ctx)
	now, _ := store.Find[Customer](s.Now()).Count(ctx)
	fmt.Println(pinned, now)
	// Output: 1 2
}
