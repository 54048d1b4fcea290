package backend_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// fact is a write once of a fact.
func fact(id, fields string) backend.Write {
	return backend.Write{Identity: onto.FactID("Claim", "ada", "n", id), Op: onto.Put, Fields: json.RawMessage(fields), SchemaVersion: 1, Once: true}
}

func TestRepeats(t *testing.T) {
	stored := fact("1", `{"asserted":4,"n":{"asserted":1,"seq":2},"seq":7}`)
	live := &onto.Version{Identity: stored.Identity, Op: onto.Put, Commit: 5, SchemaVersion: 1, Fields: stored.Fields}
	for fields, want := range map[string]bool{
		`{"asserted":4,"n":{"asserted":1,"seq":2},"seq":7}`: true,
		`{"n":{"asserted":1,"seq":2}}`:                      true,
		`{"n":{"asserted":1,"seq":2},"seq":8}`:              true,
		`{"asserted":9,"n":{"asserted":1,"seq":2}}`:         true,
		`{"n":{"asserted":1,"seq":3},"seq":7}`:              false, // within a value they are what was said
		`{"n":{"seq":2},"seq":7}`:                           false,
		`{"asserted":4,"seq":7}`:                            false,
		`{}`:                                                false,
		`{"n":{"asserted":1,"seq":2},"revoked":true}`:       false,
	} {
		w := fact("1", fields)
		if got := backend.Repeats(&w, live); got != want {
			t.Errorf("%s over %s: got %v, want %v", fields, live.Fields, got, want)
		}
	}
	gone := &onto.Version{Identity: stored.Identity, Op: onto.Delete, Commit: 6, SchemaVersion: 1, Fields: json.RawMessage("{}")}
	if empty := fact("1", `{}`); backend.Repeats(&empty, gone) {
		t.Error("a fact without fields repeats a delete, want that it does not")
	}
}

func TestSameTwice(t *testing.T) {
	with := func(edit func(*backend.Write)) backend.Write {
		w := fact("1", `{"n":1,"seq":1}`)
		edit(&w)
		return w
	}
	first := with(func(*backend.Write) {})
	for name, test := range map[string]struct {
		second backend.Write
		same   bool
	}{
		"equal":           {first, true},
		"another place":   {with(func(w *backend.Write) { w.Fields = json.RawMessage(`{"n":1,"seq":2}`) }), true},
		"another value":   {with(func(w *backend.Write) { w.Fields = json.RawMessage(`{"n":2,"seq":1}`) }), false},
		"not once":        {with(func(w *backend.Write) { w.Once = false }), false},
		"a delete":        {with(func(w *backend.Write) { w.Op, w.Fields, w.Once = onto.Delete, nil, false }), false},
		"a delete, once":  {with(func(w *backend.Write) { w.Op, w.Fields = onto.Delete, nil }), false},
		"derived":         {with(func(w *backend.Write) { w.Derived = true }), false},
		"a merge":         {with(func(w *backend.Write) { w.Merge = true }), false},
		"of fewer fields": {with(func(w *backend.Write) { w.Known = backend.Named("n") }), false},
	} {
		for _, pair := range [][2]backend.Write{{first, test.second}, {test.second, first}} {
			err := backend.SameTwice(&pair[0], &pair[1])
			if (err == nil) != test.same || err != nil && !errors.Is(err, onto.Conflict) {
				t.Errorf("%s: got %v, want the same: %v", name, err, test.same)
			}
		}
	}
	if plain, other := with(func(w *backend.Write) { w.Once = false }), with(func(w *backend.Write) {
		w.Once, w.Fields = false, json.RawMessage(`{"n":1,"seq":2}`)
	}); backend.SameTwice(&plain, &other) == nil {
		t.Error("writes that are not once and differ in seq are the same, want a Conflict")
	}
}

// Of a fact that comes several times in a draft, the first counts, however long the draft is.
func TestSortWritesKeepsFirstFact(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		n := 2 + random.IntN(200)
		var writes []backend.Write
		first := map[string]int{}
		for seq := range n {
			id := fmt.Sprint(random.IntN(1 + n/3))
			if _, known := first[id]; !known {
				first[id] = seq
			}
			fields := fmt.Sprintf(`{"n":1,"seq":%d}`, seq)
			if seq == 0 {
				fields = `{"n":1}`
			}
			writes = append(writes, fact(id, fields))
		}
		sorted, err := backend.SortWrites(writes)
		if err != nil || len(sorted) != len(first) {
			t.Fatalf("round %d: got %d writes and %v, want %d", round, len(sorted), err, len(first))
		}
		for i, w := range sorted {
			want := fmt.Sprintf(`{"n":1,"seq":%d}`, first[w.Instance])
			if first[w.Instance] == 0 {
				want = `{"n":1}`
			}
			if string(w.Fields) != want || i > 0 && sorted[i-1].Identity.Compare(w.Identity) >= 0 {
				t.Fatalf("round %d: got %s %s at %d, want %s in order", round, w.Identity, w.Fields, i, want)
			}
		}
	}
}

// The digest has what was asked for and nothing that was derived from it.
func TestDigestLeavesOutDerived(t *testing.T) {
	of := func(writes ...backend.Write) string { return backend.DigestOf(&backend.Draft{Writes: writes}) }
	derived := fact("2", `{"n":2}`)
	derived.Derived = true
	if a, b := of(fact("1", `{"n":1}`)), of(fact("1", `{"n":1}`), derived); a != b {
		t.Error("a derived write changes the digest")
	}
	if a, b := of(fact("1", `{"n":1}`)), of(fact("1", `{"n":2}`)); a == b {
		t.Error("another fact has the same digest")
	}
	if a, b := of(fact("1", `{"n":1}`)), of(); a == b {
		t.Error("no fact has the same digest")
	}
}

// Digests are kept with idempotency keys, so those of drafts that change whole fields stay as
// they were before there were declarations inside fields.
func TestDigestsStay(t *testing.T) {
	id := onto.EntityID("Person", "ada")
	put := backend.Write{Identity: id, Op: onto.Put, Fields: []byte(`{"age":36,"home":{"city":"Oslo"},"id":"ada"}`), SchemaVersion: 3}
	part := put
	part.Known = backend.Named("age", "home", "id")
	merge := backend.Write{Identity: id, Op: onto.Put, Fields: []byte(`{"age":36,"id":"ada"}`), SchemaVersion: 3, Merge: true, Known: backend.Named("age", "id", "mail")}
	for _, c := range []struct {
		what  string
		write backend.Write
		want  string
	}{
		{"put", put, "dbd51505ff865af0f0d6229adf4e9d8fbb5606d13967e6e3c9d6b6d7f3546ebb"},
		{"put of an older program", part, "dbd51505ff865af0f0d6229adf4e9d8fbb5606d13967e6e3c9d6b6d7f3546ebb"},
		{"merge", merge, "706d09b8266de4e8df1fb374fe3ca424dcdb024df8b4a728347d29046b2772a0"},
		{"delete", backend.Write{Identity: id, Op: onto.Delete}, "e60d150af29c0ae73c6b9f51da577e1807593b701ee8bc76ee077ff613f8d9cd"},
	} {
		d := &backend.Draft{Header: backend.Header{Comment: "c"}, Writes: []backend.Write{c.write}}
		if got := backend.DigestOf(d); got != c.want {
			t.Errorf("%s: got %s, want %s", c.what, got, c.want)
		}
	}
}
