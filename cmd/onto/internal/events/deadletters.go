package events

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/bus"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
)

// selection is dead letters, as they were typed.
type selection struct {
	scope
	handler, typ, err, event string
}

func (s *selection) register(c *session.Session, cmd *cobra.Command) {
	s.scope.register(c, cmd)
	flags := cmd.Flags()
	flags.StringVar(&s.handler, "handler", "", "only those of the handler `NAME`")
	flags.StringVar(&s.typ, "event-type", "", "only those of events of this `TYPE`")
	flags.StringVar(&s.err, "error", "", "only those whose error contains this `TEXT`")
	flags.StringVar(&s.event, "event-id", "", "only those of the event with this `ID`")
	complete(c, cmd, "handler", handlersOf)
	complete(c, cmd, "event-type", typesOf)
}

// query is the backend's form of the selection.
func (s *selection) query() *backend.DeadLetterQuery {
	return &backend.DeadLetterQuery{Namespace: s.name, Handler: s.handler, Type: s.typ, Error: s.err, EventID: s.event}
}

// checkNames refuses names that nothing can have.
func (s *selection) checkNames() error {
	for _, n := range []struct{ what, name string }{{"handler", s.handler}, {"event type", s.typ}} {
		if n.name == "" {
			continue
		}
		if err := onto.CheckBusName(n.what, n.name); err != nil {
			return err
		}
	}
	return nil
}

// words is the flags that make the selection, as they can be given again.
func (s *selection) words(cmd *cobra.Command) []string {
	var words []string
	for _, name := range []string{"namespace", "handler", "event-type", "error", "event-id", "all", "actor"} {
		switch flag := cmd.Flag(name); {
		case flag == nil || !flag.Changed:
		case flag.Value.Type() == "bool":
			words = append(words, "--"+name)
		default:
			words = append(words, "--"+name, flag.Value.String())
		}
	}
	return words
}

func deadLettersCommand(c *session.Session) *cobra.Command {
	var s selection
	var count, all bool
	var limit int
	cmd := &cobra.Command{
		Use:   "dead-letters",
		Short: "List the events that handlers have given up",
		Long: `List the dead letters of a namespace, oldest first: events that a handler has given
up after as many attempts as it may make, with its last error. They stay until they
are replayed or dropped; with --all, also those about which that was done.`,
		Example: `  onto events dead-letters
  onto events dead-letters --handler mail --error "connection refused"
  onto events dead-letters --event-type OrderPaid --count
  onto events dead-letters --all --limit 20 --json`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkLimit(cmd, limit); err != nil {
				return err
			}
			if err := s.checkNames(); err != nil {
				return err
			}
			return s.with(c, cmd, place.Reading, func(ctx context.Context, b *bus.Bus) error {
				q := s.query()
				q.Resolved, q.Limit = all, limit
				if count {
					return countDeadLetters(ctx, c, &s, b, q)
				}
				return listDeadLetters(ctx, c, &s, b, q)
			})
		},
	}
	s.register(c, cmd)
	flags := cmd.Flags()
	flags.BoolVar(&count, "count", false, "only say how many there are")
	flags.BoolVar(&all, "all", false, "also those that were replayed or dropped")
	flags.IntVar(&limit, "limit", 0, "at most `N`")
	return cmd
}

func countDeadLetters(ctx context.Context, c *session.Session, s *selection, b *bus.Bus, q *backend.DeadLetterQuery) error {
	n, err := b.CountDeadLetters(ctx, q)
	if err == nil && n == 0 {
		err = s.check(ctx, b)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return c.Document(document.Count{Count: n})
	}
	return c.Out.Line("%d", n)
}

func listDeadLetters(ctx context.Context, c *session.Session, s *selection, b *bus.Bus, q *backend.DeadLetterQuery) error {
	list := terminal.DeadLetters(c.Printer, q.Resolved)
	if err := session.Each(b.DeadLetters(ctx, q), list.Add); err != nil {
		return err
	}
	if list.N == 0 {
		if err := s.check(ctx, b); err != nil {
			return err
		}
	}
	return list.Close("no dead letters in namespace " + s.name)
}

// resolveFlags is what it takes to do something about dead letters.
type resolveFlags struct {
	selection
	actor      string
	all, apply bool
}

func (f *resolveFlags) register(c *session.Session, cmd *cobra.Command, apply string) {
	f.selection.register(c, cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.actor, "actor", "", "on whose behalf, as `KIND:ID` with operator, component, daemon or remote; it is recorded")
	flags.BoolVar(&f.all, "all", false, "all dead letters of the namespace")
	flags.BoolVar(&f.apply, "apply", false, apply)
}

// check refuses flags that select nothing, and reads the actor.
func (f *resolveFlags) check(cmd *cobra.Command) (by onto.Actor, err error) {
	chosen := false
	for _, name := range []string{"handler", "event-type", "error", "event-id"} {
		chosen = chosen || cmd.Flags().Changed(name)
	}
	switch {
	case chosen && f.all:
		return by, onto.Errorf(onto.Invalid, "--all goes with no other selection").WithHint("leave it out")
	case !chosen && !f.all:
		return by, onto.Errorf(onto.Invalid, "it is not said which dead letters").
			WithHint("give --event-id, --handler, --event-type or --error, or --all")
	}
	if cmd.Flags().Changed("actor") {
		if by, err = onto.ParseActor(f.actor); err != nil {
			return by, err
		}
	}
	return by, f.checkNames()
}

// access is what the verb does with the store.
func (f *resolveFlags) access() place.Access {
	if f.apply {
		return place.Writing
	}
	return place.Reading
}
