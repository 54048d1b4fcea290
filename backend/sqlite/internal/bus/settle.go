package bus

import (
	"context"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/decide"
	"github.com/ontologia/onto/internal/refusal"
)

// group is what claims have in common that one statement settles.
type group struct {
	handler, session     string
	claimed              time.Time
	attempts, deliveries int
}

func groupOf(c *onto.Claim) group {
	return group{handler: c.Handler, session: c.Session, claimed: c.Claimed}
}

// batch is claims of one group.
type batch struct {
	group
	members []int // of the list
	ids     []any // of their events
}

// gather puts claims of one group together, so that one statement does for all. What is
// given twice stays in order.
func gather(claims []onto.Claim, of func(*onto.Claim) group) []batch {
	var list []batch
	open := map[group]int{} // the batch of each group that has room
	seen := make(map[decide.ClaimName]bool, len(claims))
	for i := range claims {
		if name := decide.NameOf(&claims[i]); seen[name] {
			clear(open)
		} else {
			seen[name] = true
		}
		g := of(&claims[i])
		n, ok := open[g]
		if !ok || len(list[n].ids) == maxBatch {
			n = len(list)
			list, open[g] = append(list, batch{group: g}), n
		}
		list[n].members = append(list[n].members, i)
		list[n].ids = append(list[n].ids, claims[i].ID)
	}
	return list
}

// maxBatch is how many claims one statement settles.
const maxBatch = 128

// bound is the arguments that choose the claims of a batch, after others. Their number is
// a power of two, so that each connection prepares only a few statements.
func (b *batch) bound(args []any) (all []any, places string) {
	size := 1
	for size < len(b.ids) {
		size *= 2
	}
	args = append(append(args, b.handler, b.session, codec.FormatTime(b.claimed)), b.ids...)
	for range size - len(b.ids) {
		args = append(args, b.ids[0])
	}
	return args, manyPlaces[:3*size-2]
}

var manyPlaces = strings.Repeat("?, ", maxBatch)

// chosen is the claims of a batch that are held.
const chosen = ` WHERE handler_id = ? AND session_id = ? AND claimed_at = ? AND ` + isHeld + ` AND event_id IN (`

// bulkUpdate changes the claims of a batch that are held and not queued, and returns
// the events of those.
func (t *Tx) bulkUpdate(set string, values []any, b batch) (map[string]bool, error) {
	args, places := b.bound(values[:len(values):len(values)])
	changed := make(map[string]bool, len(b.ids))
	err := t.w.Each(context.Background(), `UPDATE event_claims `+byClaim+` SET `+set+chosen+places+`) AND onto_queued = 0 RETURNING event_id`, args, func(r *driver.Rows) error {
		changed[r.Text(0)] = true
		return nil
	})
	t.Wrote = t.Wrote || len(changed) > 0
	return changed, err
}

// Held looks up which of the claims that drafts ack are held.
func (t *Tx) Held(claims []onto.Claim, known map[decide.ClaimName]decide.Holder) error {
	for _, b := range gather(claims, groupOf) {
		args, places := b.bound(nil)
		err := t.w.Each(context.Background(), `SELECT event_id FROM event_claims `+byClaim+chosen+places+`)`, args, func(r *driver.Rows) error {
			known[decide.ClaimName{Event: r.Text(0), Handler: b.handler}] = decide.Holder{Session: b.session, Claimed: b.claimed}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// extend extends the leases of a batch, and returns the events of claims that are held.
// These are available since now if the clock went back, so that their leases end later.
func (t *Tx) extend(b batch, lease time.Duration) (map[string]bool, error) {
	const set = `lease_until = ?, available_at = min(available_at, ?)`
	values := []any{codec.FormatTime(t.now.Add(lease)), t.at}
	kept, err := t.bulkUpdate(set, values, b)
	if err != nil || len(kept) == len(b.ids) {
		return kept, err
	}
	for _, id := range b.ids {
		if kept[id.(string)] {
			continue
		}
		held, err := t.takeBack(id.(string), b.group)
		if err != nil {
			return nil, err
		}
		if !held {
			continue
		}
		if _, err := t.bulkUpdate(set, values, batch{group: b.group, ids: []any{id}}); err != nil {
			return nil, err
		}
		kept[id.(string)] = true
	}
	return kept, nil
}

// takeBack takes a claim out of ready that is held and was queued when its lease ended.
// It reports whether it is held.
func (t *Tx) takeBack(id string, g group) (bool, error) {
	r, ok, err := t.w.QueryRow(`SELECT onto_queued FROM event_claims `+byClaim+` WHERE event_id = ? AND handler_id = ? AND session_id = ?
		AND claimed_at = ? AND `+isHeld, id, g.handler, g.session, codec.FormatTime(g.claimed))
	if err != nil || !ok || r.Int(0) == 0 {
		return ok, err
	}
	return true, t.unqueue(id, g.handler)
}

// unqueue takes an event with an open claim out of ready.
func (t *Tx) unqueue(id, handler string) error {
	if err := t.exec(`UPDATE event_claims `+byClaim+` SET onto_queued = 0 WHERE event_id = ? AND handler_id = ?`, id, handler); err != nil {
		return err
	}
	return t.exec(`DELETE FROM onto_event_ready WHERE (queue, rank, seq) IN (SELECT q.id, -e.priority, e.onto_seq
		FROM events e `+byEvent+` CROSS JOIN onto_event_queues q ON q.namespace = e.namespace AND q.handler_id = ? AND q.type = e.type WHERE e.id = ?)`, handler, id)
}

// makeReady makes an event ready that has no claim.
func (t *Tx) makeReady(id, handler string) error {
	n, err := t.change(`INSERT INTO onto_event_ready SELECT q.id, -e.priority, e.onto_seq, e.id
		FROM events e `+byEvent+` CROSS JOIN onto_event_queues q ON q.namespace = e.namespace AND q.handler_id = ? AND q.type = e.type WHERE e.id = ?`, handler, id)
	if err == nil && n == 0 {
		err = damaged("event %s waits for the handler %s, and does not exist", id, handler)
	}
	return err
}

// Ack acks claims that are all held.
func (t *Tx) Ack(claims []onto.Claim) error {
	lost, err := t.ack(claims)
	if err == nil && len(lost) > 0 {
		err = refusal.ClaimLost(&claims[lost[0]])
	}
	return err
}

// ack acks claims, and returns which of them were not held.
func (t *Tx) ack(claims []onto.Claim) (lost []int, err error) {
	of := func(c *onto.Claim) group {
		g := groupOf(c)
		g.attempts, g.deliveries = c.Attempts, c.Deliveries
		return g
	}
	const set = `ack_at = ?, attempts = ?, deliveries = ?`
	for _, b := range gather(claims, of) {
		values := []any{t.at, int64(b.attempts), int64(b.deliveries)}
		acked, err := t.bulkUpdate(set, values, b)
		if err != nil {
			return nil, err
		}
		for _, i := range b.members {
			c := &claims[i]
			done := acked[c.ID]
			if done {
				delete(acked, c.ID) // given twice, it is lost the second time
			} else if held, err := t.takeBack(c.ID, groupOf(c)); err != nil {
				return nil, err
			} else if held {
				again, err := t.bulkUpdate(set, values, batch{group: b.group, ids: []any{c.ID}})
				if err != nil {
					return nil, err
				}
				done = again[c.ID]
			}
			if !done {
				lost = append(lost, i)
			} else if err := t.free(c); err != nil {
				return nil, err
			}
		}
	}
	return lost, nil
}

// free brings the next event of a claim's key into play.
func (t *Tx) free(c *onto.Claim) error {
	if c.OrderingKey == "" {
		return nil
	}
	return t.freeKey(c.Namespace, c.Handler, c.OrderingKey, c.ID)
}

func (t *Tx) freeKey(namespace, handler, key, id string) error {
	n, err := t.change(`DELETE FROM onto_event_keys WHERE namespace = ? AND handler_id = ? AND ordering_key = ? AND event_id = ?`, namespace, handler, key, id)
	if err != nil || n == 0 {
		return err
	}
	r, ok, err := t.w.QueryRow(`SELECT seq, event_id FROM onto_event_behind WHERE namespace = ? AND handler_id = ? AND ordering_key = ? ORDER BY seq LIMIT 1`, namespace, handler, key)
	if err != nil || !ok {
		return err
	}
	next := r.Text(1)
	err = t.exec(`DELETE FROM onto_event_behind WHERE namespace = ? AND handler_id = ? AND ordering_key = ? AND seq = ?`, namespace, handler, key, r.Int(0))
	if err == nil {
		err = t.makeReady(next, handler)
	}
	if err == nil {
		err = t.exec(`INSERT INTO onto_event_keys (namespace, handler_id, ordering_key, event_id) VALUES (?, ?, ?, ?)`, namespace, handler, key, next)
	}
	return err
}

// Settle settles claims, one after the other, and returns a verdict for each. Notices
// are emitted with emit.
func (t *Tx) Settle(list []backend.Settlement, emit func(*backend.NewEvent) error) ([]error, error) {
	verdicts := make([]error, len(list))
	for i := 0; i < len(list); {
		if list[i].Do != backend.Ack {
			ok, err := t.settle(&list[i], emit)
			if err != nil {
				return nil, err
			}
			if !ok {
				verdicts[i] = refusal.ClaimLost(&list[i].Claim)
			}
			i++
			continue
		}
		var acks []onto.Claim
		for i+len(acks) < len(list) && list[i+len(acks)].Do == backend.Ack {
			acks = append(acks, list[i+len(acks)].Claim)
		}
		lost, err := t.ack(acks)
		if err != nil {
			return nil, err
		}
		for _, n := range lost {
			verdicts[i+n] = refusal.ClaimLost(&acks[n])
		}
		i += len(acks)
	}
	return verdicts, nil
}

// settle settles a claim other than by an ack, and reports whether it was held.
func (t *Tx) settle(s *backend.Settlement, emit func(*backend.NewEvent) error) (bool, error) {
	held, err := t.takeBack(s.ID, groupOf(&s.Claim))
	if err != nil || !held {
		return false, err
	}
	set, values := `attempts = ?, deliveries = ?`, []any{s.Attempts, s.Deliveries}
	switch s.Do {
	case backend.Release:
		set += `, lease_until = ?, available_at = ?, last_error = ?`
		values = append(values, t.at, t.after(s.Delay), s.Error)
	case backend.Return:
		set += `, lease_until = ?, available_at = ?`
		values = append(values, t.at, t.after(s.Delay))
	case backend.Bury:
		set += `, lease_until = ?, available_at = ?, last_error = ?, dead_lettered_at = ?`
		values = append(values, t.at, t.at, s.Error, t.at)
	}
	if err := t.exec(`UPDATE event_claims `+byClaim+` SET `+set+` WHERE event_id = ? AND handler_id = ?`, append(values, s.ID, s.Handler)...); err != nil {
		return false, err
	}
	if s.Do == backend.Bury {
		return true, t.bury(s, emit)
	}
	return true, nil
}

func (t *Tx) after(d time.Duration) string { return codec.FormatTime(t.now.Add(d)) }

// bury records a dead letter.
func (t *Tx) bury(s *backend.Settlement, emit func(*backend.NewEvent) error) error {
	r, ok, err := t.w.QueryRow(`SELECT `+eventList+` FROM events e `+byEvent+` WHERE e.id = ?`, s.ID)
	if err != nil {
		return err
	}
	e := s.Event
	if ok {
		e = eventAt(r, 0)
	}
	err = t.exec(`INSERT INTO dead_letters (event_id, handler_id, namespace, failed_at, attempts, last_error, event_type, event_payload, root_event_id,
		chain_depth, deliveries, event_created_at, priority, ordering_key, commit_id, parent_event_id, replay_of, not_before)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		append([]any{e.ID, s.Handler, e.Namespace, t.at, s.Attempts, s.Error, e.Type, string(e.Payload), e.Root, e.Depth, s.Deliveries},
			codec.FormatTime(e.Time), e.Priority, layout.OrNull(e.OrderingKey), layout.OrNull(e.Commit), layout.OrNull(e.Parent), layout.OrNull(e.ReplayOf), layout.OrNullTime(e.NotBefore))...)
	if err != nil {
		return err
	}
	if err := t.free(&s.Claim); err != nil || s.Notice == nil {
		return err
	}
	return emit(s.Notice)
}
