package bus

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/codec"
)

// errEnough ends a query early.
var errEnough = errors.New("enough")

// Events pushes the events that a query asks for, in the order of claims.
func Events(m *layout.Moment, now time.Time, q *backend.EventQuery, push func(backend.EventState) error) error {
	n := 0
	give := func(r *driver.Rows) error {
		e := backend.EventState{Event: eventAt(r, 0)}
		if !wants(q, &e.Event) {
			return nil
		}
		var err error
		if e.Claims, e.Status, err = claimsOf(m, e.ID, now); err != nil {
			return err
		}
		if q.Status != "" && e.Status != q.Status {
			return nil
		}
		if err := push(e); err != nil {
			return err
		}
		if n++; n == q.Limit {
			return errEnough
		}
		return nil
	}
	err := eachEvent(m, q, give)
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// eachEvent finds candidates by the most selective condition.
func eachEvent(m *layout.Moment, q *backend.EventQuery, give func(r *driver.Rows) error) error {
	switch {
	case q.ID != "":
		return m.Each(`SELECT `+eventList+` FROM events e `+byEvent+` WHERE e.id = ?`, []any{q.ID}, give)
	case q.Commit != 0:
		return m.Each(`SELECT `+eventList+` FROM events e INDEXED BY onto_events_commit WHERE e.commit_id = ? ORDER BY e.priority DESC, e.onto_seq`, []any{q.Commit}, give)
	}
	kinds, err := kindsOf(m, q.Namespace)
	if err != nil {
		return err
	}
	if q.Types != nil {
		kinds = slices.DeleteFunc(kinds, func(k kind) bool { return !slices.Contains(q.Types, k.typ) })
	}
	return merge(m, kinds, give)
}

// wants reports whether an event fits the conditions that every candidate is checked for.
func wants(q *backend.EventQuery, e *onto.Event) bool {
	return (q.Namespace == "" || q.Namespace == e.Namespace) && (q.Types == nil || slices.Contains(q.Types, e.Type)) &&
		(q.Commit == 0 || q.Commit == e.Commit)
}

// kind is a type of events in a namespace.
type kind struct{ namespace, typ string }

// kindsOf lists the types of a namespace, or of all. Each is one seek.
func kindsOf(m *layout.Moment, namespace string) ([]kind, error) {
	const first = `SELECT namespace, type FROM events INDEXED BY onto_events_arrival `
	var list []kind
	at := kind{namespace: namespace}
	for {
		where, args := `WHERE (namespace, type) > (?, ?)`, []any{at.namespace, at.typ}
		if namespace != "" {
			where = `WHERE namespace = ? AND type > ?`
		}
		r, ok, err := m.QueryRow(first+where+` ORDER BY namespace, type LIMIT 1`, args...)
		if err != nil || !ok {
			return list, err
		}
		at = kind{r.Text(0), r.Text(1)}
		list = append(list, at)
	}
}

// Types lists the types of events that were ever emitted in a namespace: those of the events
// that are there, and those of removed ones, which were noted then.
func Types(m *layout.Moment, namespace string) ([]string, error) {
	list, err := driver.List(m.Ctx, m.Conn, `SELECT type FROM onto_event_types WHERE namespace = ?`, []any{namespace}, func(r *driver.Rows) (string, error) {
		return r.Text(0), nil
	})
	if err != nil {
		return nil, err
	}
	kinds, err := kindsOf(m, namespace)
	for _, k := range kinds {
		list = append(list, k.typ)
	}
	slices.Sort(list)
	return slices.Compact(list), err
}

// merge gives the events of several types in one order.
func merge(m *layout.Moment, kinds []kind, give func(r *driver.Rows) error) error {
	const sql = ` FROM events e INDEXED BY idx_events_namespace_type_order WHERE e.namespace = ? AND e.type = ?
		ORDER BY e.priority DESC, e.created_at, e.id`
	args := make([][]any, len(kinds))
	for i, k := range kinds {
		args[i] = []any{k.namespace, k.typ}
	}
	return m.EachMerged(m.Ctx, `SELECT `+eventList+sql, args, before, give)
}

// before reports whether the event of a row comes first.
func before(a, b *driver.Rows) bool {
	return cmp.Or(cmp.Compare(b.Int(5), a.Int(5)), strings.Compare(a.Text(4), b.Text(4)), strings.Compare(a.Text(0), b.Text(0))) < 0
}

// claimsOf reads what handlers have made of an event.
func claimsOf(m *layout.Moment, id string, now time.Time) (list []onto.ClaimState, status onto.EventStatus, err error) {
	const sql = `SELECT handler_id, session_id, claimed_at, lease_until, available_at, ack_at, dead_lettered_at, attempts, deliveries, last_error
		FROM event_claims ` + byClaim + ` WHERE event_id = ? ORDER BY handler_id`
	status = onto.EventPending
	rank := []onto.EventStatus{onto.EventPending, onto.EventClaimed, onto.EventAcked, onto.EventDead}
	at, ahead := codec.FormatTime(now), limit(now)
	err = m.Each(sql, []any{id}, func(r *driver.Rows) error {
		is := onto.EventPending
		switch {
		case !r.Null(6):
			is = onto.EventDead
		case !r.Null(5):
			is = onto.EventAcked
		case r.Text(3) > at && r.Text(3) <= ahead:
			is = onto.EventClaimed
		}
		if slices.Index(rank, is) > slices.Index(rank, status) {
			status = is
		}
		if r.Text(1) == "" { // it waits for its time
			return nil
		}
		list = append(list, onto.ClaimState{
			Handler: r.Text(0), Session: r.Text(1), Claimed: layout.TimeAt(r, 2), Until: layout.TimeAt(r, 3), Available: layout.TimeAt(r, 4),
			Acked: layout.TimeAt(r, 5), Dead: layout.TimeAt(r, 6), Attempts: layout.CountAt(r, 7), Deliveries: layout.CountAt(r, 8), Error: r.Text(9),
		})
		return nil
	})
	return list, status, err
}

// DeadLetters pushes the dead letters that a query asks for, oldest first.
func DeadLetters(m *layout.Moment, q *backend.DeadLetterQuery, push func(onto.DeadLetter) error) error {
	sql := `SELECT id, event_id, handler_id, namespace, failed_at, attempts, last_error, event_type, event_payload, root_event_id, chain_depth,
		deliveries, event_created_at, priority, ordering_key, commit_id, parent_event_id, replay_of, not_before,
		resolved_at, resolution, resolved_by_kind, resolved_by, replay_event_id FROM dead_letters WHERE true`
	var args []any
	and := func(condition string, value any) {
		sql += ` AND ` + condition
		args = append(args, value)
	}
	if q.Namespace != "" {
		and(`namespace = ?`, q.Namespace)
	}
	if q.IDs != nil {
		ids, _ := json.Marshal(q.IDs) // numbers
		and(`id IN (SELECT value FROM json_each(?))`, string(ids))
	}
	if q.EventID != "" {
		and(`event_id = ?`, q.EventID)
	}
	if q.Handler != "" {
		and(`handler_id = ?`, q.Handler)
	}
	if q.Type != "" {
		and(`event_type = ?`, q.Type)
	}
	if q.Error != "" {
		and(`instr(last_error, ?) > 0`, q.Error)
	}
	if !q.Resolved {
		sql += ` AND resolution IS NULL`
	}
	sql += ` ORDER BY id`
	if q.Limit > 0 {
		sql += ` LIMIT ? + 0`
		args = append(args, q.Limit)
	}
	return m.Each(sql, args, func(r *driver.Rows) error { return push(deadLetterAt(r)) })
}

// deadLetterAt reads a dead letter.
func deadLetterAt(r *driver.Rows) onto.DeadLetter {
	return onto.DeadLetter{
		ID: r.Int(0), Handler: r.Text(2), Time: layout.TimeAt(r, 4), Attempts: layout.CountAt(r, 5), Deliveries: layout.CountAt(r, 11), Error: r.Text(6),
		Event: onto.Event{
			ID: r.Text(1), Namespace: r.Text(3), Type: r.Text(7), Payload: r.Bytes(8), Root: r.Text(9), Depth: layout.CountAt(r, 10), Time: layout.TimeAt(r, 12),
			Priority: int(r.Int(13)), OrderingKey: r.Text(14), Commit: r.Int(15), Parent: r.Text(16), ReplayOf: r.Text(17), NotBefore: layout.TimeAt(r, 18),
		},
		Resolution: onto.Resolution{
			Kind: onto.ResolutionKind(r.Text(20)), Time: layout.TimeAt(r, 19), By: onto.Actor{Kind: onto.ActorKind(r.Text(21)), ID: r.Text(22)}, Replay: r.Text(23),
		},
	}
}

// Positions lists the positions of followers.
func Positions(m *layout.Moment) ([]onto.Position, error) {
	return driver.List(m.Ctx, m.Conn, `SELECT name, commit_id FROM onto_positions ORDER BY name`, nil, func(r *driver.Rows) (onto.Position, error) {
		return onto.Position{Name: r.Text(0), Commit: r.Int(1)}, nil
	})
}
