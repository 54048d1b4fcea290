// Command notices keeps an inbox: what happens to a notice is facts, its status is
// folded from them. Two operators act on one notice, and only the first succeeds; a
// click that was a mistake is retracted, and the status is what it was before.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/store"
)

// Notice is what can be said about a notice. Each field is an attribute.
type Notice struct {
	onto.About[string]
	Raised  string    `json:"raised"`  // its title
	Opened  bool      `json:"opened"`  // an operator has seen it
	Snoozed time.Time `json:"snoozed"` // not before
	Handled string    `json:"handled"` // what was done
}

// Inbox is the status of a notice, for lists. It is written by the fold only.
type Inbox struct {
	ID     string     `json:"id" onto:"key"`
	Title  string     `json:"title"`
	Status string     `json:"status" onto:"index"`
	Until  *time.Time `json:"until"`
	By     string     `json:"by"`
	Action string     `json:"action"`
}

// inbox turns facts into the status. It is pure: what it sees is the fact and what its
// draft said, so a replay gives the same.
var inbox = store.Fold[Notice, Inbox]{Name: "inbox", Version: 1, Apply: apply}

func apply(s *Inbox, f onto.Fact, d onto.Draft) error {
	if f.Attribute != "raised" && s.Status == "handled" {
		return fmt.Errorf("notice %s is handled: %s", s.ID, s.Action)
	}
	s.By, s.Until = d.Actor.ID, nil
	switch f.Attribute {
	case "raised":
		s.Status = "new"
		return f.Decode(&s.Title)
	case "opened":
		s.Status = "open"
	case "snoozed":
		s.Status = "snoozed"
		return f.Decode(&s.Until)
	case "handled":
		s.Status = "handled"
		return f.Decode(&s.Action)
	}
	return nil
}

func main() {
	path := "notices.db"
	if len(os.Args) > 1 {
		path = os.Args[1]
	}
	ctx := context.Background()
	s, err := open(ctx, path, inbox)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	if err := run(ctx, s); err != nil {
		log.Fatal(err)
	}
}

func open(ctx context.Context, path string, fold store.Folding) (*store.Store, error) {
	db, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	return store.OpenWith(ctx, db, &store.Options{Folds: []store.Folding{fold}}, onto.TypeOf[Notice]())
}

// say is a draft in which an operator says one thing about a notice.
func say(operator, notice, attribute string, value any) onto.Draft {
	return onto.Draft{Actor: onto.Operator(operator)}.
		Assert(onto.Fact{Type: "Notice", Subject: notice, Attribute: attribute, Value: value})
}

func run(ctx context.Context, s *store.Store) error {
	for _, d := range []onto.Draft{
		say("monitor", "n1", "raised", "Disk is almost full"),
		say("monitor", "n2", "raised", "Certificate expires on Friday"),
		say("ana", "n2", "snoozed", time.Date(2026, 11, 19, 8, 0, 0, 0, time.UTC)),
		say("ana", "n1", "opened", true),
	} {
		if _, err := s.Commit(ctx, d); err != nil {
			return err
		}
	}
	if err := show(ctx, s); err != nil {
		return err
	}

	// Two operators look at the same list. Each acts on what they saw.
	seen, err := store.GetVersion[Inbox](ctx, s.Now(), "n1")
	if err != nil {
		return err
	}
	version := seen.Version
	handled, err := s.Commit(ctx, say("ana", "n1", "handled", "added a disk").ExpectVersion(version.Identity, version.Commit))
	if err != nil {
		return err
	}
	_, err = s.Commit(ctx, say("bob", "n1", "handled", "deleted old logs").ExpectVersion(version.Identity, version.Commit))
	fmt.Println("bob acted on what he saw:", !errors.Is(err, onto.VersionMismatch))

	// It was the wrong notice: the fact is retracted, and the status follows.
	for change, err := range s.Changes(ctx, handled.ID) {
		if err != nil {
			return err
		}
		if change.Kind == onto.KindFact {
			if _, err := s.Commit(ctx, onto.Draft{Actor: onto.Operator("ana"), Comment: "wrong notice"}.Retract(change.Identity)); err != nil {
				return err
			}
		}
	}
	return show(ctx, s)
}

// show prints the inbox.
func show(ctx context.Context, s *store.Store) error {
	for n, err := range store.Find[Inbox](s.Now()).All(ctx) {
		if err != nil {
			return err
		}
		fmt.Printf("%s %-8s %s, by %s\n", n.ID, n.Status, n.Title, n.By)
	}
	return nil
}
