package ask

import (
	"context"
	"iter"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/store"
)

// Diff is the verb diff: what changed between two moments.
func Diff(c *session.Session) *cobra.Command {
	var typ, where string
	var asStored bool
	cmd := &cobra.Command{
		Use:   "diff FROM TO",
		Short: "Show what changed between two moments",
		Long: `Show what differs between two moments, the earlier first. A moment is a commit
id, head, a date or a time, in UTC unless it says otherwise. What changed and
changed back does not differ, and neither does what only a migration changed:
both moments are shown as the present types have them, or with --as-stored as
they were written.

--where, which needs --type, shows only what the filter is true for before or
after. How filters are written: onto query --help`,
		Example: `  onto diff 12 head
  onto diff 2026-02-01 2026-03-01 --type Customer --where '$.tier == "Gold"'
  onto diff 0 1 --json`,
		Args: session.ArgCount(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return diff(cmd.Context(), c, args[0], args[1], store.DiffOptions{Type: typ, AsStored: asStored}, where)
		},
	}
	cmd.Flags().StringVar(&typ, "type", "", "only this `TYPE`")
	cmd.Flags().StringVar(&where, "where", "", "only what this `FILTER` is true for before or after; needs --type")
	cmd.Flags().BoolVar(&asStored, "as-stored", false, session.AsStoredUsage)
	return cmd
}

func diff(ctx context.Context, c *session.Session, first, second string, q store.DiffOptions, where string) error {
	from, err := session.ParsePoint(first)
	if err != nil {
		return err
	}
	to, err := session.ParsePoint(second)
	if err != nil {
		return err
	}
	q.From, q.To = from, to
	if where != "" {
		if q.Where, err = parseWhere(where); err != nil {
			return err
		}
		if q.Type == "" {
			return onto.Errorf(onto.Invalid, "--where needs --type").WithHint("say which type the filter is about")
		}
	}
	return c.WithStore(ctx, place.Reading, func(s *store.Store) error {
		changes := s.Diff(ctx, q)
		if !c.JSON {
			return printChanges(c, changes)
		}
		out := c.Array()
		if err := session.Each(changes, func(change onto.Change) error { return out.Add(document.NewDifference(change)) }); err != nil {
			return err
		}
		return out.Close()
	})
}

// printChanges prints changes for people: what was added, what was removed, and the
// fields that changed.
func printChanges(c *session.Session, changes iter.Seq2[onto.Change, error]) error {
	none := true
	err := session.Each(changes, func(change onto.Change) error {
		none = false
		return terminal.PrintChange(c.Out, change)
	})
	if err == nil && none {
		c.Say("no differences")
	}
	return err
}
