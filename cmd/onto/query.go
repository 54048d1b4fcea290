package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// queryFlags is what a query asks for.
type queryFlags struct {
	limit        int
	cursor, asOf string
	history      bool
	since        int64
	format       string
	kind         onto.Kind
	point        onto.Point
	resolved     format
}

func (c *command) queryCommand() *cobra.Command {
	return group("query", "Ask for entities or relations", `  onto query entities Customer
  onto query relations Subscription --as-of 2026-02-10T12:00:00Z --json`,
		c.queryKindCommand(onto.KindEntity, "entities", "Customer"),
		c.queryKindCommand(onto.KindRelation, "relations", "Subscription"))
}

func (c *command) queryKindCommand(kind onto.Kind, name, example string) *cobra.Command {
	q := queryFlags{kind: kind}
	cmd := &cobra.Command{
		Use:   name + " TYPE",
		Short: "List the " + name + " of a type",
		Long: `List the ` + name + ` of a type, now or as of an earlier moment, in order of identity.
With --with-history, list all their versions instead, deletes included, by commit.

With --limit, the message on stderr tells the cursor of the next page. A cursor
remembers its moment: pages fit together whatever is committed meanwhile. A
history is cut only at the end of a commit, so it may print more than the limit;
the message tells the --history-since to go on with.`,
		Example: `  onto query ` + name + ` ` + example + `
  onto query ` + name + ` ` + example + ` --as-of 12
  onto query ` + name + ` ` + example + ` --limit 100 --cursor CURSOR
  onto query ` + name + ` ` + example + ` --history-since 40 --format csv`,
		Args:              argCount(1),
		ValidArgsFunction: c.completeType(kind),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.query(cmd, q, args[0]) },
	}
	flags := cmd.Flags()
	flags.IntVar(&q.limit, "limit", 0, "print at most `N`; of a history, up to the end of the commit that reaches N")
	flags.StringVar(&q.cursor, "cursor", "", "go on where a page ended")
	flags.StringVar(&q.asOf, "as-of", "", "the moment: a commit `ID` or a time")
	flags.BoolVar(&q.history, "with-history", false, "all versions, not only the present ones")
	flags.Int64Var(&q.since, "history-since", 0, "only versions made after commit `ID`; implies --with-history")
	flags.StringVar(&q.format, "format", "", "table, json, jsonl or csv (default table)")
	return cmd
}

func (c *command) query(cmd *cobra.Command, q queryFlags, name string) error {
	var err error
	if q.resolved, err = c.format(q.format); err != nil {
		return err
	}
	if q.asOf != "" {
		if q.point, err = parsePoint(q.asOf); err != nil {
			return err
		}
	}
	q.history = q.history || cmd.Flags().Changed("history-since")
	if q.limit < 0 || q.limit == 0 && cmd.Flags().Changed("limit") {
		return onto.Errorf(onto.Invalid, "--limit %d is too small", q.limit).WithHint("leave it out to get everything")
	}
	if err := notNegative("history-since", q.since); err != nil {
		return err
	}
	if q.history && q.cursor != "" {
		return onto.Errorf(onto.Invalid, "--cursor does not go with a history").WithHint("go on with --history-since COMMIT")
	}
	return c.withStore(cmd.Context(), reading, func(s *store.Store) error {
		return c.answer(cmd.Context(), s, q, name)
	})
}

// answer prints what the query asks for.
func (c *command) answer(ctx context.Context, s *store.Store, q queryFlags, name string) error {
	shape, err := newShape(s, q.kind, name, q.history)
	if err != nil {
		return err
	}
	out := c.list(q.resolved, shape.columns)
	switch {
	case q.history:
		err = c.queryHistory(ctx, s, q, shape, out)
	case q.limit > 0:
		err = c.queryPage(ctx, s, q, shape, out)
	default:
		err = queryAll(ctx, s, q, shape, out)
	}
	if err != nil {
		return err
	}
	return out.close("no " + name)
}

func (q queryFlags) find(s *store.Store, shape *shape) store.Query {
	return s.View(q.point).FindKind(q.kind, shape.schema.Name).After(q.cursor)
}

func queryAll(ctx context.Context, s *store.Store, q queryFlags, shape *shape, out *list) error {
	return each(q.find(s, shape).All(ctx), func(v onto.Version) error { return out.add(shape.row(v)) })
}

func (c *command) queryPage(ctx context.Context, s *store.Store, q queryFlags, shape *shape, out *list) error {
	page, err := q.find(s, shape).Limit(q.limit).Page(ctx)
	if err != nil {
		return err
	}
	for _, v := range page.Items {
		if err := out.add(shape.row(v)); err != nil {
			return err
		}
	}
	if page.Next != "" {
		c.say("more: --cursor %s", page.Next)
	}
	return nil
}

// queryHistory prints versions up to the moment asked for. It stops only
// between commits, where going on neither loses nor repeats a version.
func (c *command) queryHistory(ctx context.Context, s *store.Store, q queryFlags, shape *shape, out *list) error {
	ask := store.HistoryQuery{Kind: q.kind, Type: shape.schema.Name, Since: q.since, Until: q.point}
	last := q.since
	for e, err := range s.Versions(ctx, ask) {
		if err != nil {
			return err
		}
		if q.limit > 0 && out.n >= q.limit && e.Version.Commit != last {
			c.say("more: --history-since %d", last)
			return nil
		}
		if err := out.add(shape.row(e.Version)); err != nil {
			return err
		}
		last = e.Version.Commit
	}
	return nil
}
