package sqlite_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"
)

// originalBus is the event store of the original program: its statements, with their
// conditions as it documents them, on a connection of its own.
type originalBus struct {
	t     *testing.T
	db    *sql.DB
	clock *busClock
	made  int
}

func openOriginalBus(t *testing.T, path string, clock *busClock) *originalBus {
	t.Helper()
	db, err := sql.Open("sqlite3", path+"?_busy_timeout=5000&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return &originalBus{t: t, db: db, clock: clock}
}

func (o *originalBus) exec(statement string, args ...any) int64 {
	o.t.Helper()
	r, err := o.db.Exec(statement, args...)
	if err != nil {
		o.t.Fatal(err)
	}
	n, _ := r.RowsAffected()
	return n
}

// ids returns the first column of what a query finds.
func (o *originalBus) ids(statement string, args ...any) []string {
	o.t.Helper()
	rows, err := o.db.Query(statement, args...)
	if err != nil {
		o.t.Fatal(err)
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			o.t.Fatal(err)
		}
		list = append(list, id)
	}
	if err := rows.Err(); err != nil {
		o.t.Fatal(err)
	}
	return list
}

// enqueue adds an event.
func (o *originalBus) enqueue(id, typ string, priority int) {
	o.t.Helper()
	o.exec(`INSERT INTO events (id, namespace, type, payload, created_at, priority, root_event_id, chain_depth) VALUES (?, 'n', ?, '{"by": "python"}', ?, ?, ?, 0)`,
		id, typ, o.clock.sql(), priority, id)
}

// eligible lists what it would claim now.
func (o *originalBus) eligible(handler string, limit int, types ...string) []string {
	o.t.Helper()
	args := []any{handler}
	for _, t := range types {
		args = append(args, t)
	}
	return o.ids(`SELECT e.id FROM events e LEFT JOIN event_claims c ON c.event_id = e.id AND c.handler_id = ?
		WHERE e.namespace = 'n' AND e.type IN (`+strings.Repeat("?, ", len(types)-1)+`?)
		AND (c.event_id IS NULL OR c.ack_at IS NULL AND c.dead_lettered_at IS NULL AND c.lease_until <= ? AND c.available_at <= ?)
		ORDER BY e.priority DESC, e.created_at ASC, e.id ASC LIMIT ?`, append(args, o.clock.sql(), o.clock.sql(), limit)...)
}

// claim claims events for a session.
func (o *originalBus) claim(handler, session string, limit int, lease time.Duration, types ...string) []string {
	o.t.Helper()
	ids := o.eligible(handler, limit, types...)
	for _, id := range ids {
		o.exec(`INSERT INTO event_claims (event_id, handler_id, session_id, claimed_at, lease_until, ack_at, attempts, available_at, last_error, dead_lettered_at)
			VALUES (?, ?, ?, ?, ?, NULL, 0, ?, NULL, NULL)
			ON CONFLICT(event_id, handler_id) DO UPDATE SET session_id = excluded.session_id, claimed_at = excluded.claimed_at, lease_until = excluded.lease_until`,
			id, handler, session, o.clock.sql(), o.clock.after(lease), o.clock.sql())
	}
	return ids
}

// ack marks a claim, whoever holds it.
func (o *originalBus) ack(handler, id string) {
	o.t.Helper()
	o.exec(`UPDATE event_claims SET ack_at = ? WHERE event_id = ? AND handler_id = ?`, o.clock.sql(), id, handler)
}

// release counts a failure: the claim is available again after a while, or dead.
func (o *originalBus) release(handler, id, reason string, backoff time.Duration, dead bool) {
	o.t.Helper()
	now := o.clock.sql()
	if !dead {
		o.exec(`UPDATE event_claims SET attempts = attempts + 1, last_error = ?, lease_until = ?, available_at = ? WHERE event_id = ? AND handler_id = ?`,
			reason, now, o.clock.after(backoff), id, handler)
		return
	}
	if o.exec(`UPDATE event_claims SET attempts = attempts + 1, last_error = ?, dead_lettered_at = ?, lease_until = ?, available_at = ? WHERE event_id = ? AND handler_id = ?`,
		reason, now, now, now, id, handler) == 0 {
		return
	}
	o.exec(`INSERT INTO dead_letters (event_id, handler_id, namespace, failed_at, attempts, last_error, event_type, event_payload, root_event_id, chain_depth)
		SELECT e.id, c.handler_id, e.namespace, ?, c.attempts, c.last_error, e.type, e.payload, e.root_event_id, e.chain_depth
		FROM events e JOIN event_claims c ON c.event_id = e.id AND c.handler_id = ? WHERE e.id = ?`, now, handler, id)
	o.made++
	o.exec(`INSERT INTO events (id, namespace, type, payload, created_at, priority, root_event_id, chain_depth)
		SELECT ?, namespace, 'event.dead_letter', '{}', ?, 100, root_event_id, chain_depth + 1 FROM events WHERE id = ?`, fmt.Sprint("notice-", o.made), now, id)
}

// list is its list of events with what has become of each, as status prints it.
func (o *originalBus) list() string {
	o.t.Helper()
	return strings.Join(o.ids(`SELECT e.id || ' ' || CASE
			WHEN EXISTS (SELECT 1 FROM event_claims c WHERE c.event_id = e.id AND c.dead_lettered_at IS NOT NULL) THEN 'dead_lettered'
			WHEN EXISTS (SELECT 1 FROM event_claims c WHERE c.event_id = e.id AND c.ack_at IS NOT NULL) THEN 'acked'
			WHEN EXISTS (SELECT 1 FROM event_claims c WHERE c.event_id = e.id AND c.lease_until > ?) THEN 'claimed'
			ELSE 'pending' END
		FROM events e WHERE e.namespace = 'n' ORDER BY e.priority DESC, e.created_at ASC, e.id ASC`, o.clock.sql()), "; ")
}

// inspect is what it shows of an event's claims.
func (o *originalBus) inspect(id string) string {
	o.t.Helper()
	return strings.Join(o.ids(`SELECT handler_id || ' ' || session_id || ' ' || attempts || ' ' || coalesce(last_error, '-') || ' ' || claimed_at || ' ' || lease_until
		|| ' ' || available_at || ' ' || coalesce(ack_at, '-') || ' ' || coalesce(dead_lettered_at, '-') FROM event_claims WHERE event_id = ? ORDER BY handler_id`, id), "; ")
}

// cleanup removes events that are older, with their claims.
func (o *originalBus) cleanup(before time.Time) {
	o.t.Helper()
	at := before.Format("2006-01-02T15:04:05.000000-07:00")
	o.exec(`DELETE FROM event_claims WHERE event_id IN (SELECT id FROM events WHERE namespace = 'n' AND created_at < ?)`, at)
	o.exec(`DELETE FROM events WHERE namespace = 'n' AND created_at < ?`, at)
}

// replay repeats an event under a new id.
func (o *originalBus) replay(id, as string) {
	o.t.Helper()
	o.exec(`INSERT INTO events (id, namespace, type, payload, created_at, priority, root_event_id, chain_depth)
		SELECT ?1, namespace, type, payload, ?2, priority, ?1, 0 FROM events WHERE namespace = 'n' AND id = ?3`, as, o.clock.sql(), id)
}

// register records a session, and heartbeat that it is alive.
func (o *originalBus) register(session string) {
	o.t.Helper()
	o.exec(`INSERT INTO sessions (session_id, namespace, started_at, last_heartbeat, metadata) VALUES (?1, 'n', ?2, ?2, '{"host": "a"}')
		ON CONFLICT(session_id) DO UPDATE SET namespace = excluded.namespace, last_heartbeat = excluded.last_heartbeat, metadata = excluded.metadata`, session, o.clock.sql())
}

func (o *originalBus) heartbeat(session string) {
	o.t.Helper()
	o.exec(`UPDATE sessions SET last_heartbeat = ? WHERE session_id = ?`, o.clock.sql(), session)
}
