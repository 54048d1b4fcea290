package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/bus"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/shell"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/store"
)

// The second act of the demo: what happens after an order was paid.
type (
	Order struct {
		ID       string `json:"id" onto:"key"`
		Customer string `json:"customer"`
		State    string `json:"state"`
	}

	OrderPaid struct {
		Order string `json:"order"`
	}

	InvoiceDue struct {
		Order string `json:"order"`
	}
)

// order is the commit that the act begins with.
func order() chapter {
	return chapter{onto.Draft{Actor: onto.Remote("web"), Comment: "order paid"}.
		Ensure(Order{ID: "o1", Customer: "c1", State: "paid"}).
		Emit(OrderPaid{Order: "o1"}),
		`put Order '{"id":"o1","customer":"c1","state":"paid"}' --emit OrderPaid='{"order":"o1"}' --actor remote:web --comment "order paid"`}
}

// cast is the handlers of the act, with what is wrong in their world.
type cast struct {
	busy  int  // how often the mail server refuses
	paper bool // the printer has some
}

// mail confirms an order, and says that its invoice is due.
func (w *cast) mail(_ context.Context, c *bus.Claim[OrderPaid]) error {
	if w.busy > 0 {
		w.busy--
		return errors.New("the mail server is busy")
	}
	c.Draft.Comment = "confirmation sent"
	c.Ensure(Order{ID: c.Payload.Order, Customer: "c1", State: "confirmed"})
	c.Emit(InvoiceDue(c.Payload))
	return nil
}

// printer prints an invoice.
func (w *cast) printer(_ context.Context, c *bus.Claim[InvoiceDue]) error {
	if !w.paper {
		return errors.New("out of paper")
	}
	c.Draft.Comment = "invoice printed"
	c.Ensure(Order{ID: c.Payload.Order, Customer: "c1", State: "invoiced"})
	return nil
}

// react tells how an order is paid, and how its handlers fail, recover, give up and are
// given another chance.
func (t *teller) react(ctx context.Context) error {
	t.line("")
	t.line("%s", t.c.Out.Paint(terminal.Bold, "Ada pays for an order. An event rides in that commit, and handlers react to it:"))
	begin, world := order(), &cast{busy: 2}
	t.line("  %s", t.command(begin.args))
	if err := t.handle(ctx, world, &begin.draft, bus.Buried); err != nil {
		return err
	}
	if err := t.ask(ctx, question{"What was given up?", []string{"events", "dead-letters"}}); err != nil {
		return err
	}
	world.paper = true
	t.line("")
	t.line("%s", t.c.Out.Paint(terminal.Bold, "Ana fills in paper, and has it tried again:"))
	again := []string{"events", "replay", "--handler", "printer", "--apply", "--actor", "operator:ana"}
	t.line("  %s", t.command(shell.Line(again)))
	if err := t.answer(ctx, again); err != nil {
		return err
	}
	if err := t.handle(ctx, world, nil, bus.Acked); err != nil {
		return err
	}
	return t.ask(ctx, question{"What happened to the order? Each handler's commit carries its ack: once, whatever crashes.", []string{"log", "Order", "o1"}})
}

// handle commits a draft, if there is one, and runs the handlers until the printer is
// done in the given way.
func (t *teller) handle(ctx context.Context, w *cast, d *onto.Draft, until bus.Happening) error {
	b, err := place.Location{Path: t.path}.Open(ctx, place.Writing, place.Settings{}, place.Opener{})
	if err != nil {
		return err
	}
	s, err := store.Open(ctx, b, onto.TypeOf[Order]())
	if err != nil {
		return err
	}
	defer s.Close()
	if d != nil {
		if _, err := s.Commit(ctx, *d); err != nil {
			return err
		}
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	events, err := bus.Open(s, &bus.Options{
		BackoffBase: time.Millisecond, BackoffMax: time.Millisecond, Log: slog.New(slog.DiscardHandler),
		Observe: func(o bus.Observation) {
			t.observe(o)
			if o.Handler == "printer" && o.What == until {
				stop()
			}
		},
	})
	if err != nil {
		return err
	}
	if err := events.Run(running, bus.On("mail", w.mail), bus.On("printer", w.printer).Attempts(2)); err != nil {
		return err
	}
	return ctx.Err()
}

// observe tells of one attempt.
func (t *teller) observe(o bus.Observation) {
	switch o.What {
	case bus.Failed:
		t.line("    %-8s attempt %d  %s: %v", o.Handler, o.Attempts, t.c.Out.Paint(terminal.Yellow, "failed"), o.Err)
	case bus.Buried:
		t.line("    %-8s attempt %d  %s: %v", o.Handler, o.Attempts, t.c.Out.Paint(terminal.Red, "given up"), o.Err)
	case bus.Acked:
		t.line("    %-8s attempt %d  %s: commit %d", o.Handler, o.Attempts+1, t.c.Out.Paint(terminal.Green, "done"), o.Commit)
	}
}
