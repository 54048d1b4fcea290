package events

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/bus"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
)

func replayCommand(c *session.Session) *cobra.Command {
	var f resolveFlags
	cmd := &cobra.Command{
		Use:   "replay --event-id ID | --handler NAME | --event-type TYPE | --error TEXT | --all",
		Short: "Emit events again, above all those that handlers have given up",
		Long: `Replay emits an event again: the new one has the same type, payload, priority and
ordering key, and every handler of the type handles it. Dead letters of the event are
resolved with it, and say who did it.

With --event-id alone, one event is replayed at once, whatever has become of it.
Otherwise the dead letters that match are replayed, each event once, in the order in
which they were given up; without --apply they are only listed.`,
		Example: `  onto events replay --event-id 0197f3a1-7d5e-7cc2-b0a4-3f6f4f5a2b10
  onto events replay --handler mail --error "connection refused"
  onto events replay --handler mail --error "connection refused" --apply --actor operator:ana
  onto events replay --all --apply --json`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			by, err := f.check(cmd)
			if err != nil {
				return err
			}
			if f.event != "" && f.handler == "" && f.typ == "" && f.err == "" {
				return f.with(c, cmd, place.Writing, func(ctx context.Context, b *bus.Bus) error { return replayOne(ctx, c, &f, b, by) })
			}
			return f.with(c, cmd, f.access(), func(ctx context.Context, b *bus.Bus) error {
				return replaySelected(ctx, c, &f, b, by, f.words(cmd))
			})
		},
	}
	f.register(c, cmd, "replay what was selected")
	return cmd
}

func replayOne(ctx context.Context, c *session.Session, f *resolveFlags, b *bus.Bus, by onto.Actor) error {
	if err := f.checkEvent(ctx, b); err != nil {
		return err
	}
	made, err := b.Replay(ctx, f.event, by)
	if err != nil {
		return err
	}
	if c.JSON {
		return c.Document(document.NewReplayed(made))
	}
	return c.Out.Line("%s", made.ID)
}

// checkEvent refuses an event that is not in the namespace that was named. Of one that
// was removed, dead letters may be left.
func (f *resolveFlags) checkEvent(ctx context.Context, b *bus.Bus) error {
	if !f.given {
		return nil
	}
	for _, err := range b.DeadLetters(ctx, &backend.DeadLetterQuery{Namespace: f.name, EventID: f.event, Resolved: true, Limit: 1}) {
		return err
	}
	_, err := f.find(ctx, b, f.event)
	return err
}

func replaySelected(ctx context.Context, c *session.Session, f *resolveFlags, b *bus.Bus, by onto.Actor, words []string) error {
	plan, err := b.PlanReplay(ctx, f.query())
	if err == nil && len(plan) == 0 {
		err = f.scope.check(ctx, b)
	}
	if err != nil {
		return err
	}
	doc := document.Replay{Planned: []document.ReplayItem{}, Applied: f.apply, Replayed: []document.Replayed{}}
	for _, r := range plan {
		doc.Planned = append(doc.Planned, document.ReplayItem{EventID: r.Event.ID, EventType: r.Event.Type, Handlers: r.Handlers, DeadLetters: r.DeadLetters})
	}
	if f.apply && len(plan) > 0 {
		made, err := b.ReplayDeadLetters(ctx, f.query(), by)
		for _, e := range made {
			doc.Replayed = append(doc.Replayed, document.NewReplayed(e))
		}
		if err != nil {
			return onto.Errorf(onto.CodeOf(err), "%d of %s replayed: %w", len(made), terminal.Count(len(plan), "event", "events"), err).
				WithHint("those that are left can be replayed again")
		}
	}
	return printReplay(c, f, doc, words)
}

func printReplay(c *session.Session, f *resolveFlags, doc document.Replay, words []string) error {
	if c.JSON {
		return c.Document(doc)
	}
	list := terminal.Rows(c.Printer, terminal.WholeColumns("event", "type", "handlers", "dead letters"), terminal.Itself, replayCells)
	for _, r := range doc.Planned {
		if err := list.Add(r); err != nil {
			return err
		}
	}
	if err := list.Close("no dead letters match"); err != nil || len(doc.Planned) == 0 {
		return err
	}
	if doc.Applied {
		c.Say("replayed %s", terminal.Count(len(doc.Replayed), "event", "events"))
		return nil
	}
	c.SayNext("nothing was changed; replay them", append(append([]string{"events", "replay"}, words...), "--apply")...)
	return nil
}

func replayCells(r document.ReplayItem) ([]string, error) {
	var ids []string
	for _, id := range r.DeadLetters {
		ids = append(ids, strconv.FormatInt(id, 10))
	}
	return []string{r.EventID, r.EventType, strings.Join(r.Handlers, " "), strings.Join(ids, " ")}, nil
}
