package foldkeep_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// A program that does not have the fold writes facts; one that has it folds them. Each
// learns of the other by its fences.
func TestProgramsWithoutTheFold(t *testing.T) {
	places(t, func(p place) {
		other := p.open()
		p.commit(other, onto.Draft{}.Assert(fact("n1", "opened", "before there was a fold")))
		s := p.open(notices(1))
		eventually(p, func() bool { return p.status(s, "inbox").UpToDate() })
		p.commit(other, onto.Draft{}.Assert(fact("n1", "snoozed", "1h")))
		if st := p.status(other, "inbox"); st.Behind == 0 {
			p.Errorf("a program without the fold wrote a fact, and the fold is not behind: %+v", st)
		}
		p.commit(s, onto.Draft{}.Assert(fact("n1", "handled", true)))
		p.verified(s, "n1", "1o1s1h")
	})
}

// A fold that is begun when there are facts already has its states rebuilt, as has one
// with a new version; a program with an older version leaves folding to the newer.
func TestVersionsAreRebuilt(t *testing.T) {
	places(t, func(p place) {
		ctx, other := p.Context(), p.open()
		for i := range 30 {
			p.commit(other, onto.Draft{}.Assert(fact(fmt.Sprintf("n%d", i%10), "opened", "x")))
		}
		old := p.open(notices(1))
		eventually(p, func() bool { return p.status(old, "inbox").UpToDate() })
		p.verified(old, "n3", "1o1o1o")
		next := p.open(notices(2))
		p.commit(old, onto.Draft{}.Assert(fact("n3", "snoozed", "1h")))
		p.commit(next, onto.Draft{}.Assert(fact("n4", "snoozed", "1h")))
		if err := next.CatchUp(ctx); err != nil {
			p.Fatal(err)
		}
		p.verified(next, "n3", "2o2o2o2s")
		p.verified(next, "n4", "2o2o2o2s")
		p.verified(next, "n5", "2o2o2o")
		if st := p.status(old, "inbox"); st.Unable == "" || st.Version != 2 {
			p.Errorf("to the older program the fold is %+v", st)
		}
		if err := old.VerifyFolds(ctx, "inbox"); onto.CodeOf(err) != onto.UnsupportedOperation {
			p.Errorf("the older program verifies: %v, want unsupported", err)
		}
		if late := p.open(notices(1)); p.status(late, "inbox").Version != 2 {
			p.Error("an older program has made its version that of the store")
		}
		var done, of int64
		if err := next.RebuildFold(ctx, "inbox", func(d, o int64) { done, of = d, o }); err != nil {
			p.Error(err)
		}
		p.Logf("rebuilt: %d of %d", done, of)
		p.verified(next, "n3", "2o2o2o2s")
		if err := next.RebuildFold(ctx, "outbox", nil); onto.CodeOf(err) != onto.NotFound {
			p.Errorf("an unknown fold is rebuilt: %v", err)
		}
	})
}

// A program that is kept in the store is carried out by all that open it.
func TestProgramsAreKeptInTheStore(t *testing.T) {
	places(t, func(p place) {
		ctx, first := p.Context(), p.open(counting(), notices(1))
		p.commit(first, onto.Draft{Comment: "!"}.Assert(fact("n1", "opened", "x"), fact("n1", "snoozed", "y")))
		other := p.open()
		p.commit(other, onto.Draft{}.Assert(fact("n1", "handled", true)))
		v, err := other.Now().Get(ctx, onto.EntityID("tally", "n1"))
		if want := `"last":"handled","name":"n1"`; err != nil || !strings.Contains(string(v.Fields), want) || !strings.Contains(string(v.Fields), `"sum":3`) {
			p.Errorf("got %s, %v; want %s", v.Fields, err, want)
		}
		if st := p.status(other, "tally"); !st.UpToDate() || st.Unable != "" {
			p.Errorf("the program: %+v", st)
		}
		if st := p.status(other, "inbox"); st.UpToDate() || st.Unable == "" {
			p.Errorf("the Go code: %+v", st)
		}
		if err := other.VerifyFolds(ctx, "tally"); err != nil {
			p.Error(err)
		}
		if err := other.RebuildFold(ctx, "tally", nil); err != nil {
			p.Error(err)
		}
		p.verified(first, "n1", "1o1s1h")
	})
}

// Two programs that each have another fold of the same facts keep both up to date.
func TestEachProgramHasAFoldOfItsOwn(t *testing.T) {
	type second struct {
		ID string `json:"id" onto:"key"`
		N  int    `json:"n"`
	}
	places(t, func(p place) {
		ctx, a := p.Context(), p.open(notices(1))
		b := p.open(store.Fold[notice, second]{Name: "second", Version: 1, Apply: func(s *second, _ onto.Fact, _ onto.Draft) error {
			s.N++
			return nil
		}})
		for range 5 {
			p.commit(a, onto.Draft{}.Assert(fact("n1", "opened", "x")))
			p.commit(b, onto.Draft{}.Assert(fact("n1", "snoozed", "x")))
		}
		for _, s := range []*store.Store{a, b} {
			if err := s.VerifyFolds(ctx); err != nil {
				p.Error(err)
			}
		}
		if got, err := store.Get[second](ctx, b.Now(), "n1"); err != nil || got.N != 10 {
			p.Errorf("got %+v, %v; want 10", got, err)
		}
		p.verified(a, "n1", "1o1s1o1s1o1s1o1s1o1s")
	})
}

// Followers do not see commits that rebuild states, and their position moves on.
func TestFollowersSkipRebuilds(t *testing.T) {
	p := inFile(t)
	ctx, s := t.Context(), p.open(notices(1))
	for i := range 20 {
		p.commit(s, onto.Draft{}.Assert(fact(fmt.Sprintf("n%d", i), "opened", "x")))
	}
	next := p.open(notices(2))
	if err := next.CatchUp(ctx); err != nil {
		t.Fatal(err)
	}
	rebuilt := 0
	for c, err := range s.Commits(ctx, store.CommitOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Metadata["onto_rebuild"] != nil {
			rebuilt++
		}
	}
	for c, err := range s.FollowWith(ctx, "reader", &store.FollowOptions{Once: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Metadata["onto_rebuild"] != nil {
			t.Errorf("a follower saw commit %d: %+v", c.ID, c)
		}
	}
	head, err := s.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	positions, err := s.Positions(ctx)
	if err != nil || len(positions) != 1 || positions[0].Commit != head.ID {
		t.Errorf("got positions %+v, %v; want commit %d", positions, err, head.ID)
	}
	if rebuilt == 0 {
		t.Error("nothing was rebuilt")
	}
	t.Logf("%d commits rebuild, of %d", rebuilt, head.ID)
	if _, err := s.Commit(ctx, onto.Draft{Metadata: map[string]any{"onto_rebuild": "inbox"}}.Assert(fact("n1", "seen", "x"))); onto.CodeOf(err) != onto.Invalid {
		t.Errorf("a draft that calls itself a rebuild: got %v, want invalid", err)
	}
}
