package store_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/store"
)

// openShop is a store with three customers, of whom c1 became Gold later, and
// a product that is gone.
func openShop(ctx context.Context) *store.Store {
	s := open(ctx)
	between := onto.Between[Customer, Product]
	commit(ctx, s, onto.Draft{}.Ensure(
		Customer{"c1", "Ada Lovelace", "Silver"}, Customer{"c2", "Grace Hopper", "Gold"}, Customer{"c3", "Linus", "Gold"},
		Product{"p1", "Lamp"}, Product{"p2", "Chair"},
		Subscription{Link: between("c1", "p1"), Seats: 2},
		Subscription{Link: between("c2", "p1"), Seats: 4},
		Subscription{Link: between("c3", "p2"), Seats: 9},
	))
	commit(ctx, s, onto.Draft{}.Ensure(Customer{"c1", "Ada Lovelace", "Gold"}))
	commit(ctx, s, onto.Draft{}.Delete(onto.EntityID("Product", "p2")))
	return s
}

// A query is about one moment, and its filter sees that moment only.
func ExampleQuery_Where() {
	ctx := context.Background()
	s := openShop(ctx)
	defer s.Close()
	gold := onto.Path("tier").Eq("Gold")
	for _, view := range []store.View{s.Now(), s.At(1)} {
		n, err := store.Find[Customer](view).Where(gold).Count(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(n, "Gold customers")
	}
	// Output:
	// 3 Gold customers
	// 2 Gold customers
}

// Which Gold customers of back then had more than 3 seats on a product that is
// now gone? One question about then, one about now.
func ExampleFind_thenAndNow() {
	ctx := context.Background()
	s := openShop(ctx)
	defer s.Close()
	then := store.Find[Subscription](s.At(1)).Where(onto.Left("tier").Eq("Gold"), onto.Path("seats").Gt(3))
	for sub, err := range then.All(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		switch _, err = store.Get[Product](ctx, s.Now(), sub.Right); {
		case errors.Is(err, onto.NotFound):
			fmt.Printf("%s had %d seats on %s\n", sub.Left, sub.Seats, sub.Right)
		case err != nil:
			log.Fatal(err)
		}
	}
	// Output:
	// c3 had 9 seats on p2
}

// Filters can be text, for questions that users type.
func ExampleQuery_OrderBy() {
	ctx := context.Background()
	s := openShop(ctx)
	defer s.Close()
	where, err := filter.Parse(`$.seats >= 2 & left.$.name.startswith("A") | $.seats.in_([9])`)
	if err != nil {
		log.Fatal(err)
	}
	for v, err := range s.Now().Find("Subscription").Where(where).OrderBy(onto.Path("seats").Desc()).All(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(v.Left, v.Right, string(v.Fields))
	}
	// Output:
	// c3 p2 {"seats":9}
	// c1 p1 {"seats":2}
}

func ExampleQuery_Search() {
	ctx := context.Background()
	s := openShop(ctx)
	defer s.Close()
	ada, found, err := store.Find[Customer](s.Now()).Search("love* ada").First(ctx)
	fmt.Println(ada.Name, found, err)
	// Output:
	// Ada Lovelace true <nil>
}

func ExampleQuery_GroupBy() {
	ctx := context.Background()
	s := openShop(ctx)
	defer s.Close()
	seats := onto.Path("seats").Sum()
	groups := store.Find[Subscription](s.At(1)).GroupBy(onto.Left("tier")).Compute(onto.Count(), seats).Having(seats.Gt(1))
	for g, err := range groups.All(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %s subscriptions, %s seats\n", g.By[0], g.Values[0], g.Values[1])
	}
	// Output:
	// "Gold": 2 subscriptions, 13 seats
	// "Silver": 1 subscriptions, 2 seats
}

// Who else has what Ada has?
func ExampleQuery_Traverse() {
	ctx := context.Background()
	s := openShop(ctx)
	defer s.Close()
	ada := s.Now().Find("Customer").Where(onto.Path("id").Eq("c1"))
	for r, err := range ada.Traverse(store.Via("Subscription"), store.Back("Subscription")).All(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(r.Source.Key, r.Path[0].Entity.Key, r.Path[1].Entity.Key)
	}
	// Output:
	// c1 p1 c2
}

func ExampleQuery_Page() {
	ctx := context.Background()
	s := openShop(ctx)
	defer s.Close()
	q := store.Find[Customer](s.Now()).OrderBy(onto.Path("name").Asc()).Limit(2)
	for cursor := ""; ; {
		page, err := q.After(cursor).Page(ctx)
		if err != nil {
			log.Fatal(err)
		}
		for _, c := range page.Items {
			fmt.Print(c.Name, "; ")
		}
		fmt.Println("and")
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	// Output:
	// Ada Lovelace; Grace Hopper; and
	// Linus; and
}
