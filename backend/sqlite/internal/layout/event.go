package layout

import (
	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/internal/codec"
)

// EventColumns are the columns of an event that are written once, in the order in which its
// checksum covers them. Its number is not among them.
const (
	EventColumns = `id, namespace, type, payload, created_at, priority, root_event_id, chain_depth, ordering_key, commit_id,
		parent_event_id, replay_of, not_before`
	EventWidth = 13
)

// EventArgs appends the values of these columns.
func EventArgs(args []any, e *onto.Event) []any {
	return append(args, e.ID, e.Namespace, e.Type, string(e.Payload), codec.FormatTime(e.Time), int64(e.Priority), e.Root, int64(e.Depth),
		OrNull(e.OrderingKey), OrNull(e.Commit), OrNull(e.Parent), OrNull(e.ReplayOf), OrNullTime(e.NotBefore))
}

// EventSum is the checksum of an event.
func EventSum(w *driver.Conn, e *onto.Event) int64 {
	var buf [EventWidth]any
	return SumOf(&w.Scratch, EventArgs(buf[:0], e))
}
