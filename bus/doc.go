// Package bus runs handlers that react to events: each event once per handler in effect,
// retried with backoff, in order per key, however many processes run and end.
//
// An event is a struct. It rides in the commit that it tells of, so that both exist or
// neither:
//
//	type OrderPaid struct {
//		Order  string  `json:"order" onto:"ordering"` // of one order, one after the other
//		Amount float64 `json:"amount"`
//	}
//
//	_, err := s.Commit(ctx, onto.Draft{Actor: onto.Operator("ana")}.
//		Ensure(Order{ID: "o1", State: "paid"}).
//		Emit(OrderPaid{Order: "o1", Amount: 12}))
//
// [Bus.Emit] emits without a commit. [Bus.Run] handles events until its context ends:
//
//	b, err := bus.Open(s, nil)
//	err = b.Run(ctx,
//		bus.On("billing", func(ctx context.Context, c *bus.Claim[OrderPaid]) error {
//			c.Ensure(Invoice{ID: c.Payload.Order, Amount: c.Payload.Amount})
//			c.Emit(InvoiceDue{Invoice: c.Payload.Order})
//			return nil
//		}),
//		bus.On("mail", send).Concurrency(4).Attempts(5).Timeout(time.Minute),
//		bus.Every("reminders", "0 9 * * 1-5", "Europe/Berlin", RemindersDue{}),
//	)
//
// # Handlers
//
// A handler has a name, which stands for it in the store: programs that run a handler of
// one name share its events, and a handler under a new name gets all events that are kept.
// What a handler ensures and emits is one commit, with the ack in it: it happens once,
// also if the process ends at any moment. The commit's actor is component:NAME, its
// causation the commit that the event rode in, its correlation the event's root; the
// handler may change them in [Claim].Draft. A handler that ensures and emits nothing is
// acked with others in one write. What it does elsewhere (mail, HTTP) may happen more than
// once: use [onto.Event].ID there as the idempotency key.
//
// # Failures
//
// An error or a panic is a failure: the event is handled again after a pause that doubles,
// and is a dead letter when the handler has failed, or was started, as often as
// [Handler.Attempts] says. [Reject] gives an event up at once, [Snooze] puts it off and
// counts nothing. A payload that does not decode into the struct, and a chain of events
// that is too long, make a dead letter at once. So does nothing else: a commit that fails
// since the store is locked, full or unavailable costs no attempt.
//
// A dead letter is told of by an event of its own, see [DeadLetterNotice]. It stays until
// something is done about it: [Bus.Replay], [Bus.ReplayDeadLetters], [Bus.DropDeadLetters].
//
// # Claims
//
// A process that handles an event has a claim on it, for a time that it extends while it
// lives. If it ends, the claim runs out, and the event is handled by another process: alone,
// after its start was recorded, so that an event that kills its process is a dead letter
// soon, and others are not. A commit under a claim that was lost is refused.
//
// # Schedules
//
// [Every] emits an event at the times of a cron expression, once across all processes.
package bus
