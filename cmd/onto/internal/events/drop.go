package events

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/bus"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/terminal"
)

func dropCommand(c *session.Session) *cobra.Command {
	var f resolveFlags
	cmd := &cobra.Command{
		Use:   "drop --event-id ID | --handler NAME | --event-type TYPE | --error TEXT | --all",
		Short: "Resolve dead letters whose events are not needed any more",
		Long: `Drop resolves dead letters without handling their events again: they are no longer
listed, and doctor does not report them. They stay on record, with who dropped them.
Without --apply they are only listed.`,
		Example: `  onto events drop --event-type Ping
  onto events drop --handler mail --error "unknown address" --apply --actor operator:ana
  onto events drop --event-id 0197f3a1-7d5e-7cc2-b0a4-3f6f4f5a2b10 --apply --json`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			by, err := f.check(cmd)
			if err != nil {
				return err
			}
			return f.with(c, cmd, f.access(), func(ctx context.Context, b *bus.Bus) error {
				return dropLetters(ctx, c, &f, b, by, f.words(cmd))
			})
		},
	}
	f.register(c, cmd, "drop what was selected")
	return cmd
}

func dropLetters(ctx context.Context, c *session.Session, f *resolveFlags, b *bus.Bus, by onto.Actor, words []string) error {
	var letters []onto.DeadLetter
	err := session.Each(b.DeadLetters(ctx, f.query()), func(l onto.DeadLetter) error {
		letters = append(letters, l)
		return nil
	})
	if err == nil && len(letters) == 0 {
		err = f.scope.check(ctx, b)
	}
	if err != nil {
		return err
	}
	dropped := 0
	if f.apply && len(letters) > 0 {
		if dropped, err = b.DropDeadLetters(ctx, f.query(), by); err != nil {
			return onto.Errorf(onto.CodeOf(err), "%d of %s dropped: %w", dropped, terminal.Count(len(letters), "dead letter", "dead letters"), err)
		}
	}
	if c.JSON {
		doc := document.DroppedLetters{Planned: []document.DeadLetter{}, Applied: f.apply, Dropped: dropped}
		for _, l := range letters {
			doc.Planned = append(doc.Planned, document.NewDeadLetter(l))
		}
		return c.Document(doc)
	}
	list := terminal.DeadLetters(c.Printer, false)
	for _, l := range letters {
		if err := list.Add(l); err != nil {
			return err
		}
	}
	if err := list.Close("no dead letters match"); err != nil || len(letters) == 0 {
		return err
	}
	if f.apply {
		c.Say("dropped %s", terminal.Count(dropped, "dead letter", "dead letters"))
		return nil
	}
	c.SayNext("nothing was changed; drop them", append(append([]string{"events", "drop"}, words...), "--apply")...)
	return nil
}
