package events

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/bus"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
)

func inspectCommand(c *session.Session) *cobra.Command {
	var s scope
	var id string
	cmd := &cobra.Command{
		Use:   "inspect --event-id ID",
		Short: "Show one event and what each handler has made of it",
		Long: `Show everything that is known about one event: what it says, where it comes from,
and for each handler whether it has handled it, how often it has failed, and why.`,
		Example: `  onto events inspect --event-id 0197f3a1-7d5e-7cc2-b0a4-3f6f4f5a2b10
  onto events inspect --event-id 0197f3a1-7d5e-7cc2-b0a4-3f6f4f5a2b10 --json`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := required("event-id", id); err != nil {
				return err
			}
			return s.with(c, cmd, place.Reading, func(ctx context.Context, b *bus.Bus) error {
				e, err := s.find(ctx, b, id)
				if err != nil {
					return err
				}
				return printEvent(c, e)
			})
		},
	}
	s.register(c, cmd)
	cmd.Flags().StringVar(&id, "event-id", "", "the event with this `ID`")
	return cmd
}

// find returns an event. If a namespace was named, it must be in that.
func (s *scope) find(ctx context.Context, b *bus.Bus, id string) (backend.EventState, error) {
	e, err := b.Event(ctx, id)
	if err == nil && s.given && e.Namespace != s.name {
		return e, onto.Errorf(onto.NotFound, "event %s is in namespace %s, not in %s", id, e.Namespace, s.name)
	}
	return e, err
}

func printEvent(c *session.Session, e backend.EventState) error {
	if c.JSON {
		return c.Document(document.NewInspectedEvent(e))
	}
	commit := ""
	if e.Commit != 0 {
		commit = strconv.FormatInt(e.Commit, 10)
	}
	root := e.Root
	if root == e.ID {
		root = ""
	}
	err := c.Pairs([][2]string{
		{"event", e.ID},
		{"type", e.Type},
		{"namespace", e.Namespace},
		{"status", string(e.Status)},
		{"time", terminal.Time(e.Time)},
		{"priority", strconv.Itoa(e.Priority)},
		{"key", e.OrderingKey},
		{"not before", terminal.Time(e.NotBefore)},
		{"commit", commit},
		{"parent", e.Parent},
		{"root", root},
		{"replay of", e.ReplayOf},
		{"payload", string(e.Payload)},
	})
	if err != nil {
		return err
	}
	list := terminal.Claims(c.Printer)
	for _, claim := range e.Claims {
		if err := list.Add(claim); err != nil {
			return err
		}
	}
	return list.Close("no handler has claimed it yet")
}
