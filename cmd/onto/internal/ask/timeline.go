package ask

import (
	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/store"
)

// Timeline is the verb timeline: what holds when.
func Timeline(c *session.Session) *cobra.Command {
	q := queryFlags{kind: onto.KindFact}
	var gaps bool
	cmd := &cobra.Command{
		Use:   "timeline TYPE SUBJECT [ATTRIBUTE]",
		Short: "Show what holds about a subject, from when until when",
		Long: `Show what holds about a subject, attribute by attribute in order of time: each row is a
time for which one fact speaks, and its value. A bound that is open has no end in that
direction. An attribute with many values has a row for each of its facts.

With --gaps there are also rows for the times about which nothing is known, between the
first and the last row of an attribute; with --during in all of the period.

--as-of shows the timeline as it was believed at an earlier moment.`,
		Example: `  onto timeline Contract ada
  onto timeline Contract ada salary --gaps
  onto timeline Contract ada salary --during 2026-01-01..2027-01-01 --gaps --json
  onto timeline Contract ada --as-of 12`,
		Args:              session.ArgCount(2, 3),
		ValidArgsFunction: session.CompleteFact(c),
		RunE:              func(cmd *cobra.Command, args []string) error { return timeline(c, cmd, &q, args, gaps) },
	}
	flags := cmd.Flags()
	flags.StringVar(&q.during, "during", "", "only this period, as `FROM..UNTIL`; either may be left out")
	flags.BoolVar(&gaps, "gaps", false, "also the times about which nothing is known")
	flags.StringVar(&q.asOf, "as-of", "", session.MomentUsage)
	flags.StringVar(&q.format, "format", "", "the `FORMAT`: table, json, jsonl or csv (default table)")
	return cmd
}

func timeline(c *session.Session, cmd *cobra.Command, q *queryFlags, args []string, gaps bool) error {
	typ, subject := args[0], args[1]
	a, err := readQuery(c, cmd, q, typ)
	if err != nil {
		return err
	}
	ask, err := q.times()
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	return c.WithStore(ctx, place.Reading, func(s *store.Store) error {
		shape, err := newShape(a.view(s), onto.KindFact, typ, false)
		if err != nil {
			return err
		}
		facts := ask(a.view(s), typ).About(subject).Attribute(args[2:]...)
		if gaps {
			facts = facts.Gaps()
		}
		out := terminal.Timeline(c.Printer, a.format, shape.schema)
		if err := session.Each(facts.Timeline(ctx), out.Add); err != nil {
			return err
		}
		return out.Close("no " + typ + " about " + subject)
	})
}
