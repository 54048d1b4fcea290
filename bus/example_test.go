package bus_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/bus"
	"github.com/ontologia/onto/store"
)

// openShop opens a store in memory, and its bus.
func openShop(ctx context.Context) (*store.Store, *bus.Bus) {
	db, err := sqlite.Open(ctx, ":memory:", nil)
	if err != nil {
		log.Fatal(err)
	}
	s, err := store.Open(ctx, db, onto.TypeOf[Order](), onto.TypeOf[Invoice]())
	if err != nil {
		log.Fatal(err)
	}
	b, err := bus.Open(s, &bus.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		log.Fatal(err)
	}
	return s, b
}

func Example() {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute) // or until a signal
	defer stop()
	s, b := openShop(ctx)
	defer s.Close()

	// The event rides in the commit it tells of: both are there, or neither.
	_, err := s.Commit(ctx, onto.Draft{Actor: onto.Operator("ana")}.
		Ensure(Order{ID: "o1", State: "paid"}).
		Emit(OrderPaid{Order: "o1", Amount: 12}))
	if err != nil {
		log.Fatal(err)
	}

	// What a handler ensures and emits is one commit, with the ack in it.
	err = b.Run(ctx,
		bus.On("billing", func(_ context.Context, c *bus.Claim[OrderPaid]) error {
			c.Ensure(Invoice{ID: c.Payload.Order, Amount: c.Payload.Amount})
			c.Emit(InvoiceDue{Invoice: c.Payload.Order})
			return nil
		}),
		bus.On("mail", func(ctx context.Context, c *bus.Claim[InvoiceDue]) error {
			in, err := store.Get[Invoice](ctx, s.Now(), c.Payload.Invoice)
			if err != nil {
				return err
			}
			fmt.Printf("invoice %s: %v is due\n", in.ID, in.Amount)
			stop()
			return nil
		}).Concurrency(4).Attempts(5).Timeout(time.Minute),
		bus.Every("reminders", "0 9 * * 1-5", "Europe/Berlin", Ping{}),
	)
	if err != nil {
		log.Fatal(err)
	}
	// Output: invoice o1: 12 is due
}

func ExampleBus_ReplayDeadLetters() {
	ctx := context.Background()
	s, b := openShop(ctx)
	defer s.Close()
	if _, err := b.Emit(ctx, OrderPaid{Order: "o1"}, OrderPaid{Order: "o2"}); err != nil {
		log.Fatal(err)
	}
	ledger := errors.New("the ledger is closed")
	handle := func(_ context.Context, c *bus.Claim[OrderPaid]) error {
		if ledger != nil {
			return bus.Reject(ledger)
		}
		fmt.Println("booked", c.Payload.Order)
		return nil
	}
	if err := b.RunUntilIdle(ctx, bus.On("ledger", handle).Concurrency(1)); err != nil {
		log.Fatal(err)
	}

	// Look at what would happen, mend what was broken, and handle the events again.
	plan, err := b.PlanReplay(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range plan {
		fmt.Println("would replay", r.Event.Type, string(r.Event.Payload))
	}
	ledger = nil
	if _, err := b.ReplayDeadLetters(ctx, nil, onto.Operator("ana")); err != nil {
		log.Fatal(err)
	}
	if err := b.RunUntilIdle(ctx, bus.On("ledger", handle).Concurrency(1)); err != nil {
		log.Fatal(err)
	}
	// Output:
	// would replay OrderPaid {"amount":0,"order":"o1"}
	// would replay OrderPaid {"amount":0,"order":"o2"}
	// booked o1
	// booked o2
}
