package bus

import (
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
)

// eventList is the columns of the event called e: those that are written once, and its number.
const eventList = `e.id, e.namespace, e.type, e.payload, e.created_at, e.priority, e.root_event_id, e.chain_depth, e.ordering_key, e.commit_id,
	e.parent_event_id, e.replay_of, e.not_before, e.onto_seq`

// eventWidth is their number.
const eventWidth = backend.EventWidth + 1

// insertEvents are the inserts by number of rows.
var insertEvents = map[int]string{1: eventInsert(1), layout.SmallBulk: eventInsert(layout.SmallBulk), layout.LargeBulk: eventInsert(layout.LargeBulk)}

func eventInsert(n int) string {
	row := "(" + strings.Repeat("?, ", eventWidth) + "?)"
	return "INSERT INTO events (" + layout.EventColumns + ", onto_seq, onto_sum) VALUES " + strings.Repeat(row+", ", n-1) + row
}

// appendEvent appends the values of an event, and returns its checksum.
func (t *Tx) appendEvent(args []any, e *onto.Event, seq int64) ([]any, int64) {
	from := len(args)
	args = backend.EventValues(args, e)
	sum := layout.SumOf(&t.w.Scratch, args[from:])
	return append(args, seq, sum), sum
}

// eventAt reads an event, whose columns start at column i.
func eventAt(r *driver.Rows, i int) onto.Event {
	return onto.Event{
		ID: r.Text(i), Namespace: r.Text(i + 1), Type: r.Text(i + 2), Payload: r.Bytes(i + 3), Time: layout.StoredTime(r.Text(i + 4)),
		Priority: int(r.Int(i + 5)), Root: r.Text(i + 6), Depth: layout.CountAt(r, i+7), OrderingKey: r.Text(i + 8), Commit: r.Int(i + 9),
		Parent: r.Text(i + 10), ReplayOf: r.Text(i + 11), NotBefore: layout.TimeAt(r, i+12),
	}
}
