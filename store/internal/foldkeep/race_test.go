package foldkeep_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/store"
)

// Two programs with the fold take turns: what each has in mind of the states is stale.
func TestProgramsTakeTurns(t *testing.T) {
	places(t, func(p place) {
		a, b := p.open(notices(1)), p.open(notices(1))
		for range 3 {
			p.commit(a, onto.Draft{}.Assert(fact("n1", "opened", "x")))
			p.commit(b, onto.Draft{}.Assert(fact("n1", "snoozed", "x")))
		}
		p.verified(a, "n1", "1o1s1o1s1o1s")
	})
}

// While a fold is behind, states stay what they were when it was not.
func TestNothingIsFoldedWhileBehind(t *testing.T) {
	places(t, func(p place) {
		ctx, other, s := p.Context(), p.open(), p.open(notices(1))
		p.commit(s, onto.Draft{}.Assert(fact("n1", "opened", "x")))
		bad := fact("n1", "opened", "refused") // nothing can be folded until it is gone
		bad.ID = "bad"
		p.commit(other, onto.Draft{}.Assert(bad))
		for range 3 {
			p.commit(s, onto.Draft{}.Assert(fact("n1", "handled", true), fact("n2", "handled", true)))
		}
		got, err := store.Get[inbox](ctx, s.Now(), "n1")
		if err != nil || got.Trail != "1o" || p.status(s, "inbox").UpToDate() {
			p.Errorf("got %+v, %v, %+v", got, err, p.status(s, "inbox"))
		}
		if _, err := store.Get[inbox](ctx, s.Now(), "n2"); onto.CodeOf(err) != onto.NotFound {
			p.Errorf("a subject that is new: got %v, want not_found", err)
		}
		p.commit(other, onto.Draft{}.Retract(bad.Identity()))
		p.verified(s, "n1", "1o1h1h1h")
	})
}

// interposed does something once, right before a draft with such a comment is appended.
type interposed struct {
	backend.Backend
	comment string
	then    func()
}

func (b *interposed) Unwrap() backend.Backend { return b.Backend }

func (b *interposed) Append(ctx context.Context, d *backend.Draft) (onto.Result, error) {
	if then := b.then; then != nil && strings.Contains(d.Comment, b.comment) {
		b.then = nil
		then()
	}
	return b.Backend.Append(ctx, d)
}

// A fact that comes right before catching up ends is folded, too.
func TestFactsWhileCatchingUp(t *testing.T) {
	p := inMemory(t)
	p.open(notices(1)).Close()
	other := p.open()
	p.commit(other, onto.Draft{}.Assert(fact("n1", "opened", "x")))
	plain, came := p.backend, false
	p.backend = func() backend.Backend {
		return &interposed{plain(), "catches up", func() {
			came = true
			p.commit(other, onto.Draft{}.Assert(fact("n1", "snoozed", "x")))
		}}
	}
	s := p.open(notices(1))
	eventually(p, func() bool { return p.status(other, "inbox").UpToDate() })
	if p.verified(s, "n1", "1o1s"); !came {
		t.Error("nothing came in between")
	}
}

// Facts that are retracted while a rebuild is about to write the first state of their
// subject leave none.
func TestRetractionsDuringARebuild(t *testing.T) {
	p := inMemory(t)
	f := fact("n1", "opened", "x")
	f.ID = "x"
	p.commit(p.open(), onto.Draft{}.Assert(f))
	var came atomic.Bool
	rebuilding := place{t, func() backend.Backend {
		return &interposed{p.backend(), "is rebuilt", func() { // in the background
			came.Store(true)
			p.commit(p.open(slow()), onto.Draft{}.Retract(f.Identity()))
		}}
	}}
	s := rebuilding.open(notices(1))
	eventually(p, func() bool { return p.status(s, "inbox").UpToDate() })
	if _, err := store.Get[inbox](t.Context(), s.Now(), "n1"); onto.CodeOf(err) != onto.NotFound || !came.Load() {
		t.Errorf("got %v, want not_found", err)
	}
	if err := s.VerifyFolds(t.Context()); err != nil {
		t.Error(err)
	}
}

// slow is the fold in a program that does not get to rebuild anything.
func slow() store.Folding {
	f := notices(1)
	apply := f.Apply
	f.Apply = func(s *inbox, fact onto.Fact, d onto.Draft) error {
		if fact.Attribute == "opened" {
			return onto.Errorf(onto.Unavailable, "it takes its time")
		}
		return apply(s, fact, d)
	}
	return f
}

// A state of an older version is no base: its subject is folded from the beginning, also
// before the rebuild has come to it.
func TestStatesOfAnOlderVersion(t *testing.T) {
	places(t, func(p place) {
		old := p.open(notices(1))
		p.commit(old, onto.Draft{}.Assert(fact("n0", "opened", "stuck"), fact("n1", "opened", "x")))
		f := notices(2)
		apply := f.Apply
		f.Apply = func(s *inbox, fact onto.Fact, d onto.Draft) error {
			if fact.Value == "stuck" { // so the rebuild does not come to an end
				return onto.Errorf(onto.Unavailable, "it takes its time")
			}
			return apply(s, fact, d)
		}
		s := p.open(f)
		p.commit(s, onto.Draft{}.Assert(fact("n1", "snoozed", "x")))
		got, err := store.Get[inbox](p.Context(), s.Now(), "n1")
		if err != nil || got.Trail != "2o2s" || !p.status(s, "inbox").Rebuilding {
			p.Errorf("got %+v, %v, %+v", got, err, p.status(s, "inbox"))
		}
	})
}
