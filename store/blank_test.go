package store_test

import (
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/store"
)

// Keys of white space only are refused, wherever they stand.
func TestBlankKeysAreRefused(t *testing.T) {
	s := newStore(t, append(plannedTypes(), onto.TypeOf[Profile](), onto.TypeOf[Spell]())...)
	for name, c := range map[string]struct {
		thing any
		says  string
	}{
		"an entity":         {Customer{ID: " ", Name: "Ada"}, `field id: Customer key " " is white space only`},
		"an untyped entity": {onto.Entity{Type: "Customer", Key: "\t\n", Fields: map[string]any{"name": "Ada", "tier": ""}}, `field id: Customer key "\t\n" is white space only`},
		"a wide space":      {onto.Entity{Type: "Customer", Key: "\u00a0\u3000", Fields: map[string]any{"name": "Ada", "tier": ""}}, "is white space only"},
		"a left key":        {onto.Relation{Type: "Subscription", Left: " ", Right: "p1", Fields: map[string]any{"seats": 1}}, `Subscription left key " " is white space only`},
		"a right key":       {onto.Relation{Type: "Subscription", Left: "c1", Right: "  ", Fields: map[string]any{"seats": 1}}, `Subscription right key "  " is white space only`},
		"an instance key":   {onto.Relation{Type: "Spell", Left: "c1", Right: "c2", Instance: " "}, `Spell instance key " " is white space only`},
		"a subject":         {onto.Fact{Type: "contract", Subject: " ", Attribute: "salary", Value: 1}, `contract subject " " is white space only`},
		"a fact's id":       {onto.Fact{Type: "contract", Subject: "ada", Attribute: "salary", ID: " ", Value: 1}, `contract fact id " " is white space only`},
		"an empty key":      {onto.Entity{Type: "Customer", Fields: map[string]any{"name": "Ada", "tier": ""}}, "field id: Customer key is empty"},
	} {
		d := onto.Draft{}.Ensure(c.thing)
		if f, ok := c.thing.(onto.Fact); ok {
			d = onto.Draft{}.Assert(f)
		}
		_, err := s.Commit(t.Context(), d)
		if onto.CodeOf(err) != onto.Invalid {
			t.Errorf("%s: got %v, want invalid", name, err)
			continue
		}
		wantError(t, err, onto.Invalid, c.says)
		if _, err := s.CommitStream(t.Context(), d, things()); onto.CodeOf(err) != onto.Invalid {
			t.Errorf("%s in a stream: got %v, want invalid", name, err)
		}
		if _, ok := c.thing.(onto.Fact); ok {
			continue
		}
		if _, err := s.Commit(t.Context(), onto.Draft{}.Merge(c.thing)); onto.CodeOf(err) != onto.Invalid {
			t.Errorf("%s in a merge: got %v, want invalid", name, err)
		}
	}
	mustCommit(t, s, onto.Draft{}.Ensure(Customer{ID: " a "})) // this can be seen
}

// What has such a key already can be read, updated, deleted and brought back.
func TestBlankKeysThatExist(t *testing.T) {
	s := crm(t)
	id := onto.EntityID("Customer", " ")
	_, err := s.Backend().Append(t.Context(), &backend.Draft{Writes: []backend.Write{
		{Identity: id, Op: onto.Put, SchemaVersion: 1, Fields: []byte(`{"id":" ","name":"Ada","tier":""}`)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := s.Now().Get(t.Context(), id); err != nil || v.Commit != 1 {
		t.Errorf("got %+v, %v", v, err)
	}
	if _, err := store.Update(t.Context(), s, onto.Draft{}, store.Key{" "}, func(c *Customer) error { c.Tier = "Gold"; return nil }); err != nil {
		t.Errorf("an update: %v", err)
	}
	mustCommit(t, s, onto.Draft{}.Delete(id))
	if _, _, err := s.Revert(t.Context(), onto.Draft{}, store.Revert{Commit: 3}); err != nil {
		t.Errorf("a revert: %v", err)
	}
	if v, err := s.Now().Get(t.Context(), id); err != nil || v.Commit != 4 {
		t.Errorf("got %+v, %v", v, err)
	}
}
