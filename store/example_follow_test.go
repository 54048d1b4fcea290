package store_test

import (
	"context"
	"fmt"
	"log"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/store"
)

// A program tells what happened, and goes on after its last run where it ended. Without
// Once it would wait for further commits.
func ExampleStore_Follow() {
	ctx := context.Background()
	s, err := store.Open(ctx, memory.New(nil).Open(), onto.TypeOf[Customer]())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	tell := func() {
		for c, err := range s.FollowWith(ctx, "news", &store.FollowOptions{Once: true}) {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println("commit", c.ID, "by", c.Actor)
		}
		fmt.Println("that is all")
	}

	commit(ctx, s, onto.Draft{Actor: onto.Operator("ana")}.Ensure(Customer{ID: "c1", Name: "Ada", Tier: "Silver"}))
	commit(ctx, s, onto.Draft{Actor: onto.Daemon("billing")}.Ensure(Customer{ID: "c1", Name: "Ada", Tier: "Gold"}))
	tell()
	commit(ctx, s, onto.Draft{Actor: onto.Operator("bo")}.Ensure(Customer{ID: "c2", Name: "Grace", Tier: "Gold"}))
	tell()
	// Output:
	// commit 1 by operator:ana
	// commit 2 by daemon:billing
	// that is all
	// commit 3 by operator:bo
	// that is all
}

// A loop that commits what it concludes stores how far it has come in the same commit:
// each commit counts once, whenever the program ends.
func ExampleStore_FollowWith() {
	ctx := context.Background()
	s, err := store.Open(ctx, memory.New(nil).Open(), onto.TypeOf[Customer](), onto.TypeOf[Product]())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	for _, name := range []string{"Ada", "Grace"} {
		commit(ctx, s, onto.Draft{Actor: onto.Operator("ana")}.Ensure(Customer{ID: name, Name: name, Tier: "Silver"}))
	}

	var done onto.Advance
	for c, err := range s.FollowWith(ctx, "welcome", &store.FollowOptions{Ride: &done, Once: true}) {
		if err != nil {
			log.Fatal(err)
		}
		present := Product{SKU: fmt.Sprintf("present-%d", c.ID), Title: "A lamp to welcome"}
		commit(ctx, s, onto.Draft{Actor: onto.Component("welcome"), Causation: c.ID, Advance: &done}.Ensure(present))
	}
	positions, err := s.Positions(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(positions)
	// Output:
	// [{welcome 2}]
}
