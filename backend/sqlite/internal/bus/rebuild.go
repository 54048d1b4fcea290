package bus

import (
	"fmt"

	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
)

// claimCount is the SQL that brings a count of claims to what it can be.
func claimCount(column string) string {
	return fmt.Sprintf(`UPDATE event_claims SET %[1]s = max(0, min(CAST(%[1]s AS INTEGER), %[2]d))
		WHERE typeof(%[1]s) <> 'integer' OR %[1]s NOT BETWEEN 0 AND %[2]d`, column, layout.MaxCount)
}

// Rebuild empties what is derived, so that it fills again. Of the claims on events of one
// key at most one can be open: others, which are damage, are removed.
func Rebuild(w *driver.Conn) error {
	if err := layout.NumberEvents(w); err != nil {
		return err
	}
	const claimed = ` FROM event_claims c CROSS JOIN events e ON e.id = c.event_id
		WHERE c.ack_at IS NULL AND c.dead_lettered_at IS NULL AND e.ordering_key IS NOT NULL`
	for _, sql := range []string{
		`DELETE FROM onto_event_ready`,
		`DELETE FROM onto_event_behind`,
		`DELETE FROM onto_event_keys`,
		`UPDATE onto_event_queues SET filled = 0`,
		`UPDATE event_claims SET onto_queued = 0 WHERE onto_queued <> 0`,
		`UPDATE onto_bus SET held = (SELECT count(*) FROM events), held_sum = (SELECT coalesce(sum(onto_sum), 0) FROM events) WHERE held IS NULL OR held_sum IS NULL`,
		claimCount("attempts"), claimCount("deliveries"),
		`INSERT OR IGNORE INTO onto_event_keys SELECT e.namespace, c.handler_id, e.ordering_key, e.id` + claimed + ` ORDER BY e.onto_seq`,
		`DELETE FROM event_claims WHERE (event_id, handler_id) IN (SELECT e.id, c.handler_id` + claimed + `
			AND e.id <> (SELECT k.event_id FROM onto_event_keys k WHERE k.namespace = e.namespace AND k.handler_id = c.handler_id AND k.ordering_key = e.ordering_key))`,
	} {
		if err := w.Exec(sql); err != nil {
			return err
		}
	}
	return nil
}
