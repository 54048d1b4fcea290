// Command outbox delivers messages. A worker claims a message by a fact that ends by
// itself, delivers it while nothing is locked, and asserts how the attempt went. What is
// due, and how often it was tried, is folded from these facts.
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

// Delivery is what happens to a message.
type Delivery struct {
	onto.About[string]
	Submitted Letter  `json:"submitted"`
	Claimed   string  `json:"claimed"` // by a worker, until the fact ends
	Attempted Attempt `json:"attempted"`
}

// Letter is what is to be delivered.
type Letter struct {
	To   string `json:"to"`
	Text string `json:"text"`
}

// Attempt is how one attempt went.
type Attempt struct {
	Worker string    `json:"worker"`
	Error  string    `json:"error,omitempty"` // "" if it was delivered
	Retry  time.Time `json:"retry,omitzero"`  // when to try again; zero for never
}

// Message is the status of a message.
type Message struct {
	ID       string     `json:"id" onto:"key"`
	To       string     `json:"to"`
	Text     string     `json:"text"`
	Status   string     `json:"status" onto:"index"` // pending, sent or failed
	Attempts int        `json:"attempts"`
	Error    string     `json:"error"`
	Due      *time.Time `json:"due"`    // not before
	Leased   *time.Time `json:"leased"` // a worker has it until then
}

var messages = store.Fold[Delivery, Message]{Name: "messages", Version: 1, Apply: apply}

func apply(m *Message, f onto.Fact, _ onto.Draft) error {
	switch f.Attribute {
	case "submitted":
		var l Letter
		err := f.Decode(&l)
		m.To, m.Text, m.Status = l.To, l.Text, "pending"
		return err
	case "claimed":
		m.Leased = &f.Until
	case "attempted":
		var a Attempt
		if err := f.Decode(&a); err != nil {
			return err
		}
		m.Attempts++
		m.Error, m.Leased, m.Due = a.Error, nil, nil
		switch {
		case a.Error == "":
			m.Status = "sent"
		case a.Retry.IsZero():
			m.Status = "failed"
		default:
			m.Due = &a.Retry
		}
	}
	return nil
}

func main() {
	path := "outbox.db"
	if len(os.Args) > 1 {
		path = os.Args[1]
	}
	ctx := context.Background()
	s, err := open(ctx, path, messages)
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
	return store.OpenWith(ctx, db, &store.Options{Folds: []store.Folding{fold}}, onto.TypeOf[Delivery]())
}

// lease is how long a worker may take.
const lease = 30 * time.Second

// worker delivers messages. Several may run, in any process.
type worker struct {
	name    string
	s       *store.Store
	deliver func(to, text string) error
}

// pass delivers what is due at a time.
func (w *worker) pass(ctx context.Context, now time.Time) error {
	var due []onto.Version
	for v, err := range w.s.Now().Find("Message").Where(onto.Path("status").Eq("pending")).All(ctx) {
		if err != nil {
			return err
		}
		due = append(due, v)
	}
	for _, v := range due {
		var m Message
		if err := v.Decode(&m); err != nil {
			return err
		}
		if m.Due != nil && now.Before(*m.Due) || m.Leased != nil && now.Before(*m.Leased) {
			continue
		}
		// A short commit: who is first has the message until the lease ends.
		claim := w.fact(m.ID, "claimed", w.name)
		claim.From, claim.Until = now, now.Add(lease)
		_, err := w.s.Commit(ctx, w.draft().Assert(claim).ExpectVersion(v.Identity, v.Commit))
		if errors.Is(err, onto.VersionMismatch) {
			continue // another worker was first
		}
		if err != nil {
			return err
		}
		// The work itself: nothing is locked, and the process may die. Another short
		// commit says how it went.
		outcome := w.attempt(&m, now)
		if _, err := w.s.Commit(ctx, w.draft().Assert(w.fact(m.ID, "attempted", outcome))); err != nil {
			return err
		}
	}
	return nil
}

// attempt delivers a message once.
func (w *worker) attempt(m *Message, now time.Time) Attempt {
	err := w.deliver(m.To, m.Text)
	if err == nil {
		return Attempt{Worker: w.name}
	}
	a := Attempt{Worker: w.name, Error: err.Error()}
	if m.Attempts < 2 {
		a.Retry = now.Add(time.Minute << m.Attempts)
	}
	return a
}

func (w *worker) draft() onto.Draft { return onto.Draft{Actor: onto.Component(w.name)} }

func (w *worker) fact(message, attribute string, value any) onto.Fact {
	return onto.Fact{Type: "Delivery", Subject: message, Attribute: attribute, Value: value}
}

func run(ctx context.Context, s *store.Store) error {
	submit := onto.Draft{Actor: onto.Operator("ana")}
	submit = submit.Assert(
		onto.Fact{Type: "Delivery", Subject: "m1", Attribute: "submitted", Value: Letter{"ada", "Hello"}},
		onto.Fact{Type: "Delivery", Subject: "m2", Attribute: "submitted", Value: Letter{"bob", "Hello"}})
	if _, err := s.Commit(ctx, submit); err != nil {
		return err
	}
	w := &worker{"worker-1", s, func(to, _ string) error {
		if to == "bob" {
			return errors.New("mailbox is full")
		}
		return nil
	}}
	now := time.Date(2026, 11, 16, 9, 0, 0, 0, time.UTC)
	for range 4 {
		if err := w.pass(ctx, now); err != nil {
			return err
		}
		now = now.Add(90 * time.Second)
	}
	for m, err := range store.Find[Message](s.Now()).All(ctx) {
		if err != nil {
			return err
		}
		fmt.Printf("%s to %s: %s, attempts: %d, last error: %q\n", m.ID, m.To, m.Status, m.Attempts, m.Error)
	}
	return nil
}
