package facttest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/store/facttest"
)

// newBeliefs is an empty store of beliefs, in memory.
func newBeliefs(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), memory.New(nil).Open(), onto.TypeOf[facttest.Belief]())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func mustCommit(t *testing.T, s *store.Store, d onto.Draft) {
	t.Helper()
	if _, err := s.Commit(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

// rank is a belief about the rank of a subject.
func rank(subject string, n int, from, until time.Time) onto.Fact {
	return onto.Fact{Type: "Belief", Subject: subject, Attribute: "rank", Value: n, From: from, Until: until}
}

// never is no bound.
var never time.Time

// listed is the values of facts, by subject.
func listed(t *testing.T, f store.Facts) string {
	t.Helper()
	text := ""
	for fact, err := range f.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintf("%s %v; ", fact.Subject, fact.Value)
	}
	return text
}

// A cursor remembers both axes: later commits and the passing of time do not show.
func TestPagesOfFactsAreOfOneMoment(t *testing.T) {
	s := newBeliefs(t)
	from, until := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	var d onto.Draft
	for i := range 6 {
		d = d.Assert(rank(fmt.Sprint("p", i), i, from, until))
	}
	mustCommit(t, s, d)
	for name, facts := range map[string]store.Facts{
		"now": s.Now().Facts("Belief"), "where": s.Now().Facts("Belief").Where(onto.Path("rank").Ge(0)),
		"during": s.Now().Facts("Belief").During(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), never), "every": s.Now().Facts("Belief").Every(),
	} {
		page, err := facts.Limit(2).Page(t.Context())
		if err != nil || len(page.Items) != 2 || page.Next == "" {
			t.Fatalf("%s: %v, %v", name, page, err)
		}
		mustCommit(t, s, onto.Draft{}.Assert(rank("p4", 100, never, never)))
		rest := facts.Limit(0).After(page.Next)
		if got, want := listed(t, rest), "p2 2; p3 3; p4 4; p5 5; "; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
		mustCommit(t, s, onto.Draft{}.Retract(newest(t, s, "p4")))
	}
	// A view that gives the valid time of the cursor is the same question.
	then := s.Now().ValidAt(time.Now()).Facts("Belief").Limit(4)
	page, err := then.Page(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := listed(t, then.After(page.Next)), "p4 4; p5 5; "; got != want {
		t.Errorf("of a time: got %q, want %q", got, want)
	}
	if got, want := listed(t, s.Now().Facts("Belief").After(page.Next)), "p4 4; p5 5; "; got != want {
		t.Errorf("of the time that the cursor remembers: got %q, want %q", got, want)
	}
}

// newest is the fact on a subject that was asserted last.
func newest(t *testing.T, s *store.Store, subject string) (id onto.Identity) {
	t.Helper()
	var last int64
	for f, err := range s.Now().Facts("Belief").About(subject).Every().All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if f.Asserted > last {
			last, id = f.Asserted, f.Identity()
		}
	}
	return id
}

// Filters take two questions to the backend. Both are of the moment when the first was
// asked.
func TestFilteredFactsAreOfOneMoment(t *testing.T) {
	s := newBeliefs(t)
	var d onto.Draft
	const n = 1000
	for i := range n {
		d = d.Assert(rank(fmt.Sprintf("p%04d", i), 10, never, never))
	}
	mustCommit(t, s, d)
	got := 0
	for _, err := range s.Now().Facts("Belief").Where(onto.Path("rank").Ge(10)).All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if got++; got == 1 {
			mustCommit(t, s, onto.Draft{}.Assert(rank(fmt.Sprintf("p%04d", n-1), 5, never, never)))
		}
	}
	if got != n {
		t.Errorf("got %d facts, want %d", got, n)
	}
}

// Facts can be asserted by one commit without an order among them, for example by another
// program. The greatest id speaks then.
func TestOfEqualFactsTheGreatestIDSpeaks(t *testing.T) {
	s := newBeliefs(t)
	var writes []backend.Write
	for _, id := range []string{"1", "2", "3"} {
		writes = append(writes, backend.Write{
			Identity: onto.FactID("Belief", "ada", "rank", id), Op: onto.Put, SchemaVersion: 1, Fields: []byte(`{"rank":` + id + `}`),
		})
	}
	if _, err := s.Backend().Append(t.Context(), &backend.Draft{Writes: writes}); err != nil {
		t.Fatal(err)
	}
	if got, want := listed(t, s.Now().Facts("Belief")), "ada 3; "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
