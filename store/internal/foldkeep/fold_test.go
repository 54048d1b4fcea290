package foldkeep_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/store"
)

// notice is what happens to a notification.
type notice struct {
	onto.About[string]
	Opened  string   `json:"opened"`
	Snoozed string   `json:"snoozed"`
	Handled bool     `json:"handled"`
	Seen    []string `json:"seen" onto:"many"`
}

// inbox is a notification as it is.
type inbox struct {
	ID      string `json:"id" onto:"key"`
	Status  string `json:"status" onto:"index"`
	Title   string `json:"title,omitempty"`
	By      string `json:"by,omitempty"`
	Snoozes int    `json:"snoozes"`
	Ended   int    `json:"ended"`
	Trail   string `json:"trail"` // depends on the order of facts
}

// notices folds notices into inboxes.
func notices(version int) store.Fold[notice, inbox] {
	return store.Fold[notice, inbox]{Name: "inbox", Version: version, Apply: func(s *inbox, f onto.Fact, d onto.Draft) error {
		return applyNotice(version, s, f, d)
	}}
}

func applyNotice(version int, s *inbox, f onto.Fact, d onto.Draft) error {
	if f.Commit != 0 || f.Asserted != 0 {
		return fmt.Errorf("the fact has a commit: %+v", f)
	}
	if !f.Until.IsZero() {
		s.Ended++
	}
	switch f.Attribute {
	case "opened":
		if f.Value == "refused" {
			return errors.New("nothing is opened like this")
		}
		s.Status, s.Title, s.By = "open", f.Value.(string), d.Actor.ID
	case "snoozed":
		s.Snoozes++
	case "handled":
		s.Status = "handled"
	}
	s.Trail += fmt.Sprintf("%d%s", version, f.Attribute[:1])
	if f.Revoked != nil {
		s.Trail += "!"
	}
	return nil
}

// tally is a state that a program makes.
type tally struct {
	Name string `json:"name" onto:"key"`
	Sum  int    `json:"sum"`
	Last string `json:"last,omitempty"`
}

func counting() store.FoldProgram {
	return store.FoldProgram{Name: "tally", Version: 1, Facts: "notice", State: "tally",
		Program: `.fact as $f | .draft as $d | .state | .sum = (.sum // 0) + 1 | .last = $f.attribute + ($d.comment // "")`}
}

func fact(subject, attribute string, value any) onto.Fact {
	return onto.Fact{Type: "notice", Subject: subject, Attribute: attribute, Value: value}
}

// place is where programs share a store.
type place struct {
	*testing.T
	backend func() backend.Backend
}

// places are all kinds of storage.
func places(t *testing.T, story func(p place)) {
	t.Run("memory", func(t *testing.T) { story(inMemory(t)) })
	t.Run("sqlite", func(t *testing.T) { story(inFile(t)) })
}

func inMemory(t *testing.T) place {
	m := memory.New(nil)
	return place{t, func() backend.Backend { return m.Open() }}
}

func inFile(t *testing.T) place {
	path := filepath.Join(t.TempDir(), "store.db")
	return place{t, func() backend.Backend {
		db, err := sqlite.Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		return db
	}}
}

// open opens the store as a program with folds.
func (p place) open(folds ...store.Folding) *store.Store {
	p.Helper()
	s, err := p.tryOpen(&store.Options{Folds: folds})
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { s.Close() })
	return s
}

func (p place) tryOpen(o *store.Options) (*store.Store, error) {
	types := []onto.Type{onto.TypeOf[notice]()}
	if slices.ContainsFunc(o.Folds, func(f store.Folding) bool { _, ok := f.(store.FoldProgram); return ok }) {
		types = append(types, onto.TypeOf[tally]())
	}
	return store.OpenWith(p.Context(), p.backend(), o, types...)
}

func (p place) commit(s *store.Store, d onto.Draft) onto.Result {
	p.Helper()
	res, err := s.Commit(p.Context(), d)
	if err != nil {
		p.Fatal(err)
	}
	return res
}

func (p place) stream(s *store.Store, facts ...onto.Fact) onto.Result {
	p.Helper()
	res, err := s.CommitStream(p.Context(), onto.Draft{}, things(facts))
	if err != nil {
		p.Fatal(err)
	}
	return res
}

func things(facts []onto.Fact) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		for _, f := range facts {
			if !yield(f, nil) {
				return
			}
		}
	}
}

// status is that of one fold.
func (p place) status(s *store.Store, name string) store.FoldStatus {
	p.Helper()
	list, err := s.Folds(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	for _, f := range list {
		if f.Name == name {
			return f
		}
	}
	p.Fatalf("there is no fold %s among %+v", name, list)
	return store.FoldStatus{}
}

// verified checks that every state is what a replay makes of the facts, and that the
// trail of one subject is as wanted.
func (p place) verified(s *store.Store, subject, trail string) {
	p.Helper()
	if err := s.VerifyFolds(p.Context()); err != nil {
		p.Error(err)
	}
	got, err := store.Get[inbox](p.Context(), s.Now(), subject)
	if err != nil || got.Trail != trail {
		p.Errorf("got %+v, %v; want the trail %s", got, err, trail)
	}
}

// meta is the onto_fold of a state.
func (p place) meta(s *store.Store, subject string) string {
	p.Helper()
	v, err := s.Now().Get(p.Context(), onto.EntityID("inbox", subject))
	if err != nil {
		p.Fatal(err)
	}
	var doc struct {
		Fold json.RawMessage `json:"onto_fold"`
	}
	if err := json.Unmarshal(v.Fields, &doc); err != nil {
		p.Fatal(err)
	}
	return string(doc.Fold)
}

func TestStatesFollowFacts(t *testing.T) { places(t, statesFollowFacts) }

func statesFollowFacts(p place) {
	ctx, s := p.Context(), p.open(notices(1))
	first := p.commit(s, onto.Draft{Actor: onto.Operator("ana")}.Assert(fact("n1", "opened", "disk full"), fact("n1", "snoozed", "1h"), fact("n2", "opened", "late")))
	got, err := store.GetVersion[inbox](ctx, s.Now(), "n1")
	if want := (inbox{ID: "n1", Status: "open", Title: "disk full", By: "ana", Snoozes: 1, Trail: "1o1s"}); err != nil || got.Value != want || got.Commit.ID != first.ID {
		p.Errorf("got %+v at commit %d, %v; want %+v at commit %d", got.Value, got.Commit.ID, err, want, first.ID)
	}
	handled := fact("n1", "handled", true)
	handled.ID = "h"
	second := p.commit(s, onto.Draft{}.Assert(handled))
	if got, want := p.meta(s, "n1"), `{"applied":3,"last":"handled/h","version":1}`; got != want {
		p.Errorf("the state says %s, want %s", got, want)
	}
	was, err := store.Get[inbox](ctx, s.At(first.ID), "n1")
	if err != nil || was.Status != "open" {
		p.Errorf("as of the first commit: got %+v, %v", was, err)
	}
	replayed, err := notices(1).At(ctx, s.At(first.ID), "n1")
	if err != nil || replayed != was {
		p.Errorf("replayed as of the first commit: got %+v, %v; want %+v", replayed, err, was)
	}
	if _, err := notices(1).At(ctx, s.Now(), "nobody"); onto.CodeOf(err) != onto.NotFound {
		p.Errorf("a subject without facts: got %v, want not_found", err)
	}
	if again := p.commit(s, onto.Draft{}.Assert(handled)); again.ID != 0 {
		p.Errorf("a fact that is known made commit %d", again.ID)
	}
	open, err := store.Find[inbox](s.Now()).Where(onto.Path("status").Eq("open")).Count(ctx)
	if err != nil || open != 1 {
		p.Errorf("got %d open inboxes, %v; want 1", open, err)
	}
	blame, err := s.Blame(ctx, onto.EntityID("inbox", "n1"))
	if err != nil || len(blame) == 0 {
		p.Errorf("blame: %v, %v", blame, err)
	}
	p.commit(s, onto.Draft{}.Revoke(handled.Identity(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), "by mistake"))
	p.verified(s, "n1", "1o1s1h!")
	p.commit(s, onto.Draft{}.Retract(handled.Identity()).Assert(fact("n1", "seen", "ana")))
	p.verified(s, "n1", "1o1s1s")
	if _, _, err := s.Revert(ctx, onto.Draft{}, store.Revert{Commit: second.ID, Over: true}); err != nil {
		p.Error(err)
	}
	p.verified(s, "n1", "1o1s1s")
	if list := s.Types(); slices.ContainsFunc(list, func(t onto.Schema) bool { return strings.HasPrefix(t.Name, "onto_") }) {
		p.Errorf("types: %v", list)
	}
}

// A subject whose facts are all retracted has no state, and gets one again when the
// retraction is undone.
func TestStatesEndWithTheirFacts(t *testing.T) {
	places(t, func(p place) {
		ctx, s := p.Context(), p.open(notices(1))
		f := fact("n1", "opened", "disk full")
		f.ID = "x"
		p.commit(s, onto.Draft{}.Assert(f))
		gone := p.commit(s, onto.Draft{}.Retract(f.Identity()))
		if _, err := store.Get[inbox](ctx, s.Now(), "n1"); onto.CodeOf(err) != onto.NotFound {
			p.Errorf("got %v, want not_found", err)
		}
		if _, _, err := s.Revert(ctx, onto.Draft{}, store.Revert{Commit: gone.ID}); err != nil {
			p.Fatal(err)
		}
		p.verified(s, "n1", "1o")
	})
}

// Facts of a stream are folded in commits that follow.
func TestStreamsAreFoldedAfterwards(t *testing.T) {
	places(t, func(p place) {
		ctx, other, s := p.Context(), p.open(), p.open(notices(1))
		p.commit(s, onto.Draft{}.Assert(fact("a", "opened", "one")))
		long := []onto.Fact{fact("a", "handled", true)}
		for i := range 500 {
			f := fact(fmt.Sprintf("b%03d", i), "opened", "many")
			f.ID = "x"
			long = append(long, f)
		}
		res := p.stream(other, long...)
		st := p.status(other, "inbox")
		if st.Behind != res.ID-1 || st.Lag != 1 || st.Unable == "" || st.UpToDate() {
			p.Errorf("after the stream at commit %d: %+v", res.ID, st)
		}
		if err := other.CatchUp(ctx); err != nil {
			p.Errorf("a program that cannot fold: %v", err)
		}
		again := p.stream(other, long[1:]...)
		if again.ID != 0 {
			p.Errorf("the same stream again made commit %d", again.ID)
		}
		if err := s.CatchUp(ctx); err != nil {
			p.Fatal(err)
		}
		if st := p.status(s, "inbox"); !st.UpToDate() || st.Unable != "" {
			p.Errorf("after catching up: %+v", st)
		}
		p.verified(s, "a", "1o1h")
		p.verified(s, "b499", "1o")
		own := p.stream(s, fact("a", "snoozed", "1h"))
		eventually(p, func() bool { return p.status(s, "inbox").UpToDate() })
		p.verified(s, "a", "1o1h1s")
		if own.ID == 0 {
			p.Error("the stream made no commit")
		}
		p.commit(s, onto.Draft{}.Assert(fact("a", "handled", true)))
		if !p.status(s, "inbox").UpToDate() {
			p.Error("a draft after catching up is not folded in its commit")
		}
		p.verified(s, "a", "1o1h1s1h")
	})
}

// eventually waits for what the store does in the background, here or in another process,
// which nobody is told of: so it asks again and again.
func eventually(p place, is func() bool) {
	p.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			p.Fatal("it has not come to that within a minute")
		}
	}
}

// A draft that is repeated with its idempotency key gets the first result, whatever has
// become of its facts.
func TestRepeatedDraftsWithFolds(t *testing.T) {
	places(t, func(p place) {
		s := p.open(notices(1))
		at := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
		f := fact("n1", "opened", "x")
		f.ID = "x"
		p.commit(s, onto.Draft{}.Assert(f))
		drafts := []onto.Draft{
			onto.Draft{IdempotencyKey: "assert"}.Assert(fact("n1", "snoozed", "1h"), fact("n2", "opened", "2")),
			onto.Draft{IdempotencyKey: "revoke"}.Revoke(f.Identity(), at, nil).Assert(fact("n1", "handled", true)),
			onto.Draft{IdempotencyKey: "retract"}.Retract(f.Identity()),
		}
		var first []onto.Result
		for _, d := range drafts {
			first = append(first, p.commit(s, d))
		}
		p.commit(s, onto.Draft{}.Assert(fact("n1", "seen", "later")))
		other := p.open()
		for i, d := range drafts {
			for _, by := range []*store.Store{s, other} {
				if again := p.commit(by, d); !again.Repeated || again.ID != first[i].ID {
					p.Errorf("%s again: got %+v, want commit %d", d.IdempotencyKey, again, first[i].ID)
				}
			}
		}
		if !p.status(s, "inbox").UpToDate() {
			p.Error("repetitions have left the fold behind")
		}
		p.verified(s, "n1", "1s1h1s")
	})
}

// Updates carry facts, too.
func TestUpdatesWithFacts(t *testing.T) {
	type counter struct {
		ID string `json:"id" onto:"key"`
		N  int    `json:"n"`
	}
	p := inMemory(t)
	ctx := t.Context()
	s, err := store.OpenWith(ctx, p.backend(), &store.Options{Folds: []store.Folding{notices(1)}}, onto.TypeOf[counter]())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p.commit(s, onto.Draft{}.Ensure(counter{ID: "c"}))
	for range 3 {
		_, err := store.Update(ctx, s, onto.Draft{}.Assert(fact("n1", "snoozed", "x")), store.Key{"c"}, func(c *counter) error { c.N++; return nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	p.verified(s, "n1", "1s1s1s")
}
