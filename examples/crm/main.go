// Command crm is a first program: it commits a customer twice and reads what
// was true in between.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/store"
)

// Customer is an entity.
type Customer struct {
	ID   string `json:"id" onto:"key"`
	Name string `json:"name" onto:"search"`
	Tier string `json:"tier" onto:"index"`
}

func main() {
	path := "crm.db"
	if len(os.Args) > 1 {
		path = os.Args[1]
	}
	if err := run(context.Background(), path); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, path string) error {
	db, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	s, err := store.Open(ctx, db, onto.TypeOf[Customer]())
	if err != nil {
		return err
	}
	defer s.Close()

	first, err := s.Commit(ctx, onto.Draft{Actor: onto.Operator("ana"), Comment: "import"}.Ensure(
		Customer{ID: "c1", Name: "Ada", Tier: "Silver"}))
	if err != nil {
		return err
	}
	_, err = s.Commit(ctx, onto.Draft{Actor: onto.Daemon("billing")}.Ensure(Customer{ID: "c1", Name: "Ada", Tier: "Gold"}))
	if err != nil {
		return err
	}

	then, err := store.Get[Customer](ctx, s.At(first.ID), "c1")
	if err != nil {
		return err
	}
	fmt.Println("then:", then.Tier)
	for p, err := range store.History[Customer](ctx, s, "c1") {
		if err != nil {
			return err
		}
		fmt.Println(p.Commit.ID, p.Commit.Actor, p.Value.Tier)
	}
	return nil
}
