package foldkeep_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// applying is the fold of inboxes with another Apply.
func applying(apply func(s *inbox, f onto.Fact, d onto.Draft) error) store.Fold[notice, inbox] {
	return store.Fold[notice, inbox]{Name: "inbox", Version: 1, Apply: apply}
}

// What a fold does wrong is an error that names fold and fact, and nothing is written.
func TestFoldsThatFail(t *testing.T) {
	stuck := make(chan struct{})
	t.Cleanup(func() { close(stuck) })
	sentinel := errors.New("no more than one")
	for name, c := range map[string]struct {
		fold store.Folding
		want []string
	}{
		"panics":  {applying(func(*inbox, onto.Fact, onto.Draft) error { panic("oh no") }), []string{"inbox", "handled", "panicked: oh no"}},
		"refuses": {applying(func(*inbox, onto.Fact, onto.Draft) error { return sentinel }), []string{"inbox", "handled", "no more than one"}},
		"runs too long": {applying(func(*inbox, onto.Fact, onto.Draft) error { <-stuck; return nil }),
			[]string{"inbox", "handled", "did not end within"}},
		"changes the key": {applying(func(s *inbox, _ onto.Fact, _ onto.Draft) error { s.ID = "other"; return nil }), []string{"inbox", `"n1"`, "leave it alone"}},
		"writes what is no text": {applying(func(s *inbox, _ onto.Fact, _ onto.Draft) error { s.Title = "\xff"; return nil }),
			[]string{"inbox", "refuses"}},
		"program that fails":               {program(`error("no")`), []string{"tally", "handled", "no"}},
		"program that loops":               {program(`.state | until(false; .)`), []string{"tally", "handled"}},
		"program that makes no object":     {program(`1`), []string{"tally", "not an object"}},
		"program that makes nothing":       {program(`empty`), []string{"tally", "nothing"}},
		"program without a required field": {program(`{}`), []string{"tally", "sum"}},
		"program with an unknown field":    {program(`.state | .sum = 1 | .more = 2`), []string{"tally", "more"}},
		"program with another key":         {program(`.state | .sum = 1 | .name = "other"`), []string{"tally", "name"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := inMemory(t)
			s, err := p.tryOpen(&store.Options{Folds: []store.Folding{c.fold}, FoldTimeout: 100 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			before, err := s.Head(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.Commit(t.Context(), onto.Draft{}.Assert(fact("n1", "handled", true)))
			if onto.CodeOf(err) != onto.Invalid {
				t.Errorf("got %v, want invalid", err)
			}
			for _, part := range c.want {
				if err != nil && !strings.Contains(err.Error()+hint(err), part) {
					t.Errorf("got %q, want it to name %q", err.Error()+hint(err), part)
				}
			}
			if name == "refuses" && !errors.Is(err, sentinel) {
				t.Errorf("got %v, want the error of Apply in its chain", err)
			}
			if after, err := s.Head(t.Context()); err != nil || after.ID != before.ID {
				t.Errorf("commit %d was made, %v", after.ID, err)
			}
		})
	}
}

func hint(err error) string {
	var e *onto.Error
	if errors.As(err, &e) {
		return " " + e.Hint.Text
	}
	return ""
}

func program(text string) store.FoldProgram {
	p := counting()
	p.Program = text
	return p
}

// What cannot be a fold is refused when the store is opened.
func TestFoldsThatAreRefused(t *testing.T) {
	type plain struct {
		ID string `json:"id" onto:"key"`
	}
	plainFold := store.Fold[notice, plain]{Name: "plain", Version: 1, Apply: func(*plain, onto.Fact, onto.Draft) error { return nil }}
	named := notices(1)
	named.Name = "in box"
	again := plainFold
	again.Name = "inbox"
	stateless := store.Fold[notice, inbox]{Name: "other", Version: 1, Apply: notices(1).Apply}
	facts, state := counting(), counting()
	facts.Facts, state.State = "notices", "tallies"
	for name, c := range map[string]struct {
		folds []store.Folding
		want  string
	}{
		"two of a name":           {[]store.Folding{notices(1), again}, "given twice"},
		"two with one state type": {[]store.Folding{notices(1), stateless}, "both make inbox"},
		"version 0":               {[]store.Folding{notices(0)}, "version 0"},
		"no Apply":                {[]store.Folding{applying(nil)}, "no Apply"},
		"a bad name":              {[]store.Folding{named}, "in box"},
		"no facts":                {[]store.Folding{store.Fold[plain, inbox]{Name: "x", Version: 1, Apply: func(*inbox, onto.Fact, onto.Draft) error { return nil }}}, "no type of facts"},
		"facts as states":         {[]store.Folding{store.Fold[notice, notice]{Name: "x", Version: 1, Apply: func(*notice, onto.Fact, onto.Draft) error { return nil }}}, "no entity type"},
		"nil":                     {[]store.Folding{nil}, "nil"},
		"an unknown fact type":    {[]store.Folding{facts}, "no type of facts notices"},
		"an unknown state type":   {[]store.Folding{state}, "no entity type tallies"},
		"a bad program":           {[]store.Folding{program(`.state |`)}, "line 1"},
		"an impure program":       {[]store.Folding{program(`.state | .sum = now`)}, "now"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := inMemory(t).tryOpen(&store.Options{Folds: c.folds})
			if err == nil {
				s.Close()
			}
			if onto.CodeOf(err) != onto.Invalid || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want invalid and %q", err, c.want)
			}
		})
	}
}

// What a store has already refuses folds that do not fit it.
func TestFoldsThatContradictTheStore(t *testing.T) {
	type other struct {
		onto.About[string]
		Opened string `json:"opened"`
	}
	type plain struct {
		ID string `json:"id" onto:"key"`
	}
	p := inMemory(t)
	s, err := store.OpenWith(t.Context(), p.backend(), &store.Options{Folds: []store.Folding{counting(), notices(1)}}, onto.TypeOf[notice](), onto.TypeOf[tally](), onto.TypeOf[plain](), onto.TypeOf[other]())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	otherFacts := store.Fold[other, plain]{Name: "inbox", Version: 1, Apply: func(*plain, onto.Fact, onto.Draft) error { return nil }}
	taken := counting()
	taken.Name, taken.State = "third", "inbox"
	for name, f := range map[string]store.Folding{
		"another program of the version":   program(`.state | .sum = 1`),
		"a state type that programs write": store.Fold[notice, plain]{Name: "x", Version: 1, Apply: func(*plain, onto.Fact, onto.Draft) error { return nil }},
		"a name of a fold of other facts":  otherFacts,
		"a state type of another fold":     taken,
	} {
		got, err := store.OpenWith(t.Context(), p.backend(), &store.Options{Folds: []store.Folding{f}}, onto.TypeOf[notice](), onto.TypeOf[tally]())
		if err == nil {
			got.Close()
		}
		if code := onto.CodeOf(err); code != onto.Conflict && code != onto.Invalid {
			t.Errorf("%s: got %v, want a conflict", name, err)
		}
		t.Logf("%s: %v", name, err)
	}
}

// States are written by folds only.
func TestStatesAreReadOnly(t *testing.T) {
	places(t, func(p place) {
		ctx, s := p.Context(), p.open(notices(1))
		made := p.commit(s, onto.Draft{}.Assert(fact("n1", "opened", "x")))
		state := onto.EntityID("inbox", "n1")
		version, err := s.Now().Get(ctx, state)
		if err != nil {
			p.Fatal(err)
		}
		for name, d := range map[string]onto.Draft{
			"ensure":            onto.Draft{}.Ensure(inbox{ID: "n1"}),
			"ensure by name":    onto.Draft{}.Ensure(onto.Entity{Type: "inbox", Key: "n9", Fields: map[string]any{"status": "", "snoozes": 0, "ended": 0, "trail": ""}}),
			"ensure a version":  onto.Draft{}.Ensure(version),
			"merge":             onto.Draft{}.Merge(onto.Entity{Type: "inbox", Key: "n1", Fields: map[string]any{"status": "x"}}),
			"delete":            onto.Draft{}.Delete(state),
			"delete a struct":   onto.Draft{}.Delete(inbox{ID: "n1"}),
			"write the guard":   onto.Draft{}.Merge(onto.Entity{Type: "onto_folds", Key: "notice", Fields: map[string]any{"folds": map[string]any{}}}),
			"delete the record": onto.Draft{}.Delete(onto.EntityID("onto_folds", "notice/inbox")),
		} {
			if _, err := s.Commit(ctx, d); onto.CodeOf(err) != onto.Invalid || !strings.Contains(err.Error(), "fold") {
				p.Errorf("%s: got %v, want invalid", name, err)
			}
		}
		if _, err := s.CommitStream(ctx, onto.Draft{}, func(yield func(any, error) bool) { yield(inbox{ID: "n1"}, nil) }); onto.CodeOf(err) != onto.Invalid {
			p.Errorf("stream: got %v, want invalid", err)
		}
		if _, err := store.Update(ctx, s, onto.Draft{}, store.Key{"n1"}, func(i *inbox) error { i.Title = "mine"; return nil }); onto.CodeOf(err) != onto.Invalid {
			p.Errorf("update: got %v, want invalid", err)
		}
		if _, _, err := s.Revert(ctx, onto.Draft{}, store.Revert{Identity: state}); onto.CodeOf(err) != onto.Invalid {
			p.Errorf("revert of a state: got %v, want invalid", err)
		}
		if _, _, err := s.Revert(ctx, onto.Draft{}, store.Revert{Commit: made.ID}); err != nil {
			p.Errorf("revert of the commit: %v", err)
		}
		if err := s.VerifyFolds(ctx); err != nil {
			p.Error(err)
		}
		if _, err := store.Get[inbox](ctx, s.Now(), "n1"); onto.CodeOf(err) != onto.NotFound {
			p.Errorf("after the revert: got %v, want not_found", err)
		}
	})
}

// A replay finds a fold that is not pure, and one that was changed without a new version.
func TestVerifyFindsDifferences(t *testing.T) {
	p := inMemory(t)
	calls := 0
	s := p.open(applying(func(s *inbox, _ onto.Fact, _ onto.Draft) error {
		calls++
		s.Snoozes = calls
		return nil
	}))
	for _, subject := range []string{"a", "b", "a"} {
		p.commit(s, onto.Draft{}.Assert(fact(subject, "handled", true)))
	}
	err := s.VerifyFolds(t.Context(), "inbox")
	if onto.CodeOf(err) != onto.Corrupt || !strings.Contains(err.Error(), "2 of 2") || !strings.Contains(err.Error(), `inbox "a"`) {
		t.Errorf("got %v, want the two that differ", err)
	}
	changed := p.open(notices(1))
	if err := changed.VerifyFolds(t.Context()); onto.CodeOf(err) != onto.Corrupt {
		t.Errorf("an Apply that was changed: got %v", err)
	}
	if err := changed.RebuildFold(t.Context(), "inbox", nil); err != nil {
		t.Fatal(err)
	}
	p.verified(changed, "a", "1h1h")
}

// A fold that fails in the background says so, and goes on when it is mended.
func TestFailuresInTheBackground(t *testing.T) {
	p := inMemory(t)
	other := p.open()
	p.commit(other, onto.Draft{}.Assert(fact("n1", "opened", "refused")))
	s := p.open(notices(1))
	eventually(p, func() bool { return p.status(s, "inbox").Err != nil })
	if st := p.status(s, "inbox"); !st.Rebuilding || !strings.Contains(st.Err.Error(), "nothing is opened like this") {
		t.Errorf("got %+v", st)
	}
	if err := s.CatchUp(t.Context()); err == nil {
		t.Error("it has caught up")
	}
	for f, err := range other.Now().Facts("notice").Every().All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		p.commit(other, onto.Draft{}.Retract(f.Identity()))
	}
	eventually(p, func() bool { st := p.status(s, "inbox"); return st.UpToDate() && st.Err == nil })
}
