package sqlite_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/sqlite"
)

// sharedBus is a store and the original program on the same file.
func sharedBus(t *testing.T) (*busClock, *sqlite.Backend, *originalBus) {
	t.Helper()
	path, clock, b := openBus(t)
	return clock, b, openOriginalBus(t, path, clock)
}

// The statements of the original program say of our file what the library says: what
// can be claimed, what has become of events, the claims on them, sessions, dead letters.
func TestOriginalStatementsOfTheBus(t *testing.T) {
	clock, b, o := sharedBus(t)
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
	o.enqueue("g", "T", 100)
	o.enqueue("h", "U", 300)
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
	o.replay("d", "d2")
	o.register("theirs")
	clock.advance(time.Second)
	o.register("theirs")
	o.heartbeat("theirs")
	same("replayed")
	claimSame(9, "T", "U")
	same("claimed what is left")
	if got := strings.Join(o.ids(`SELECT group_concat(session_id || ' ' || (started_at < last_heartbeat) || ' ' || metadata, '; ') FROM sessions`), ""); got != `s 0 {"host":"b"}; theirs 1 {"host": "a"}` {
		t.Errorf("sessions: got %s", got)
	}
	cut := newBusClock().Now().Add(time.Second)
	old := o.ids(`SELECT id FROM events WHERE namespace = 'n' AND created_at < ?`, clock.after(cut.Sub(clock.Now())))
	plan, err := b.Clean(t.Context(), &backend.Cleaning{Namespace: "n", Before: cut, Unhandled: true}, nil)
	if err != nil || len(old) == 0 || plan.Events != int64(len(old)) {
		t.Errorf("a cleaning would remove %d, error %v; they would remove %v", plan.Events, err, old)
	}
	o.cleanup(cut)
	same("cleaned up")
	claimSame(9, "T", "U")
	same("claimed after that")
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

// What the original program does while a store is open is noticed by the next claim.
func TestOriginalAtWork(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(t *testing.T, clock *busClock, b *sqlite.Backend, o *originalBus)
	}{
		{"it adds events", func(t *testing.T, clock *busClock, b *sqlite.Backend, o *originalBus) {
			emit(t, b, "a T")
			claim(t, b, request(0))
			clock.advance(time.Second)
			o.enqueue("b", "T", 100)
			o.enqueue("c", "T", 200)
			claim(t, b, request(9), "c", "a", "b")
		}},
		{"it adds events while we commit some", func(t *testing.T, clock *busClock, b *sqlite.Backend, o *originalBus) {
			o.enqueue("a", "T", 100)
			clock.advance(time.Second)
			emit(t, b, "b T")
			o.enqueue("c", "T", 100)
			claim(t, b, request(9), "a", "b", "c")
		}},
		{"it claims what is ready", func(t *testing.T, clock *busClock, b *sqlite.Backend, o *originalBus) {
			emit(t, b, "a T", "b T")
			claim(t, b, request(0))
			o.claim("h", "theirs", 1, time.Minute, "T")
			claim(t, b, request(9), "b")
			clock.advance(time.Minute)
			if got := claim(t, b, request(1), "a"); !got[0].Lost {
				t.Error("the claim that it lost does not count as lost")
			}
		}},
		{"it acks what is ready", func(t *testing.T, clock *busClock, b *sqlite.Backend, o *originalBus) {
			emit(t, b, "a T", "b T")
			claim(t, b, request(0))
			o.claim("h", "theirs", 1, time.Minute, "T")
			o.ack("h", "a")
			claim(t, b, request(9), "b")
		}},
		{"it acks what we hold", func(t *testing.T, clock *busClock, b *sqlite.Backend, o *originalBus) {
			emit(t, b, "a T")
			held := claim(t, b, request(9), "a")
			o.ack("h", "a")
			if got := settle(t, b, backend.Ack, held...); got[0] != onto.LeaseExpired {
				t.Errorf("got %s", got)
			}
			clock.advance(time.Hour)
			claim(t, b, request(9))
		}},
		{"it releases its claim", func(t *testing.T, clock *busClock, b *sqlite.Backend, o *originalBus) {
			emit(t, b, "a T")
			o.claim("h", "theirs", 1, time.Hour, "T")
			claim(t, b, request(9))
			o.release("h", "a", "no", time.Minute, false)
			claim(t, b, request(9))
			clock.advance(time.Minute)
			if got := claim(t, b, request(9), "a"); got[0].Attempts != 1 || got[0].Lost {
				t.Errorf("got %+v, want one attempt, and not lost", got[0])
			}
		}},
		{"it takes over a claim that ran out and is ready", func(t *testing.T, clock *busClock, b *sqlite.Backend, o *originalBus) {
			emit(t, b, "a T", "b T")
			claim(t, b, request(9), "a", "b")
			clock.advance(time.Hour)
			claim(t, b, request(1), "a") // b is ready
			o.claim("h", "theirs", 9, time.Minute, "T")
			claim(t, b, request(9))
			clock.advance(time.Hour)
			claim(t, b, request(9), "a", "b")
		}},
		{"it buries", func(t *testing.T, clock *busClock, b *sqlite.Backend, o *originalBus) {
			emit(t, b, "a T", "b T")
			claim(t, b, request(0))
			o.claim("h", "theirs", 1, time.Minute, "T")
			o.release("h", "a", "never", 0, true)
			claim(t, b, request(9), "b")
			claim(t, b, request(9, onto.DeadLetterType), "notice-1")
			for d, err := range b.DeadLetters(t.Context(), &backend.DeadLetterQuery{Namespace: "n"}) {
				if err != nil || d.Event.ID != "a" || d.Handler != "h" || d.Attempts != 1 || d.Error != "never" || d.Event.Type != "T" {
					t.Errorf("got %+v, error %v", d, err)
				}
			}
		}},
		{"it removes what is ready, claimed and behind", func(t *testing.T, clock *busClock, b *sqlite.Backend, o *originalBus) {
			emit(t, b, "a T", "b T", "k1 T k", "k2 T k")
			claim(t, b, request(1), "a")
			clock.advance(time.Second)
			emit(t, b, "k3 T k", "c T")
			claim(t, b, request(0))
			o.cleanup(clock.Now())
			clock.advance(2 * time.Second)
			claim(t, b, request(9), "k3", "c")
		}},
		{"it removes what is in play and claimed", func(t *testing.T, clock *busClock, b *sqlite.Backend, o *originalBus) {
			emit(t, b, "k1 T k")
			claim(t, b, request(9), "k1")
			clock.advance(time.Second)
			emit(t, b, "k2 T k")
			claim(t, b, request(9))
			o.cleanup(clock.Now())
			clock.advance(2 * time.Second)
			claim(t, b, request(9), "k2")
		}},
		{"it acks what is in play and it has claimed", func(t *testing.T, clock *busClock, b *sqlite.Backend, o *originalBus) {
			emit(t, b, "k1 T k", "k2 T k")
			claim(t, b, request(0))
			o.claim("h", "theirs", 1, time.Minute, "T")
			claim(t, b, request(9)) // k1 is theirs
			o.ack("h", "k1")
			clock.advance(2 * time.Second)
			claim(t, b, request(9), "k2")
		}},
		{"it buries what is in play and we have claimed", func(t *testing.T, clock *busClock, b *sqlite.Backend, o *originalBus) {
			emit(t, b, "k1 T k", "k2 T k")
			claim(t, b, request(9), "k1")
			o.release("h", "k1", "never", 0, true)
			clock.advance(2 * time.Second)
			claim(t, b, request(9), "k2")
		}},
		{"it claims what is behind, and we go on after it", func(t *testing.T, clock *busClock, b *sqlite.Backend, o *originalBus) {
			emit(t, b, "k1 T k", "k2 T k", "k3 T k")
			held := claim(t, b, request(9), "k1")
			o.claim("h", "theirs", 1, time.Second, "T") // k2
			clock.advance(10 * time.Second)
			claim(t, b, request(9)) // k2 waits for k1
			mustSettle(t, b, backend.Ack, held...)
			held = claim(t, b, request(9), "k2")
			mustSettle(t, b, backend.Ack, held...)
			claim(t, b, request(9), "k3")
		}},
		{"it handles what is behind", func(t *testing.T, clock *busClock, b *sqlite.Backend, o *originalBus) {
			emit(t, b, "k1 T k", "k2 T k", "k3 T k")
			held := claim(t, b, request(9), "k1")
			o.claim("h", "theirs", 1, time.Second, "T") // k2
			o.ack("h", "k2")
			mustSettle(t, b, backend.Ack, held...)
			claim(t, b, request(9), "k3")
		}},
		{"it claims events of a key before we see them", func(t *testing.T, clock *busClock, b *sqlite.Backend, o *originalBus) {
			emit(t, b, "k1 T k", "k2 T k", "k3 T k")
			o.claim("h", "theirs", 2, time.Second, "T") // k1, k2
			held := claim(t, b, request(9), "k3")
			clock.advance(10 * time.Second)
			claim(t, b, request(9))
			mustSettle(t, b, backend.Ack, held...)
			held = claim(t, b, request(9), "k1")
			mustSettle(t, b, backend.Ack, held...)
			claim(t, b, request(9), "k2")
		}},
		{"it acks what is ready, and the next of the key is of another type", func(t *testing.T, clock *busClock, b *sqlite.Backend, o *originalBus) {
			emit(t, b, "k1 U k", "k2 T k", "a T", "b U")
			claim(t, b, request(0))
			o.claim("h", "theirs", 1, time.Minute, "U")
			o.ack("h", "k1")
			claim(t, b, request(9), "k2", "a", "b")
		}},
		{"it ignores what is delayed until its time", func(t *testing.T, clock *busClock, b *sqlite.Backend, o *originalBus) {
			e := newEvent("a T")
			e.Delay = time.Minute
			if _, err := b.Emit(t.Context(), &backend.Emission{Events: []backend.NewEvent{e}}); err != nil {
				t.Fatal(err)
			}
			claim(t, b, request(9))
			if got := o.claim("h", "theirs", 9, time.Minute, "T"); got != nil {
				t.Errorf("it claimed %v", got)
			}
			clock.advance(time.Minute)
			if got := o.claim("h", "theirs", 9, time.Minute, "T"); len(got) != 1 {
				t.Errorf("it claimed %v", got)
			}
			claim(t, b, request(9))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			clock, b, o := sharedBus(t)
			c.do(t, clock, b, o)
			backendtest.Check(t, b)
			clock.advance(time.Hour)
			drain(t, b, clock)
			if got := busCodes(t, b); got != nil {
				t.Errorf("got findings %v", got)
			}
			if left := o.eligible("h", 99, "T", "U"); left != nil {
				t.Errorf("%v are never claimed", left)
			}
		})
	}
}

// Many events that another program has added at once, more than one transaction numbers,
// are all there for the next claim.
func TestOriginalAddsManyEvents(t *testing.T) {
	clock, b, o := sharedBus(t)
	claim(t, b, request(1))
	o.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 25000)
		INSERT INTO events (id, namespace, type, payload, created_at, priority, root_event_id) SELECT i, 'n', iif(i % 2, 'T', 'U'), '{}', ?, iif(i = 25000, 200, 100), i FROM n`, clock.sql())
	claim(t, b, request(1), "25000")
	if got := busCodes(t, b); got != nil {
		t.Errorf("got findings %v", got)
	}
}

// A cleaning removes what is older than it asks for, also behind events of a program whose
// clock is ahead, and those that no claim has numbered yet.
func TestCleanWhatTheOriginalAdded(t *testing.T) {
	clock, b, o := sharedBus(t)
	emit(t, b, "a T")
	clock.advance(48 * time.Hour)
	o.enqueue("ahead", "T", 100)
	clock.advance(-48 * time.Hour)
	emit(t, b, "b T", "c T - 5", "d T - 200")
	o.enqueue("e", "T", 100)
	o.enqueue("f", "Unseen", 100)
	clock.advance(24 * time.Hour)
	emit(t, b, "new T")
	plan, err := b.Clean(t.Context(), &backend.Cleaning{Before: clock.Now()}, nil)
	if err != nil || plan.Events != 6 || len(plan.Types) != 2 {
		t.Errorf("got %+v, error %v; want 6 events of 2 types", plan, err)
	}
	done, err := b.Clean(t.Context(), &backend.Cleaning{Before: clock.Now(), Apply: true}, nil)
	if err != nil || fmt.Sprint(done) != fmt.Sprint(plan) {
		t.Errorf("got %+v, error %v; want as planned", done, err)
	}
	if got := status(t, b, backend.EventQuery{}); got != "new pending; ahead pending" {
		t.Errorf("left is %s", got)
	}
}

// Another program may write priorities that are no integers, or whose rank is none. Each
// event is claimed once all the same.
func TestOddPriorities(t *testing.T) {
	clock, b, o := sharedBus(t)
	for i, priority := range []string{"-9223372036854775808", "-9223372036854775807", "9223372036854775807", "1.5", "-1e300", "1e300", "'high'", "x'00ff'", "0"} {
		id := fmt.Sprint("e", i)
		o.enqueue(id, "T", 0)
		o.exec(`UPDATE events SET priority = `+priority+` WHERE id = ?`, id)
	}
	var got []string
	for range 12 {
		list, err := b.Claim(t.Context(), request(1))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list.Claims {
			got = append(got, c.ID)
		}
		mustSettle(t, b, backend.Ack, list.Claims...)
		clock.advance(time.Second)
	}
	if slices.Sort(got); !slices.Equal(got, []string{"e0", "e1", "e2", "e3", "e4", "e5", "e6", "e7", "e8"}) {
		t.Errorf("claimed %v, want each once", got)
	}
	backendtest.Check(t, b)
}
