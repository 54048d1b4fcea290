package sqlite_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/sqlite"
)

// makeBus makes a store in which events of the handler h are in every place: acked
// (done), dead, claimed (held, k1), a retry that waits (late), ready (r1, r2, k4), behind
// (k2, k3) and not in place yet (new).
func makeBus(t *testing.T) (string, *busClock) {
	t.Helper()
	path, clock := t.TempDir()+"/bus.db", newBusClock()
	b, err := sqlite.Open(t.Context(), path, &sqlite.Options{Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	emit(t, b, "done T", "dead T", "late T", "held T", "k1 T k")
	claims := claim(t, b, request(5), "done", "dead", "late", "held", "k1")
	mustSettle(t, b, backend.Ack, claims[0])
	mustSettle(t, b, backend.Bury, claims[1])
	mustSettle(t, b, backend.Release, claims[2])
	emit(t, b, "r1 T", "r2 U - 200", "k2 T k", "k3 U k", "k4 U other")
	claim(t, b, request(0))
	emit(t, b, "new T")
	return path, clock
}

// busCodes returns the codes that a check finds, each once.
func busCodes(t *testing.T, b *sqlite.Backend) []string {
	t.Helper()
	var codes []string
	for f, err := range b.Check(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		codes = append(codes, f.Code)
		t.Logf("%s: %s", f.Severity, f)
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

// Each kind of damage to what is derived from events and claims has a finding. A rebuild
// mends it: then nothing is found, and everything that waits is claimed once, in order
// for each key.
func TestDamagedBus(t *testing.T) {
	for _, c := range []struct{ name, codes, damage string }{
		{"no damage", "", ``},
		{"not ready", "event_unplaced", `DELETE FROM onto_event_ready WHERE event_id = 'r1'`},
		{"nothing ready", "event_unplaced key_stuck", `DELETE FROM onto_event_ready`},
		{"not behind", "event_unplaced", `DELETE FROM onto_event_behind WHERE event_id = 'k3'`},
		{"nothing behind", "event_unplaced", `DELETE FROM onto_event_behind`},
		{"filled too far", "event_unplaced", `UPDATE onto_event_queues SET filled = (SELECT seq FROM onto_bus)`},
		{"filled beyond all", "event_number event_unplaced", `UPDATE onto_event_queues SET filled = 1000`},
		{"filled not far enough", "event_misplaced", `UPDATE onto_event_queues SET filled = 0`},
		{"queued and not ready", "event_unplaced", `UPDATE event_claims SET onto_queued = 1 WHERE event_id IN ('held', 'late')`},
		{"queued in play and not ready", "event_unplaced key_stuck", `UPDATE event_claims SET onto_queued = 1 WHERE event_id = 'k1'`},
		{"ready and behind", "event_misplaced", `INSERT INTO onto_event_ready SELECT 1, -priority, onto_seq, id FROM events WHERE id = 'k2'`},
		{"ready in another queue", "event_misplaced event_unplaced", `UPDATE onto_event_ready SET queue = 3 - queue WHERE event_id = 'r1'`},
		{"ready and claimed", "event_misplaced", `INSERT INTO onto_event_ready SELECT 1, -priority, onto_seq, id FROM events WHERE id = 'held'`},
		{"ready and acked", "event_misplaced", `INSERT INTO onto_event_ready SELECT 1, -priority, onto_seq, id FROM events WHERE id = 'done'`},
		{"ready and of no event", "event_misplaced", `INSERT INTO onto_event_ready VALUES (1, -100, 99, 'gone')`},
		{"behind and of no event", "event_misplaced", `INSERT INTO onto_event_behind VALUES ('n', 'h', 'k', 0, 'gone')`},
		{"in play and of no event", "event_misplaced key_stuck", `INSERT INTO onto_event_keys VALUES ('n', 'h', 'x', 'gone')`},
		{"in play and done", "event_misplaced key_stuck", `INSERT INTO onto_event_keys VALUES ('n', 'h', 'x', 'done')`},
		{"claimed before its turn", "event_misplaced", `INSERT INTO event_claims SELECT 'k2', handler_id, session_id, claimed_at, lease_until, ack_at, attempts, available_at,
			last_error, dead_lettered_at, deliveries, onto_queued FROM event_claims WHERE event_id = 'k1'`},
		{"claimed before its turn and not behind", "event_misplaced", `DELETE FROM onto_event_behind WHERE event_id = 'k2';
			INSERT INTO event_claims SELECT 'k2', handler_id, session_id, claimed_at, lease_until, ack_at, attempts, available_at,
			last_error, dead_lettered_at, deliveries, onto_queued FROM event_claims WHERE event_id = 'k1'`},
		{"ready in no queue", "event_misplaced event_unplaced", `UPDATE onto_event_ready SET queue = 99 WHERE event_id = 'r1'`},
		{"another rank", "event_misplaced event_unplaced", `UPDATE onto_event_ready SET rank = 5 WHERE event_id = 'r2'`},
		{"another number", "event_misplaced event_unplaced", `UPDATE onto_event_ready SET seq = 99 WHERE event_id = 'r2'`},
		{"no queue", "event_misplaced key_stuck", `DELETE FROM onto_event_queues WHERE type = 'U'`},
		{"no key in play", "event_misplaced key_stuck", `DELETE FROM onto_event_keys WHERE ordering_key = 'k'`},
		{"no key of what is ready", "event_misplaced", `DELETE FROM onto_event_keys WHERE ordering_key = 'other'`},
		{"another key in play", "event_misplaced", `UPDATE onto_event_keys SET event_id = 'r1' WHERE ordering_key = 'k'`},
		{"behind itself in play", "event_misplaced key_stuck", `UPDATE onto_event_keys SET event_id = 'k3' WHERE ordering_key = 'k'`},
		{"behind another key", "event_misplaced event_unplaced key_stuck", `UPDATE onto_event_behind SET ordering_key = 'wrong' WHERE event_id = 'k3'`},
		{"behind by another number", "event_misplaced event_unplaced", `UPDATE onto_event_behind SET seq = 1 WHERE event_id = 'k3'`},
		{"one number twice", "event_number event_unplaced", `UPDATE events SET onto_seq = (SELECT onto_seq FROM events WHERE id = 'r1') WHERE id = 'new'`},
		{"the numbers go back", "event_number", `UPDATE onto_bus SET seq = 3`},
		{"events with keys are not looked for", "event_number", `UPDATE onto_bus SET special = 3`},
		{"the newest number is no number", "event_number", `UPDATE onto_bus SET seq = 'x'`},
		{"the newest number is the last one", "event_number", `UPDATE onto_bus SET seq = 9223372036854775807`},
		{"a number is none", "event_number", `UPDATE events SET onto_seq = 'x' WHERE id = 'new'`},
		{"a number is missing", "event_number", `UPDATE events SET onto_seq = NULL WHERE id = 'new'`},
		{"a number of what is ready is missing", "event_misplaced event_number", `UPDATE events SET onto_seq = NULL WHERE id = 'r1'`},
		{"a number is negative", "event_unplaced", `UPDATE events SET onto_seq = -5 WHERE id = 'new'`},
		{"no numbers", "event_number rows_missing", `DELETE FROM onto_bus`},
		{"less than no attempts", "claim_damaged", `UPDATE event_claims SET attempts = -5 WHERE event_id = 'late'`},
		{"too many attempts", "claim_damaged", `UPDATE event_claims SET attempts = 9223372036854775807 WHERE event_id = 'held'`},
		{"deliveries that are none", "claim_damaged", `UPDATE event_claims SET deliveries = 'many' WHERE event_id = 'late'`},
		{"not counted", "rows_missing", `UPDATE onto_bus SET held_sum = NULL`},
		{"no places at all", "event_unplaced key_stuck", `DELETE FROM onto_event_ready; DELETE FROM onto_event_behind; UPDATE event_claims SET onto_queued = 1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path, clock := makeBus(t)
			runSQL(t, path, c.damage)
			b := open(t, path, &sqlite.Options{Now: clock.Now})
			if got := strings.Join(busCodes(t, b), " "); got != c.codes {
				t.Errorf("got findings %q, want %q", got, c.codes)
			}
			if _, err := b.Claim(t.Context(), request(3)); err != nil && onto.CodeOf(err) != onto.Corrupt {
				t.Errorf("a claim on damage: got %v, want Corrupt if it fails", err)
			}
			if _, err := b.RebuildProjection(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			if got := busCodes(t, b); got != nil {
				t.Errorf("after a rebuild: got findings %q", got)
			}
			wantDrained(t, b, clock)
		})
	}
}

// wantDrained claims all that waits in a store of makeBus.
func wantDrained(t *testing.T, b *sqlite.Backend, clock *busClock) {
	t.Helper()
	got := drain(t, b, clock)
	if all := slices.Sorted(slices.Values(got)); !slices.Equal(all, []string{"held", "k1", "k2", "k3", "k4", "late", "new", "r1", "r2"}) {
		t.Errorf("claimed %v, want each that waits once", got)
	}
	keyed := slices.DeleteFunc(slices.Clone(got), func(id string) bool { return id[0] != 'k' || id == "k4" })
	if !slices.Equal(keyed, []string{"k1", "k2", "k3"}) {
		t.Errorf("of the key: claimed %v, want them by arrival", keyed)
	}
	if got := busCodes(t, b); got != nil {
		t.Errorf("at the end: got findings %q", got)
	}
}

// Damage that a rebuild cannot mend has findings as well.
func TestDamagedEvents(t *testing.T) {
	path, clock := makeBus(t)
	runSQL(t, path, `UPDATE events SET commit_id = 7 WHERE id = 'r1'; UPDATE events SET payload = '{}' WHERE id = 'new'; DELETE FROM events WHERE id IN ('done', 'dead')`)
	b, err := sqlite.Open(t.Context(), path, &sqlite.Options{Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if got := strings.Join(busCodes(t, b), " "); got != "claims_orphaned event_without_commit row_damaged rows_missing" {
		t.Errorf("got findings %s", got)
	}
	if got := drain(t, b, clock); len(got) != 9 {
		t.Errorf("claimed %v, want each that waits", got)
	}
}

// Events that are removed while they wait are found by the doctor, and by the claim or the
// ack that comes upon them. After a rebuild the others are handled.
func TestRemovedEvents(t *testing.T) {
	path, clock := makeBus(t)
	b, err := sqlite.Open(t.Context(), path, &sqlite.Options{Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	runSQL(t, path, `DELETE FROM events WHERE id IN ('r1', 'k2')`)
	if got := strings.Join(busCodes(t, b), " "); got != "event_misplaced rows_missing" {
		t.Errorf("got findings %s", got)
	}
	wantDamage := func(err error) {
		t.Helper()
		if onto.CodeOf(err) != onto.Corrupt || !slices.Equal(onto.HintOf(err).Command, []string{"projection", "rebuild"}) {
			t.Errorf("got %v, want Corrupt with the command that repairs it", err)
		}
	}
	_, err = b.Claim(t.Context(), request(9))
	wantDamage(err)
	k1 := onto.Claim{Event: newEvent("k1 T k").Event, Handler: "h", Session: "s", Claimed: clock.Now()}
	_, err = b.Settle(t.Context(), []backend.Settlement{{Claim: k1, Do: backend.Ack}})
	wantDamage(err)
	if _, err := b.RebuildProjection(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	mustSettle(t, b, backend.Ack, k1)
	if got := drain(t, b, clock); len(got) != 6 {
		t.Errorf("claimed %v, want each that waits", got)
	}
}

// If a table, a column or an index of the bus was dropped, opening the file brings it back,
// and what is derived fills again. A store that is open meanwhile reports it.
func TestDroppedBus(t *testing.T) {
	for _, drop := range []string{
		`DROP TABLE onto_event_ready`, `DROP TABLE onto_event_behind`, `DROP TABLE onto_event_keys`, `DROP TABLE onto_bus`,
		`DROP TABLE onto_event_schedules`, `DROP TABLE onto_positions`, `DROP TABLE sessions`,
		`DROP INDEX onto_events_arrival`, `DROP INDEX onto_events_commit`, `DROP INDEX onto_event_claims_open`,
		`DROP INDEX idx_events_namespace_type_order`, `DROP INDEX idx_event_claims_event`, `DROP INDEX idx_event_claims_handler_state`,
		`DROP INDEX onto_dead_letters_event`, `ALTER TABLE events DROP COLUMN parent_event_id`, `ALTER TABLE event_claims DROP COLUMN deliveries`,
		`ALTER TABLE dead_letters DROP COLUMN priority`,
		`DROP INDEX onto_event_claims_open; ALTER TABLE event_claims DROP COLUMN onto_queued`,
		`DROP INDEX onto_events_arrival; DROP INDEX onto_events_commit; ALTER TABLE events DROP COLUMN onto_seq`,
	} {
		t.Run(drop, func(t *testing.T) {
			t.Parallel()
			path, clock := makeBus(t)
			before, err := sqlite.Open(t.Context(), path, &sqlite.Options{Now: clock.Now})
			if err != nil {
				t.Fatal(err)
			}
			defer before.Close()
			runSQL(t, path, drop)
			if got := busCodes(t, before); !slices.Contains(got, "index_missing") && !slices.Contains(got, "check_stopped") {
				t.Errorf("while it is missing: got findings %v", got)
			}
			wantDrained(t, open(t, path, &sqlite.Options{Now: clock.Now}), clock)
		})
	}
}

// If events or claims themselves are dropped, they are lost, and work goes on without them.
func TestDroppedEvents(t *testing.T) {
	for table, want := range map[string]struct {
		left  int
		codes string
	}{"events": {0, "claims_orphaned rows_missing"}, "event_claims": {11, ""}, "dead_letters": {9, ""}, "onto_event_queues": {9, ""}} {
		path, clock := makeBus(t)
		runSQL(t, path, `DROP TABLE `+table)
		b, err := sqlite.Open(t.Context(), path, &sqlite.Options{Now: clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		if got := drain(t, b, clock); len(got) != want.left {
			t.Errorf("without %s: claimed %v, want %d events", table, got, want.left)
		}
		if got := strings.Join(busCodes(t, b), " "); got != want.codes {
			t.Errorf("without %s: got findings %q, want %q", table, got, want.codes)
		}
		emit(t, b, "after T", "k9 T k")
		mustSettle(t, b, backend.Bury, claim(t, b, request(9), "after", "k9")...)
	}
}

// What is dropped under an open store comes back with a rebuild.
func TestRebuildOfDroppedBus(t *testing.T) {
	path, clock := makeBus(t)
	b := open(t, path, &sqlite.Options{Now: clock.Now})
	runSQL(t, path, `DROP INDEX onto_events_arrival; DROP TABLE onto_event_ready; DROP TABLE onto_bus`)
	if _, err := b.Claim(t.Context(), request(1)); onto.CodeOf(err) != onto.Corrupt || onto.HintOf(err).Text == "" {
		t.Errorf("got %v, want Corrupt with a hint", err)
	}
	if got := codesOf(examined(t, b, false)); !slices.Contains(got, "index_missing") || !slices.Contains(got, "check_stopped") {
		t.Errorf("got findings %v", got)
	}
	if _, err := b.RebuildProjection(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	wantDrained(t, b, clock)
}

// A claim that comes upon damage fails, and says what to do.
func TestClaimOnDamage(t *testing.T) {
	path, clock := makeBus(t)
	runSQL(t, path, `UPDATE onto_event_queues SET filled = 0`)
	b := open(t, path, &sqlite.Options{Now: clock.Now})
	_, err := b.Claim(t.Context(), request(9))
	if onto.CodeOf(err) != onto.Corrupt || !slices.Equal(onto.HintOf(err).Command, []string{"projection", "rebuild"}) {
		t.Errorf("got %v, want Corrupt with the command that repairs it", err)
	}
	if _, err := b.RebuildProjection(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	wantDrained(t, b, clock)
}

// A rebuild keeps claims: their holders settle them.
func TestRebuildKeepsClaims(t *testing.T) {
	_, clock, b := openBus(t)
	emit(t, b, "a T k", "b T k", "c T")
	held := claim(t, b, request(9), "a", "c")
	if _, err := b.RebuildProjection(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	claim(t, b, request(9))
	clock.advance(2 * time.Minute) // the leases have ended, and nothing was claimed since
	mustSettle(t, b, backend.Ack, held...)
	mustSettle(t, b, backend.Ack, claim(t, b, request(9), "b")...)
	claim(t, b, request(9))
	backendtest.Check(t, b)
}

// A lease that had ended is in force again once the clock has gone back: nobody else gets
// the event, and its holder can renew it and ack it.
func TestTheClockGoesBack(t *testing.T) {
	_, clock, b := openBus(t)
	emit(t, b, "a T", "b T k", "c T k")
	held := claim(t, b, request(9), "a", "b")
	clock.advance(2 * time.Minute)
	claim(t, b, request(0)) // both are ready again
	clock.advance(-90 * time.Second)
	got, err := b.Claim(t.Context(), request(9))
	if err != nil || len(got.Claims) != 0 || !got.Next.Equal(held[0].Until) {
		t.Errorf("got %v, error %v; want nothing before the leases end", got, err)
	}
	if lost, err := b.Beat(t.Context(), &backend.Beat{Session: onto.Session{ID: "s", Namespace: "n"}, Claims: held, Lease: time.Minute}); err != nil || lost != nil {
		t.Errorf("got %v, error %v; want none lost", lost, err)
	}
	mustSettle(t, b, backend.Ack, held...)
	mustSettle(t, b, backend.Ack, claim(t, b, request(9), "c")...)
	backendtest.Check(t, b)
}

// A claim that comes upon damage says so, and what mends it.
func TestAClaimFindsDamage(t *testing.T) {
	for name, damage := range map[string]string{
		"filled not far enough":             `UPDATE onto_event_queues SET filled = 0`,
		"the newest number is no number":    `UPDATE onto_bus SET seq = 'x'`,
		"the newest number is the last one": `UPDATE onto_bus SET seq = 9223372036854775807`,
		"no numbers":                        `DELETE FROM onto_bus`,
	} {
		t.Run(name, func(t *testing.T) {
			path, clock := makeBus(t)
			runSQL(t, path, damage)
			b := open(t, path, &sqlite.Options{Now: clock.Now})
			_, err := b.Claim(t.Context(), request(9))
			var e *onto.Error
			if !errors.As(err, &e) || e.Code != onto.Corrupt || strings.Join(e.Hint.Command, " ") != "projection rebuild" {
				t.Errorf("got %v, want damage that a rebuild mends", err)
			}
			if _, err := b.RebuildProjection(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			wantDrained(t, b, clock)
		})
	}
}
