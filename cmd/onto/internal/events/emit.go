package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/bus"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
)

// emitFlags is the event to emit, as it was typed.
type emitFlags struct {
	scope
	typ, payload, key, delay string
	priority                 int
}

func emitCommand(c *session.Session) *cobra.Command {
	var f emitFlags
	cmd := &cobra.Command{
		Use:   "emit --type TYPE",
		Short: "Emit an event",
		Long: `Emit an event for the handlers of its type. Without a handler it waits until there
is one. To emit an event together with a commit, so that both are stored or neither,
use --emit of the verbs that write.

Events of higher priority are handled first, others as they came. Events with the
same ordering key are handled one after the other. A delayed event is not handled
before its time.

It prints the id of the event.`,
		Example: `  onto events emit --type OrderPaid --payload '{"order":"o1","amount":12}'
  onto events emit --type OrderPaid --payload - --ordering-key o1 < paid.json
  onto events emit --type Reminder --delay 2d --priority 10 --namespace shop --json`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return emit(c, cmd, &f) },
	}
	f.register(c, cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.typ, "type", "", "the `TYPE` of the event")
	flags.StringVar(&f.payload, "payload", "{}", "what the event says, as `JSON`; - for stdin")
	flags.IntVar(&f.priority, "priority", onto.DefaultPriority, "higher numbers `N` are handled first")
	flags.StringVar(&f.key, "ordering-key", "", "events with this `KEY` are handled one after the other")
	flags.StringVar(&f.delay, "delay", "", "not to be handled for this `TIME`, such as 15m or 2d; not with --ordering-key")
	complete(c, cmd, "type", typesOf)
	return cmd
}

func emit(c *session.Session, cmd *cobra.Command, f *emitFlags) error {
	if err := required("type", f.typ); err != nil {
		return err
	}
	e := onto.Emission{Type: f.typ, Priority: &f.priority, OrderingKey: f.key, Cause: session.Cause()}
	var err error
	if f.delay != "" {
		if e.Delay, err = session.ParseLength("delay", f.delay); err != nil {
			return err
		}
	}
	if e.Payload, err = f.read(cmd.Context(), c); err != nil {
		return err
	}
	return f.with(c, cmd, place.Writing, func(ctx context.Context, b *bus.Bus) error {
		made, err := b.Emit(ctx, e)
		if err != nil {
			return err
		}
		return printEmitted(c, made[0])
	})
}

// read returns the payload, which may be on stdin.
func (f *emitFlags) read(ctx context.Context, c *session.Session) (json.RawMessage, error) {
	text := []byte(f.payload)
	if f.payload == "-" {
		const most = 4 * onto.MaxPayload // more than its canonical form may have
		var err error
		if text, err = io.ReadAll(io.LimitReader(c.Stdin(ctx), most+1)); err != nil {
			return nil, err
		}
		if len(text) > most {
			return nil, onto.Errorf(onto.TooLarge, "the payload on stdin has more than %d bytes", most).
				WithHint("store the data as an entity, and emit its key")
		}
	}
	if !json.Valid(text) {
		return nil, onto.Errorf(onto.Invalid, "the payload is not JSON: %.80q", text).
			WithHint(`write it like {"order":"o1"}; in a shell, in single quotes`)
	}
	return text, nil
}

func printEmitted(c *session.Session, e onto.Event) error {
	var err error
	if c.JSON {
		err = c.Document(document.NewEvent(e))
	} else {
		err = c.Out.Line("%s", e.ID)
	}
	if err == nil {
		err = c.Out.Flush()
	}
	if err != nil && !errors.Is(err, syscall.EPIPE) {
		return fmt.Errorf("event %s was emitted, but this could not be printed: %w", e.ID, err)
	}
	return err
}
