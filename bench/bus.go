package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
)

func busBenchmarks() []benchmark {
	return []benchmark{
		{"B12", "claim and ack with many acked events kept", "bus", busClaims},
		{"B14", "from a commit to a handler", "bus", latency},
	}
}

// The events of the benchmarks.
const (
	busNamespace = "bench"
	busHandler   = "worker"
	busType      = "OrderPaid"
)

var busPayload = json.RawMessage(`{"amount":1999,"currency":"EUR","customer":"c-0123456789","order":"o-0123456789"}`)

// busClaims is B12.
func busClaims(e *env) []row {
	kept := e.pick(1_000_000, 100_000)
	rows := e.claimRows(kept, 1, e.pick(20, 10), 25)
	rows = append(rows, e.claimRows(kept, 100, e.pick(20, 10), 10)...)
	return append(append(rows, e.claimGrowth(kept)), e.runRows(kept)...)
}

// claimRows compares claims of so many events, each with the ack of those before, with
// the queues of the controls.
func (e *env) claimRows(kept, size, rounds, calls int) []row {
	ours := e.openQueue(e.copied(e.ackedEvents(kept)), size)
	lean, single := e.openLean(size), e.openSingle()
	p := plan{rounds: rounds, turns: e.pick(8, 4)}
	taken := e.alternate(p, ours.turn(e, calls, "subject"), lean.turn(e, calls), single.turn(e, calls*min(size, 10)))
	name, raw, one := "claim and ack singly", atLeast(0.7), atLeast(1)
	if size > 1 {
		name, raw, one = fmt.Sprintf("claim and ack by %d", size), atLeast(0.25), atLeast(20)
	}
	return []row{
		faster(name+" / raw lean queue", taken[0], taken[1], raw),
		faster(name+" / a queue that receives and deletes one at a time", taken[0], taken[2], one),
	}
}

// claimGrowth compares many acked events with few.
func (e *env) claimGrowth(kept int) row {
	many, few := e.openQueue(e.copied(e.ackedEvents(kept)), 100), e.openQueue(e.copied(e.ackedEvents(1000)), 100)
	taken := e.alternate(plan{rounds: e.pick(20, 10), turns: 4}, many.turn(e, 10, "subject"), few.turn(e, 10, "control"))
	return slower(fmt.Sprintf("claim and ack by 100 with %s acked events kept / with 1,000", thousands(int64(kept))), taken[0], taken[1], atMost(1.3, "x"))
}

// ackedEvents is a fixture: a store with events that the handler has acked.
func (e *env) ackedEvents(n int) string {
	return e.fixture(fmt.Sprintf("acked-%d.db", n), func(path string) {
		b, err := sqlite.Open(e.ctx, path, nil)
		e.must(err)
		e.must(b.Close())
		db, err := sql.Open("sqlite3", "file:"+path+"?_journal_mode=WAL&_synchronous=OFF&_cache_size=-262144")
		e.must(err)
		const ids = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1),
			x AS (SELECT i, printf('%08x-0000-7000-8000-%012x', i, i) AS id, strftime('%Y-%m-%dT%H:%M:%S', 1.7e9 + i, 'unixepoch') || '.000000+00:00' AS at FROM n) `
		for _, insert := range []string{
			ids + `INSERT INTO events (id, namespace, type, payload, created_at, priority, root_event_id, chain_depth, onto_seq)
				SELECT id, ?2, ?3, ?5, at, 100, id, 0, i FROM x`,
			ids + `INSERT INTO event_claims (event_id, handler_id, session_id, claimed_at, lease_until, ack_at, attempts, available_at, deliveries)
				SELECT id, ?4, 's', at, at, at, 0, at, 1 FROM x`,
		} {
			_, err = db.ExecContext(e.ctx, insert, n, busNamespace, busType, busHandler, string(busPayload))
			e.must(err)
		}
		_, err = db.ExecContext(e.ctx, `UPDATE onto_bus SET seq = ?`, n)
		e.must(err)
		_, err = db.ExecContext(e.ctx, `INSERT INTO onto_event_queues (namespace, handler_id, type, filled) VALUES (?, ?, ?, ?)`, busNamespace, busHandler, busType, n)
		e.must(err)
		e.must(db.Close())
	})
}

// eventQueue is the subject: a handler that claims, and acks with the next claim.
type eventQueue struct {
	b       *sqlite.Backend
	request backend.ClaimRequest
	emitted int
}

func (e *env) openQueue(path string, size int) *eventQueue {
	b, err := sqlite.Open(e.ctx, path, nil)
	e.must(err)
	e.cleanup(func() { b.Close() })
	return &eventQueue{b: b, request: backend.ClaimRequest{
		Namespace: busNamespace, Handler: busHandler, Types: []string{busType}, Session: "s", Limit: size, Lease: time.Minute}}
}

// emit emits events, which is not measured.
func (q *eventQueue) emit(e *env, n int) {
	for n > 0 {
		list := make([]backend.NewEvent, min(n, 1000))
		for i := range list {
			q.emitted++
			list[i].Event = onto.Event{ID: fmt.Sprintf("ffffffff-%012x", q.emitted), Namespace: busNamespace, Type: busType, Payload: busPayload, Priority: onto.DefaultPriority}
		}
		_, err := q.b.Emit(e.ctx, &backend.Emission{Events: list})
		e.must(err)
		n -= len(list)
	}
}

func (q *eventQueue) turn(e *env, calls int, name string) side {
	return side{name, func() (int, func()) {
		q.emit(e, calls*q.request.Limit)
		return calls * q.request.Limit, func() {
			for range calls {
				q.claim(e)
			}
		}
	}}
}

// claim acks the last claims and claims the next events.
func (q *eventQueue) claim(e *env) {
	got, err := q.b.Claim(e.ctx, &q.request)
	e.must(err)
	e.assert(len(got.Claims) == q.request.Limit, "%d claims instead of %d", len(got.Claims), q.request.Limit)
	for _, err := range got.Verdicts {
		e.must(err)
	}
	q.request.Settle = q.request.Settle[:0]
	for _, c := range got.Claims {
		c.Deliveries++
		q.request.Settle = append(q.request.Settle, backend.Settlement{Claim: c, Do: backend.Ack})
	}
}

// handQueue is a queue by hand: a table and its statements.
type handQueue struct {
	*raw
	size                     int
	apart                    bool // it deletes in a transaction of its own
	insert, receive, discard *sql.Stmt
	held                     []any
	payload                  sql.RawBytes
}

func (e *env) openHand(size int, create, insert, receive, discard string) *handQueue {
	q := &handQueue{raw: e.openRaw(e.fresh("queue"), indexed), size: size}
	_, err := q.conn.ExecContext(e.ctx, create)
	e.must(err)
	for text, stmt := range map[string]**sql.Stmt{insert: &q.insert, receive: &q.receive, discard: &q.discard} {
		*stmt, err = q.conn.PrepareContext(e.ctx, text)
		e.must(err)
		e.cleanup(func() { (*stmt).Close() })
	}
	return q
}

// openLean is one table; a claim is an update, an ack a delete.
func (e *env) openLean(size int) *handQueue {
	return e.openHand(size,
		`CREATE TABLE queue (id INTEGER PRIMARY KEY, type TEXT NOT NULL, priority INTEGER NOT NULL, lease_until TEXT NOT NULL DEFAULT '', payload TEXT NOT NULL);
			CREATE INDEX queue_order ON queue(type, priority DESC, id)`,
		`INSERT INTO queue (type, priority, payload) VALUES (?, 100, ?)`,
		`UPDATE queue SET lease_until = ?1 WHERE id IN (SELECT id FROM queue WHERE type = ?3 AND lease_until <= ?2 ORDER BY priority DESC, id LIMIT ?4) RETURNING id, payload`,
		`DELETE FROM queue WHERE id = ?`)
}

// openSingle has the statements of a queue that receives one message and deletes it.
func (e *env) openSingle() *handQueue {
	q := e.openHand(1,
		`CREATE TABLE queue (id TEXT PRIMARY KEY DEFAULT ('m_' || lower(hex(randomblob(16)))), created TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ')),
			type TEXT NOT NULL, payload TEXT NOT NULL, lease_until TEXT NOT NULL DEFAULT '', received INTEGER NOT NULL DEFAULT 0) STRICT;
			CREATE INDEX queue_order ON queue(type, created)`,
		`INSERT INTO queue (type, payload) VALUES (?, ?)`,
		`UPDATE queue SET lease_until = ?1, received = received + 1 WHERE id = (SELECT id FROM queue WHERE type = ?3 AND lease_until <= ?2 AND received < 10
			ORDER BY created LIMIT ?4) RETURNING id, payload`,
		`DELETE FROM queue WHERE id = ?`)
	q.apart = true
	return q
}

// fill inserts messages, which is not measured.
func (q *handQueue) fill(e *env, n int) {
	e.must(q.transact(e.ctx, func() error {
		for range n {
			if _, err := q.insert.ExecContext(e.ctx, busType, string(busPayload)); err != nil {
				return err
			}
		}
		return nil
	}))
}

// turn is a turn of the lean queue, which deletes with the next claim, or of the one
// that receives and deletes in transactions of their own.
func (q *handQueue) turn(e *env, calls int) side {
	return side{"control", func() (int, func()) {
		q.fill(e, calls*q.size)
		return calls * q.size, func() {
			for range calls {
				if q.apart {
					e.must(q.transact(e.ctx, func() error { return q.claim(e) }))
					e.must(q.transact(e.ctx, func() error { return q.discardHeld(e) }))
					continue
				}
				e.must(q.transact(e.ctx, func() error {
					if err := q.discardHeld(e); err != nil {
						return err
					}
					return q.claim(e)
				}))
			}
		}
	}}
}

// discardHeld deletes what is held.
func (q *handQueue) discardHeld(e *env) error {
	for _, id := range q.held {
		if _, err := q.discard.ExecContext(e.ctx, id); err != nil {
			return err
		}
	}
	return nil
}

func (q *handQueue) claim(e *env) error {
	now := time.Now().UTC()
	rows, err := q.receive.QueryContext(e.ctx, now.Add(time.Minute).Format(time.RFC3339Nano), now.Format(time.RFC3339Nano), busType, q.size)
	if err != nil {
		return err
	}
	defer rows.Close()
	q.held = q.held[:0]
	for rows.Next() {
		var id any
		if err := rows.Scan(&id, &q.payload); err != nil {
			return err
		}
		if text, ok := id.([]byte); ok {
			id = string(text)
		}
		q.held = append(q.held, id)
	}
	e.assert(len(q.held) == q.size, "%d messages instead of %d", len(q.held), q.size)
	return rows.Err()
}
