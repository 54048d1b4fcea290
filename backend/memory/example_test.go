package memory_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/store"
)

type Invoice struct {
	ID   string `json:"id" onto:"key"`
	Paid bool   `json:"paid"`
}

// pay is what a unit test is about.
func pay(ctx context.Context, s *store.Store, id string) error {
	_, err := store.Update(ctx, s, onto.Draft{Actor: onto.Component("till")}, store.Key{id}, func(i *Invoice) error {
		i.Paid = true
		return nil
	})
	return err
}

// A unit test has a store of its own in memory, with a clock that it sets. What works
// on it works on the other backends.
func Example() {
	ctx := context.Background()
	noon := time.Date(2026, 2, 10, 12, 0, 0, 0, time.UTC)
	s, err := store.Open(ctx, memory.New(&memory.Options{Now: func() time.Time { return noon }}).Open(), onto.TypeOf[Invoice]())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	if _, err := s.Commit(ctx, onto.Draft{}.Ensure(Invoice{ID: "i1"})); err != nil {
		log.Fatal(err)
	}
	if err := pay(ctx, s, "i1"); err != nil {
		log.Fatal(err)
	}
	paid, err := store.GetVersion[Invoice](ctx, s.Now(), "i1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(paid.Value.Paid, paid.Commit.Actor, paid.Commit.Time.Format(time.TimeOnly))
	// Output:
	// true component:till 12:00:00
}
