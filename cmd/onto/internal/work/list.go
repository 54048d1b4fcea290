package work

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/work"
)

func listCommand(c *session.Session) *cobra.Command {
	s := selection{withStatus: true, limited: true}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List items, in the order in which they are fetched",
		Long: `List the items of the queue in the order in which they are fetched: lower priority
numbers first, then those that came first.`,
		Example: `  onto work list --status pending --limit 10
  onto work list --source docs --status failed
  onto work list --run-id nightly --json`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := s.query(cmd)
			if err != nil {
				return err
			}
			return with(c, cmd, place.Reading, func(ctx context.Context, queue *work.Queue) error {
				list := terminal.WorkItems(c.Printer)
				if err := session.Each(queue.Items(ctx, q), list.Add); err != nil {
					return err
				}
				return list.Close("no items")
			})
		},
	}
	s.register(c, cmd)
	return cmd
}

func inspectCommand(c *session.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "inspect ITEM",
		Short: "Show an item with all attempts at it",
		Long:  "Show all that is known about an item: its request, its status, and each attempt, with\nhow it ended and why.",
		Example: `  onto work inspect 6f1c1a52-3c58-4a0e-8d0a-0b1f5a1f9d11
  onto work inspect 6f1c1a52-3c58-4a0e-8d0a-0b1f5a1f9d11 --json`,
		Args: session.ArgCount(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return with(c, cmd, place.Reading, func(ctx context.Context, q *work.Queue) error {
				w, err := q.Item(ctx, args[0])
				if err != nil {
					return err
				}
				return printItem(c, w)
			})
		},
	}
}

func printItem(c *session.Session, w backend.WorkState) error {
	if c.JSON {
		return c.Document(document.NewInspectedWork(w))
	}
	err := c.Pairs([][2]string{
		{"item", w.ID},
		{"system", w.System},
		{"source", w.Source},
		{"type", w.Type},
		{"resource", w.Resource},
		{"request", w.Method + " " + w.URI},
		{"headers", string(w.Headers)},
		{"body", w.Body},
		{"metadata", string(w.Metadata)},
		{"priority", strconv.Itoa(w.Priority)},
		{"status", string(w.Status)},
		{"error", w.Error},
		{"run", w.Run},
		{"parent", w.Parent},
		{"depth", strconv.Itoa(w.Depth)},
		{"created", terminal.Time(w.Created)},
		{"updated", terminal.Time(w.Updated)},
		{"not before", terminal.Time(w.NotBefore)},
		{"worker", w.Owner},
		{"lease until", terminal.Time(w.Until)},
	})
	if err != nil {
		return err
	}
	missing := w.Attempt - len(w.Attempts)
	if len(w.Attempts) == 0 && missing > 0 {
		return c.Out.Line("%s not kept", terminal.Count(missing, "attempt is", "attempts are"))
	}
	if err := printAll(terminal.WorkAttempts(c.Printer), w.Attempts, "no attempt was made yet"); err != nil || missing == 0 {
		return err
	}
	c.Say("%s not kept", terminal.Count(missing, "earlier attempt is", "earlier attempts are"))
	return nil
}

func treeCommand(c *session.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "tree [ITEM]",
		Short: "Show what was discovered from what",
		Long: `Show an item, what was discovered in it, what was discovered in that, and so on. Each
item is shown where it was discovered first. Without an item, the trees of all items
that were added and not discovered.`,
		Example: `  onto work tree
  onto work tree 6f1c1a52-3c58-4a0e-8d0a-0b1f5a1f9d11 --json`,
		Args: session.ArgCount(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return with(c, cmd, place.Reading, func(ctx context.Context, q *work.Queue) error {
				list := terminal.Rows(c.Printer, append(terminal.WholeColumns("item", "status"), terminal.Columns("resource")...),
					func(n work.Node) document.WorkNode {
						return document.WorkNode{Level: n.Level, WorkItem: document.NewWorkItem(n.WorkState)}
					},
					func(n work.Node) ([]string, error) {
						return []string{n.ID, string(n.Status), strings.Repeat("  ", n.Level) + n.Resource}, nil
					})
				id := ""
				if len(args) > 0 {
					id = args[0]
				}
				if err := session.Each(q.Tree(ctx, id), list.Add); err != nil {
					return err
				}
				return list.Close("no items")
			})
		},
	}
}
