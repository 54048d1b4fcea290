// Command crm is a first program: it commits a customer, changes it, and reads what
// was true before.
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

	// What should be true: one atomic commit of the difference, or none.
	first, err := s.Commit(ctx, onto.Draft{Actor: onto.Operator("ana"), Comment: "import"}.Ensure(
		Customer{ID: "c1", Name: "Ada", Tier: "Silver"}))
	if err != nil {
		return err
	}
	// Read, change, write; again if another writer was first.
	_, err = store.Update(ctx, s, onto.Draft{Actor: onto.Daemon("billing")}, store.Key{"c1"}, func(c *Customer) error {
		c.Tier = "Gold"
		return nil
	})
	if err != nil {
		return err
	}

	then, err := store.Get[Customer](ctx, s.At(first.At), "c1") // Silver: what was true then
	if err != nil {
		return err
	}
	fmt.Println("then:", then.Tier)
	for p, err := range store.History[Customer](ctx, s, "c1") { // both versions, with commit, actor, time
		if err != nil {
			return err
		}
		fmt.Println(p.Commit.ID, p.Commit.Actor, p.Value.Tier)
	}
	return nil
}
