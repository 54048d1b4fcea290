package work

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto/cmd/onto/internal/session"
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
		w := &watch{Session: c, room: done, refused: map[netip.Prefix]bool{}}
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
		return w.conclude(ctx, q, opts, sum, before)
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
