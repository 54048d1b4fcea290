package store_test

import (
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/store"
)

type person struct {
	ID string `json:"id" onto:"key"`
}

type contract struct {
	onto.About[person]
	Employer string   `json:"employer" onto:"index"`
	Salary   int      `json:"salary"`
	Tags     []string `json:"tags" onto:"many"`
}

// day is a day of 2026.
func day(month time.Month, d int) time.Time { return time.Date(2026, month, d, 0, 0, 0, 0, time.UTC) }

func TestFactsAreAssertedRevokedAndRetracted(t *testing.T) {
	ctx := t.Context()
	s, err := store.Open(ctx, memory.New(nil).Open(), onto.TypeOf[person](), onto.TypeOf[contract]())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	pay := onto.Fact{Type: "contract", Subject: "ada", Attribute: "salary", ID: "pay", Value: 4000, From: day(1, 1)}
	first, err := s.Commit(ctx, onto.Draft{}.Assert(pay))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := s.Commit(ctx, onto.Draft{}.Assert(pay)); err != nil || again.ID != 0 {
		t.Errorf("the same fact again: got commit %d, %v", again.ID, err)
	}
	other := pay
	other.Value = 4500
	if _, err := s.Commit(ctx, onto.Draft{}.Assert(other)); onto.CodeOf(err) != onto.Conflict {
		t.Errorf("another value under the same id: got %v, want a conflict", err)
	}
	if _, err := s.Commit(ctx, onto.Draft{}.Revoke(pay.Identity(), day(9, 1), "she left")); err != nil {
		t.Fatal(err)
	}
	v, err := s.Now().Get(ctx, pay.Identity())
	if err != nil {
		t.Fatal(err)
	}
	f, err := onto.FactOf(&v)
	if err != nil || f.Asserted != first.ID || !f.Until.Equal(day(9, 1)) || f.Revoked != "she left" || f.Value != int64(4000) {
		t.Errorf("the revoked fact: %+v, %v", f, err)
	}
	if _, err := s.Commit(ctx, onto.Draft{}.Retract(pay.Identity())); err != nil {
		t.Fatal(err)
	}
	for verb, d := range map[string]onto.Draft{
		"a revocation of what is retracted": onto.Draft{}.Revoke(pay.Identity(), day(8, 1), nil),
		"a retraction of what never was":    onto.Draft{}.Retract(onto.FactID("contract", "ada", "salary", "none")),
	} {
		if _, err := s.Commit(ctx, d); onto.CodeOf(err) != onto.NotFound {
			t.Errorf("%s: got %v, want not_found", verb, err)
		}
	}
}
