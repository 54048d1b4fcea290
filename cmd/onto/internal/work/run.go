package work

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/work"
)

func runCommand(c *session.Session) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run --into TYPE | --out DIRECTORY",
		Short: "Fetch the items of the queue over HTTP",
		Long: `Run fetches the items of the queue whose system is http, or is named by --system, until
none is left. Several runs, on one machine, can share a queue. A run can be stopped or
killed at any point: another one goes on, and what was in progress returns when its
lease has ended. Items of other systems are left alone.

With --into, each resource becomes an entity of that type in the store, in a commit of
its own by daemon:work with the item's id as its correlation; what has not changed
makes no commit. The key is the resource's id. Of the fields, these are filled in as
far as the type has them: url, status, content_type, title and text (of HTML and other
text), json (of JSON), source and resource_type. With --out, each becomes the file
DIRECTORY/SOURCE/TYPE/ID.json. Both can be given.

With --follow links, the links of HTML pages become items, with --follow json the members
next and links of JSON documents; links lead to the same host only, unless --any-host
or --domain is given. robots.txt is honoured: what it disallows is skipped. Addresses
that are not public are refused, but for those that --allow-private names.

A failed attempt is repeated after a pause that doubles, or when the server says, up to
--max-attempts times. --rate and --concurrent hold for a source across all processes that
are given the same.

On SIGINT or SIGTERM it takes nothing more, waits for what is under way for as long as
--drain says, and returns the rest to the queue. It prints figures at the end; exit
status 4 tells that items failed in this run, or that it was told to stop.`,
		Example: `  onto work run --into Page --follow links --max-depth 3 --rate docs=5/s --concurrent docs=2
  onto work run --run-id nightly --out pages --workers 8
  onto work run --run-id nightly --resume --out pages --json
  onto work run --into Page --allow-private 10.1.0.0/16 --user-agent "example-bot/1.0 (+https://example.org/bot)"`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return run(c, cmd, &f) },
	}
	f.register(c, cmd)
	return cmd
}

func run(c *session.Session, cmd *cobra.Command, f *runFlags) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	opts, err := f.options()
	if err != nil {
		return err
	}
	r := &work.Runner{}
	if r.Connectors, err = f.connectors(); err != nil {
		return err
	}
	if r.Discover, err = f.discoveries(); err != nil {
		return err
	}
	c.Patience.Store(int64(f.drain + drainPatience))
	write := func(s *store.Store) (err error) {
		r.Writers, err = f.writers(s)
		return err
	}
	return withBoth(c, cmd, f.into != "", write, func(ctx context.Context, q *work.Queue) error {
		r.Queue = q
		var done func()
		opts.Progress, done = progress(c)
		w := &watch{Session: c, room: done}
		opts.Observe, opts.Log = w.observe, slog.New(slog.DiscardHandler)
		before, err := earlier(ctx, q, opts)
		if err != nil {
			return err
		}
		sum, err := r.Run(ctx, opts)
		done()
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		return conclude(ctx, c, q, opts, sum, sum.Failed-before)
	})
}

// drainPatience is what the end of a run may take besides waiting for attempts.
const drainPatience = 30 * time.Second

// withBoth calls write with the store that is written to, if there is one, and then f with
// the queue, which may be that store's.
func withBoth(c *session.Session, cmd *cobra.Command, writes bool, write func(*store.Store) error, f func(context.Context, *work.Queue) error) error {
	cfg, err := c.Configure()
	if err != nil {
		return err
	}
	queue, err := cfg.QueueLocation()
	if err != nil {
		return err
	}
	target, err := cfg.Location()
	if err != nil {
		return err
	}
	if !writes || target.Same(queue) {
		how := place.Creating
		if writes {
			how = place.Writing // a store that is new has no types
		}
		return c.WithQueue(cmd.Context(), how, func(s *store.Store) error {
			q, err := work.Open(s)
			if err == nil {
				err = write(s)
			}
			if err != nil {
				return err
			}
			return f(cmd.Context(), q)
		})
	}
	return c.WithStore(cmd.Context(), place.Writing, func(s *store.Store) error {
		if err := write(s); err != nil { // hints are about this store still
			return err
		}
		return with(c, cmd, place.Creating, f)
	})
}

// earlier is how many items had failed in a run that is resumed, which counts on.
func earlier(ctx context.Context, q *work.Queue, o *work.RunOptions) (int64, error) {
	if !o.Resume {
		return 0, nil
	}
	runs, err := q.Runs(ctx)
	if err != nil {
		return 0, err
	}
	i := slices.IndexFunc(runs, func(r onto.WorkRun) bool { return r.ID == o.Run })
	if i < 0 {
		return 0, nil // Run tells
	}
	return kept(runs[i].Counts).Failed, nil
}

// watch tells what goes wrong.
type watch struct {
	*session.Session
	room func() // removes the line that shows progress
}

func (w *watch) observe(o work.Observation) {
	name := o.Item.Source + " " + o.Item.Resource
	switch o.What {
	case work.Failed:
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

// progress shows figures on a terminal, in a line that done removes.
func progress(c *session.Session) (show func(work.Summary), done func()) {
	line, done := c.Status()
	if line == nil {
		return nil, done
	}
	return func(s work.Summary) {
		line("fetching: " + figures(s.Counts) + ", " + terminal.Count(s.Active, "under way", "under way"))
	}, done
}

// figures is counts in words, without those that are zero.
func figures(n work.Counts) string {
	parts := []string{terminal.Count(n.Completed, "item completed", "items completed")}
	for _, p := range []struct {
		n    int64
		what string
	}{
		{n.NotModified, "not modified"}, {n.Failed, "failed"}, {n.Skipped, "skipped"}, {n.Retried, "retried"},
		{n.Returned, "returned"}, {n.Lost, "lost"}, {n.Recovered, "recovered"}, {n.Discovered, "discovered"},
	} {
		if p.n > 0 {
			parts = append(parts, terminal.Count(p.n, p.what, p.what))
		}
	}
	return strings.Join(append(parts, terminal.Bytes(n.Bytes)), ", ")
}

// conclude prints the figures of a run. It fails if items did, or if it was told to stop.
func conclude(ctx context.Context, c *session.Session, q *work.Queue, o *work.RunOptions, sum work.Summary, failed int64) error {
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
	if failed > 0 {
		return onto.Errorf(document.CommandFailed, "%s failed", terminal.Count(failed, "item", "items")).
			WithHint("list them").WithCommand("work", "list", "--status", "failed")
	}
	return nil
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
