package check

import (
	"fmt"

	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/audit"
)

// events checks that every event of a type that a handler has asked for is in one
// place, see layout/bus.go.
func (c *checker) events() error {
	if err := c.readable(layout.BusReads()); err != nil {
		return err
	}
	b := &busChecker{c}
	for _, step := range []func() error{b.numbers, b.counts, b.commits, b.orphans, b.places, b.ready, b.behind, b.keys, b.turns} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// readable fails if a table or a column that statements read is missing.
func (c *checker) readable(statements []string) error {
	for _, sql := range statements {
		if _, _, err := c.r.QueryRow(sql); err != nil {
			return err
		}
	}
	return nil
}

// busChecker is a check of events under way.
type busChecker struct{ *checker }

// each reports every row of a query, with its columns as the arguments of the message.
func (b *busChecker) each(code audit.Code, message, sql string) error {
	return b.r.Each(sql, nil, func(r *driver.Rows) error {
		args := make([]any, len(r.Vals))
		for i, v := range r.Vals {
			args[i] = fmt.Sprint(v)
		}
		return b.report(code, message, args...)
	})
}

// numbers checks the order of arrival.
func (b *busChecker) numbers() error {
	n, err := b.r.QueryInt(`SELECT count(*) FROM onto_bus`)
	if err != nil {
		return err
	}
	if n == 0 {
		return b.report(audit.EventNumber, "the table onto_bus is empty, so no event can be numbered")
	}
	for _, q := range []struct{ message, sql string }{
		{"the newest event is said to have the number %s", fmt.Sprintf(`SELECT seq FROM onto_bus WHERE typeof(seq) <> 'integer' OR seq NOT BETWEEN 0 AND %d`, layout.MaxEvent)},
		{"event %s has no number", `SELECT id FROM events WHERE onto_seq IS NULL`},
		{"%s events have the number %s, the first of them event %s",
			`SELECT count(*), onto_seq, min(id) FROM events WHERE onto_seq IS NOT NULL GROUP BY onto_seq HAVING count(*) > 1`},
		{"event %s has the number %s, and the newest is said to be %s",
			`SELECT e.id, e.onto_seq, b.seq FROM onto_bus b CROSS JOIN events e WHERE e.onto_seq > b.seq`},
		{"event %s has the number %s and an ordering key or a time to wait for, and no event after number %s is said to have one",
			`SELECT e.id, e.onto_seq, b.special FROM onto_bus b CROSS JOIN events e WHERE e.onto_seq > b.special AND (e.ordering_key IS NOT NULL OR e.not_before IS NOT NULL)`},
		{"the handler %s in %s has gone through %s up to number %s, and the newest is %s",
			`SELECT q.handler_id, q.namespace, q.type, q.filled, b.seq FROM onto_bus b CROSS JOIN onto_event_queues q WHERE q.filled > b.seq`},
	} {
		if err := b.each(audit.EventNumber, q.message, q.sql); err != nil {
			return err
		}
	}
	return nil
}

// counts checks the numbers of claims.
func (b *busChecker) counts() error {
	return b.each(audit.ClaimDamaged, "the claim of handler %s on event %s has %s attempts and %s deliveries",
		fmt.Sprintf(`SELECT handler_id, event_id, attempts, deliveries FROM event_claims
			WHERE typeof(attempts) <> 'integer' OR attempts NOT BETWEEN 0 AND %[1]d OR typeof(deliveries) <> 'integer' OR deliveries NOT BETWEEN 0 AND %[1]d`, layout.MaxCount))
}

// commits finds events that ride in a commit that does not exist.
func (b *busChecker) commits() error {
	return b.each(audit.EventWithoutCommit, "event %s rides in commit %s, which does not exist",
		`SELECT e.id, e.commit_id FROM events e WHERE e.commit_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM commits c WHERE c.id = e.commit_id)`)
}

// orphans finds claims on events that do not exist.
func (b *busChecker) orphans() error {
	const sql = `SELECT count(*), min(c.event_id) FROM event_claims c WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.id = c.event_id)`
	r, ok, err := b.r.QueryRow(sql)
	if err != nil || !ok || r.Int(0) == 0 {
		return err
	}
	return b.report(audit.ClaimsOrphaned, "claims on events that do not exist: %d, the first of them on event %s", r.Int(0), r.Text(1))
}

// placesSQL has a row for every event of a type that a handler has asked for: whether it
// is ready, whether it is behind another one, and the state of the claim on it.
const placesSQL = `WITH place AS (
	SELECT q.handler_id AS handler, e.id AS event, e.onto_seq <= q.filled AS filled, r.queue IS NOT NULL AS ready, b.seq IS NOT NULL AS behind,
		CASE WHEN c.event_id IS NULL THEN 'none' WHEN c.ack_at IS NOT NULL OR c.dead_lettered_at IS NOT NULL THEN 'done'
			WHEN c.onto_queued <> 0 THEN 'queued' ELSE 'open' END AS claim
	FROM onto_event_queues q CROSS JOIN events e ON e.namespace = q.namespace AND e.type = q.type AND e.onto_seq IS NOT NULL
	LEFT JOIN event_claims c ON c.event_id = e.id AND c.handler_id = q.handler_id
	LEFT JOIN onto_event_ready r ON r.queue = q.id AND r.rank = -e.priority AND r.seq = e.onto_seq AND r.event_id = e.id
	LEFT JOIN onto_event_behind b ON b.namespace = q.namespace AND b.handler_id = q.handler_id AND b.ordering_key = e.ordering_key
		AND b.seq = e.onto_seq AND b.event_id = e.id) `

// places finds events in no place, or in two.
func (b *busChecker) places() error {
	err := b.each(audit.EventUnplaced, "event %s waits for the handler %s, and no claim will find it",
		placesSQL+`SELECT event, handler FROM place WHERE NOT ready AND NOT behind AND (claim = 'none' AND filled OR claim = 'queued')`)
	if err == nil {
		err = b.each(audit.EventMisplaced, "event %s is in two places for the handler %s",
			placesSQL+`SELECT event, handler FROM place WHERE ready AND (behind OR claim IN ('open', 'done')) OR behind AND claim <> 'none'
				OR claim = 'none' AND NOT filled AND (ready OR behind)`)
	}
	return err
}

// ready checks that what is ready is an event as the row says, and in play for its key.
func (b *busChecker) ready() error {
	const from = ` FROM onto_event_ready r LEFT JOIN onto_event_queues q ON q.id = r.queue LEFT JOIN events e ON e.id = r.event_id `
	err := b.each(audit.EventMisplaced, "event %s is ready in queue %s, to which it does not belong, or not in its order",
		`SELECT r.event_id, r.queue`+from+`WHERE q.id IS NULL OR (e.namespace, e.type, -e.priority, e.onto_seq) IS NOT (q.namespace, q.type, r.rank, r.seq)`)
	if err == nil {
		err = b.each(audit.EventMisplaced, "event %s of the ordering key %s is ready for the handler %s, though another one is in play",
			`SELECT e.id, e.ordering_key, q.handler_id`+from+`LEFT JOIN onto_event_keys k ON k.namespace = q.namespace AND k.handler_id = q.handler_id AND k.ordering_key = e.ordering_key
			WHERE q.id IS NOT NULL AND e.ordering_key IS NOT NULL AND k.event_id IS NOT e.id`)
	}
	return err
}

// behind checks that what is behind another event is an event as the row says, and that
// there is one in play.
func (b *busChecker) behind() error {
	const from = ` FROM onto_event_behind b LEFT JOIN events e ON e.id = b.event_id `
	err := b.each(audit.EventMisplaced, "event %s is behind others of the ordering key %s for the handler %s, to which it does not belong",
		`SELECT b.event_id, b.ordering_key, b.handler_id`+from+`LEFT JOIN onto_event_queues q ON q.namespace = b.namespace AND q.handler_id = b.handler_id AND q.type = e.type
		WHERE q.id IS NULL OR (e.namespace, e.ordering_key, e.onto_seq) IS NOT (b.namespace, b.ordering_key, b.seq)`)
	if err == nil {
		err = b.each(audit.KeyStuck, "%s events of the ordering key %s in %s wait for the handler %s, and none is in play",
			`SELECT count(*), b.ordering_key, b.namespace, b.handler_id FROM onto_event_behind b LEFT JOIN onto_event_keys k
			ON k.namespace = b.namespace AND k.handler_id = b.handler_id AND k.ordering_key = b.ordering_key
			WHERE k.event_id IS NULL GROUP BY b.namespace, b.handler_id, b.ordering_key`)
	}
	return err
}

// keys checks that what is in play for an ordering key is of that key, and ready or
// claimed.
func (b *busChecker) keys() error {
	const from = ` FROM onto_event_keys k LEFT JOIN events e ON e.id = k.event_id LEFT JOIN event_claims c ON c.event_id = k.event_id AND c.handler_id = k.handler_id
		LEFT JOIN onto_event_queues q ON q.namespace = k.namespace AND q.handler_id = k.handler_id AND q.type = e.type
		LEFT JOIN onto_event_ready r ON r.queue = q.id AND r.rank = -e.priority AND r.seq = e.onto_seq AND r.event_id = e.id `
	err := b.each(audit.EventMisplaced, "event %s is in play for the ordering key %s of the handler %s, to which it does not belong",
		`SELECT k.event_id, k.ordering_key, k.handler_id`+from+`WHERE (e.namespace, e.ordering_key) IS NOT (k.namespace, k.ordering_key)`)
	if err == nil {
		err = b.each(audit.KeyStuck, "event %s is in play for the ordering key %s of the handler %s, and neither ready nor claimed",
			`SELECT k.event_id, k.ordering_key, k.handler_id`+from+`WHERE r.queue IS NULL AND (c.event_id IS NULL OR c.ack_at IS NOT NULL OR c.dead_lettered_at IS NOT NULL OR c.onto_queued <> 0)`)
	}
	return err
}

// turns checks that of the events of an ordering key only the one in play is claimed.
func (b *busChecker) turns() error {
	return b.each(audit.EventMisplaced, "event %s of the ordering key %s is claimed by the handler %s, and not in play",
		`SELECT e.id, e.ordering_key, c.handler_id FROM event_claims c CROSS JOIN events e ON e.id = c.event_id
		LEFT JOIN onto_event_keys k ON k.namespace = e.namespace AND k.handler_id = c.handler_id AND k.ordering_key = e.ordering_key
		WHERE e.ordering_key IS NOT NULL AND c.ack_at IS NULL AND c.dead_lettered_at IS NULL AND k.event_id IS NOT e.id`)
}
