package store_test

import (
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/store"
)

type Crate struct {
	N    int64  `json:"n" onto:"key"`
	Name string `json:"name"`
}

type Holds struct {
	onto.Link[Crate, Product]
	Count int `json:"count"`
}

// A relation whose key cannot be a key of its endpoint's type would lead nowhere for
// good, so it is refused. One that is stored already can be read and deleted.
func TestRelationsToImpossibleKeysAreRefused(t *testing.T) {
	b := memory.New(nil).Open()
	s, err := store.Open(t.Context(), b, onto.TypeOf[Crate](), onto.TypeOf[Product](), onto.TypeOf[Holds]())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	holds := func(left string) onto.Relation {
		return onto.Relation{Type: "Holds", Left: left, Right: "007", Fields: map[string]any{"count": 1}}
	}
	for left, hint := range map[string]string{
		"01": "write it as 1", "+5": "write it as 5", " 7": "write it as 7", "-0": "write it as 0",
		"one": "its key n is of type int", "1.0": "its key n is of type int", "9223372036854775808": "its key n is of type int",
	} {
		_, err := s.Commit(t.Context(), onto.Draft{}.Ensure(holds(left)))
		wantError(t, err, onto.Invalid, "the left key", "cannot be a key of Crate")
		if got := onto.HintOf(err).String(); got != hint {
			t.Errorf("%q: hint %q, want %q", left, got, hint)
		}
		_, err = s.CommitStream(t.Context(), onto.Draft{}, things(holds("1"), holds(left)))
		wantError(t, err, onto.Invalid, "the left key")
		for _, err = range s.Preview(t.Context(), things(holds(left))) {
			break
		}
		wantError(t, err, onto.Invalid, "the left key")
	}
	if head, err := s.Head(t.Context()); err != nil || head.ID != 0 {
		t.Fatalf("head %d, %v: want nothing stored", head.ID, err)
	}
	for _, left := range []string{"0", "1", "-12", "9223372036854775807"} { // they need not exist
		mustCommit(t, s, onto.Draft{}.Ensure(holds(left)))
	}

	old := onto.RelationID("Holds", "01", "p1")
	_, err = b.Append(t.Context(), &backend.Draft{Writes: []backend.Write{{Identity: old, Op: onto.Put, Fields: []byte(`{"count":2}`), SchemaVersion: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := s.Now().Get(t.Context(), old); err != nil || v.Left != "01" {
		t.Errorf("got %v, %v: want what is stored", v, err)
	}
	if res := mustCommit(t, s, onto.Draft{}.Delete(old)); res.Operations != 1 {
		t.Errorf("got %d operations, want it deleted", res.Operations)
	}
	if res := mustRevert(t, s, store.Revert{Commit: 6}); res.Operations != 1 {
		t.Errorf("got %d operations, want it back", res.Operations)
	}
}
