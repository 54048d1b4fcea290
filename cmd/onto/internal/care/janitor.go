package care

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/terminal"
)

// Janitor is the verb janitor: orphans of a lake.
func Janitor(c *session.Session) *cobra.Command {
	var apply bool
	var grace time.Duration
	cmd := &cobra.Command{
		Use:   "janitor",
		Short: "Remove what nothing in a lake leads to any more",
		Long: `List the objects of a lake that nothing leads to: attempts to commit that lost
against another, or whose writer was killed, abandon them, a compaction leaves
files behind that it has replaced, and a type that was purged leaves its own. They
are harmless and only take room. With --apply they are removed, after making sure
once more that nothing leads to them. Objects younger than the grace period stay,
since an attempt may be under way; age is by the bucket's own clock. Objects that
this store has not written are counted, and stay.`,
		Example: `  onto janitor --storage-uri s3://my-bucket/crm
  onto janitor --grace 24h --json --storage-uri s3://my-bucket/crm
  onto janitor --apply --storage-uri file:///var/lib/crm`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if grace <= 0 {
				return onto.Errorf(onto.Invalid, "a grace period of %v is none", grace).WithHint("give a length of time such as 1h")
			}
			return janitor(cmd.Context(), c, grace, apply)
		},
	}
	cmd.Flags().BoolVar(&apply, "apply", false, "remove them")
	cmd.Flags().DurationVar(&grace, "grace", lake.DefaultGrace, "spare what is younger than `TIME`, such as 90m or 24h")
	cmd.Flags().Lookup("grace").DefValue = showDuration(lake.DefaultGrace)
	return cmd
}

// showDuration is a length of time for people: 1h, and not 1h0m0s.
func showDuration(d time.Duration) string {
	text := d.String()
	for _, unit := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, unit) {
			text = text[:len(text)-len("0s")]
		}
	}
	return text
}

func janitor(ctx context.Context, c *session.Session, grace time.Duration, apply bool) error {
	return withLake(ctx, c, "janitor", "has no objects that writers could leave behind", whether(apply), func(s backend.Sweeper) error {
		plan, err := s.PlanJanitor(ctx, grace)
		if err != nil {
			return err
		}
		doc := document.Janitor{Orphans: []document.Orphan{}, Bytes: plan.Bytes, Applied: apply}
		for _, o := range plan.Orphans {
			doc.Orphans = append(doc.Orphans, document.Orphan{Object: o.Key, Reason: o.Reason, Age: int64(o.Age / time.Second), Bytes: o.Size})
		}
		for _, f := range plan.Foreign {
			doc.Foreign = append(doc.Foreign, document.Foreign{Object: f.Key, Reason: f.Reason, Bytes: f.Size})
		}
		if apply && len(plan.Orphans) > 0 {
			if doc.Removed, err = s.Sweep(ctx, plan); err != nil {
				return onto.Errorf(onto.Unavailable, "%d of %s removed: %w", doc.Removed, terminal.Count(len(plan.Orphans), "object", "objects"), err).
					WithHint("what is left is harmless; try again later")
			}
		}
		return printJanitor(c, doc, grace)
	})
}

func printJanitor(c *session.Session, doc document.Janitor, grace time.Duration) error {
	if c.JSON {
		return c.Document(doc)
	}
	if n := len(doc.Foreign); n > 0 {
		first := doc.Foreign[0]
		c.Say("%s that this store has not written %s left alone, the first of which is %s: %s",
			terminal.Count(n, "object", "objects"), map[bool]string{true: "is", false: "are"}[n == 1], first.Object, first.Reason)
	}
	out := terminal.Rows(c.Printer, terminal.WholeColumns("key", "reason", "age", "bytes"), terminal.Itself, orphanCells)
	for _, r := range doc.Orphans {
		if err := out.Add(r); err != nil {
			return err
		}
	}
	if err := out.Close("nothing older than " + showDuration(grace) + " is left behind"); err != nil || len(doc.Orphans) == 0 {
		return err
	}
	total := terminal.Count(len(doc.Orphans), "object", "objects") + ", " + terminal.Bytes(doc.Bytes)
	if doc.Applied {
		c.Say("removed %d of %s", doc.Removed, total)
		return nil
	}
	c.SayNext(total+"; remove them", "janitor", "--apply")
	return nil
}

func orphanCells(o document.Orphan) ([]string, error) {
	return []string{o.Object, o.Reason, showDuration(time.Duration(o.Age) * time.Second), strconv.FormatInt(o.Bytes, 10)}, nil
}
