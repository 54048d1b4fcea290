package bus

import (
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/codec"
)

// eventColumns are the columns of an event in the order of their values, onto_seq last.
const (
	eventColumns = `id, namespace, type, payload, created_at, priority, root_event_id, chain_depth, ordering_key, commit_id,
		parent_event_id, replay_of, not_before, onto_seq`
	eventWidth = 14
)

// eventList is the columns of the event called e.
const eventList = `e.id, e.namespace, e.type, e.payload, e.created_at, e.priority, e.root_event_id, e.chain_depth, e.ordering_key, e.commit_id,
	e.parent_event_id, e.replay_of, e.not_before, e.onto_seq`

// insertEvents are the inserts by number of rows.
var insertEvents = map[int]string{1: eventInsert(1), layout.SmallBulk: eventInsert(layout.SmallBulk), layout.LargeBulk: eventInsert(layout.LargeBulk)}

func eventInsert(n int) string {
	row := "(" + strings.Repeat("?, ", eventWidth-1) + "?)"
	return "INSERT INTO events (" + eventColumns + ") VALUES " + strings.Repeat(row+", ", n-1) + row
}

// appendEvent appends the values of an event.
func appendEvent(args []any, e *onto.Event, seq int64) []any {
	return append(args, e.ID, e.Namespace, e.Type, string(e.Payload), codec.FormatTime(e.Time), int64(e.Priority), e.Root, int64(e.Depth),
		layout.OrNull(e.OrderingKey), layout.OrNull(e.Commit), layout.OrNull(e.Parent), layout.OrNull(e.ReplayOf), layout.OrNullTime(e.NotBefore), seq)
}

// eventAt reads an event, whose columns start at column i.
func eventAt(r *driver.Rows, i int) onto.Event {
	return onto.Event{
		ID: r.Text(i), Namespace: r.Text(i + 1), Type: r.Text(i + 2), Payload: r.Bytes(i + 3), Time: layout.StoredTime(r.Text(i + 4)),
		Priority: int(r.Int(i + 5)), Root: r.Text(i + 6), Depth: layout.CountAt(r, i+7), OrderingKey: r.Text(i + 8), Commit: r.Int(i + 9),
		Parent: r.Text(i + 10), ReplayOf: r.Text(i + 11), NotBefore: layout.TimeAt(r, i+12),
	}
}
