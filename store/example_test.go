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

type Customer struct {
	ID   string `json:"id" onto:"key"`
	Name string `json:"name" onto:"search"`
	Tier string `json:"tier" onto:"index"`
}

type Product struct {
	SKU   string `json:"sku" onto:"key"`
	Title string `json:"title"`
}

type Subscription struct {
	onto.Link[Customer, Product]
	Seats int `json:"seats"`
}

// open opens a store that is gone after Close.
func open(ctx context.Context) *store.Store {
	db, err := sqlite.Open(ctx, ":memory:", nil)
	if err != nil {
		log.Fatal(err)
	}
	s, err := store.Open(ctx, db, onto.TypeOf[Customer](), onto.TypeOf[Product](), onto.TypeOf[Subscription]())
	if err != nil {
		log.Fatal(err)
	}
	return s
}

// commit commits or ends the example.
func commit(ctx context.Context, s *store.Store, d onto.Draft) onto.Result {
	res, err := s.Commit(ctx, d)
	if err != nil {
		log.Fatal(err)
	}
	return res
}

// Nothing is overwritten: what was true at an earlier commit can be read again.
func Example() {
	ctx := context.Background()
	s := open(ctx)
	defer s.Close()

	first := commit(ctx, s, onto.Draft{Actor: onto.Operator("ana"), Comment: "import"}.Ensure(
		Customer{ID: "c1", Name: "Ada", Tier: "Silver"},
		Product{SKU: "p1", Title: "Lamp"},
		Subscription{Link: onto.Between[Customer, Product]("c1", "p1"), Seats: 3},
	))
	commit(ctx, s, onto.Draft{Actor: onto.Operator("bo")}.Ensure(Customer{ID: "c1", Name: "Ada", Tier: "Gold"}))

	now, err := store.Get[Customer](ctx, s.Now(), "c1")
	if err != nil {
		log.Fatal(err)
	}
	then, err := store.Get[Customer](ctx, s.At(first.ID), "c1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(now.Tier, "now,", then.Tier, "then")

	for p, err := range store.History[Customer](ctx, s, "c1") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(p.Commit.ID, p.Commit.Actor, p.Value.Tier)
	}
	// Output:
	// Gold now, Silver then
	// 1 operator:ana Silver
	// 2 operator:bo Gold
}

// A draft that changes nothing makes no commit, and holds at the newest.
func ExampleStore_Commit() {
	ctx := context.Background()
	s := open(ctx)
	defer s.Close()

	ada := Customer{ID: "c1", Name: "Ada", Tier: "Gold"}
	fmt.Println(commit(ctx, s, onto.Draft{}.Ensure(ada)).ID)
	again := commit(ctx, s, onto.Draft{}.Ensure(ada))
	fmt.Println(again.Changed(), again.At)
	// Output:
	// 1
	// false 1
}

// Two writers that read the same head: the second learns that it was late.
func ExampleStore_Commit_expectHead() {
	ctx := context.Background()
	s := open(ctx)
	defer s.Close()

	commit(ctx, s, onto.Draft{}.ExpectHead(0).Ensure(Product{SKU: "p1", Title: "Lamp"}))
	_, err := s.Commit(ctx, onto.Draft{}.ExpectHead(0).Ensure(Product{SKU: "p1", Title: "Desk"}))
	fmt.Println(errors.Is(err, onto.HeadMismatch), err)
	// Output:
	// true expected head 0, but the head is 1
}

// A key makes a commit safe to repeat, also after a restart.
func ExampleStore_Commit_idempotency() {
	ctx := context.Background()
	s := open(ctx)
	defer s.Close()

	order := onto.Draft{IdempotencyKey: "order-7"}.Ensure(Product{SKU: "p1", Title: "Lamp"})
	first := commit(ctx, s, order)
	again := commit(ctx, s, order)
	fmt.Println(first.ID, again.ID, again.Repeated)
	// Output:
	// 1 1 true
}

// A stream of any length becomes one commit.
func ExampleStore_CommitStream() {
	ctx := context.Background()
	s := open(ctx)
	defer s.Close()

	products := func(yield func(any, error) bool) {
		for i := range 50_000 {
			if !yield(Product{SKU: fmt.Sprintf("p%05d", i), Title: "Lamp"}, nil) {
				return
			}
		}
	}
	res, err := s.CommitStream(ctx, onto.Draft{Comment: "catalogue"}, products)
	fmt.Println(res.ID, res.Operations, err)
	// Output:
	// 1 50000 <nil>
}

// Pages fit together although the store changes between them.
func ExampleFind() {
	ctx := context.Background()
	s := open(ctx)
	defer s.Close()

	commit(ctx, s, onto.Draft{}.Ensure(
		Product{SKU: "p1", Title: "Lamp"}, Product{SKU: "p2", Title: "Desk"}, Product{SKU: "p3", Title: "Chair"},
	))
	page, err := store.Find[Product](s.Now()).Limit(2).Page(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(page.Items)

	commit(ctx, s, onto.Draft{}.Delete(Product{SKU: "p3"}))
	page, err = store.Find[Product](s.Now()).Limit(2).After(page.Next).Page(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(page.Items, page.Next == "")
	// Output:
	// [{p1 Lamp} {p2 Desk}]
	// [{p3 Chair}] true
}

// What differs between two moments.
func ExampleStore_Diff() {
	ctx := context.Background()
	s := open(ctx)
	defer s.Close()

	commit(ctx, s, onto.Draft{}.Ensure(Product{SKU: "p1", Title: "Lamp"}, Product{SKU: "p2", Title: "Desk"}))
	commit(ctx, s, onto.Draft{}.Ensure(Product{SKU: "p1", Title: "Big lamp"}, Product{SKU: "p3", Title: "Chair"}))
	commit(ctx, s, onto.Draft{}.Delete(onto.EntityID("Product", "p2")))

	for c, err := range s.Diff(ctx, store.DiffOptions{From: onto.AtCommit(1)}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(c.Operation(), c.Identity)
	}
	// Output:
	// update_version Product "p1"
	// delete Product "p2"
	// insert Product "p3"
}

// A merge changes the fields that it gives; the others stay.
func ExampleStore_Commit_merge() {
	ctx := context.Background()
	s := open(ctx)
	defer s.Close()
	if _, err := s.Commit(ctx, onto.Draft{}.Ensure(Customer{ID: "c1", Name: "Ada", Tier: "Silver"})); err != nil {
		log.Fatal(err)
	}
	paid := onto.Entity{Type: "Customer", Key: "c1", Fields: map[string]any{"tier": "Gold"}}
	if _, err := s.Commit(ctx, onto.Draft{}.Merge(paid)); err != nil {
		log.Fatal(err)
	}
	c, err := store.Get[Customer](ctx, s.Now(), "c1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Name, c.Tier)
	// Output:
	// Ada Gold
}

// Who last set each field.
func ExampleStore_Blame() {
	ctx := context.Background()
	s := open(ctx)
	defer s.Close()

	commit(ctx, s, onto.Draft{Actor: onto.Operator("ana")}.Ensure(Customer{ID: "c1", Name: "Ada", Tier: "Silver"}))
	commit(ctx, s, onto.Draft{Actor: onto.Daemon("billing")}.Ensure(Customer{ID: "c1", Name: "Ada", Tier: "Gold"}))

	lines, err := s.Blame(ctx, onto.EntityID("Customer", "c1"))
	if err != nil {
		log.Fatal(err)
	}
	for _, b := range lines {
		fmt.Printf("%s = %s by %s in commit %d\n", b.Field, b.Value, b.Commit.Actor, b.Commit.ID)
	}
	// Output:
	// id = "c1" by operator:ana in commit 1
	// name = "Ada" by operator:ana in commit 1
	// tier = "Gold" by daemon:billing in commit 2
}

// Types known only at run time are used by name, with maps or JSON.
func ExampleView_Find() {
	ctx := context.Background()
	s := open(ctx)
	defer s.Close()

	commit(ctx, s, onto.Draft{}.Ensure(
		onto.Entity{Type: "Product", Key: "p1", Fields: map[string]any{"title": "Lamp"}},
		onto.Entity{Type: "Customer", Fields: map[string]any{"id": "c1", "name": "Ada", "tier": "Gold"}},
		onto.Relation{Type: "Subscription", Left: "c1", Right: "p1", Fields: map[string]any{"seats": 3}},
	))
	for v, err := range s.Now().Find("Subscription").All(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(v.Identity, string(v.Fields))
	}
	// Output:
	// Subscription "c1" → "p1" {"seats":3}
}
