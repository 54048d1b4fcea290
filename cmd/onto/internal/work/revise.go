package work

import (
	"context"
	"reflect"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/work"
)

// revision is a verb that changes what has become of items.
type revision struct {
	name   string
	done   string // what the verb did
	always bool   // works without a selection
	from   []onto.WorkStatus
	do     func(*work.Queue, context.Context, work.Revision) (int64, error)
}

// reviseFlags is a revision, as it was typed.
type reviseFlags struct {
	selection
	actor, reason string
	all, apply    bool
}

func retryCommand(c *session.Session) *cobra.Command {
	return reviseCommand(c, revision{"retry", "to be tried again", true, []onto.WorkStatus{onto.WorkFailed}, (*work.Queue).Retry}, &cobra.Command{
		Short: "Try failed items again",
		Long: `Retry makes failed items pending, all or those that were selected, so that the next
run fetches them. Without --apply it only tells how many there are.`,
		Example: `  onto work retry
  onto work retry --source docs --error "connection refused" --apply --actor operator:ana --reason "the site is back"`,
	})
}

func skipCommand(c *session.Session) *cobra.Command {
	return reviseCommand(c, revision{"skip", "skipped", false, []onto.WorkStatus{onto.WorkPending, onto.WorkFailed}, (*work.Queue).Skip}, &cobra.Command{
		Short: "Skip items, so that they are not fetched",
		Long: `Skip marks pending and failed items as skipped: no run fetches them, until recrawl
makes them pending. Without --apply it only tells how many there are.`,
		Example: `  onto work skip --source old --reason "the site is gone"
  onto work skip --item 6f1c1a52-3c58-4a0e-8d0a-0b1f5a1f9d11 --apply`,
	})
}

func recrawlCommand(c *session.Session) *cobra.Command {
	return reviseCommand(c, revision{"recrawl", "to be fetched again", false, []onto.WorkStatus{onto.WorkCompleted, onto.WorkFailed, onto.WorkSkipped}, (*work.Queue).Recrawl}, &cobra.Command{
		Short: "Fetch items again that were fetched, failed or skipped",
		Long: `Recrawl makes items pending that were completed, failed or skipped, so that the next
run fetches them. A server is asked only for what has changed since, if it can tell.
Without --apply it only tells how many there are.`,
		Example: `  onto work recrawl --source docs
  onto work recrawl --all --apply --reason "weekly" && onto work run --into Page`,
	})
}

// reviseCommand completes the command of a revision.
func reviseCommand(c *session.Session, r revision, cmd *cobra.Command) *cobra.Command {
	f := reviseFlags{selection: selection{withStatus: len(r.from) > 1, byID: true}}
	cmd.Use = r.name
	cmd.Long += `

Each item that is changed keeps an attempt that tells who did it and why. Items that a
worker holds are left alone.`
	cmd.Args = session.ArgCount(0)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return revise(c, cmd, &f, &r) }
	f.register(c, cmd)
	flags := cmd.Flags()
	if !r.always {
		flags.BoolVar(&f.all, "all", false, "all items")
	}
	flags.StringVar(&f.actor, "actor", "", "on whose behalf, as `KIND:ID` with operator, component, daemon or remote; it is recorded")
	flags.StringVar(&f.reason, "reason", "", "why, a `TEXT`; it is recorded")
	flags.BoolVar(&f.apply, "apply", false, "do it")
	return cmd
}

// request is what is asked of the queue.
func (f *reviseFlags) request(cmd *cobra.Command, r *revision) (work.Revision, error) {
	q, err := f.query(cmd)
	if err != nil {
		return work.Revision{}, err
	}
	req := work.Revision{Items: *q, All: f.all, Reason: f.reason}
	chosen := !reflect.ValueOf(*q).IsZero()
	switch {
	case chosen && f.all:
		return req, onto.Errorf(onto.Invalid, "--all goes with no other selection").WithHint("leave it out")
	case !chosen && !f.all && !r.always:
		return req, onto.Errorf(onto.Invalid, "it is not said which items").WithHint("give --source, --status, --run-id, --error or --item, or --all")
	}
	for _, s := range q.Status {
		if !slices.Contains(r.from, s) {
			return req, onto.Errorf(onto.Invalid, "%s is not for items that are %s", r.name, s).WithHint("it is for those that are %s", listed(r.from))
		}
	}
	if cmd.Flags().Changed("actor") {
		if req.By, err = onto.ParseActor(f.actor); err != nil {
			return req, err
		}
	}
	return req, nil
}

func listed(list []onto.WorkStatus) string {
	text := ""
	for i, s := range list {
		switch {
		case i == 0:
		case i == len(list)-1:
			text += " or "
		default:
			text += ", "
		}
		text += string(s)
	}
	return text
}

func revise(c *session.Session, cmd *cobra.Command, f *reviseFlags, r *revision) error {
	req, err := f.request(cmd, r)
	if err != nil {
		return err
	}
	how := place.Reading
	if f.apply {
		how = place.Writing
	}
	return with(c, cmd, how, func(ctx context.Context, q *work.Queue) error {
		doc, err := planned(ctx, q, req.Items, r.from)
		if err != nil {
			return err
		}
		if f.apply {
			doc.Applied = true
			if doc.Changed, err = r.do(q, ctx, req); err != nil {
				return err
			}
		}
		if c.JSON {
			return c.Document(doc)
		}
		if err := printAll(terminal.WorkSources(c.Printer), doc.Planned, "no items match"); err != nil || len(doc.Planned) == 0 {
			return err
		}
		if f.apply {
			c.Say("%s", terminal.Count(doc.Changed, "item is ", "items are ")+r.done)
			return nil
		}
		names := []string{"item", "source", "system", "type", "run-id", "error", "status", "all", "actor", "reason"}
		c.SayNext("nothing was changed; do it", append(append([]string{"work", r.name}, words(cmd, names...)...), "--apply")...)
		return nil
	})
}

// planned counts the items that a revision is about.
func planned(ctx context.Context, q *work.Queue, items backend.WorkQuery, from []onto.WorkStatus) (document.RevisedWork, error) {
	if items.Status == nil {
		items.Status = from
	}
	counts, err := q.Stats(ctx, &items)
	return document.RevisedWork{Planned: bySource(counts)}, err
}
