package records

import (
	"errors"
	"fmt"
	"testing"

	"github.com/ontologia/onto"
)

// Beyond its limit an import remembers no more identities, but keeps those it has.
func TestSeenIsBounded(t *testing.T) {
	s := newSeen(100)
	schema := &onto.Schema{Kind: onto.KindEntity, Name: "T", Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}, {Name: "n", Type: onto.Int}}}
	rec := func(i int, fields string) *record {
		return &record{schema: schema, id: onto.EntityID("T", fmt.Sprint(i)), op: onto.Put, fields: []byte(fields), line: int64(i + 1)}
	}
	for i := range 300 {
		first, err := s.add(rec(i, `{"n":1}`))
		want := int64(0)
		if i >= 100 {
			want = untracked
		}
		if first != want || err != nil {
			t.Fatalf("record %d: got %d, %v, want %d", i, first, err, want)
		}
	}
	if first, err := s.add(rec(7, `{"n":1}`)); first != 8 || err != nil {
		t.Errorf("the same again: got %d, %v, want line 8", first, err)
	}
	if _, err := s.add(rec(7, `{"n":2}`)); !errors.Is(err, onto.Conflict) {
		t.Errorf("another one: got %v, want a conflict", err)
	}
	if first, err := s.add(rec(250, `{"n":2}`)); first != untracked || err != nil {
		t.Errorf("beyond the limit: got %d, %v", first, err)
	}
	if got := s.line(onto.EntityID("T", "42")); got != 43 {
		t.Errorf("got line %d, want 43", got)
	}
	if got := s.line(onto.EntityID("T", "142")); got != 0 {
		t.Errorf("got line %d for what is not remembered, want 0", got)
	}
}

// Identities that look alike when their parts are joined are distinguished.
func TestSeenTellsIdentitiesApart(t *testing.T) {
	s := newSeen(100)
	ids := []onto.Identity{
		onto.EntityID("T", "a"), onto.EntityID("Ta", ""), onto.RelationID("T", "a", ""), onto.RelationID("T", "", "a"),
		onto.RelationID("T", "", "").WithInstance("a"), onto.RelationID("T", "ab", "c"), onto.RelationID("T", "a", "bc"),
	}
	for i, id := range ids {
		for _, other := range ids[i+1:] {
			if s.hash(id) == s.hash(other) {
				t.Errorf("%v and %v have one hash", id, other)
			}
		}
	}
}

// A record that is not known to have a line is named without one.
func TestConflictWithoutLine(t *testing.T) {
	c := Conflict{Identity: onto.EntityID("T", "a"), Reason: "exists already"}
	if got, want := c.String(), `T "a" exists already`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
