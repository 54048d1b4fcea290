// Command directory keeps what nodes have announced about themselves: where they are, and
// what they can do, each for some time. The answer over HTTP comes from a state that is
// folded from the accepted facts. Nothing is deleted when it expires: the reader asks
// about a time.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/store"
)

// Announcement is what is accepted about a node.
type Announcement struct {
	onto.About[string]
	Address string   `json:"address"`
	Can     []string `json:"can" onto:"many"`
}

// Entry is a node with everything that was accepted about it.
type Entry struct {
	ID       string     `json:"id" onto:"key"`
	Accepted []Accepted `json:"accepted"`
}

// Accepted is one fact in an entry.
type Accepted struct {
	Attribute string    `json:"attribute"`
	Value     string    `json:"value"`
	From      time.Time `json:"from,omitzero"`
	Until     time.Time `json:"until,omitzero"`
}

var entries = store.Fold[Announcement, Entry]{Name: "entries", Version: 1, Apply: apply}

func apply(e *Entry, f onto.Fact, _ onto.Draft) error {
	a := Accepted{Attribute: f.Attribute, From: f.From, Until: f.Until}
	if err := f.Decode(&a.Value); err != nil {
		return err
	}
	e.Accepted = append(e.Accepted, a)
	return nil
}

// Answer is what the directory says about a node at a time.
type Answer struct {
	Node    string   `json:"node"`
	Address string   `json:"address,omitempty"`
	Can     []string `json:"can,omitempty"`
}

// answer is what an entry says at a time: the last address that holds, and everything
// that the node can do.
func (e *Entry) answer(at time.Time) Answer {
	a := Answer{Node: e.ID}
	for _, f := range e.Accepted {
		switch holds := !at.Before(f.From) && (f.Until.IsZero() || at.Before(f.Until)); {
		case !holds:
		case f.Attribute == "address":
			a.Address = f.Value
		case f.Attribute == "can":
			a.Can = append(a.Can, f.Value)
		}
	}
	slices.Sort(a.Can)
	return a
}

// handler serves GET /nodes/{id}?at=TIME, with entries from lookup.
func handler(lookup func(ctx context.Context, node string) (Entry, error)) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /nodes/{id}", func(w http.ResponseWriter, r *http.Request) {
		at, err := time.Parse(time.DateOnly, r.URL.Query().Get("at"))
		if err != nil {
			http.Error(w, "give a day: ?at=2026-02-10", http.StatusBadRequest)
			return
		}
		e, err := lookup(r.Context(), r.PathValue("id"))
		switch {
		case errors.Is(err, onto.NotFound):
			http.Error(w, "there is no such node", http.StatusNotFound)
		case err != nil:
			http.Error(w, "the directory cannot be read", http.StatusInternalServerError)
		default:
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(e.answer(at))
		}
	})
	return mux
}

// fromState looks entries up in the state.
func fromState(s *store.Store) func(context.Context, string) (Entry, error) {
	return func(ctx context.Context, node string) (Entry, error) { return store.Get[Entry](ctx, s.Now(), node) }
}

// fromReplay makes entries anew from the facts.
func fromReplay(s *store.Store) func(context.Context, string) (Entry, error) {
	return func(ctx context.Context, node string) (Entry, error) { return entries.At(ctx, s.Now(), node) }
}

func main() {
	path := "directory.db"
	if len(os.Args) > 1 {
		path = os.Args[1]
	}
	ctx := context.Background()
	s, err := open(ctx, path, entries)
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
	return store.OpenWith(ctx, db, &store.Options{Folds: []store.Folding{fold}}, onto.TypeOf[Announcement]())
}

// day is a day of 2026.
func day(month time.Month, d int) time.Time { return time.Date(2026, month, d, 0, 0, 0, 0, time.UTC) }

func run(ctx context.Context, s *store.Store) error {
	fact := func(node, attribute, value string, from, until time.Time) onto.Fact {
		return onto.Fact{Type: "Announcement", Subject: node, Attribute: attribute, ID: node + "-" + value, Value: value, From: from, Until: until}
	}
	relay := fact("north", "can", "relay", day(1, 1), day(12, 1))
	wrong := fact("south", "address", "203.0.113.9", day(1, 1), time.Time{})
	for _, d := range []onto.Draft{
		onto.Draft{Actor: onto.Remote("north")}.Assert(
			fact("north", "address", "192.0.2.1", day(1, 1), day(7, 1)),
			fact("north", "address", "192.0.2.2", day(7, 1), time.Time{}),
			fact("north", "can", "store", day(1, 1), time.Time{}),
			relay),
		onto.Draft{Actor: onto.Remote("south")}.Assert(wrong, fact("south", "address", "192.0.2.3", day(2, 1), time.Time{})),
		onto.Draft{Actor: onto.Remote("north"), Comment: "too much load"}.Revoke(relay.Identity(), day(9, 1), nil),
		onto.Draft{Actor: onto.Operator("ana"), Comment: "not signed"}.Retract(wrong.Identity()),
	} {
		if _, err := s.Commit(ctx, d); err != nil {
			return err
		}
	}
	h := handler(fromState(s))
	for _, question := range []string{"/nodes/north?at=2026-03-01", "/nodes/north?at=2026-10-01", "/nodes/south?at=2026-01-15", "/nodes/south?at=2026-03-01"} {
		fmt.Print(question, " ", ask(ctx, h, question))
	}
	return nil
}

// ask returns the answer of a handler.
func ask(ctx context.Context, h http.Handler, url string) string {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, url, nil))
	return w.Body.String()
}
