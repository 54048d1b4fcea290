package bus

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/codec"
)

// queue is what a handler has asked for: events of one type.
type queue struct {
	id     int64
	typ    string
	filled int64 // events up to this number are in their places
}

// claiming is a claim under way.
type claiming struct {
	*Tx
	*backend.ClaimRequest
	queues []queue
	latest string // when the last open claim of the handler that is not ready falls due; "" for none
}

// Claim claims events. With more set nothing is claimed yet: there is so much to bring
// into place that it takes further transactions.
func (t *Tx) Claim(r *backend.ClaimRequest) (claims []onto.Claim, next time.Time, more bool, err error) {
	if err := t.Catch(); err != nil {
		return nil, next, false, err
	}
	c := &claiming{Tx: t, ClaimRequest: r}
	if err := c.ask(); err != nil {
		return nil, next, false, err
	}
	for _, step := range []func() (bool, error){c.fill, c.due, c.beyond} {
		if more, err = step(); more || err != nil {
			return nil, next, more, err
		}
	}
	if claims, err = c.take(); err != nil {
		return claims, next, false, err
	}
	next, err = c.next()
	return claims, next, false, err
}

// ask finds the queues of the types, and makes those that are missing.
func (c *claiming) ask() error {
	const sql = `SELECT id, type, filled, (SELECT max(c.lease_until, c.available_at) FROM event_claims c INDEXED BY onto_event_claims_open
			WHERE ` + openWhere + ` IS NOT NULL ORDER BY max(c.lease_until, c.available_at) DESC LIMIT 1)
		FROM onto_event_queues WHERE namespace = ?2 AND handler_id = ?1`
	all, err := driver.List(context.Background(), c.w, sql, []any{c.Handler, c.Namespace}, func(r *driver.Rows) (queue, error) {
		c.latest = r.Text(3)
		return queue{r.Int(0), r.Text(1), r.Int(2)}, nil
	})
	if err != nil {
		return err
	}
	c.queues = make([]queue, 0, len(c.Types))
	for _, typ := range c.Types {
		if i := slices.IndexFunc(all, func(q queue) bool { return q.typ == typ }); i >= 0 {
			c.queues = append(c.queues, all[i])
			continue
		}
		id, err := c.w.Insert(`INSERT INTO onto_event_queues (namespace, handler_id, type, filled) VALUES (?, ?, ?, 0)`, c.Namespace, c.Handler, typ)
		if err != nil {
			return err
		}
		c.Wrote = true
		c.queues = append(c.queues, queue{id, typ, 0})
	}
	return nil
}

// fill brings events that arrived since into their places, all types up to the same
// number, so that events of one key are in the order of arrival.
func (c *claiming) fill() (more bool, err error) {
	from := c.seq
	for _, q := range c.queues {
		from = min(from, q.filled)
	}
	to := c.seq
	if to-from > maxStep {
		if to, err = c.reach(); err != nil {
			return false, err
		}
	}
	var keyed []arrival
	for i := range c.queues {
		q := &c.queues[i]
		if q.filled >= to {
			continue
		}
		special, n, err := c.fillOne(q, to)
		if err != nil {
			return false, err
		}
		keyed = append(keyed, special...)
		if n > 0 || to-q.filled >= maxStep || to < c.seq {
			if err := c.exec(`UPDATE onto_event_queues SET filled = ? WHERE id = ?`, to, q.id); err != nil {
				return false, err
			}
		}
	}
	slices.SortFunc(keyed, func(a, b arrival) int { return cmp.Compare(a.seq, b.seq) })
	for _, a := range keyed {
		if err := c.line(a); err != nil {
			return false, err
		}
	}
	return to < c.seq, nil
}

// reach is the number up to which one transaction fills in.
func (c *claiming) reach() (int64, error) {
	to := c.seq
	for _, q := range c.queues {
		r, ok, err := c.w.QueryRow(`SELECT onto_seq FROM events INDEXED BY onto_events_arrival
			WHERE namespace = ? AND type = ? AND onto_seq > ? ORDER BY onto_seq LIMIT 1 OFFSET ?`, c.Namespace, q.typ, q.filled, maxStep-1)
		if err != nil {
			return 0, err
		}
		if ok {
			to = min(to, r.Int(0))
		}
	}
	return to, nil
}

// arrival is an event with an ordering key.
type arrival struct {
	seq     int64
	id, key string
}

// arrivals is events that have no claim of the handler yet: of one type, up to a number.
const arrivals = `FROM events e INDEXED BY onto_events_arrival LEFT JOIN event_claims c ` + byClaim + ` ON c.event_id = e.id AND c.handler_id = ?1
	WHERE e.namespace = ?2 AND e.type = ?3 AND e.onto_seq > ?4 AND e.onto_seq <= ?5 AND c.event_id IS NULL`

// fillOne brings the events of a queue into place, except for those with a key, which
// it returns. N is how many there were.
func (c *claiming) fillOne(q *queue, to int64) (keyed []arrival, n int64, err error) {
	args := []any{c.Handler, c.Namespace, q.typ, q.filled, to}
	n, err = c.change(`INSERT INTO onto_event_ready SELECT ?6, -e.priority, e.onto_seq, e.id `+arrivals+
		` AND e.ordering_key IS NULL AND e.not_before IS NULL`, append(args, q.id)...)
	if err != nil || c.special <= q.filled {
		return nil, n, err
	}
	delayed := false
	err = c.w.Each(context.Background(), `SELECT e.onto_seq, e.id, e.ordering_key `+arrivals+
		` AND (e.ordering_key IS NOT NULL OR e.not_before IS NOT NULL)`, args, func(r *driver.Rows) error {
		if n++; r.Null(2) {
			delayed = true
		} else {
			keyed = append(keyed, arrival{r.Int(0), r.Text(1), r.Text(2)})
		}
		return nil
	})
	if err == nil && delayed {
		err = c.exec(`INSERT INTO event_claims (event_id, handler_id, session_id, claimed_at, lease_until, available_at)
			SELECT e.id, ?1, '', e.created_at, ?6, e.not_before `+arrivals+` AND e.ordering_key IS NULL AND e.not_before IS NOT NULL`, append(args, codec.FormatTime(time.Time{}))...)
	}
	return keyed, n, err
}

// line brings an event into play and makes it ready if none of its key is in play, and
// otherwise puts it behind that one.
func (c *claiming) line(a arrival) error {
	n, err := c.change(`INSERT OR IGNORE INTO onto_event_keys (namespace, handler_id, ordering_key, event_id) VALUES (?, ?, ?, ?)`,
		c.Namespace, c.Handler, a.key, a.id)
	if err != nil {
		return err
	}
	if n > 0 {
		return c.makeReady(a.id, c.Handler)
	}
	return c.exec(`INSERT INTO onto_event_behind (namespace, handler_id, ordering_key, seq, event_id) VALUES (?, ?, ?, ?, ?)`,
		c.Namespace, c.Handler, a.key, a.seq, a.id)
}

// openClaims is the claims of a handler that are open and not ready yet, by when they
// fall due or run out.
const openClaims = `event_claims c INDEXED BY onto_event_claims_open CROSS JOIN events e ` + byEvent + ` ON e.id = c.event_id`

const openWhere = `c.handler_id = ?1 AND c.ack_at IS NULL AND c.dead_lettered_at IS NULL AND c.onto_queued = 0 AND max(c.lease_until, c.available_at)`

// ofQueue joins the queues of claims to them.
const ofQueue = ` CROSS JOIN onto_event_queues q ON q.namespace = e.namespace AND q.handler_id = c.handler_id AND q.type = e.type`

// due makes claims ready that fell due or ran out.
func (c *claiming) due() (more bool, err error) {
	return c.makeDue(openClaims+ofQueue+` WHERE `+openWhere+` <= ?2`, c.at)
}

// beyond makes claims ready whose leases are of a clock that was ahead.
func (c *claiming) beyond() (more bool, err error) {
	if c.latest <= c.ahead { // and so is every lease
		return false, nil
	}
	return c.makeDue(`event_claims c INDEXED BY idx_event_claims_handler_state CROSS JOIN events e `+byEvent+` ON e.id = c.event_id`+ofQueue+`
		WHERE c.handler_id = ?1 AND c.ack_at IS NULL AND c.dead_lettered_at IS NULL AND c.lease_until > ?2 AND c.onto_queued = 0`, c.ahead)
}

// makeDue makes claims ready that are found by the handler and a time.
func (c *claiming) makeDue(from, at string) (more bool, err error) {
	type late struct {
		queue, rank, seq int64
		id               string
	}
	find := `SELECT q.id, -e.priority, e.onto_seq, e.id FROM ` + from + ` LIMIT ?3 + 0`
	list, err := driver.List(context.Background(), c.w, find, []any{c.Handler, at, maxStep}, func(r *driver.Rows) (late, error) {
		return late{r.Int(0), r.Int(1), r.Int(2), r.Text(3)}, nil
	})
	if err != nil {
		return false, err
	}
	for _, l := range list {
		err := c.exec(`INSERT INTO onto_event_ready (queue, rank, seq, event_id) VALUES (?, ?, ?, ?)`, l.queue, l.rank, l.seq, l.id)
		if err == nil {
			err = c.exec(`UPDATE event_claims `+byClaim+` SET onto_queued = 1 WHERE event_id = ? AND handler_id = ?`, l.id, c.Handler)
		}
		if err != nil {
			return false, err
		}
	}
	return len(list) == maxStep, nil
}

// next is when the first claim falls due or runs out.
func (c *claiming) next() (time.Time, error) {
	args := []any{c.Handler, c.at, c.Namespace}
	for _, typ := range c.Types {
		args = append(args, typ)
	}
	r, ok, err := c.w.QueryRow(`SELECT max(c.lease_until, c.available_at) FROM `+openClaims+` WHERE `+openWhere+` > ?2
		AND e.namespace = ?3 AND e.type IN (`+strings.Repeat("?, ", len(c.Types)-1)+`?) ORDER BY max(c.lease_until, c.available_at) LIMIT 1`, args...)
	if err != nil || !ok {
		return time.Time{}, err
	}
	return layout.StoredTime(r.Text(0)), nil
}

// candidate is an event that is ready.
type candidate struct {
	queue     int
	rank, seq int64
	claim     onto.Claim
}

// take claims what is ready.
func (c *claiming) take() ([]onto.Claim, error) {
	if c.Limit <= 0 {
		return nil, nil
	}
	var list []candidate
	for i := range c.queues {
		ready, err := c.ready(i)
		if err != nil {
			return nil, err
		}
		list = append(list, ready...)
	}
	if len(c.queues) > 1 {
		slices.SortFunc(list, func(a, b candidate) int { return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.seq, b.seq)) })
	}
	list = list[:min(len(list), c.Limit)]
	last := make([]*candidate, len(c.queues)) // of each queue
	claims := make([]onto.Claim, len(list))
	for i := range list {
		last[list[i].queue] = &list[i]
		claims[i] = list[i].claim
	}
	for i, l := range last {
		if l == nil {
			continue
		}
		if err := c.takeFrom(c.queues[i].id, l); err != nil {
			return nil, err
		}
	}
	return claims, nil
}

// takeFrom claims what is ready in a queue, up to a candidate.
func (c *claiming) takeFrom(queue int64, last *candidate) error {
	err := c.exec(`INSERT INTO event_claims (event_id, handler_id, session_id, claimed_at, lease_until, available_at)
		SELECT event_id, ?, ?, ?, ?, ? FROM onto_event_ready WHERE queue = ? AND (rank, seq) <= (?, ?)
		ON CONFLICT (event_id, handler_id) DO UPDATE SET session_id = excluded.session_id, claimed_at = excluded.claimed_at,
		lease_until = excluded.lease_until, available_at = min(available_at, excluded.available_at), onto_queued = 0`,
		c.Handler, c.Session, c.at, codec.FormatTime(c.now.Add(c.Lease)), c.at, queue, last.rank, last.seq)
	if err != nil {
		return err
	}
	return c.exec(`DELETE FROM onto_event_ready WHERE queue = ? AND (rank, seq) <= (?, ?)`, queue, last.rank, last.seq)
}

const readySQL = `SELECT ` + eventList + `, c.attempts, c.deliveries, c.lease_until > c.available_at, c.ack_at IS NOT NULL OR c.dead_lettered_at IS NOT NULL,
	max(c.lease_until, c.available_at), r.rank, r.seq, r.event_id, c.lease_until
	FROM onto_event_ready r LEFT JOIN events e ` + byEvent + ` ON e.id = r.event_id
	LEFT JOIN event_claims c ` + byClaim + ` ON c.event_id = r.event_id AND c.handler_id = ?
	WHERE r.queue = ? ORDER BY r.rank, r.seq LIMIT ? + 0`

// ready lists what is ready in a queue. Claims that are not due any more, since the clock
// went back, are taken out first.
func (c *claiming) ready(i int) ([]candidate, error) {
	until := c.now.Add(c.Lease).Truncate(time.Microsecond)
	for {
		list := make([]candidate, 0, min(c.Limit, 128))
		var early []string
		err := c.w.Each(context.Background(), readySQL, []any{c.Handler, c.queues[i].id, c.Limit}, func(r *driver.Rows) error {
			id := r.Text(eventWidth + 7)
			if r.Null(0) || r.Int(eventWidth+3) == 1 {
				return damaged("event %s is ready for the handler %s, and does not exist or was settled", id, c.Handler)
			}
			if !r.Null(eventWidth+4) && r.Text(eventWidth+4) > c.at && r.Text(eventWidth+8) <= c.ahead {
				early = append(early, id)
				return nil
			}
			list = append(list, candidate{i, r.Int(eventWidth + 5), r.Int(eventWidth + 6), onto.Claim{
				Event: eventAt(r, 0), Handler: c.Handler, Session: c.Session, Claimed: c.now, Until: until,
				Attempts: layout.CountAt(r, eventWidth), Deliveries: layout.CountAt(r, eventWidth+1), Lost: r.Int(eventWidth+2) == 1,
			}})
			return nil
		})
		if err != nil || len(early) == 0 {
			return list, err
		}
		for _, id := range early {
			if err := c.unqueue(id, c.Handler); err != nil {
				return nil, err
			}
		}
	}
}
