package memory_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
)

// An event is emitted, claimed, released, claimed again and buried, and each step shows.
func TestLifeOfAnEvent(t *testing.T) {
	ctx := t.Context()
	now := time.Date(2026, 2, 10, 12, 0, 0, 0, time.UTC)
	b := memory.New(&memory.Options{Now: func() time.Time { return now }}).Open()
	check := func(want string) {
		t.Helper()
		for e, err := range b.Events(ctx, &backend.EventQuery{ID: "e1"}) {
			if got := fmt.Sprint(e.Status, " ", len(e.Claims)); err != nil || got != want {
				t.Errorf("got %s and error %v, want %s", got, err, want)
			}
		}
	}
	claim := func() onto.Claim {
		t.Helper()
		got, err := b.Claim(ctx, &backend.ClaimRequest{Namespace: "n", Handler: "h", Types: []string{"T"}, Session: "s", Limit: 2, Lease: time.Minute})
		if err != nil || len(got.Claims) != 1 {
			t.Fatalf("got %v and error %v, want one claim", got, err)
		}
		return got.Claims[0]
	}
	settle := func(s backend.Settlement) {
		t.Helper()
		if verdicts, err := b.Settle(ctx, []backend.Settlement{s}); err != nil || verdicts[0] != nil {
			t.Fatalf("got %v and error %v", verdicts, err)
		}
	}
	e := onto.Event{ID: "e1", Namespace: "n", Type: "T", Payload: []byte(`{}`), Priority: 100}
	if _, err := b.Emit(ctx, &backend.Emission{Events: []backend.NewEvent{{Event: e}}}); err != nil {
		t.Fatal(err)
	}
	check("pending 0")
	c := claim()
	check("claimed 1")
	settle(backend.Settlement{Claim: c, Do: backend.Release, Error: "no"})
	check("pending 1")
	if c = claim(); c.Lost {
		t.Error("a released claim is not lost")
	}
	now = now.Add(time.Hour)
	if c = claim(); !c.Lost {
		t.Error("a claim that ran out is lost")
	}
	settle(backend.Settlement{Claim: c, Do: backend.Bury, Error: "never"})
	check("dead_lettered 1")
}
