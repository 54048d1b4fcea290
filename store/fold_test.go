package store_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/memory"
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
	Seen    int    `json:"seen"`
}

// notices folds notices into inboxes.
func notices() store.Fold[notice, inbox] {
	return store.Fold[notice, inbox]{Name: "inbox", Version: 1, Apply: applyNotice}
}

func applyNotice(s *inbox, f onto.Fact, d onto.Draft) error {
	if f.Commit != 0 || f.Asserted != 0 {
		return fmt.Errorf("the fact has a commit: %+v", f)
	}
	if !f.Until.IsZero() {
		s.Ended++
	}
	switch f.Attribute {
	case "opened":
		s.Status, s.Title, s.By = "open", f.Value.(string), d.Actor.ID
	case "snoozed":
		if s.Status != "open" {
			return errors.New("only what is open can be snoozed")
		}
		s.Snoozes++
	case "handled":
		s.Status = "handled"
	case "seen":
		s.Seen++
	}
	return nil
}

func noticed(subject, attribute string, value any) onto.Fact {
	return onto.Fact{Type: "notice", Subject: subject, Attribute: attribute, Value: value}
}

// foldStores opens programs on one memory.
type foldStores struct {
	*testing.T
	m *memory.Store
}

func (f *foldStores) open(folds ...store.Folding) *store.Store {
	f.Helper()
	s, err := store.OpenWith(f.Context(), f.m.Open(), &store.Options{Folds: folds}, onto.TypeOf[notice](), onto.TypeOf[inbox]())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	return s
}

func newFoldStores(t *testing.T) *foldStores { return &foldStores{t, memory.New(nil)} }

func TestStatesFollowFacts(t *testing.T) {
	ctx := t.Context()
	s := newFoldStores(t).open(notices())
	first, err := s.Commit(ctx, onto.Draft{Actor: onto.Operator("ana")}.Assert(noticed("n1", "opened", "disk full"), noticed("n1", "snoozed", "1h"), noticed("n2", "opened", "late")))
	if err != nil {
		t.Fatal(err)
	}
	got, err := store.GetVersion[inbox](ctx, s.Now(), "n1")
	if want := (inbox{ID: "n1", Status: "open", Title: "disk full", By: "ana", Snoozes: 1}); err != nil || got.Value != want || got.Commit.ID != first.ID {
		t.Errorf("got %+v at commit %d, %v; want %+v at commit %d", got.Value, got.Commit.ID, err, want, first.ID)
	}
	if _, err := s.Commit(ctx, onto.Draft{}.Assert(noticed("n1", "handled", true))); err != nil {
		t.Fatal(err)
	}
	was, err := store.Get[inbox](ctx, s.At(first.ID), "n1")
	if err != nil || was.Status != "open" {
		t.Errorf("as of the first commit: got %+v, %v", was, err)
	}
	replayed, err := notices().At(ctx, s.At(first.ID), "n1")
	if err != nil || replayed != was {
		t.Errorf("replayed as of the first commit: got %+v, %v; want %+v", replayed, err, was)
	}
	if err := s.VerifyFolds(ctx); err != nil {
		t.Error(err)
	}
}
