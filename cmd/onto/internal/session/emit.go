package session

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/emission"
	"github.com/ontologia/onto/internal/place"
)

func (w *WriteFlags) registerEmit(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&w.emit, "emit", nil, "an event that rides in the commit, as `TYPE=JSON`; may be repeated")
}

// addEvents adds the events of --emit to a draft.
func (c *Session) addEvents(d onto.Draft, pairs []string) (onto.Draft, error) {
	if len(pairs) == 0 {
		return d, nil
	}
	cfg, err := c.Configure()
	if err != nil {
		return d, err
	}
	rules := Rules(cfg)
	for _, pair := range pairs {
		typ, payload, ok := strings.Cut(pair, "=")
		if !ok {
			return d, onto.Errorf(onto.Invalid, "--emit %.80q is not TYPE=JSON", pair).WithHint(emitHint)
		}
		if !json.Valid([]byte(payload)) {
			return d, onto.Errorf(onto.Invalid, "--emit %.80s: the payload is not JSON: %.80q", typ, payload).WithHint(emitHint)
		}
		e := onto.Emission{Type: typ, Payload: json.RawMessage(payload), Namespace: rules.Namespace, Cause: Cause()}
		if _, err := rules.Event(e); err != nil {
			return d, err
		}
		d = d.Emit(e)
	}
	return d, nil
}

const emitHint = `for example: --emit OrderPaid='{"order":"o1"}'`

// Rules are what holds for events that this run emits.
func Rules(cfg place.Settings) emission.Rules {
	return emission.Rules{Namespace: cfg.Text("default_namespace"), MaxDepth: int(cfg.Number("max_event_chain_depth"))}
}

// Cause is the event that this run was started for, as a command that handles it; nil if
// it was not. What it emits goes on the chain of that event, so that chains that go round
// come to an end.
func Cause() *onto.Event {
	id, root := os.Getenv(place.EnvEvent), os.Getenv(place.EnvRoot)
	depth, err := strconv.Atoi(os.Getenv(place.EnvDepth))
	if id == "" || root == "" || err != nil || depth < 0 || onto.CheckOrderingKey(id) != nil || onto.CheckOrderingKey(root) != nil {
		return nil
	}
	return &onto.Event{ID: id, Root: root, Depth: depth}
}

// SayNoCommit says why a draft made no commit, and what that means for its events.
func (c *Session) SayNoCommit(d onto.Draft, why string) {
	switch len(d.Emitted()) {
	case 0:
		c.Say("%s", why)
	case 1:
		c.Say("%s: the event was not emitted", why)
	default:
		c.Say("%s: the events were not emitted", why)
	}
}
