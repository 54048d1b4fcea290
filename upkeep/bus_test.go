package upkeep_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/upkeep"
)

// shop is a store with a bus whose clock stands where the test puts it.
type shop struct {
	*memory.Backend
	t   *testing.T
	now time.Time
	n   int
}

func openBus(t *testing.T) *shop {
	s := &shop{t: t, now: time.Date(2026, 2, 10, 12, 0, 0, 0, time.UTC)}
	s.Backend = memory.New(&memory.Options{Now: func() time.Time { return s.now }}).Open()
	return s
}

func (s *shop) emit(namespace string, types ...string) {
	s.t.Helper()
	for _, typ := range types {
		s.n++
		id := fmt.Sprintf("00000000-0000-7000-8000-%012d", s.n)
		e := backend.NewEvent{Event: onto.Event{ID: id, Namespace: namespace, Type: typ, Payload: json.RawMessage(`{}`), Priority: 100}}
		if _, err := s.Emit(s.t.Context(), &backend.Emission{Events: []backend.NewEvent{e}}); err != nil {
			s.t.Fatal(err)
		}
	}
}

// claim claims events of a type for a handler in a session that is alive now.
func (s *shop) claim(namespace, handler, typ, session string) []onto.Claim {
	s.t.Helper()
	if _, err := s.Beat(s.t.Context(), &backend.Beat{Session: onto.Session{ID: session, Namespace: namespace}, Lease: 30 * time.Second}); err != nil {
		s.t.Fatal(err)
	}
	r, err := s.Claim(s.t.Context(), &backend.ClaimRequest{
		Namespace: namespace, Handler: handler, Types: []string{typ}, Session: session, Limit: 10, Lease: 30 * time.Second,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return r.Claims
}

func (s *shop) settle(do backend.Settling, claims ...onto.Claim) {
	s.t.Helper()
	for _, c := range claims {
		verdicts, err := s.Settle(s.t.Context(), []backend.Settlement{{Claim: c, Do: do, Error: "no such address", Delay: time.Hour}})
		if err != nil || verdicts[0] != nil {
			s.t.Fatal(err, verdicts)
		}
	}
}

// want compares the findings, each as its code, a part of its message and its command.
func (s *shop) want(what string, quick bool, want ...[3]string) {
	s.t.Helper()
	var got []onto.Finding
	for f, err := range upkeep.Examine(s.t.Context(), s, &upkeep.Options{Quick: quick, Now: func() time.Time { return s.now }}) {
		if err != nil {
			s.t.Fatal(err)
		}
		if f.Severity != onto.SeverityWarning || f.Explanation == "" {
			s.t.Errorf("%s: %s has severity %s and explanation %q", what, f.Code, f.Severity, f.Explanation)
		}
		got = append(got, f)
	}
	same := slices.EqualFunc(got, want, func(f onto.Finding, w [3]string) bool {
		return f.Code == w[0] && strings.Contains(f.Message, w[1]) && strings.Join(f.Remedy.Command, " ") == w[2]
	})
	if !same {
		s.t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// Types that no handler asks for are reported until one does; events that tell of dead
// letters never are.
func TestEventsWithoutHandler(t *testing.T) {
	s := openBus(t)
	s.want("no events", false)
	s.emit("shop", "OrderPaid", "OrderPaid", "OrderSent", onto.DeadLetterType)
	s.emit("other", "Ping")
	ping := [3]string{"events_unhandled", "1 event waits of type Ping in namespace other", "events show --namespace other --type Ping"}
	sent := [3]string{"events_unhandled", "1 event waits of type OrderSent", "events show --namespace shop --type OrderSent"}
	s.want("none is handled", false, ping,
		[3]string{"events_unhandled", "2 events wait of type OrderPaid in namespace shop", "events show --namespace shop --type OrderPaid"}, sent)
	s.claim("shop", "mail", "OrderPaid", "a")
	s.want("one is handled", true, ping, sent)
}

// A dead letter is reported until something is done about it.
func TestUnresolvedDeadLetters(t *testing.T) {
	s := openBus(t)
	s.emit("shop", "OrderPaid", "OrderPaid")
	s.settle(backend.Bury, s.claim("shop", "mail", "OrderPaid", "a")...)
	const command = "events dead-letters --namespace shop"
	s.want("two", true, [3]string{"dead_letters_open", `namespace shop has 2 unresolved dead letters: the oldest is of handler mail for an event of type OrderPaid, with the error "no such address"`, command})
	drop := func(id int64) {
		if _, err := s.Emit(t.Context(), &backend.Emission{Resolve: []backend.DeadLetterEnd{{ID: id, Kind: onto.Dropped}}}); err != nil {
			t.Fatal(err)
		}
	}
	drop(1)
	s.want("one", false, [3]string{"dead_letters_open", "namespace shop has 1 unresolved dead letter: ", command})
	drop(2)
	s.want("none", false)
}

// A session that ended without saying so is reported while it holds claims, and those
// that it has settled do not count.
func TestDeadSessions(t *testing.T) {
	s := openBus(t)
	s.emit("shop", "OrderPaid", "OrderPaid", "OrderPaid", "OrderPaid")
	claims := s.claim("shop", "mail", "OrderPaid", "a")
	s.settle(backend.Ack, claims[0])
	s.settle(backend.Release, claims[1])
	s.want("alive", false)
	s.now = s.now.Add(upkeep.DefaultSessionTTL)
	s.want("at the limit", false)
	s.now = s.now.Add(time.Second)
	s.want("dead", false, [3]string{"session_dead", "session a in namespace shop gave its last sign of life at 2026-02-10T12:00:00.000000+00:00, and 2 events are claimed by it", "events sessions --namespace shop"})
	s.want("a quick look reads no events", true)
	if got := s.claim("shop", "mail", "OrderPaid", "b"); len(got) != 2 {
		t.Fatalf("another session took %d over", len(got))
	}
	s.want("taken over", false)
}
