package bus

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/codec"
)

// oldSQL reads the events of one type after a number, with how many claims they have, how
// many of these are open, and how many handlers have asked for them and have none. Handlers
// that are forgotten do not count.
const oldSQL = `SELECT e.id, e.onto_seq, e.priority, e.ordering_key, length(CAST(e.payload AS BLOB)), e.created_at,
	(SELECT count(*) FROM event_claims c INDEXED BY idx_event_claims_event WHERE c.event_id = e.id AND c.session_id <> ''),
	(SELECT count(*) FROM event_claims c INDEXED BY idx_event_claims_event WHERE c.event_id = e.id AND c.ack_at IS NULL
		AND c.dead_lettered_at IS NULL AND c.handler_id NOT IN (SELECT value FROM json_each(?1))),
	(SELECT count(*) FROM onto_event_queues q WHERE q.namespace = e.namespace AND q.type = e.type AND q.handler_id NOT IN (SELECT value FROM json_each(?1))
		AND NOT EXISTS (SELECT 1 FROM event_claims c ` + byClaim + ` WHERE c.event_id = e.id AND c.handler_id = q.handler_id))
	FROM events e INDEXED BY onto_events_arrival WHERE e.namespace = ?2 AND e.type = ?3 AND e.onto_seq > ?4 ORDER BY e.onto_seq`

// old is an event that is old enough to be removed.
type old struct {
	id            string
	seq, priority int64
	key           string
	bytes, claims int64
	keep          bool // a handler has still to handle it
}

// eachOld calls f with the events of a type that are older than a cleaning asks for, in
// the order of arrival, which is that of their times, after a number.
func eachOld(ctx context.Context, c *driver.Conn, by *backend.Cleaning, k kind, after int64, f func(old) error) error {
	forget, _ := json.Marshal(append([]string{}, by.Forget...))     // texts
	before := codec.FormatTime(by.Before.Add(time.Microsecond - 1)) // rounded up
	err := c.Each(ctx, oldSQL, []any{string(forget), k.namespace, k.typ, after}, func(r *driver.Rows) error {
		if r.Text(5) >= before {
			return errEnough
		}
		return f(old{r.Text(0), r.Int(1), r.Int(2), r.Text(3), r.Int(4), r.Int(6), r.Int(7)+r.Int(8) > 0 && !by.Unhandled})
	})
	if err == errEnough {
		return nil
	}
	return err
}

// PlanCleaning tells what a cleaning would remove.
func PlanCleaning(m *layout.Moment, by *backend.Cleaning) (plan backend.CleanPlan, err error) {
	kinds, err := kindsOf(m, by.Namespace)
	if err != nil {
		return plan, err
	}
	for _, k := range kinds {
		err := eachOld(m.Ctx, m.Conn, by, k, 0, func(o old) error {
			count(&plan, k, &o)
			return nil
		})
		if err != nil {
			return plan, err
		}
	}
	return plan, nil
}

// count adds an event to a plan.
func count(plan *backend.CleanPlan, k kind, o *old) {
	n := len(plan.Types)
	if n == 0 || plan.Types[n-1].Namespace != k.namespace || plan.Types[n-1].Type != k.typ {
		plan.Types = append(plan.Types, backend.CleanType{Namespace: k.namespace, Type: k.typ})
		n++
	}
	t := &plan.Types[n-1]
	if o.keep {
		plan.Kept++
		t.Kept++
		return
	}
	plan.Events++
	plan.Claims += o.claims
	plan.Bytes += o.bytes
	t.Events++
}

// Cleaner removes events step by step.
type Cleaner struct {
	by        *backend.Cleaning
	listed    bool   // kinds was read
	kinds     []kind // those that are left
	after     int64  // events of the first kind up to this number are done
	forgotten bool   // handlers are, at last
}

// NewCleaner starts to remove what a cleaning asks for.
func NewCleaner(by *backend.Cleaning) *Cleaner { return &Cleaner{by: by} }

// Done reports whether nothing is left to do.
func (c *Cleaner) Done() bool { return c.forgotten }

// cleanStep is how many events one transaction looks at.
const cleanStep = 2000

// Step removes some events, and adds them to what was done.
func (c *Cleaner) Step(t *Tx, done *backend.CleanPlan) (err error) {
	if !c.listed {
		if c.kinds, err = kindsOf(&layout.Moment{Conn: t.w, Ctx: context.Background()}, c.by.Namespace); err != nil {
			return err
		}
		c.listed = true
	}
	if len(c.kinds) == 0 {
		c.forgotten = true
		return c.forget(t)
	}
	k := c.kinds[0]
	var list []old
	err = eachOld(context.Background(), t.w, c.by, k, c.after, func(o old) error {
		list = append(list, o)
		if len(list) == cleanStep {
			return errEnough
		}
		return nil
	})
	if err != nil {
		return err
	}
	removed := done.Events
	for i := range list {
		o := &list[i]
		if count(done, k, o); o.keep {
			continue
		}
		if err := t.removeEvent(k, o); err != nil {
			return err
		}
	}
	if done.Events > removed {
		if err := t.exec(`INSERT OR IGNORE INTO onto_event_types (namespace, type) VALUES (?, ?)`, k.namespace, k.typ); err != nil {
			return err
		}
	}
	if len(list) < cleanStep {
		c.kinds, c.after = c.kinds[1:], 0
	} else {
		c.after = list[len(list)-1].seq
	}
	return nil
}

// forget removes what handlers have asked for, and their open claims.
func (c *Cleaner) forget(t *Tx) error {
	for _, h := range c.by.Forget {
		where, args := `handler_id = ?`, []any{h}
		claims := `DELETE FROM event_claims INDEXED BY idx_event_claims_handler_state WHERE handler_id = ? AND ` + isOpen
		if c.by.Namespace != "" {
			where, args = where+` AND namespace = ?`, append(args, c.by.Namespace)
			claims += ` AND (SELECT namespace FROM events ` + byEvent + ` WHERE id = event_id) = ?`
		}
		for _, sql := range []string{
			claims,
			`DELETE FROM onto_event_ready WHERE queue IN (SELECT id FROM onto_event_queues WHERE ` + where + `)`,
			`DELETE FROM onto_event_keys WHERE ` + where,
			`DELETE FROM onto_event_behind WHERE ` + where,
			`DELETE FROM onto_event_queues WHERE ` + where,
		} {
			if err := t.exec(sql, args...); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeEvent removes an event with its claims, and takes it out of its places.
func (t *Tx) removeEvent(k kind, o *old) error {
	const queues = `SELECT id, handler_id FROM onto_event_queues WHERE namespace = ? AND type = ?`
	type asked struct {
		queue   int64
		handler string
	}
	list, err := driver.List(context.Background(), t.w, queues, []any{k.namespace, k.typ}, func(r *driver.Rows) (asked, error) {
		return asked{r.Int(0), r.Text(1)}, nil
	})
	if err != nil {
		return err
	}
	if err := t.exec(`DELETE FROM event_claims INDEXED BY idx_event_claims_event WHERE event_id = ?`, o.id); err != nil {
		return err
	}
	for _, q := range list {
		if err := t.exec(`DELETE FROM onto_event_ready WHERE queue = ? AND rank = ? AND seq = ?`, q.queue, -o.priority, o.seq); err != nil {
			return err
		}
		if o.key == "" {
			continue
		}
		err := t.exec(`DELETE FROM onto_event_behind WHERE namespace = ? AND handler_id = ? AND ordering_key = ? AND seq = ?`, k.namespace, q.handler, o.key, o.seq)
		if err == nil {
			err = t.freeKey(k.namespace, q.handler, o.key, o.id)
		}
		if err != nil {
			return err
		}
	}
	if err := t.exec(`UPDATE onto_bus SET held = held - 1, held_sum = held_sum - coalesce((SELECT onto_sum FROM events `+byEvent+` WHERE id = ?), 0)`, o.id); err != nil {
		return err
	}
	return t.exec(`DELETE FROM events `+byEvent+` WHERE id = ?`, o.id)
}
