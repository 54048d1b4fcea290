package events

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/bus"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
)

func sessionsCommand(c *session.Session) *cobra.Command {
	var s scope
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "List the programs that handle events",
		Long: `List the runs of programs that handle events of a namespace. One that has given no
sign of life for longer than the setting session_ttl_ms is dead: it has ended without
saying so. What it was handling is handled by others when its claims have run out.`,
		Example: `  onto events sessions
  onto events sessions --namespace shop --json`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.with(c, cmd, place.Reading, func(ctx context.Context, b *bus.Bus) error { return listSessions(ctx, c, &s, b) })
		},
	}
	s.register(c, cmd)
	return cmd
}

func listSessions(ctx context.Context, c *session.Session, s *scope, b *bus.Bus) error {
	all, err := b.Namespaces(ctx)
	if err != nil {
		return err
	}
	dead := map[string]bool{}
	columns := append(terminal.WholeColumns("session", "started", "last beat", "state"), terminal.Columns("metadata")...)
	list := terminal.Rows(c.Printer, columns,
		func(x onto.Session) document.Session { return document.NewSession(x, dead[x.ID]) },
		func(x onto.Session) ([]string, error) {
			state := map[bool]string{true: "dead", false: "alive"}[dead[x.ID]]
			return []string{x.ID, terminal.Time(x.Started), terminal.Time(x.Beat), state, string(x.Metadata)}, nil
		})
	for _, n := range all {
		if n.Name != s.name {
			continue
		}
		for _, x := range n.Dead {
			dead[x.ID] = true
		}
		known := slices.Concat(n.Sessions, n.Dead)
		slices.SortFunc(known, func(x, y onto.Session) int { return strings.Compare(x.ID, y.ID) })
		for _, x := range known {
			if err := list.Add(x); err != nil {
				return err
			}
		}
	}
	if list.N == 0 {
		if err := s.check(ctx, b); err != nil {
			return err
		}
	}
	return list.Close("no sessions in namespace " + s.name)
}
