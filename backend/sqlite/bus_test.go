package sqlite_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
)

// busClock is a clock that a test sets.
type busClock struct {
	mu  sync.Mutex // guards now
	now time.Time
}

func newBusClock() *busClock { return &busClock{now: time.Date(2026, 2, 10, 12, 0, 0, 0, time.UTC)} }

func (c *busClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *busClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// sql is the time as the file keeps it.
func (c *busClock) sql() string { return c.after(0) }

// after is a later time as the file keeps it.
func (c *busClock) after(d time.Duration) string {
	return c.Now().Add(d).Format("2006-01-02T15:04:05.000000-07:00")
}

// openBus opens a new store with a clock.
func openBus(t *testing.T) (string, *busClock, *sqlite.Backend) {
	t.Helper()
	path, clock := filepath.Join(t.TempDir(), "bus.db"), newBusClock()
	return path, clock, open(t, path, &sqlite.Options{Now: clock.Now})
}

// newEvent makes an event from "id type", "id type key" or "id type key priority", with
// - for no key. It is in the namespace n.
func newEvent(spec string) backend.NewEvent {
	e := onto.Event{Namespace: "n", Payload: []byte(`{}`), Priority: onto.DefaultPriority}
	fmt.Sscan(spec, &e.ID, &e.Type, &e.OrderingKey, &e.Priority)
	e.OrderingKey = strings.TrimPrefix(e.OrderingKey, "-")
	return backend.NewEvent{Event: e}
}

// emit emits events, see newEvent.
func emit(t *testing.T, b backend.Bus, specs ...string) {
	t.Helper()
	e := &backend.Emission{}
	for _, s := range specs {
		e.Events = append(e.Events, newEvent(s))
	}
	if _, err := b.Emit(t.Context(), e); err != nil {
		t.Fatal(err)
	}
}

// request asks for events of the types T and U, for the handler h, for a minute.
func request(limit int, types ...string) *backend.ClaimRequest {
	if len(types) == 0 {
		types = []string{"T", "U"}
	}
	return &backend.ClaimRequest{Namespace: "n", Handler: "h", Types: types, Session: "s", Limit: limit, Lease: time.Minute}
}

// claim claims events, and fails the test if they are not those that are wanted.
func claim(t *testing.T, b backend.Bus, r *backend.ClaimRequest, want ...string) []onto.Claim {
	t.Helper()
	got, err := b.Claim(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if ids := claimedIDs(got.Claims); !slices.Equal(ids, want) {
		t.Errorf("claimed %v, want %v", ids, want)
	}
	return got.Claims
}

func claimedIDs(claims []onto.Claim) []string {
	var ids []string
	for _, c := range claims {
		ids = append(ids, c.ID)
	}
	return ids
}

// settle settles claims, and returns the code of each verdict.
func settle(t *testing.T, b backend.Bus, do backend.Settling, claims ...onto.Claim) []onto.Code {
	t.Helper()
	var list []backend.Settlement
	for _, c := range claims {
		list = append(list, backend.Settlement{Claim: c, Do: do, Delay: time.Second, Error: "planted"})
	}
	verdicts, err := b.Settle(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	var codes []onto.Code
	for _, v := range verdicts {
		codes = append(codes, onto.CodeOf(v))
	}
	return codes
}

// mustSettle settles claims that are held.
func mustSettle(t *testing.T, b backend.Bus, do backend.Settling, claims ...onto.Claim) {
	t.Helper()
	for i, code := range settle(t, b, do, claims...) {
		if code != "" {
			t.Errorf("settling %s: got %s", claims[i].ID, code)
		}
	}
}

// drain claims and acks all that can be claimed, some at a time, with time going on, and
// returns the events in order.
func drain(t *testing.T, b backend.Bus, clock *busClock) []string {
	t.Helper()
	var ids []string
	for {
		got, err := b.Claim(t.Context(), request(2))
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Claims) == 0 && got.Next.IsZero() {
			return ids
		}
		if len(got.Claims) == 0 {
			clock.advance(got.Next.Sub(clock.Now()))
		}
		ids = append(ids, claimedIDs(got.Claims)...)
		mustSettle(t, b, backend.Ack, got.Claims...)
	}
}

// status is what has become of all events, as "id status" by order of claims.
func status(t *testing.T, b backend.Bus, q backend.EventQuery) string {
	t.Helper()
	var list []string
	for e, err := range b.Events(t.Context(), &q) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e.ID+" "+string(e.Status))
	}
	return strings.Join(list, "; ")
}
