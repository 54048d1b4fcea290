package events

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto/bus"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
)

func namespacesCommand(c *session.Session) *cobra.Command {
	var s scope // the flag is not offered: all of them are listed
	return &cobra.Command{
		Use:   "list-namespaces",
		Short: "List the namespaces of events",
		Long: `List the namespaces with how many events, sessions and unresolved dead letters each
has. A session that is dead, as sessions shows, does not count. Handlers only get
events of their own namespace.`,
		Example: `  onto events list-namespaces
  onto events list-namespaces --json`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.with(c, cmd, place.Reading, func(ctx context.Context, b *bus.Bus) error {
				all, err := b.Namespaces(ctx)
				if err != nil {
					return err
				}
				list := terminal.Namespaces(c.Printer)
				for _, n := range all {
					if err := list.Add(n); err != nil {
						return err
					}
				}
				return list.Close("no namespaces: no event was emitted yet")
			})
		},
	}
}
