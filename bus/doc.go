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
// acked with others in one write. Commits that it makes by itself, such as by
// [store.Transact], are without the ack. What it does elsewhere (mail, HTTP) may happen more
// than once: use [onto.Event].ID there as the idempotency key.
//
// # Failures
//
// An error or a panic is a failure: the event is handled again after a pause that doubles,
// and is a dead letter when the handler has failed, or was started, as often as
// [Handler.Attempts] says. [Reject] gives an event up at once, [Snooze] puts it off and
// counts nothing. A handler whose draft or error is Stale, see [onto.Draft.Given], has not
// failed: the event is handled again after a short pause, and only the start counts. A
// payload that does not decode into the struct, and a chain of events that is too long, make
// a dead letter at once. A commit that fails because the store is locked, full or unavailable
// costs no attempt: the event is handled again when the store recovers.
//
// A dead letter is told of by an event of its own, see [DeadLetterNotice]. It stays until
// something is done about it: [Bus.Replay], [Bus.ReplayDeadLetters], [Bus.DropDeadLetters].
//
// # Claims
//
// A process that handles an event has a claim on it, with a lease that it renews while it
// runs. If the process ends, the lease runs out and the event is claimed again. It is then
// started alone, and only after its start was recorded: an event that kills its process
// becomes a dead letter after a few starts, and takes no other event along. A commit under
// a claim that was lost is refused. A [Handler] that ignores the end of its context at its
// timeout loses its claim in the same way.
//
// # Schedules
//
// [Every] emits an event at the times of a cron expression, once across all processes.
//
// # Operation
//
// Run as many processes as you like, with the same handlers or different ones. End Run by
// its context, for example that of [os/signal.NotifyContext]: it then drains. Events are
// kept, unless Options.Retention says for how long; in any case for as long as a known handler
// has still to handle them. Options.Observe and Options.Log tell what happens;
// [Bus.Namespaces], [Bus.Events] and [Bus.DeadLetters] tell what there is.
//
// The files of the package, in reading order: handler.go and schedule.go are what a program
// gives; policy.go decides what becomes of an attempt, without side effects; run.go is the
// loop that owns all state of a Run, with queue.go for claims and settlements, delivery.go
// for one call of a handler, and pulse.go for beats and clocks.
package bus
