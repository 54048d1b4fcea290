package document_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/document"
)

func TestEventDocuments(t *testing.T) {
	at := time.Date(2026, 2, 10, 12, 34, 56, 0, time.UTC)
	const when = `"2026-02-10T12:34:56.000000+00:00"`
	first := onto.Event{ID: "e1", Namespace: "shop", Type: "OrderPaid", Payload: json.RawMessage(`{"a":"<"}`), Priority: 100, Time: at, Root: "e1"}
	const firstText = `"id":"e1","namespace":"shop","type":"OrderPaid","payload":{"a":"<"},"created_at":` + when + `,"priority":100,"ordering_key":null,"not_before":null,` +
		`"root_event_id":"e1","chain_depth":0,"parent_event_id":null,"replay_of":null,"commit_id":null`
	full := onto.Event{
		ID: "e2", Namespace: "shop", Type: "T", Payload: json.RawMessage(`not JSON`), Priority: -1, Time: at, OrderingKey: "k", NotBefore: at,
		Root: "e1", Depth: 1, Parent: "e1", ReplayOf: "e0", Commit: 7,
	}
	letter := onto.DeadLetter{ID: 3, Event: first, Handler: "mail", Time: at, Attempts: 2, Deliveries: 4, Error: "no"}
	const letterText = `{"id":3,"event_id":"e1","handler_id":"mail","namespace":"shop","event_type":"OrderPaid","event_payload":{"a":"<"},"failed_at":` + when +
		`,"attempts":2,"deliveries":4,"last_error":"no","root_event_id":"e1","chain_depth":0,`
	resolved := letter
	resolved.Resolution = onto.Resolution{Kind: onto.Replayed, Time: at, By: onto.Operator("ana"), Replay: "e9"}
	draft := onto.Draft{}.Emit(1, 2)
	for _, c := range []struct {
		name string
		doc  any
		want string
	}{
		{"event", document.NewEvent(first), `{` + firstText + `}`},
		{"a damaged event", document.NewEvent(full), `{"id":"e2","namespace":"shop","type":"T","payload":"not JSON","created_at":` + when +
			`,"priority":-1,"ordering_key":"k","not_before":` + when + `,"root_event_id":"e1","chain_depth":1,"parent_event_id":"e1","replay_of":"e0","commit_id":7}`},
		{"state", document.NewEventState(backend.EventState{Event: first, Status: onto.EventAcked}), `{` + firstText + `,"status":"acked"}`},
		{"inspected, never claimed", document.NewInspectedEvent(backend.EventState{Event: first, Status: onto.EventPending}), `{` + firstText + `,"status":"pending","claims":[]}`},
		{"inspected", document.NewInspectedEvent(backend.EventState{Event: first, Status: onto.EventClaimed, Claims: []onto.ClaimState{
			{Handler: "mail", Session: "s", Claimed: at, Until: at, Available: at, Attempts: 1, Deliveries: 2, Error: "no"},
		}}), `{` + firstText + `,"status":"claimed","claims":[{"handler_id":"mail","session_id":"s","claimed_at":` + when + `,"lease_until":` + when +
			`,"available_at":` + when + `,"ack_at":null,"dead_lettered_at":null,"attempts":1,"deliveries":2,"last_error":"no"}]}`},
		{"dead letter", document.NewDeadLetter(letter), letterText + `"resolution":null,"resolved_at":null,"resolved_by":null,"replay_event_id":null}`},
		{"resolved dead letter", document.NewDeadLetter(resolved), letterText + `"resolution":"replayed","resolved_at":` + when + `,"resolved_by":"operator:ana","replay_event_id":"e9"}`},
		{"namespace", document.NewNamespace(backend.Namespace{Name: "shop", Events: 3, DeadLetters: 1, Sessions: make([]onto.Session, 2)}),
			`{"namespace":"shop","events":3,"sessions":2,"dead_letters":1}`},
		{"session", document.NewSession(onto.Session{ID: "s", Namespace: "shop", Started: at, Beat: at}, true),
			`{"session_id":"s","namespace":"shop","started_at":` + when + `,"last_heartbeat":` + when + `,"is_dead":true,"metadata":null}`},
		{"replayed", document.NewReplayed(full), `{"replayed_event_id":"e0","new_event_id":"e2","namespace":"shop"}`},
		{"position", document.NewPosition(onto.Position{Name: "mirror", Commit: 7}), `{"name":"mirror","commit_id":7}`},
		{"nothing is removed", document.NewCleanup(&backend.Cleaning{Namespace: "shop", Before: at}, backend.CleanPlan{}),
			`{"namespace":"shop","created_before":` + when + `,"events":0,"claims":0,"bytes":0,"kept":0,"types":[],"applied":false}`},
		{"emitted", document.Emitted(draft, onto.Result{Commit: onto.Commit{ID: 1}}), `2`},
		{"not emitted", document.Emitted(draft, onto.Result{}), `0`},
		{"emitted before", document.Emitted(draft, onto.Result{Commit: onto.Commit{ID: 1}, Repeated: true}), `0`},
		{"nothing to emit", document.Emitted(onto.Draft{}, onto.Result{}), `null`},
	} {
		got, err := document.Encode(c.doc)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: got\n%s, %v, want\n%s", c.name, got, err, c.want)
		}
	}
}
