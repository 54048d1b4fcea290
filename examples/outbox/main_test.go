package main

import (
	"context"
	"errors"
	"log"
	"sync"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

func Example() {
	ctx := context.Background()
	s, err := open(ctx, ":memory:", messages)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	if err := run(ctx, s); err != nil {
		log.Fatal(err)
	}
	// Output:
	// m1 to ada: sent, attempts: 1, last error: ""
	// m2 to bob: failed, attempts: 3, last error: "mailbox is full"
}

// The status of every message is what a replay of the facts gives.
func TestReplay(t *testing.T) {
	path := t.TempDir() + "/outbox.db"
	s, err := open(t.Context(), path, messages)
	if err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if err := s.VerifyFolds(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	other := messages
	other.Apply = func(m *Message, f onto.Fact, d onto.Draft) error {
		if f.Attribute == "claimed" {
			m.Attempts++ // counts claims as well
		}
		return apply(m, f, d)
	}
	if s, err = open(t.Context(), path, other); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.VerifyFolds(t.Context()); err == nil {
		t.Error("a changed fold was not noticed")
	}
}

// Workers share the messages: each is delivered once, and what a dead worker has
// claimed is delivered after its lease.
func TestWorkers(t *testing.T) {
	s, err := open(t.Context(), t.TempDir()+"/outbox.db", messages)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var submit onto.Draft
	for i := range 20 {
		submit = submit.Assert(onto.Fact{Type: "Delivery", Subject: string(rune('a' + i)), Attribute: "submitted", Value: Letter{To: "ada"}})
	}
	if _, err := s.Commit(t.Context(), submit); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 16, 9, 0, 0, 0, time.UTC)
	dead := &worker{name: "dead", s: s}
	claim := dead.fact("a", "claimed", "dead")
	claim.Until = now.Add(lease)
	if _, err := s.Commit(t.Context(), dead.draft().Assert(claim)); err != nil {
		t.Fatal(err)
	}

	var mu sync.Mutex
	delivered := 0
	work := func(at time.Time) {
		var wg sync.WaitGroup
		for _, name := range []string{"one", "two", "three"} {
			wg.Go(func() {
				w := &worker{name, s, func(string, string) error { mu.Lock(); defer mu.Unlock(); delivered++; return nil }}
				if err := w.pass(t.Context(), at); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	work(now)
	if delivered != 19 {
		t.Errorf("%d messages were delivered, want 19: one is claimed", delivered)
	}
	work(now.Add(lease))
	sent, err := store.Find[Message](s.Now()).Where(onto.Path("status").Eq("sent")).Count(t.Context())
	if err != nil || sent != 20 || delivered != 20 {
		t.Errorf("%d messages are sent, %d were delivered, error %v; want 20", sent, delivered, err)
	}
	if err := s.VerifyFolds(t.Context()); err != nil {
		t.Error(err)
	}
}
