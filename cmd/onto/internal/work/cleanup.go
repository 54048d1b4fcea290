package work

import (
	"context"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/work"
)

// cleanupFlags is a cleaning, as it was typed.
type cleanupFlags struct {
	selection
	before string
	keep   int
	only   []string
	apply  bool
}

// kinds are what can be removed.
func kinds() []string { return []string{"items", "attempts", "runs"} }

func cleanupCommand(c *session.Session) *cobra.Command {
	f := cleanupFlags{selection: selection{withStatus: true}}
	cmd := &cobra.Command{
		Use:   "cleanup --before TIME | --keep N",
		Short: "Remove old items, attempts and runs",
		Long: `Cleanup removes what is over and older than --before, but for the --keep newest; one of
them is enough. Without --apply it only tells what that would be. Nothing is removed by
default. --only names what to remove:

  items     that were completed, failed or skipped, with all their attempts
  attempts  at such items, but for the last one: --keep counts for each item
  runs      that are over, and to which no item belongs that is pending

Items that are pending or in progress stay, with all attempts. With --source, --status
and the like only items that match count, and runs stay.

The queue knows a resource by its item. One whose item was removed is new: it can be
added and discovered again, and is fetched again then. To keep the file small and fetch
nothing twice, remove attempts and runs only.

Age is measured against the clock or, if that is earlier, the newest time in the store, so
that a clock that is ahead makes nothing old.`,
		Example: `  onto work cleanup --before 90d
  onto work cleanup --before 90d --only attempts --only runs --apply
  onto work cleanup --keep 3 --only attempts
  onto work cleanup --before 2026-02-10 --keep 1000 --status completed --source docs --apply`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return cleanup(c, cmd, &f) },
	}
	f.register(c, cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.before, "before", "", "what is over since before this `TIME`, or for longer than a length of time such as 90d")
	flags.IntVar(&f.keep, "keep", 0, "but for the `N` newest")
	flags.StringArrayVar(&f.only, "only", nil, "only this `KIND`: items, attempts or runs; may be repeated (default: all)")
	flags.BoolVar(&f.apply, "apply", false, "remove them")
	_ = cmd.RegisterFlagCompletionFunc("only", cobra.FixedCompletions(kinds(), cobra.ShellCompDirectiveNoFileComp)) // the flag exists
	return cmd
}

// cleaning is what is asked of the queue, but for Before.
func (f *cleanupFlags) cleaning(cmd *cobra.Command) (*backend.WorkCleaning, error) {
	if f.before == "" && !cmd.Flags().Changed("keep") {
		return nil, onto.Errorf(onto.Invalid, "it is not said what is old").WithHint("say it with --before or --keep").WithCommand("work", "cleanup", "--before", "90d")
	}
	if f.keep < 1 && cmd.Flags().Changed("keep") {
		return nil, onto.Errorf(onto.Invalid, "--keep %d is too small", f.keep).WithHint("leave it out, and give --before")
	}
	q, err := f.query(cmd)
	if err != nil {
		return nil, err
	}
	for _, s := range q.Status {
		if !backend.WorkOver(s) {
			return nil, onto.Errorf(onto.Invalid, "items that are %s are not removed", s).WithHint("cleanup is for those that are completed, failed or skipped")
		}
	}
	for _, kind := range f.only {
		if !slices.Contains(kinds(), kind) {
			return nil, onto.Errorf(onto.Invalid, "--only %.80q is unknown", kind).WithHint("use items, attempts or runs")
		}
	}
	chosen := !reflect.ValueOf(*q).IsZero()
	if chosen && slices.Contains(f.only, "runs") {
		return nil, onto.Errorf(onto.Invalid, "--only runs goes with no selection of items").WithHint("remove runs by a command of their own")
	}
	wants := func(kind string) bool { return len(f.only) == 0 || slices.Contains(f.only, kind) }
	return &backend.WorkCleaning{
		Items: wants("items"), Attempts: wants("attempts"), Runs: wants("runs") && !chosen, Of: *q, Keep: f.keep, Apply: f.apply,
	}, nil
}

func cleanup(c *session.Session, cmd *cobra.Command, f *cleanupFlags) error {
	clean, err := f.cleaning(cmd)
	if err != nil {
		return err
	}
	if f.before != "" {
		if _, err := session.ParseBefore(f.before, time.Now()); err != nil {
			return err
		}
	}
	how := place.Reading
	if f.apply {
		how = place.Writing
	}
	return with(c, cmd, how, func(ctx context.Context, q *work.Queue) error {
		if f.before != "" {
			today, err := q.Today(ctx)
			if err != nil {
				return err
			}
			if clean.Before, err = session.ParseBefore(f.before, today.UTC().Truncate(time.Microsecond)); err != nil {
				return err
			}
		}
		progress, done := c.Progress("removing")
		plan, err := q.Clean(ctx, clean, progress)
		done()
		if err != nil {
			return err
		}
		return printCleanup(c, cmd, document.NewWorkCleanup(clean, plan))
	})
}

func printCleanup(c *session.Session, cmd *cobra.Command, doc document.WorkCleanup) error {
	if c.JSON {
		return c.Document(doc)
	}
	list := terminal.Rows(c.Printer, terminal.WholeColumns("source", "system", "status", "items", "attempts"), terminal.Itself, func(s document.WorkCleanupSource) ([]string, error) {
		return []string{s.SourceName, s.SourceSystem, string(s.Status), strconv.FormatInt(s.Items, 10), strconv.FormatInt(s.Attempts, 10)}, nil
	})
	for _, s := range doc.Sources {
		if err := list.Add(s); err != nil {
			return err
		}
	}
	if err := list.Close("no items or attempts are old"); err != nil {
		return err
	}
	if doc.Items+doc.Attempts+doc.Runs == 0 {
		return nil
	}
	total := strings.Join([]string{
		terminal.Count(doc.Items, "item", "items"), terminal.Count(doc.Attempts, "attempt", "attempts"), terminal.Count(doc.Runs, "run", "runs"),
	}, ", ")
	if doc.Applied {
		c.Say("removed %s", total)
		return nil
	}
	if doc.Items > 0 {
		c.Say("resources whose items are removed can be added and discovered again")
	}
	var before []string
	if doc.Before != nil {
		before = []string{"--before", *doc.Before}
	}
	names := []string{"keep", "only", "source", "system", "type", "run-id", "error", "status"}
	c.SayNext(total+"; remove them", slices.Concat([]string{"work", "cleanup"}, before, words(cmd, names...), []string{"--apply"})...)
	return nil
}
