package events

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/bus"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
)

// cleanupFlags is the events to remove, as they were typed.
type cleanupFlags struct {
	scope
	before    string
	unhandled bool
	forget    []string
	apply     bool
}

func cleanupCommand(c *session.Session) *cobra.Command {
	var f cleanupFlags
	cmd := &cobra.Command{
		Use:   "cleanup",
		Short: "Remove old events",
		Long: `Cleanup removes events of a namespace that are older than --before, and what
handlers have noted about them. Without --apply it only tells what that would be.
Events that a handler has still to handle stay, and are counted; with --unhandled
they are removed as well. Dead letters stay, with what their events said.

A handler that no program runs any more keeps its events for ever. With
--forget-handler nothing is kept for it. If it comes back, it begins anew.

Nothing is removed by default. With the setting event_retention_ms, which is
also the default of --before, programs that handle events do the same once an
hour. The age of events is measured against the clock or, if that is earlier,
the newest time in the store, so that a clock that is ahead makes nothing old.`,
		Example: `  onto events cleanup --before 7d
  onto events cleanup --before 7d --apply
  onto events cleanup --before 2026-02-10 --namespace shop --forget-handler old-mail --apply
  onto events cleanup --before 30d --unhandled --json`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return cleanup(c, cmd, &f) },
	}
	f.register(c, cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.before, "before", "", "events from before this `TIME`, or older than a length of time such as 7d (default: the setting event_retention_ms)")
	flags.BoolVar(&f.unhandled, "unhandled", false, "also events that a handler has still to handle")
	flags.StringArrayVar(&f.forget, "forget-handler", nil, "keep nothing for the handler `NAME`, which is no more; may be repeated")
	flags.BoolVar(&f.apply, "apply", false, "remove them")
	complete(c, cmd, "forget-handler", handlersOf)
	return cmd
}

func cleanup(c *session.Session, cmd *cobra.Command, f *cleanupFlags) error {
	cfg, err := c.Configure()
	if err != nil {
		return err
	}
	clean := &backend.Cleaning{Unhandled: f.unhandled, Forget: f.forget, Apply: f.apply}
	kept := cfg.Duration("event_retention_ms")
	if f.before == "" && kept == 0 {
		return onto.Errorf(onto.Invalid, "--before is missing, and the setting event_retention_ms keeps all events").
			WithHint("say which events are old").WithCommand("events", "cleanup", "--before", "7d")
	}
	before := func(today time.Time) (time.Time, error) { return today.Add(-kept), nil }
	if f.before != "" {
		before = func(today time.Time) (time.Time, error) { return session.ParseBefore(f.before, today) }
	}
	if _, err := before(time.Now()); err != nil {
		return err
	}
	for _, h := range f.forget {
		if err := onto.CheckBusName("handler", h); err != nil {
			return err
		}
	}
	how := place.Reading
	if f.apply {
		how = place.Writing
	}
	return f.with(c, cmd, how, func(ctx context.Context, b *bus.Bus) error {
		today, err := b.Today(ctx)
		if err != nil {
			return err
		}
		if clean.Before, err = before(today.UTC().Truncate(time.Microsecond)); err != nil {
			return err
		}
		clean.Namespace = f.name
		if err := f.checkForgotten(ctx, b); err != nil {
			return err
		}
		progress, done := c.Progress("removing")
		plan, err := b.Clean(ctx, clean, progress)
		done()
		if err == nil && plan.Events+plan.Kept == 0 {
			err = f.check(ctx, b)
		}
		if err != nil {
			return err
		}
		return printCleanup(c, f, document.NewCleanup(clean, plan))
	})
}

// checkForgotten refuses handlers that do not exist.
func (f *cleanupFlags) checkForgotten(ctx context.Context, b *bus.Bus) error {
	if len(f.forget) == 0 {
		return nil
	}
	n, err := b.Namespace(ctx, f.name)
	if err != nil {
		return err
	}
	known := handlersOf(n)
	for _, h := range f.forget {
		if err := unknownHandler(h, f.name, known); err != nil {
			return err
		}
	}
	return nil
}

func printCleanup(c *session.Session, f *cleanupFlags, doc document.Cleanup) error {
	if c.JSON {
		return c.Document(doc)
	}
	list := terminal.Rows(c.Printer, terminal.WholeColumns("type", "events", "kept"), terminal.Itself, func(t document.CleanupType) ([]string, error) {
		return []string{t.Type, strconv.FormatInt(t.Events, 10), strconv.FormatInt(t.Kept, 10)}, nil
	})
	for _, t := range doc.Types {
		if err := list.Add(t); err != nil {
			return err
		}
	}
	if err := list.Close("no events are from before " + doc.Before); err != nil {
		return err
	}
	if doc.Kept > 0 {
		c.Say("%s for handlers that have still to handle them", terminal.Count(doc.Kept, "event stays", "events stay"))
	}
	total := terminal.Count(doc.Events, "event", "events") + ", " + terminal.Bytes(doc.Bytes)
	switch {
	case doc.Applied && (doc.Events > 0 || len(f.forget) > 0):
		c.Say("removed %s", total)
	case doc.Events > 0 || len(f.forget) > 0:
		c.SayNext(total+"; remove them", append([]string{"events", "cleanup"}, f.words(doc.Before)...)...)
	}
	return nil
}

// words is the flags that make the same selection, with the time that was looked at.
func (f *cleanupFlags) words(before string) []string {
	words := []string{"--before", before}
	if f.given {
		words = append(words, "--namespace", f.name)
	}
	for _, h := range f.forget {
		words = append(words, "--forget-handler", h)
	}
	if f.unhandled {
		words = append(words, "--unhandled")
	}
	return append(words, "--apply")
}
