package ask

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/store"
)

func factsCommand(c *session.Session) *cobra.Command {
	q := queryFlags{kind: onto.KindFact}
	cmd := &cobra.Command{
		Use:   "facts TYPE",
		Short: "List the facts of a type that hold",
		Long: `List the facts of a type that speak, by subject, attribute and id. Of the facts on one
attribute of a subject that hold at a time, the one that was asserted last speaks; on an
attribute with many values, all of them do.

There are two times. --as-of says when: what was believed then. --valid-at says about
which time: what held then, as far as is believed. Without either both are now. --as-of
alone sets both; with a commit the second is the time of the commit.

With --during, list all facts that speak at some moment of a period. With --every, list
all that are believed, whether they speak or not. --where is about the facts that speak:
the value is called as its attribute is, and left.$ is the subject. How filters are
written: onto query --help

With --with-history, list all versions instead, by commit: what was asserted, revoked,
and, as deletes, what was retracted.

With --limit, the message on stderr tells the cursor of the next page. A cursor remembers
both times. With --page, the answer is one JSON document with the cursor in it, null at
the end.`,
		Example: `  onto query facts Contract
  onto query facts Contract --subject ada --attribute salary --valid-at 2026-05-01
  onto query facts Contract --as-of 12 --valid-at 2026-05-01
  onto query facts Contract --during 2026-01-01..2026-07-01 --where '$.salary > 4000'
  onto query facts Contract --where 'left.$.tier == "Gold"' --count
  onto query facts Contract --subject ada --every --format csv
  onto query facts Contract --limit 100 --cursor CURSOR
  onto query facts Contract --history-since 40 --json`,
		Args:              session.ArgCount(1),
		ValidArgsFunction: session.CompleteType(c, onto.KindFact),
		RunE:              func(cmd *cobra.Command, args []string) error { return queryFacts(c, cmd, &q, args[0]) },
	}
	q.registerShared(cmd)
	flags := cmd.Flags()
	flags.StringArrayVar(&q.left, "subject", nil, "only facts about this `SUBJECT`; may be repeated")
	flags.StringArrayVar(&q.right, "attribute", nil, "only facts on this `ATTRIBUTE`; may be repeated")
	flags.StringVar(&q.validAt, "valid-at", "", "what holds at this `TIME`: a date or a time, in UTC unless it says otherwise")
	flags.StringVar(&q.during, "during", "", "what holds at some time of a period, as `FROM..UNTIL`; either may be left out")
	flags.BoolVar(&q.every, "every", false, "all that are believed, whether they speak or not")
	flags.BoolVar(&q.count, "count", false, "only how many there are")
	q.registerPages(cmd)
	flags.BoolVar(&q.history, "with-history", false, "all versions, not only the present ones")
	flags.Int64Var(&q.since, "history-since", 0, "only versions made after commit `ID`; implies --with-history")
	return cmd
}

func queryFacts(c *session.Session, cmd *cobra.Command, q *queryFlags, name string) error {
	q.history = q.history || cmd.Flags().Changed("history-since")
	a, err := readQuery(c, cmd, q, name)
	if err == nil {
		err = q.checkFacts(cmd)
	}
	if err != nil {
		return err
	}
	ask, err := q.times()
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	return c.WithStore(ctx, place.Reading, func(s *store.Store) error {
		shape, err := newShape(a.view(s), q.kind, name, q.history)
		if err != nil {
			return err
		}
		if err := a.check(s, shape.schema, nil); err != nil {
			return err
		}
		if q.history {
			return queryVersions(ctx, c, s, shape, a)
		}
		facts := ask(a.view(s), name).About(q.left...).Attribute(q.right...).Where(a.where...)
		if q.every {
			facts = facts.Every()
		}
		if q.count {
			n, err := facts.Count(ctx)
			return count(c, n, err, a.format)
		}
		return listFacts(ctx, c, shape.schema, facts, a)
	})
}

// checkFacts refuses flags that contradict each other.
func (q *queryFlags) checkFacts(cmd *cobra.Command) error {
	changed := cmd.Flags().Changed
	switch {
	case q.validAt != "" && q.during != "":
		return onto.Errorf(onto.Invalid, "--valid-at and --during contradict each other").WithHint("give one of them")
	case q.every && q.validAt != "":
		return onto.Errorf(onto.Invalid, "--every lists facts of any time, so --valid-at does not go with it").WithHint("give one of them, or --during")
	case q.history && (q.validAt != "" || q.during != "" || q.every || q.count):
		return onto.Errorf(onto.Invalid, "--with-history lists versions, of facts for any time").WithHint("leave out --valid-at, --during, --every and --count")
	case q.count && (changed("limit") || q.cursor != ""):
		return onto.Errorf(onto.Invalid, "--count counts all, so --limit and --cursor do not go with it").WithHint("leave them out")
	}
	return session.NotNegative("history-since", q.since)
}

// times reads which time a question about facts is about.
func (q *queryFlags) times() (func(store.View, string) store.Facts, error) {
	if q.during != "" {
		from, until, err := session.ParseSpan("during", q.during)
		return func(v store.View, typ string) store.Facts { return v.Facts(typ).During(from, until) }, err
	}
	at, err := session.ParseTime("valid-at", q.validAt)
	return func(v store.View, typ string) store.Facts {
		if !at.IsZero() {
			v = v.ValidAt(at)
		}
		return v.Facts(typ)
	}, err
}

// listFacts prints facts of a type: all, or a page of them.
func listFacts(ctx context.Context, c *session.Session, typ onto.Schema, facts store.Facts, a asked) error {
	out := terminal.Facts(c.Printer, a.format, typ)
	if a.end != nil {
		out.Paged(a.end)
	}
	page, err := store.Page[onto.Fact]{}, error(nil)
	if a.limit == 0 {
		err = session.Each(facts.After(a.cursor).All(ctx), out.Add)
	} else if page, err = facts.After(a.cursor).Limit(a.limit).Page(ctx); err == nil {
		for _, f := range page.Items {
			if err := out.Add(f); err != nil {
				return err
			}
		}
	}
	if err != nil {
		return err
	}
	none := "no " + a.name
	if !a.every && a.during == "" {
		none += " holds; add --every to list all that are believed"
	}
	return a.endWith(c, page.Next, func() error { return out.Close(none) })
}

// count prints how many there are.
func count(c *session.Session, n int64, err error, f terminal.Format) error {
	switch {
	case err != nil:
		return err
	case f == terminal.FormatJSON, f == terminal.FormatJSONL:
		return c.Document(document.Count{Count: n})
	}
	return c.Out.Line("%d", n)
}
