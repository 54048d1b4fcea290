package work

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/work"
)

// earlier is the figures of a run that is resumed, which counts on.
func earlier(ctx context.Context, q *work.Queue, o *work.RunOptions) (work.Counts, error) {
	if !o.Resume {
		return work.Counts{}, nil
	}
	runs, err := q.Runs(ctx)
	if err != nil {
		return work.Counts{}, err
	}
	i := slices.IndexFunc(runs, func(r onto.WorkRun) bool { return r.ID == o.Run })
	if i < 0 {
		return work.Counts{}, nil // Run tells
	}
	return kept(runs[i].Counts).Counts, nil
}

// watch tells what goes wrong.
type watch struct {
	*session.Session
	room    func()                // removes the line that shows progress
	refused map[netip.Prefix]bool // networks of addresses that are not public
}

func (w *watch) observe(o work.Observation) {
	name := o.Item.Source + " " + o.Item.Resource
	switch o.What {
	case work.Failed:
		if net, ok := work.RefusedNet(o.Err); ok {
			w.refused[net] = true
			w.tell("%s: failed: %s; --allow-private %s allows it", name, document.Message(o.Err), net)
			return
		}
		w.tell("%s: failed: %s", name, document.Message(o.Err))
	case work.Retried:
		w.tell("%s: attempt %d failed, again in %v: %s", name, o.Item.Attempt, o.Delay.Round(time.Millisecond), document.Message(o.Err))
	case work.Skipped:
		w.tell("%s: skipped: %s", name, document.Message(o.Err))
	case work.Lost:
		w.tell("%s: the lease was lost, another worker fetches it", name)
	case work.Abandoned:
		w.tell("%s: it is slow to end, and was left behind", name)
	case work.Troubled:
		w.tell("the queue's store fails, it is tried again in %v: %s", o.Delay.Round(time.Millisecond), document.Message(o.Err))
	case work.Differs:
		w.tell("the store is not as it was when it was last known to be good: %s", document.Message(o.Err))
	case work.Behind:
		w.tell("the clock is %v behind what is stored", o.Delay.Round(time.Second))
	case work.Stopping:
		w.tell("stopping: what is under way has %v to end, unless it is interrupted again", o.Delay)
	}
}

// tell prints a message, in place of the line that shows progress.
func (w *watch) tell(format string, args ...any) {
	w.room()
	w.Say(format, args...)
}

// conclude prints the figures of a run. It fails if items did, or if it was told to stop.
func (w *watch) conclude(ctx context.Context, q *work.Queue, o *work.RunOptions, sum work.Summary, before work.Counts) error {
	c := w.Session
	ended, err := runOf(sum)
	switch {
	case err != nil:
	case c.JSON:
		err = c.Document(document.NewWorkRun(ended))
	default:
		err = c.Out.Line("run %s %s: %s", terminal.Escape(sum.Run), sum.Status, figures(sum.Counts))
	}
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return onto.Errorf(document.Interrupted, "interrupted").WithHint("run it again to go on")
	}
	sayLeft(ctx, c, q, o)
	if failed := sum.Failed - before.Failed; failed > 0 {
		return w.failed(failed)
	}
	if sum.Counts == before {
		sayFailed(ctx, c, q, o)
	}
	return nil
}

// failed is the error of a run in which items failed.
func (w *watch) failed(n int64) error {
	err := onto.Errorf(document.CommandFailed, "%s failed", terminal.Count(n, "item", "items"))
	if len(w.refused) == 0 {
		return err.WithHint("list them").WithCommand("work", "list", "--status", "failed")
	}
	var flags []string
	for net := range w.refused {
		flags = append(flags, "--allow-private "+net.String())
	}
	slices.Sort(flags)
	if len(flags) > maxNamed {
		flags = append(flags[:maxNamed], "…")
	}
	return err.WithHint("if addresses that are not public are meant, give the next run %s, after this", strings.Join(flags, " ")).
		WithCommand("work", "retry", "--apply")
}

// maxNamed is how many failed items, or networks, are named.
const maxNamed = 5

// sayFailed names failed items, after a run that had nothing to do.
func sayFailed(ctx context.Context, c *session.Session, q *work.Queue, o *work.RunOptions) {
	query := backend.WorkQuery{Status: []onto.WorkStatus{onto.WorkFailed}}
	if o.OnlyRun {
		query.Run = o.Run
	}
	counts, err := q.Stats(ctx, &query)
	if err != nil {
		return // the run itself is over and its figures are out
	}
	var failed int64
	for _, n := range counts {
		if slices.Contains(o.Systems, n.System) {
			failed += n.Items
		}
	}
	if failed == 0 {
		return
	}
	c.Say("there was nothing to do; %s failed before:", terminal.Count(failed, "item has", "items have"))
	named := int64(0)
	for w, err := range q.Items(ctx, &query) {
		if err != nil || named == maxNamed {
			break
		}
		if slices.Contains(o.Systems, w.System) {
			c.Say("  %s %s: %s", w.Source, w.Resource, w.Error)
			named++
		}
	}
	if named < failed {
		c.Say("  and %d more", failed-named)
	}
	c.SayNext("try them again", "work", "retry", "--apply")
}

// sayLeft tells of pending items that this run was not for.
func sayLeft(ctx context.Context, c *session.Session, q *work.Queue, o *work.RunOptions) {
	counts, err := q.Stats(ctx, &backend.WorkQuery{Status: []onto.WorkStatus{onto.WorkPending}})
	if err != nil {
		return // the run itself is over and its figures are out
	}
	var systems []string
	var left int64
	for _, n := range counts {
		if !slices.Contains(o.Systems, n.System) {
			left += n.Items
			systems = append(systems, n.System)
		}
	}
	if left > 0 {
		slices.Sort(systems)
		c.Say("%s left alone, of other systems: %s", terminal.Count(left, "pending item was", "pending items were"), strings.Join(slices.Compact(systems), ", "))
	}
}
