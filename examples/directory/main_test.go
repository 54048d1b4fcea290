package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"slices"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

func Example() {
	ctx := context.Background()
	s, err := open(ctx, ":memory:", entries)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	if err := run(ctx, s); err != nil {
		log.Fatal(err)
	}
	// Output:
	// /nodes/north?at=2026-03-01 {"node":"north","address":"192.0.2.1","can":["relay","store"]}
	// /nodes/north?at=2026-10-01 {"node":"north","address":"192.0.2.2","can":["store"]}
	// /nodes/south?at=2026-01-15 {"node":"south"}
	// /nodes/south?at=2026-03-01 {"node":"south","address":"192.0.2.3"}
}

// The answer from the state is the one from a replay, and the one that the facts give
// without any fold, on every day of the year.
func TestReplay(t *testing.T) {
	path := t.TempDir() + "/directory.db"
	s, err := open(t.Context(), path, entries)
	if err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if err := s.VerifyFolds(t.Context()); err != nil {
		t.Error(err)
	}
	state, replay := handler(fromState(s)), handler(fromReplay(s))
	for _, node := range []string{"north", "south", "nowhere"} {
		for at := day(1, 1); at.Year() == 2026; at = at.AddDate(0, 0, 1) {
			url := "/nodes/" + node + "?at=" + at.Format(time.DateOnly)
			got := ask(t.Context(), state, url)
			if want := ask(t.Context(), replay, url); got != want {
				t.Fatalf("%s: the state says %s, the replay %s", url, got, want)
			}
			if node == "nowhere" {
				continue
			}
			if want := known(t, s, node, at); got != want {
				t.Fatalf("%s: the state says %s, the facts %s", url, got, want)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	other := entries
	other.Apply = func(e *Entry, f onto.Fact, d onto.Draft) error {
		f.Until = time.Time{} // nothing expires
		return apply(e, f, d)
	}
	if s, err = open(t.Context(), path, other); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.VerifyFolds(t.Context()); err == nil {
		t.Error("a changed fold was not noticed")
	}
}

// known is the answer that the facts give.
func known(t *testing.T, s *store.Store, node string, at time.Time) string {
	n, err := store.About[Announcement](t.Context(), s.Now().ValidAt(at), node)
	if err != nil && !errors.Is(err, onto.NotFound) {
		t.Fatal(err)
	}
	slices.Sort(n.Can)
	text, err := json.Marshal(Answer{Node: node, Address: n.Address, Can: n.Can})
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}
