package work

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/work"
)

func runsCommand(c *session.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "runs",
		Short: "List runs, with what each has done",
		Long: `List the runs of programs that work on items, oldest first, with their figures. The
status is running, finished (nothing was left to do), stopped, or failed. A run whose
process was killed stays running; it can be resumed.`,
		Example: `  onto work runs
  onto work runs --json`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return with(c, cmd, place.Reading, func(ctx context.Context, q *work.Queue) error {
				runs, err := q.Runs(ctx)
				if err != nil {
					return err
				}
				columns := append(terminal.WholeColumns("run", "status", "started", "finished"), terminal.Columns("figures")...)
				return printAll(terminal.Rows(c.Printer, columns, document.NewWorkRun, runCells), runs, "no runs")
			})
		},
	}
}

func runCells(r onto.WorkRun) ([]string, error) {
	return []string{r.ID, r.Status, terminal.Time(r.Started), terminal.Time(r.Finished), figures(kept(r.Counts).Counts)}, nil
}

// runCounts is the figures of a run as they are stored.
type runCounts struct {
	work.Counts
	Sources map[string]work.Counts `json:"sources,omitempty"`
}

// kept is the figures that are stored of a run. Those of an imported run may be others, which count nothing.
func kept(counts json.RawMessage) runCounts {
	var n runCounts
	if json.Unmarshal(counts, &n) != nil {
		return runCounts{}
	}
	return n
}

// runOf is a run that has ended, as runs lists it.
func runOf(sum work.Summary) (onto.WorkRun, error) {
	counts, err := json.Marshal(runCounts{sum.Counts, sum.Sources})
	return onto.WorkRun{ID: sum.Run, Started: sum.Started, Finished: sum.Finished, Status: sum.Status, Counts: counts}, err
}
