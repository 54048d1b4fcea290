package store_test

import (
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// A subject goes back to what it was with all that is about it, and what else the same
// commits did stays.
func TestRevertASubject(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store, _ *meddled) {
		first := mustCommit(t, s, onto.Draft{}.Ensure(Product{"p1", "a"}, Product{"p2", "a"}, subscription("c1", "p1", 1), subscription("c2", "p1", 1), subscription("c1", "p2", 1)))
		mustCommit(t, s, onto.Draft{}.Ensure(Product{"p1", "b"}, Product{"p2", "b"}, subscription("c1", "p1", 2), subscription("c1", "p2", 2)))
		mustCommit(t, s, onto.Draft{}.Ensure(Product{"p2", "c"}))
		mustCommit(t, s, onto.Draft{}.Ensure(subscription("c3", "p1", 1)).Delete(onto.EntityID("Product", "p1"), onto.RelationID("Subscription", "c2", "p1")))
		r := store.Revert{Subject: store.Subject{Type: "Product", Key: "p1"}, To: first.ID}
		want := "[2 4] insert p1 update_version c1p1 insert c2p1 delete c3p1"
		if got := showPlan(t, revertPlan(t, s, r)); got != want {
			t.Errorf("got plan %q, want %q", got, want)
		}
		res := mustRevert(t, s, r)
		wantState(t, s, "p1=a p2=c c1-p1=1 c1-p2=2 c2-p1=1")
		if c, err := s.At(res.ID).Commit(t.Context()); err != nil || c.Comment != `revert all about Product "p1" to commit 1` {
			t.Errorf("got commit %+v, %v", c, err)
		}
		if res := mustRevert(t, s, r); res.Changed() {
			t.Errorf("the second time made commit %d", res.ID)
		}
		// The left end is an end as well, of an entity that never existed itself.
		mustRevert(t, s, store.Revert{Subject: store.Subject{Type: "Customer", Key: "c1"}})
		wantState(t, s, "p1=a p2=c c2-p1=1")
		mustRevert(t, s, store.Revert{Commit: res.ID, Over: true})
		wantState(t, s, "p2=c c1-p1=2 c3-p1=1")
	})
}

// What is changed about a subject after the plan is never overwritten, and what is added
// stays.
func TestRevertASubjectNoticesWhatHappensMeanwhile(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store, m *meddled) {
		mustCommit(t, s, onto.Draft{}.Ensure(Product{"p1", "a"}, subscription("c1", "p1", 1)))
		mustCommit(t, s, onto.Draft{}.Ensure(Product{"p1", "b"}, subscription("c1", "p1", 2)))
		r := store.Revert{Subject: store.Subject{Type: "Product", Key: "p1"}, To: 1}
		m.meddle = func() { mustCommit(t, s, onto.Draft{}.Ensure(subscription("c1", "p1", 3))) }
		res, _, err := s.Revert(t.Context(), onto.Draft{}, r)
		wantError(t, err, onto.VersionMismatch, `Subscription "c1" → "p1" was changed by commit 3 meanwhile`)
		if res.Changed() {
			t.Errorf("made commit %d", res.ID)
		}
		wantState(t, s, "p1=b c1-p1=3")
		plan := revertPlan(t, s, r)
		mustCommit(t, s, onto.Draft{}.Ensure(subscription("c2", "p1", 1)))
		_, _, err = s.Revert(t.Context(), onto.Draft{}.ExpectHead(plan.Head), r)
		wantError(t, err, onto.HeadMismatch)
		m.meddle = func() { mustCommit(t, s, onto.Draft{}.Ensure(subscription("c3", "p1", 1))) }
		mustRevert(t, s, r)
		wantState(t, s, "p1=a c1-p1=1 c3-p1=1")
	})
}

// Facts about a subject are believed again or not any more, with the states that follow
// from them; those of one type can be brought back alone.
func TestRevertTheFactsAboutASubject(t *testing.T) {
	s, b := openFacts(t, onto.TypeOf[person](), onto.TypeOf[contract]())
	first := mustCommit(t, s, onto.Draft{}.Ensure(person{"ada"}).Assert(
		onto.Fact{Type: "contract", Subject: "ada", Attribute: "salary", ID: "1", Value: 1}, onto.Fact{Type: "contract", Subject: "ada", Attribute: "salary", ID: "2", Value: 2},
		onto.Fact{Type: "contract", Subject: "bob", Attribute: "salary", ID: "1", Value: 3}))
	mustCommit(t, s, onto.Draft{}.Retract(onto.FactID("contract", "ada", "salary", "2"), onto.FactID("contract", "bob", "salary", "1")).
		Revoke(onto.FactID("contract", "ada", "salary", "1"), day(1, 1), nil).
		Assert(onto.Fact{Type: "contract", Subject: "ada", Attribute: "employer", ID: "1", Value: "Acme"}).Delete(onto.EntityID("person", "ada")))
	wantSpeaking := func(want string) {
		t.Helper()
		if got := speaking(t, s.Now(), "contract", day(6, 1)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	wantSpeaking("ada.employer=Acme (1)")
	mustRevert(t, s, store.Revert{Subject: store.Subject{Type: "contract", Key: "ada"}, To: first.ID})
	wantSpeaking("ada.salary=2 (2)")
	if _, err := s.Now().Get(t.Context(), onto.EntityID("person", "ada")); onto.CodeOf(err) != onto.NotFound {
		t.Errorf("the entity came back with the facts of one type: %v", err)
	}
	mustRevert(t, s, store.Revert{Subject: store.Subject{Type: "person", Key: "ada"}, To: first.ID})
	if _, err := s.Now().Get(t.Context(), onto.EntityID("person", "ada")); err != nil {
		t.Errorf("the entity did not come back: %v", err)
	}
	mustRevert(t, s, store.Revert{Subject: store.Subject{Type: "person", Key: "ada"}})
	wantSpeaking("")

	// Another program may have types about it that this one does not know yet.
	type review struct {
		onto.About[person]
		Grade int `json:"grade"`
	}
	other, err := store.Open(t.Context(), b, onto.TypeOf[person](), onto.TypeOf[review]())
	if err != nil {
		t.Fatal(err)
	}
	mustCommit(t, other, onto.Draft{}.Assert(onto.Fact{Type: "review", Subject: "ada", Attribute: "grade", Value: 1}))
	if got := showPlan(t, revertPlan(t, s, store.Revert{Subject: store.Subject{Type: "person", Key: "ada"}, To: 3})); got != "[4 5 6] insert adasalary insert adasalary delete adagrade" {
		t.Errorf("got plan %q", got)
	}
}

func TestRevertASubjectRefusesNonsense(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store, _ *meddled) {
		mustCommit(t, s, onto.Draft{}.Ensure(Product{"p1", "a"}, subscription("c1", "p1", 1)))
		p1 := store.Subject{Type: "Product", Key: "p1"}
		for _, c := range []struct {
			r    store.Revert
			code onto.Code
			want string
		}{
			{store.Revert{Subject: p1, Commit: 1}, onto.Invalid, "not 2 of them"},
			{store.Revert{Subject: p1, Identity: onto.EntityID("Product", "p1")}, onto.Invalid, "not 2 of them"},
			{store.Revert{Subject: p1, To: -1}, onto.Invalid, "negative"},
			{store.Revert{Subject: p1, To: 9}, onto.NotFound, "9"},
			{store.Revert{Subject: store.Subject{Type: "Produkt", Key: "p1"}}, onto.Invalid, "did you mean Product?"},
			{store.Revert{Subject: store.Subject{Type: "Subscription", Key: "p1"}}, onto.Invalid, "Subscription is a type of relations, which are about entities"},
			{store.Revert{Subject: store.Subject{Type: "Product"}}, onto.Invalid, "empty"},
			{store.Revert{Subject: store.Subject{Type: "Product", Key: "p9"}}, onto.NotFound, `nothing about Product "p9" exists or ever did`},
		} {
			_, err := s.PlanRevert(t.Context(), c.r)
			wantError(t, err, c.code, c.want)
			_, _, err = s.Revert(t.Context(), onto.Draft{}, c.r)
			wantError(t, err, c.code, c.want)
		}
		// Relations of a type that was dropped cannot come back, so nothing does.
		mustCommit(t, s, onto.Draft{}.Ensure(Product{"p1", "b"}))
		if _, _, err := store.DropTypes(t.Context(), s.Backend(), &store.Drop{Kind: onto.KindRelation, Type: "Subscription"}, &store.ApplyOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
		_, err := s.PlanRevert(t.Context(), store.Revert{Subject: p1, To: 1})
		wantError(t, err, onto.Invalid, `Subscription "c1" → "p1" cannot be reverted: type Subscription was dropped by commit 3`)
		if got := showPlan(t, revertPlan(t, s, store.Revert{Subject: p1, To: 0})); got != "[1 2] delete p1" {
			t.Errorf("to before there were relations: got plan %q", got)
		}
	})
}
