package events

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/bus"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/store"
)

// handleFlags is a handler, as it was typed.
type handleFlags struct {
	scope
	handler         string
	types           []string
	concurrency     int
	attempts        int
	timeout, drain  time.Duration
	once, untilIdle bool
	command         []string
}

func handleCommand(c *session.Session) *cobra.Command {
	var f handleFlags
	cmd := &cobra.Command{
		Use:   "handle --handler NAME --type TYPE [--type TYPE...] -- COMMAND [ARGUMENT...]",
		Short: "Handle events with a command",
		Long: `Handle runs a command for each event of the given types: the event is on its stdin
as one JSON document, as inspect shows it but without claims, and ONTO_EVENT_ID,
ONTO_EVENT_TYPE, ONTO_NAMESPACE and ONTO_ATTEMPT are in its environment. If it exits
with status 0 the event is handled. Otherwise it has failed, with its last lines on
stderr as the error: it is run again after a pause that doubles, and the event is a
dead letter after as many attempts as --attempts says. Events that the command emits,
with emit or --emit, go on the chain of its event (ONTO_EVENT_ROOT, ONTO_EVENT_DEPTH).

The name stands for the handler in the store: several processes under one name share
its events. Each event is handled once in effect. A command whose process or machine
dies is run again: use ONTO_EVENT_ID where doing something twice would hurt. If several
types are given under one name, each process gets events of its own types. A type of
which no event was ever emitted in the namespace is waited for, with a warning that names
those that were.

What the command prints on stdout is on stdout, also with --json. A command that takes
longer than --timeout has failed; its process group gets SIGTERM, and SIGKILL five
seconds later.

It runs until it gets SIGINT or SIGTERM; then it starts nothing more and waits for
commands that run, for as long as --drain says. With --until-idle it ends when nothing
is left that can be handled now, with --once after one event; exit status 4 then tells
that a command has failed.`,
		Example: `  onto events handle --handler mail --type OrderPaid -- ./send-mail
  onto events handle --handler audit --type OrderPaid --type OrderSent --concurrency 4 -- sh -c 'cat >> audit.jsonl'
  onto events handle --handler report --type NightlyReport --until-idle --timeout 1h -- ./report --all`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.command = args
			if err := f.check(cmd); err != nil {
				return err
			}
			return handle(c, cmd, &f)
		},
	}
	f.register(c, cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.handler, "handler", "", "the `NAME` of the handler")
	flags.StringArrayVar(&f.types, "type", nil, "events of this `TYPE`; may be repeated")
	flags.IntVar(&f.concurrency, "concurrency", 1, "run up to `N` commands at a time")
	flags.IntVar(&f.attempts, "attempts", 0, "a dead letter after `N` attempts (default: the setting event_max_attempts)")
	flags.DurationVar(&f.timeout, "timeout", bus.DefaultTimeout, "how long a command may take, such as 90s or 10m")
	flags.DurationVar(&f.drain, "drain", bus.DefaultDrain, "how long commands that run may go on when told to stop")
	flags.BoolVar(&f.once, "once", false, "handle one event, then end")
	flags.BoolVar(&f.untilIdle, "until-idle", false, "end when nothing is left that can be handled now")
	flags.Lookup("timeout").DefValue, flags.Lookup("drain").DefValue = "10m", "30s"
	complete(c, cmd, "handler", handlersOf)
	complete(c, cmd, "type", typesOf)
	return cmd
}

// check refuses what could not run.
func (f *handleFlags) check(cmd *cobra.Command) error {
	if err := required("handler", f.handler); err != nil {
		return err
	}
	if err := onto.CheckBusName("handler", f.handler); err != nil {
		return err
	}
	if len(f.types) == 0 {
		return onto.Errorf(onto.Invalid, "--type is missing").WithHint("name the types of events that the command handles")
	}
	for _, t := range f.types {
		if err := onto.CheckBusName("event type", t); err != nil {
			return err
		}
	}
	switch {
	case len(f.command) == 0 || cmd.ArgsLenAtDash() != 0:
		return onto.Errorf(onto.Invalid, "the command is missing").WithHint("give it after two dashes: -- COMMAND ARGUMENT...")
	case f.once && f.untilIdle:
		return onto.Errorf(onto.Invalid, "--once and --until-idle contradict each other").WithHint("give one of them")
	case f.concurrency < 1:
		return onto.Errorf(onto.Invalid, "--concurrency %d is too small", f.concurrency)
	case f.attempts < 0 || f.attempts == 0 && cmd.Flags().Changed("attempts"):
		return onto.Errorf(onto.Invalid, "--attempts %d is too small", f.attempts)
	case f.timeout <= 0 || f.drain < 0:
		return onto.Errorf(onto.Invalid, "a --timeout of %v or a --drain of %v is none", f.timeout, f.drain)
	}
	if _, err := exec.LookPath(f.command[0]); err != nil {
		return onto.Errorf(onto.Invalid, "the command cannot be run: %w", err)
	}
	return nil
}

func handle(c *session.Session, cmd *cobra.Command, f *handleFlags) error {
	cfg, err := c.Configure()
	if err == nil {
		err = f.resolve(cfg, cmd)
	}
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	t := &tally{Session: c, failed: map[string]bool{}}
	r := &runner{argv: f.command, out: t.pass(c.Out), err: t.pass(c.Err), stop: stop}
	o := options(cfg, f.name)
	o.Drain, o.Observe = max(f.drain, 1), t.observe // 0 would be the default
	h := bus.OnTypes(f.handler, f.types, r.handle)
	if f.once {
		h = bus.OnTypes(f.handler, f.types, r.only)
		f.concurrency, o.ClaimLimit = 1, 1
	}
	h.Concurrency(f.concurrency).Timeout(f.timeout)
	if f.attempts > 0 {
		h.Attempts(f.attempts)
	}
	c.Patience.Store(int64(f.drain + drainPatience))
	return c.WithStore(ctx, place.Writing, func(s *store.Store) error {
		b, err := bus.Open(s, o)
		if err != nil {
			return err
		}
		if err := f.warnOfTypes(ctx, c, b); err != nil {
			return err
		}
		run := b.Run
		if f.once || f.untilIdle {
			run = b.RunUntilIdle
		}
		if err := run(ctx, h); err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		if broken := r.broken.Load(); broken != nil {
			return fmt.Errorf("what the command prints cannot be written: %w", *broken)
		}
		return t.conclude(f.once || f.untilIdle)
	})
}

// warnOfTypes warns of types of which there never was an event: they are probably misspelled.
func (f *handleFlags) warnOfTypes(ctx context.Context, c *session.Session, b *bus.Bus) error {
	for _, t := range f.types {
		if t == onto.DeadLetterType { // the first one may be far off
			continue
		}
		if err := b.CheckType(ctx, t); onto.CodeOf(err) == onto.NotFound {
			c.Warn(err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// drainPatience is what the end of a run may take besides waiting for commands.
const drainPatience = 30 * time.Second

// observe tells what became of an event.
func (t *tally) observe(o bus.Observation) {
	t.mu.Lock()
	defer t.mu.Unlock()
	name := o.Event.Type + " " + o.Event.ID
	switch o.What {
	case bus.Acked:
		t.acked++
		delete(t.failed, o.Event.ID)
	case bus.Failed:
		t.failed[o.Event.ID] = true
		t.Say("%s: attempt %d failed, again in %v: %s", name, o.Attempts, o.Delay.Round(time.Millisecond), document.Message(o.Err))
	case bus.Buried:
		t.failed[o.Event.ID] = true
		t.buried++
		t.Say("%s: attempt %d failed, it is a dead letter: %s", name, o.Attempts, document.Message(o.Err))
	case bus.Lost:
		t.Say("%s: the claim was lost, another process handles it", name)
	case bus.Overdue, bus.Abandoned:
		t.Say("%s: the command is slow to end", name)
	case bus.Differs:
		t.Say("the store is not as it was when it was last known to be good: %s", document.Message(o.Err))
	case bus.Behind:
		t.Say("the clock is %v behind what is stored", o.Delay.Round(time.Second))
	case bus.Troubled:
		t.Say("the store fails, it is tried again in %v: %s", o.Delay.Round(time.Millisecond), document.Message(o.Err))
	}
}

// conclude says what was done. A run that was to end by itself fails if commands have.
func (t *tally) conclude(ends bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.acked+len(t.failed) == 0 {
		t.Say("no event was handled")
		return nil
	}
	text := "handled " + terminal.Count(t.acked, "event", "events")
	if t.buried > 0 {
		text += ", " + terminal.Count(t.buried, "dead letter", "dead letters")
	}
	t.Say("%s", text)
	if n := len(t.failed); ends && n > 0 {
		err := onto.Errorf(document.CommandFailed, "the command failed for %s", terminal.Count(n, "event", "events"))
		if t.buried > 0 {
			return err.WithHint("list the dead letters").WithCommand("events", "dead-letters")
		}
		return err.WithHint("they are handled again after a pause")
	}
	return nil
}
