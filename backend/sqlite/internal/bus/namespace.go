package bus

import (
	"maps"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/codec"
)

// overview gathers what there is, by namespace.
type overview struct {
	m         *layout.Moment
	now       time.Time
	ttl       time.Duration // of sessions
	at, ahead string        // as in a Tx
	list      map[string]*backend.Namespace
}

// Namespaces returns what there is in each namespace. Handled events are only counted.
func Namespaces(m *layout.Moment, now time.Time, ttl time.Duration) ([]backend.Namespace, error) {
	o := &overview{m, now, ttl, codec.FormatTime(now), limit(now), map[string]*backend.Namespace{}}
	for _, step := range []func() error{o.types, o.deadLetters, o.sessions, o.handlers, o.schedules} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	var list []backend.Namespace
	for _, name := range slices.Sorted(maps.Keys(o.list)) {
		list = append(list, *o.list[name])
	}
	return list, nil
}

func (o *overview) of(name string) *backend.Namespace {
	if o.list[name] == nil {
		o.list[name] = &backend.Namespace{Name: name}
	}
	return o.list[name]
}

func (o *overview) types() error {
	kinds, err := kindsOf(o.m, "")
	if err != nil {
		return err
	}
	for _, k := range kinds {
		n, err := o.m.QueryInt(`SELECT count(*) FROM events INDEXED BY onto_events_arrival WHERE namespace = ? AND type = ?`, k.namespace, k.typ)
		if err != nil {
			return err
		}
		ns := o.of(k.namespace)
		ns.Events += n
		ns.Types = append(ns.Types, backend.TypeState{Name: k.typ, Events: n})
	}
	return nil
}

func (o *overview) deadLetters() error {
	return o.m.Each(`SELECT namespace, sum(resolution IS NULL) FROM dead_letters GROUP BY namespace`, nil, func(r *driver.Rows) error {
		o.of(r.Text(0)).DeadLetters = r.Int(1)
		return nil
	})
}

func (o *overview) sessions() error {
	return o.m.Each(`SELECT session_id, namespace, started_at, last_heartbeat, metadata FROM sessions ORDER BY session_id`, nil, func(r *driver.Rows) error {
		o.of(r.Text(1)).AddSession(onto.Session{
			ID: r.Text(0), Namespace: r.Text(1), Started: layout.TimeAt(r, 2), Beat: layout.TimeAt(r, 3), Metadata: r.Bytes(4),
		}, o.now, o.ttl)
		return nil
	})
}

func (o *overview) schedules() error {
	return o.m.Each(`SELECT namespace, name, tick FROM onto_event_schedules ORDER BY namespace, name`, nil, func(r *driver.Rows) error {
		ns := o.of(r.Text(0))
		ns.Schedules = append(ns.Schedules, backend.Tick{Namespace: r.Text(0), Schedule: r.Text(1), Time: layout.TimeAt(r, 2)})
		return nil
	})
}

func (o *overview) handlers() error {
	type asked struct {
		queue
		kind
		handler string
	}
	list, err := driver.List(o.m.Ctx, o.m.Conn, `SELECT id, filled, namespace, handler_id, type FROM onto_event_queues ORDER BY namespace, handler_id, type`, nil,
		func(r *driver.Rows) (asked, error) {
			return asked{queue{r.Int(0), r.Text(4), r.Int(1)}, kind{r.Text(2), r.Text(4)}, r.Text(3)}, nil
		})
	if err != nil {
		return err
	}
	for _, q := range list {
		ns := o.of(q.namespace)
		if i := slices.IndexFunc(ns.Types, func(t backend.TypeState) bool { return t.Name == q.kind.typ }); i >= 0 {
			ns.Types[i].Handled = true
		}
		if n := len(ns.Handlers); n == 0 || ns.Handlers[n-1].Name != q.handler {
			ns.Handlers = append(ns.Handlers, backend.HandlerState{Name: q.handler})
		}
		h := &ns.Handlers[len(ns.Handlers)-1]
		h.Types = append(h.Types, q.kind.typ)
		waiting, claimed, err := o.waiting(q.queue, q.namespace, q.handler)
		if err != nil {
			return err
		}
		h.Waiting += waiting
		h.Claimed += claimed
	}
	return nil
}

// waiting counts the events that wait for a handler, and those of them that are claimed:
// what is ready, what is behind, open claims, and what is not in its place yet.
func (o *overview) waiting(q queue, namespace, handler string) (waiting, claimed int64, err error) {
	counts := []struct {
		sql  string
		args []any
	}{
		{`SELECT count(*) FROM onto_event_ready WHERE queue = ?`, []any{q.id}},
		{`SELECT count(*) FROM onto_event_behind b CROSS JOIN events e ` + byEvent + ` ON e.id = b.event_id WHERE b.namespace = ? AND b.handler_id = ? AND e.type = ?`,
			[]any{namespace, handler, q.typ}},
		{`SELECT count(*) FROM ` + openClaims + ` WHERE ` + openWhere + ` IS NOT NULL AND e.namespace = ?2 AND e.type = ?3`, []any{handler, namespace, q.typ}},
		{`SELECT count(*) ` + arrivals, []any{handler, namespace, q.typ, q.filled, int64(1) << 62}},
	}
	for _, c := range counts {
		n, err := o.m.QueryInt(c.sql, c.args...)
		if err != nil {
			return 0, 0, err
		}
		waiting += n
	}
	claimed, err = o.m.QueryInt(`SELECT (SELECT count(*) FROM `+openClaims+` WHERE `+openWhere+` > ?2 AND c.lease_until > ?2 AND c.lease_until <= ?6 AND e.namespace = ?3 AND e.type = ?4) +
		(SELECT count(*) FROM onto_event_ready r CROSS JOIN event_claims c `+byClaim+` ON c.event_id = r.event_id AND c.handler_id = ?1 WHERE r.queue = ?5 AND c.lease_until > ?2 AND c.lease_until <= ?6)`,
		handler, o.at, namespace, q.typ, q.id, o.ahead) // the second are there only if the clock went back
	return waiting, claimed, err
}
