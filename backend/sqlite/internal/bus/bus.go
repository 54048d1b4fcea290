// Package bus keeps events and claims in the tables of a SQLite file, see
// layout/bus.go. Its functions run in a transaction of their caller and never commit.
//
// Nothing here costs by what was handled before: every statement names the index that
// leads to what is left.
package bus

import (
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/refusal"
)

// The indexes that SQLite makes for primary keys.
const (
	byEvent = `INDEXED BY sqlite_autoindex_events_1`
	byClaim = `INDEXED BY sqlite_autoindex_event_claims_1`
)

// isOpen is the condition that a claim is neither acked nor dead; isHeld that it was not
// given up either. A claim that was released or returned is available from when its
// lease ended.
const (
	isOpen = `ack_at IS NULL AND dead_lettered_at IS NULL`
	isHeld = isOpen + ` AND lease_until > available_at`
)

// Tx is the bus within a write transaction.
type Tx struct {
	w   *driver.Conn
	now time.Time
	at  string // now, as it is stored

	// ahead is the last end of a lease that can be right, see [backend.Ahead], as it is stored.
	ahead string

	read    bool      // what follows was read
	seq     int64     // the number of the newest event
	last    time.Time // of that event
	special int64     // no event after this number has a key or waits for its time

	Wrote bool // something was changed
}

// Begin starts with a write transaction. Now is in the precision that is stored.
func Begin(w *driver.Conn, now time.Time) *Tx {
	return &Tx{w: w, now: now, at: codec.FormatTime(now), ahead: limit(now)}
}

// limit is the last end of a lease that can be right, as it is stored.
func limit(now time.Time) string { return codec.FormatTime(now.Add(backend.MaxLease)) }

// change runs a statement and returns how many rows it has changed.
func (t *Tx) change(sql string, args ...any) (int64, error) {
	n, err := t.w.Change(sql, args...)
	t.Wrote = t.Wrote || n > 0
	return n, err
}

// exec is change without the number.
func (t *Tx) exec(sql string, args ...any) error {
	_, err := t.change(sql, args...)
	return err
}

// maxStep bounds how many events one transaction fills in or makes ready.
const maxStep = 10_000

// Catch reads how far the bus is.
func (t *Tx) Catch() error {
	if t.read {
		return nil
	}
	r, ok, err := t.w.QueryRow(`SELECT seq, last_at, special FROM onto_bus`)
	if err != nil {
		return err
	}
	if !ok {
		return damaged("the table onto_bus is empty")
	}
	if seq, isInt := r.Vals[0].(int64); !isInt || seq < 0 || seq > layout.MaxEvent {
		return damaged("the number of the newest event is %v", r.Vals[0])
	}
	t.read, t.seq, t.last, t.special = true, r.Int(0), refusal.StoredClock(layout.StoredTime(r.Text(1))), r.Int(2)
	return nil
}

// damaged is the error for what is derived from events and claims, where a rebuild mends it.
func damaged(format string, args ...any) error {
	return onto.Errorf(onto.Corrupt, format, args...).WithHint("make it anew").WithCommand("projection", "rebuild")
}

// LastTime is the time of the newest event.
func (t *Tx) LastTime() time.Time { return t.last }

// Insert writes events.
func (t *Tx) Insert(events []onto.Event) error {
	if len(events) == 0 {
		return nil
	}
	var buf [layout.SmallBulk * (eventWidth + 1)]any
	args := buf[:0]
	var sums int64
	for rest := events; len(rest) > 0; {
		n := layout.BulkSize(len(rest))
		args = args[:0]
		for i := range rest[:n] {
			t.seq++
			var sum int64
			args, sum = t.appendEvent(args, &rest[i], t.seq)
			sums += sum
			if rest[i].OrderingKey != "" || !rest[i].NotBefore.IsZero() {
				t.special = t.seq
			}
		}
		if err := t.exec(insertEvents[n], args...); err != nil {
			return err
		}
		rest = rest[n:]
	}
	t.last = events[len(events)-1].Time
	return t.exec(`UPDATE onto_bus SET seq = ?, last_at = ?, special = ?, held = held + ?, held_sum = held_sum + ?`,
		t.seq, codec.FormatTime(t.last), t.special, len(events), sums)
}

// Position looks up a position.
func Position(c *driver.Conn, name string) (int64, error) {
	return c.QueryInt(`SELECT commit_id FROM onto_positions WHERE name = ?`, name)
}

// Move stores a position.
func (t *Tx) Move(p onto.Position) error {
	if p.Commit == 0 {
		return t.exec(`DELETE FROM onto_positions WHERE name = ?`, p.Name)
	}
	return t.exec(`INSERT INTO onto_positions (name, commit_id) VALUES (?, ?) ON CONFLICT DO UPDATE SET commit_id = excluded.commit_id`, p.Name, p.Commit)
}

// Beat records that a session is alive, extends its claims, and returns those that are
// not held any more.
func (t *Tx) Beat(b *backend.Beat) (lost []onto.Claim, err error) {
	if b.End {
		return nil, t.exec(`DELETE FROM sessions WHERE session_id = ?`, b.ID)
	}
	err = t.exec(`INSERT INTO sessions (session_id, namespace, started_at, last_heartbeat, metadata) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET namespace = excluded.namespace, last_heartbeat = excluded.last_heartbeat, metadata = excluded.metadata`,
		b.ID, b.Namespace, t.at, t.at, layout.OrNull(string(b.Metadata)))
	if err != nil {
		return nil, err
	}
	var at []int
	for _, g := range gather(b.Claims, groupOf) {
		kept, err := t.extend(g, b.Lease)
		if err != nil {
			return nil, err
		}
		for _, i := range g.members {
			if !kept[b.Claims[i].ID] {
				at = append(at, i)
			}
		}
	}
	slices.Sort(at)
	for _, i := range at {
		lost = append(lost, b.Claims[i])
	}
	return lost, nil
}
