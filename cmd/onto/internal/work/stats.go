package work

import (
	"context"
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

func statsCommand(c *session.Session) *cobra.Command {
	var s selection
	var by string
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Count items by what has become of them",
		Long:  `Count the items of the queue by their status; with --by, for each source or run.`,
		Example: `  onto work stats
  onto work stats --by source
  onto work stats --run-id nightly --json`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := s.query(cmd)
			if err != nil {
				return err
			}
			switch by {
			case "", "source", "run":
			default:
				return onto.Errorf(onto.Invalid, "--by %.80q is unknown", by).WithHint("use source or run")
			}
			return with(c, cmd, place.Reading, func(ctx context.Context, queue *work.Queue) error {
				counts, err := queue.Stats(ctx, q)
				if err != nil {
					return err
				}
				return printStats(c, counts, by)
			})
		},
	}
	s.register(c, cmd)
	cmd.Flags().StringVar(&by, "by", "", "for each `WHAT`: source or run")
	_ = cmd.RegisterFlagCompletionFunc("by", cobra.FixedCompletions([]string{"source", "run"}, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
	return cmd
}

func printStats(c *session.Session, counts []backend.WorkCount, by string) error {
	switch by {
	case "source":
		return printAll(terminal.WorkSources(c.Printer), bySource(counts), "no items")
	case "run":
		return printAll(terminal.WorkOfRuns(c.Printer), byRun(counts), "no items")
	}
	var sum document.WorkCounts
	for _, n := range counts {
		sum.Add(n.Status, n.Items)
	}
	if c.JSON {
		return c.Document(sum)
	}
	for _, status := range onto.WorkStatuses() {
		if err := c.Out.Line("%-12s%d", status, work.ByStatus(counts)[status]); err != nil {
			return err
		}
	}
	return nil
}

func printAll[T any](list *terminal.List[T], items []T, empty string) error {
	for _, i := range items {
		if err := list.Add(i); err != nil {
			return err
		}
	}
	return list.Close(empty)
}

// bySource adds counts up, in the order of systems and sources.
func bySource(counts []backend.WorkCount) []document.WorkSource {
	list := []document.WorkSource{}
	for _, n := range counts { // in that order
		last := len(list) - 1
		if last < 0 || list[last].SourceSystem != n.System || list[last].SourceName != n.Source {
			list = append(list, document.WorkSource{SourceSystem: n.System, SourceName: n.Source})
			last++
		}
		list[last].Add(n.Status, n.Items)
	}
	return list
}

// byRun adds counts up, in the order of the ids of runs.
func byRun(counts []backend.WorkCount) []document.WorkOfRun {
	sums := map[string]*document.WorkCounts{}
	var runs []string
	for _, n := range counts {
		if sums[n.Run] == nil {
			sums[n.Run] = &document.WorkCounts{}
			runs = append(runs, n.Run)
		}
		sums[n.Run].Add(n.Status, n.Items)
	}
	slices.Sort(runs)
	list := []document.WorkOfRun{}
	for _, run := range runs {
		list = append(list, document.WorkOfRun{RunID: document.OrNull(run), WorkCounts: *sums[run]})
	}
	return list
}
