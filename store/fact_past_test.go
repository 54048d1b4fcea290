package store_test

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// The past of a fact, told by every question about it: who asserted it, who revoked it,
// who retracted it, who undid that.
func TestThePastOfAFact(t *testing.T) {
	ctx := t.Context()
	s, b := openFacts(t, onto.TypeOf[person](), onto.TypeOf[contract]())
	by := func(name string) onto.Draft { return onto.Draft{Actor: onto.Operator(name)} }
	pay := onto.Fact{Type: "contract", Subject: "ada", Attribute: "salary", ID: "-pay 1", Value: 4000, From: day(1, 1), Kind: "signed"}
	id := pay.Identity()
	mustCommit(t, s, by("ana").Assert(onto.Fact{Type: "contract", Subject: "ada", Attribute: "employer", ID: "e", Value: "Acme"}, pay))
	mustCommit(t, s, by("ben").Revoke(id, day(9, 1), map[string]any{"reason": "left"}))
	mustCommit(t, s, by("cem").Retract(id))

	_, err := s.Now().Get(ctx, id)
	if hint := onto.HintOf(err).String(); onto.CodeOf(err) != onto.NotFound || !strings.Contains(hint, "log -- contract ada salary '-pay 1'") {
		t.Errorf("got %v, hint %q", err, hint)
	}
	if _, err := s.Blame(ctx, id); onto.CodeOf(err) != onto.NotFound {
		t.Errorf("blame of a retracted fact: got %v", err)
	}
	if _, _, err := s.Revert(ctx, by("dan"), store.Revert{Commit: 3}); err != nil {
		t.Fatal(err)
	}
	blame := func(v store.View) string {
		t.Helper()
		list, err := v.Blame(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, b := range list {
			out = append(out, fmt.Sprintf("%s %s %d", b.Field, b.Commit.Actor.ID, b.Commit.ID))
		}
		return strings.Join(out, ", ")
	}
	if got, want := blame(s.At(1)), "kind ana 1, salary ana 1, seq ana 1, valid_from ana 1"; got != want {
		t.Errorf("blame at 1: got %s, want %s", got, want)
	}
	if got, want := blame(s.At(2)), "asserted ana 1, kind ana 1, revoked ben 2, salary ana 1, seq ana 1, valid_from ana 1, valid_until ben 2"; got != want {
		t.Errorf("blame at 2: got %s, want %s", got, want)
	}
	if got, want := blame(s.Now()), "asserted dan 4, kind dan 4, revoked dan 4, salary dan 4, seq dan 4, valid_from dan 4, valid_until dan 4"; got != want {
		t.Errorf("blame now: got %s, want %s", got, want)
	}

	var history []string
	for e, err := range s.History(ctx, id) {
		if err != nil {
			t.Fatal(err)
		}
		f, err := onto.FactOf(&e.Version)
		if err != nil {
			t.Fatal(err)
		}
		history = append(history, fmt.Sprint(e.Commit.Actor.ID, " ", e.Version.Op, " ", f.Revoked != nil, " ", f.Asserted))
	}
	if want := []string{"ana put false 1", "ben put true 1", "cem delete false 3", "dan put true 1"}; !slices.Equal(history, want) {
		t.Errorf("history: got %q, want %q", history, want)
	}

	changes := func(seq func(func(onto.Change, error) bool)) (list []string) {
		t.Helper()
		for c, err := range seq {
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, fmt.Sprint(c.Identity.Right, " ", c.Before != nil && c.Before.Live(), " ", c.After != nil && c.After.Live()))
		}
		return list
	}
	for commit, want := range map[int64][]string{1: {"employer false true", "salary false true"}, 2: {"salary true true"}, 3: {"salary true false"}, 4: {"salary false true"}} {
		if got := changes(s.Changes(ctx, commit)); !slices.Equal(got, want) {
			t.Errorf("changes of %d: got %q, want %q", commit, got, want)
		}
	}
	for _, q := range []store.DiffOptions{{From: onto.AtCommit(2), To: onto.AtCommit(4)}, {From: onto.AtCommit(2), To: onto.AtCommit(4), Type: "contract"}} {
		if got := changes(s.Diff(ctx, q)); len(got) != 0 {
			t.Errorf("it is as it was: got %q", got)
		}
	}
	long := store.DiffOptions{From: onto.AtCommit(0), Type: "contract", Where: onto.Path("salary").Gt(3000)}
	if got := changes(s.Diff(ctx, long)); !slices.Equal(got, []string{"salary false true"}) {
		t.Errorf("what was asserted with a filter: got %q", got)
	}

	var followed []int64
	for c, err := range s.FollowWith(ctx, "mirror", &store.FollowOptions{Once: true}) {
		if err != nil {
			t.Fatal(err)
		}
		followed = append(followed, c.ID)
	}
	if !slices.Equal(followed, []int64{1, 2, 3, 4}) {
		t.Errorf("followed %v", followed)
	}

	// What a migration made of it is the migration's, and nothing else.
	m := &store.Migration{
		Types:     []onto.Type{personType("person"), factType("contract", "person", false, attribute("employer", onto.String), attribute("salary", onto.String))},
		Upgraders: []store.Upgrader{{Type: "contract", From: 1, Program: `if has("salary") then .salary |= tostring else . end`}},
	}
	if s, _, err = migrated(t, b, m); err != nil {
		t.Fatal(err)
	}
	if got, want := blame(s.Now()), "asserted dan 4, kind dan 4, revoked dan 4, salary  5, seq dan 4, valid_from dan 4, valid_until dan 4"; got != want {
		t.Errorf("blame after a migration: got %s, want %s", got, want)
	}
}

// Every version of a fact but the first names the commit that asserted it. That is no
// difference between them, and nothing that a later commit has said.
func TestWhoAssertedIsNoDifference(t *testing.T) {
	ctx := t.Context()
	s, _ := openFacts(t, onto.TypeOf[person](), onto.TypeOf[contract]())
	pay := onto.Fact{Type: "contract", Subject: "ada", Attribute: "salary", ID: "pay", Value: 4000}
	id := pay.Identity()
	mustCommit(t, s, onto.Draft{}.Assert(pay))
	mustCommit(t, s, onto.Draft{}.Revoke(id, day(9, 1), nil))
	differences := func(seq iter.Seq2[onto.Change, error]) (list []string) {
		t.Helper()
		for c, err := range seq {
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, fmt.Sprintf("%s → %s", c.Before.Fields, c.After.Fields))
		}
		return list
	}
	const ended = `{"asserted":1,"revoked":true,"salary":4000,"valid_until":"2026-09-01T00:00:00.000000+00:00"}`
	revoked := []string{`{"asserted":1,"salary":4000} → ` + ended}
	if got := differences(s.Diff(ctx, store.DiffOptions{From: onto.AtCommit(1)})); !slices.Equal(got, revoked) {
		t.Errorf("diff of a revocation: got %q, want %q", got, revoked)
	}
	if got := differences(s.Changes(ctx, 2)); !slices.Equal(got, revoked) {
		t.Errorf("changes of a revocation: got %q, want %q", got, revoked)
	}
	if got, want := differences(s.Diff(ctx, store.DiffOptions{From: onto.AtCommit(1), AsStored: true})), []string{`{"salary":4000} → ` + ended}; !slices.Equal(got, want) {
		t.Errorf("diff as stored: got %q, want %q", got, want)
	}
	plan, err := s.PlanRevert(ctx, store.Revert{Commit: 2})
	if err != nil {
		t.Fatal(err)
	}
	for c, err := range plan.Changes {
		if want := `{"asserted":1,"salary":4000}`; err != nil || string(c.Now.Fields) != ended || string(c.Then.Fields) != want {
			t.Errorf("plan: got %s → %s, error %v; want %s → %s", c.Now.Fields, c.Then.Fields, err, ended, want)
		}
	}
	if _, _, err := s.Revert(ctx, onto.Draft{}, store.Revert{Commit: 2}); err != nil {
		t.Fatal(err)
	}
	for _, q := range []store.DiffOptions{{From: onto.AtCommit(1)}, {From: onto.AtCommit(1), Type: "contract"}} {
		if got := differences(s.Diff(ctx, q)); len(got) != 0 {
			t.Errorf("it changed back: got %q", got)
		}
	}
	pay.Value = 1
	_, err = s.Commit(ctx, onto.Draft{}.Assert(pay))
	if want := `contract "ada" salary ["pay"] is known from commit 1, and says something else`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
