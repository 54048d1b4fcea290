package events

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/bus"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
)

// showFlags is the events to list, as they were typed.
type showFlags struct {
	scope
	types  []string
	status string
	limit  int
}

func showCommand(c *session.Session) *cobra.Command {
	var f showFlags
	cmd := &cobra.Command{
		Use:   "show",
		Short: "List events, in the order in which they are handled",
		Long: `List the events of a namespace in the order in which they are handled: higher
priority first, then as they came. The status is the first of these that is true for
any handler: dead_lettered, acked, claimed, and otherwise pending.`,
		Example: `  onto events show
  onto events show --namespace shop --type OrderPaid --status pending
  onto events show --limit 10 --json`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return show(c, cmd, &f) },
	}
	f.register(c, cmd)
	flags := cmd.Flags()
	flags.StringArrayVar(&f.types, "type", nil, "only events of this `TYPE`; may be repeated")
	flags.StringVar(&f.status, "status", "", "only those of this `STATUS`: pending, claimed, acked or dead_lettered")
	flags.IntVar(&f.limit, "limit", 0, "at most `N`")
	complete(c, cmd, "type", typesOf)
	return cmd
}

func show(c *session.Session, cmd *cobra.Command, f *showFlags) error {
	if err := checkLimit(cmd, f.limit); err != nil {
		return err
	}
	switch status := onto.EventStatus(f.status); status {
	case "", onto.EventPending, onto.EventClaimed, onto.EventAcked, onto.EventDead:
	default:
		return onto.Errorf(onto.Invalid, "status %q is unknown", f.status).WithHint("use pending, claimed, acked or dead_lettered")
	}
	for _, t := range f.types {
		if err := onto.CheckBusName("event type", t); err != nil {
			return err
		}
	}
	return f.with(c, cmd, place.Reading, func(ctx context.Context, b *bus.Bus) error {
		list := terminal.Events(c.Printer)
		q := &backend.EventQuery{Namespace: f.name, Types: f.types, Status: onto.EventStatus(f.status), Limit: f.limit}
		if err := session.Each(b.Events(ctx, q), list.Add); err != nil {
			return err
		}
		if list.N == 0 {
			if err := f.check(ctx, b); err != nil {
				return err
			}
		}
		return list.Close("no events in namespace " + f.name)
	})
}
