package sqlite_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
)

// An operation that fails at any point of its transaction has changed nothing, and can be
// repeated.
func TestBusFailsAtEachPoint(t *testing.T) {
	planted := errors.New("planted")
	const all = `SELECT (SELECT group_concat(id || ifnull(onto_seq, '-')) FROM events), (SELECT group_concat(event_id || session_id || lease_until || ifnull(ack_at, '-') || onto_queued) FROM event_claims),
		(SELECT count(*) FROM dead_letters), (SELECT group_concat(last_heartbeat) FROM sessions), (SELECT group_concat(event_id) FROM onto_event_ready), (SELECT group_concat(event_id) FROM onto_event_behind),
		(SELECT group_concat(event_id) FROM onto_event_keys), (SELECT group_concat(filled) FROM onto_event_queues), (SELECT seq FROM onto_bus), (SELECT count(*) FROM onto_positions), (SELECT count(*) FROM onto_event_schedules)`
	for _, point := range []string{"begin", "events", "commit"} {
		path, clock := makeBus(t)
		b := open(t, path, &sqlite.Options{Now: clock.Now})
		clock.advance(time.Second) // late is due
		held := claim(t, b, request(2), "r2", "late")
		for _, op := range []struct {
			name string
			do   func() error
		}{
			{"emit", func() error {
				_, err := b.Emit(t.Context(), &backend.Emission{Events: []backend.NewEvent{newEvent("x T"), newEvent("y T k")},
					Tick: &backend.Tick{Namespace: "n", Schedule: "s", Time: clock.Now()}})
				return err
			}},
			{"claim", func() error { _, err := b.Claim(t.Context(), request(9)); return err }},
			{"ack", func() error { return settleOne(t, b, held[0], backend.Ack) }},
			{"bury", func() error { return settleOne(t, b, held[1], backend.Bury) }},
			{"beat", func() error {
				_, err := b.Beat(t.Context(), &backend.Beat{Session: onto.Session{ID: "s", Namespace: "n"}, Claims: held, Lease: time.Hour})
				return err
			}},
			{"advance", func() error { return b.Advance(t.Context(), onto.Advance{Name: "p", To: 1}) }},
		} {
			before := query(t, path, all)
			b.FailAt(point, planted)
			if err := op.do(); !errors.Is(err, planted) {
				t.Errorf("%s at %s: got %v", op.name, point, err)
			}
			if after := query(t, path, all); after != before {
				t.Errorf("%s at %s: got\n%s\nwant\n%s", op.name, point, after, before)
			}
			if err := op.do(); err != nil {
				t.Errorf("%s again: %v", op.name, err)
			}
			if after := query(t, path, all); after == before {
				t.Errorf("%s again: nothing has changed", op.name)
			}
		}
	}
}

// settleOne settles a claim that is held.
func settleOne(t *testing.T, b *sqlite.Backend, c onto.Claim, do backend.Settling) error {
	t.Helper()
	verdicts, err := b.Settle(t.Context(), []backend.Settlement{{Claim: c, Do: do, Error: "planted"}})
	if err == nil && verdicts[0] != nil {
		err = fmt.Errorf("verdict: %w", verdicts[0])
	}
	return err
}
