package bus

import (
	"context"
	"time"

	"github.com/ontologia/onto/backend/sqlite/internal/driver"
)

// Sweeps is how far handlers have looked through the events in play for their keys,
// by namespace and handler.
type Sweeps map[[2]string]sweep

type sweep struct {
	at    time.Time // of the last look
	after string    // the ordering key that it ended with
}

// How often a handler looks through events in play, and at how many at once.
const (
	sweepPause = time.Second
	sweepStep  = 1000
)

// sweep frees keys whose event in play another program has acked, buried or removed: it
// knows no keys, and the event is not ready, where a claim would come upon it.
func (c *claiming) sweep() (more bool, err error) {
	name := [2]string{c.Namespace, c.Handler}
	last, ok := c.Sweeps[name]
	if ok && c.now.Sub(last.at).Abs() < sweepPause {
		return false, nil
	}
	const sql = `SELECT k.ordering_key, k.event_id, e.id IS NULL OR c.ack_at IS NOT NULL OR c.dead_lettered_at IS NOT NULL
		FROM onto_event_keys k LEFT JOIN events e ` + byEvent + ` ON e.id = k.event_id
		LEFT JOIN event_claims c ` + byClaim + ` ON c.event_id = k.event_id AND c.handler_id = k.handler_id
		WHERE k.namespace = ? AND k.handler_id = ? AND k.ordering_key > ? ORDER BY k.ordering_key LIMIT ?`
	var over []arrival
	n, next := 0, ""
	err = c.w.Each(context.Background(), sql, []any{c.Namespace, c.Handler, last.after, sweepStep}, func(r *driver.Rows) error {
		n, next = n+1, r.Text(0)
		if r.Int(2) == 1 {
			over = append(over, arrival{id: r.Text(1), key: r.Text(0)})
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	for _, a := range over {
		if err := c.freeKey(c.Namespace, c.Handler, a.key, a.id); err != nil {
			return false, err
		}
	}
	if n < sweepStep {
		next = ""
	}
	if c.Sweeps != nil {
		c.Sweeps[name] = sweep{c.now, next}
	}
	return false, nil
}
