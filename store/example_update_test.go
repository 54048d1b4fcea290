package store_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// Read, change, write in one call: if another writer comes first, the function is called
// again with what is there then. What it refuses is not written.
func ExampleUpdate() {
	ctx := context.Background()
	s := openShop(ctx)
	defer s.Close()

	errFull := errors.New("there are no more seats")
	for range 3 {
		draft := onto.Draft{Actor: onto.Component("booking"), Comment: "a seat more"}
		res, err := store.Update(ctx, s, draft, store.Key{"c2", "p1"}, func(sub *Subscription) error {
			if sub.Seats == 6 {
				return errFull
			}
			sub.Seats++
			return nil
		})
		if errors.Is(err, errFull) {
			fmt.Println(err)
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("commit", res.ID)
	}
	sub, err := store.Get[Subscription](ctx, s.Now(), "c2", "p1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(sub.Seats, "seats")
	// Output:
	// commit 4
	// commit 5
	// there are no more seats
	// 6 seats
}

// A value with who wrote it, and with the version to expect when it is written back.
func ExampleGetVersion() {
	ctx := context.Background()
	s := open(ctx)
	defer s.Close()
	commit(ctx, s, onto.Draft{Actor: onto.Operator("ana")}.Ensure(Customer{ID: "c1", Name: "Ada", Tier: "Silver"}))

	ada, err := store.GetVersion[Customer](ctx, s.Now(), "c1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ada.Value.Tier, "by", ada.Commit.Actor)

	commit(ctx, s, onto.Draft{Actor: onto.Operator("bo")}.Ensure(Customer{ID: "c1", Name: "Ada", Tier: "Gold"}))
	ada.Value.Tier = "Bronze"
	_, err = s.Commit(ctx, onto.Draft{}.ExpectVersion(ada.Version.Identity, ada.Version.Commit).Ensure(ada.Value))
	fmt.Println(errors.Is(err, onto.VersionMismatch))
	// Output:
	// Silver by operator:ana
	// true
}

// Structs name what is to be deleted; only their keys count.
func ExampleStore_Commit_delete() {
	ctx := context.Background()
	s := openShop(ctx)
	defer s.Close()
	commit(ctx, s, onto.Draft{Comment: "c1 leaves"}.Delete(
		Customer{ID: "c1"},
		Subscription{Link: onto.Between[Customer, Product]("c1", "p1")},
	))
	n, err := store.Find[Customer](s.Now()).Count(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(n, "customers are left")
	// Output:
	// 2 customers are left
}

// What was deleted comes back as it was at an earlier commit.
func ExampleStore_Commit_restore() {
	ctx := context.Background()
	s := openShop(ctx)
	defer s.Close()
	chair, err := s.At(1).Get(ctx, onto.EntityID("Product", "p2"))
	if err != nil {
		log.Fatal(err)
	}
	commit(ctx, s, onto.Draft{Comment: "it is sold again"}.Ensure(chair))
	p, err := store.Get[Product](ctx, s.Now(), "p2")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.Title)
	// Output:
	// Chair
}

// The fields of a struct take what is grouped by, then what is computed.
func ExampleGroupsAs() {
	ctx := context.Background()
	s := openShop(ctx)
	defer s.Close()
	type perTier struct {
		Tier          string
		Subscriptions int
		Seats         int
	}
	groups := store.Find[Subscription](s.At(1)).GroupBy(onto.Left("tier")).Compute(onto.Count(), onto.Path("seats").Sum())
	for g, err := range store.GroupsAs[perTier](ctx, groups) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %d seats in %d subscriptions\n", g.Tier, g.Seats, g.Subscriptions)
	}
	// Output:
	// Gold: 13 seats in 2 subscriptions
	// Silver: 2 seats in 1 subscriptions
}

// The fields of a struct take the source, then a relation and an entity for each hop.
func ExampleRoutesAs() {
	ctx := context.Background()
	s := openShop(ctx)
	defer s.Close()
	type owned struct {
		Customer Customer
		Through  Subscription
		Product  Product
	}
	for r, err := range store.RoutesAs[owned](ctx, store.Find[Customer](s.At(1)).Traverse(store.Via("Subscription"))) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %d × %s\n", r.Customer.Name, r.Through.Seats, r.Product.Title)
	}
	// Output:
	// Ada Lovelace: 2 × Lamp
	// Grace Hopper: 4 × Lamp
	// Linus: 9 × Chair
}
