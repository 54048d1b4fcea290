package sqlite_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// documentedBus asks the documented questions about events, on a connection of its own.
type documentedBus struct {
	t     *testing.T
	db    *sql.DB
	clock *busClock
}

func openDocumentedBus(t *testing.T, path string, clock *busClock) *documentedBus {
	t.Helper()
	db, err := sql.Open("sqlite3", path+"?_busy_timeout=5000&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return &documentedBus{t: t, db: db, clock: clock}
}

// ids returns the first column of what a query finds.
func (o *documentedBus) ids(statement string, args ...any) []string {
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

// eligible lists what can be claimed now.
func (o *documentedBus) eligible(handler string, limit int, types ...string) []string {
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

// list is the events with what has become of each, as status prints it.
func (o *documentedBus) list() string {
	o.t.Helper()
	return strings.Join(o.ids(`SELECT e.id || ' ' || CASE
			WHEN EXISTS (SELECT 1 FROM event_claims c WHERE c.event_id = e.id AND c.dead_lettered_at IS NOT NULL) THEN 'dead_lettered'
			WHEN EXISTS (SELECT 1 FROM event_claims c WHERE c.event_id = e.id AND c.ack_at IS NOT NULL) THEN 'acked'
			WHEN EXISTS (SELECT 1 FROM event_claims c WHERE c.event_id = e.id AND c.lease_until > ?) THEN 'claimed'
			ELSE 'pending' END
		FROM events e WHERE e.namespace = 'n' ORDER BY e.priority DESC, e.created_at ASC, e.id ASC`, o.clock.sql()), "; ")
}

// inspect is an event's claims.
func (o *documentedBus) inspect(id string) string {
	o.t.Helper()
	return strings.Join(o.ids(`SELECT handler_id || ' ' || session_id || ' ' || attempts || ' ' || coalesce(last_error, '-') || ' ' || claimed_at || ' ' || lease_until
		|| ' ' || available_at || ' ' || coalesce(ack_at, '-') || ' ' || coalesce(dead_lettered_at, '-') FROM event_claims WHERE event_id = ? ORDER BY handler_id`, id), "; ")
}

// The statements of the original program say of our file what the library says: what
// can be claimed, what has become of events, the claims on them, sessions, dead letters.
func TestDocumentedQuestionsAboutEvents(t *testing.T) {
	path, clock, b := openBus(t)
	o := openDocumentedBus(t, path, clock)
	same := func(step string) {
		t.Helper()
		if ours, theirs := status(t, b, backend.EventQuery{Namespace: "n"}), o.list(); ours != theirs {
			t.Errorf("%s: we list\n%s\nand they\n%s", step, ours, theirs)
		}
		for e, err := range b.Events(t.Context(), &backend.EventQuery{Namespace: "n"}) {
			if err != nil {
				t.Fatal(err)
			}
			if ours, theirs := inspected(e.Claims), o.inspect(e.ID); ours != theirs {
				t.Errorf("%s: of %s we show\n%s\nand they\n%s", step, e.ID, ours, theirs)
			}
		}
		clock.advance(time.Second)
	}
	claimSame := func(limit int, types ...string) []onto.Claim {
		t.Helper()
		return claim(t, b, request(limit, types...), o.eligible("h", limit, types...)...)
	}
	emit(t, b, "a T", "b U - 200", "c T", "d T - 1", "e U", "f T")
	clock.advance(time.Second)
	emit(t, b, "g T", "h U - 300")
	same("emitted")
	first := claimSame(3, "T", "U")
	same("claimed")
	mustSettle(t, b, backend.Ack, first[0])
	mustSettle(t, b, backend.Release, first[1])
	mustSettle(t, b, backend.Bury, first[2])
	same("settled")
	second := claimSame(2, "U")
	same("claimed of one type")
	clock.advance(2 * time.Minute)
	same("the leases have ended")
	claimSame(3, "U", "T")
	same("claimed again")
	if _, err := b.Beat(t.Context(), &backend.Beat{Session: onto.Session{ID: "s", Namespace: "n", Metadata: []byte(`{"host":"b"}`)}, Claims: second, Lease: time.Hour}); err != nil {
		t.Fatal(err)
	}
	same("beaten")
	claim(t, b, &backend.ClaimRequest{Namespace: "n", Handler: "other", Types: []string{"T"}, Session: "s2", Limit: 2, Lease: time.Minute}, o.eligible("other", 2, "T")...)
	same("claimed by another handler")
	claimSame(9, "T", "U")
	same("claimed what is left")
	if got := strings.Join(o.ids(`SELECT group_concat(session_id || ' ' || (started_at < last_heartbeat) || ' ' || metadata, '; ') FROM sessions`), ""); got != `s 0 {"host":"b"}` {
		t.Errorf("sessions: got %s", got)
	}
}

// inspected is claims as inspect prints them.
func inspected(claims []onto.ClaimState) string {
	var list []string
	at := func(m time.Time) string {
		if m.IsZero() {
			return "-"
		}
		return m.Format("2006-01-02T15:04:05.000000-07:00")
	}
	for _, c := range claims {
		reason := c.Error
		if reason == "" {
			reason = "-"
		}
		list = append(list, fmt.Sprint(c.Handler, " ", c.Session, " ", c.Attempts, " ", reason, " ", at(c.Claimed), " ", at(c.Until), " ", at(c.Available), " ", at(c.Acked), " ", at(c.Dead)))
	}
	return strings.Join(list, "; ")
}
