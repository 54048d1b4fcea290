package main

import (
	"context"
	"log"
	"testing"

	"github.com/ontologia/onto"
)

func Example() {
	ctx := context.Background()
	s, err := open(ctx, ":memory:", inbox)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	if err := run(ctx, s); err != nil {
		log.Fatal(err)
	}
	// Output:
	// n1 open     Disk is almost full, by ana
	// n2 snoozed  Certificate expires on Friday, by ana
	// bob acted on what he saw: false
	// n1 open     Disk is almost full, by ana
	// n2 snoozed  Certificate expires on Friday, by ana
}

// The inbox is what a replay of the facts gives.
func TestReplay(t *testing.T) {
	path := t.TempDir() + "/notices.db"
	s, err := open(t.Context(), path, inbox)
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

	other := inbox // the same version, but not the same function
	other.Apply = func(s *Inbox, f onto.Fact, d onto.Draft) error {
		err := apply(s, f, d)
		s.By = "nobody"
		return err
	}
	if s, err = open(t.Context(), path, other); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.VerifyFolds(t.Context()); err == nil {
		t.Error("a changed fold was not noticed")
	}
}

// What is handled stays handled: the fold refuses the draft, and nothing is written.
func TestRefused(t *testing.T) {
	s, err := open(t.Context(), ":memory:", inbox)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, d := range []onto.Draft{say("monitor", "n1", "raised", "Disk"), say("ana", "n1", "handled", "done")} {
		if _, err := s.Commit(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	before, err := s.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), say("bob", "n1", "opened", true)); err == nil {
		t.Error("a handled notice was opened")
	}
	if head, err := s.Head(t.Context()); err != nil || head.ID != before.ID {
		t.Errorf("the head is %d, error %v; want %d", head.ID, err, before.ID)
	}
}
