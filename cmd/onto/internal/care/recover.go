package care

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
)

// Recover is the verb recover: the head of a lake, made again.
func Recover(c *session.Session) *cobra.Command {
	var apply bool
	var attempt string
	cmd := &cobra.Command{
		Use:   "recover",
		Short: "Make the head of a lake again",
		Long: `A lake is found by one object, meta/head.json. If that is lost, damaged, replaced
by an older one or by that of another store, this finds the newest head that the
other objects prove, and with --apply writes it. Nothing else is changed, and the
head only if it is still the one that was looked at.

A round of commits that a later one names was published for certain. Of the last
ones, which no other names, at most one was. If there are several, or if the head
that is there may be right, nothing tells which: they are listed, and --attempt
chooses one. Leases stay as their objects say.

Before this, end the programs that write to the lake.`,
		Example: `  onto recover --storage-uri s3://my-bucket/crm
  onto recover --storage-uri s3://my-bucket/crm --apply
  onto recover --storage-uri file:///var/lib/crm --attempt K7ZQ2M4N8P1R5S3T --apply`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return recoverHead(cmd.Context(), c, attempt, apply) },
	}
	cmd.Flags().BoolVar(&apply, "apply", false, "write the head")
	cmd.Flags().StringVar(&attempt, "attempt", "", "the last round is that of the `ATTEMPT`")
	return cmd
}

func recoverHead(ctx context.Context, c *session.Session, attempt string, apply bool) error {
	cfg, err := c.Configure()
	if err != nil {
		return err
	}
	loc := c.Place()
	if !loc.IsLake() {
		return c.Unsupported("recover", "has no head that could be lost", "name a lake with --storage-uri")
	}
	b, set, err := loc.Lake.Unopened(ctx, cfg)
	if err != nil {
		return err
	}
	if apply {
		c.Writes.Store(true)
	}
	plan, err := lake.RecoverHead(ctx, b, lakeOptions(set), attempt, apply)
	if plan != nil && onto.CodeOf(err) == onto.Refused { // the plan tells between what to choose
		if shown := printRecovery(c, plan, false); shown != nil {
			return shown
		}
		return onto.Errorf(onto.Refused, "%w", err).WithHint("choose one").WithCommand("recover", "--attempt", "ATTEMPT", "--apply")
	}
	if err != nil {
		return loc.Lake.Failed(err)
	}
	return printRecovery(c, plan, apply)
}

func printRecovery(c *session.Session, plan *lake.HeadRecovery, applied bool) error {
	doc := document.Recovery{Found: plan.Found, StoreID: plan.StoreID, Commit: plan.Commit, Attempt: plan.Attempt, Catalog: plan.Catalog,
		Rounds: []document.LastRound{}, Undecided: plan.Undecided, Damaged: plan.Damaged, Lost: plan.Lost, Applied: applied}
	for _, r := range plan.Last {
		doc.Rounds = append(doc.Rounds, document.LastRound{Attempt: r.Attempt, First: r.First, Commit: r.Commit, Time: r.Time, Runtime: document.OrNull(r.Runtime)})
	}
	if plan.Copy.Unfinished {
		doc.Copying = plan.Copy.Origin
	}
	if c.JSON {
		return c.Document(doc)
	}
	err := c.Pairs([][2]string{
		{"found", plan.Found},
		{"store id", plan.StoreID},
		{"newest", fmt.Sprintf("commit %d, of attempt %s", plan.Commit, plan.Attempt)},
		{"catalog", plan.Catalog},
	})
	if err != nil {
		return err
	}
	if plan.Lost > 0 {
		c.Say("warning: commits %d to %d are lost: the head that is there names them, and their manifest is gone", plan.Commit+1, plan.Commit+plan.Lost)
	}
	if plan.Copy.Unfinished {
		c.Say("warning: the lake has a part of a copy of store %s, up to commit %d; run the same copy again to complete it", plan.Copy.Origin, plan.Copy.Commit)
	}
	for _, key := range plan.Damaged {
		c.Say("warning: %s cannot be read, and its commits are lost if they were published", key)
	}
	switch {
	case applied:
		c.SayNext("the head was written; examine the lake", "doctor")
	case plan.Undecided:
		for _, r := range plan.Last {
			c.Say("it may have been the last: attempt %s, commits %d to %d at %s", r.Attempt, r.First, r.Commit, r.Time)
		}
		c.SayNext("nothing was changed; choose the last one", "recover", "--attempt", "ATTEMPT", "--apply")
	default:
		c.SayNext("nothing was changed; write the head", "recover", "--apply")
	}
	return nil
}
