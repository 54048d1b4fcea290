package document_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/store/records"
)

// TestDocuments fixes the names and order of members, and that absent values are null
// or an empty list: programs read them.
func TestDocuments(t *testing.T) {
	at := time.Date(2026, 2, 10, 12, 34, 56, 0, time.UTC)
	first := onto.Commit{ID: 1, Time: at, Operations: 2}
	second := onto.Commit{ID: 2, Time: at, Runtime: "r", Actor: onto.Operator("ana"), Comment: "<why>", Causation: 1, Metadata: map[string]any{"k": "v"}}
	ada := onto.Version{Identity: onto.EntityID("Customer", "c1"), Op: onto.Put, Fields: json.RawMessage(`{"id":"c1"}`), Commit: 1}
	link := onto.Version{Identity: onto.RelationID("Subscription", "c1", "p1"), Op: onto.Put, Fields: json.RawMessage(`{}`), Commit: 2}
	raise := onto.Fact{Type: "Contract", Subject: "ada", Attribute: "pay rate", ID: "f1", Value: map[string]any{"b": 2.5, "a": "<1>"}, From: at, Asserted: 1, Commit: 2, Revoked: true}
	pay := onto.Version{Identity: onto.FactID("Contract", "ada", "salary", "f1"), Op: onto.Put, Fields: json.RawMessage(`{"salary":4000}`), Commit: 1}
	for _, c := range []struct {
		name string
		doc  any
		want string
	}{
		{"commit", document.NewCommit(first),
			`{"commit_id":1,"created_at":"2026-02-10T12:34:56.000000+00:00","runtime_id":null,"actor":null,"comment":null,"operations":2,"metadata":{},"correlation_id":null,"causation_id":null,"signature_ref":null}`},
		{"examined commit", document.NewExamined(second),
			`{"commit_id":2,"created_at":"2026-02-10T12:34:56.000000+00:00","runtime_id":"r","actor":"operator:ana","comment":"<why>","operations":0,"metadata":{"k":"v"},` +
				`"correlation_id":null,"causation_id":1,"signature_ref":null,"idempotency_key":null,"changes":[],"events":[],"events_removed":0}`},
		{"empty store", document.NewHead(onto.Commit{}), `{"commit_id":0,"created_at":null}`},
		{"info", document.NewInfo(backend.Info{Backend: "sqlite", Types: []backend.TypeInfo{{Kind: onto.KindEntity, Name: "T", Version: 1}}}, first, true),
			`{"backend":"sqlite","location":"","format":0,"store_id":"","head":{"commit_id":1,"created_at":"2026-02-10T12:34:56.000000+00:00"},"bytes":0,` +
				`"types":[{"kind":"entity","type":"T","schema_version_id":1,"live":0,"versions":0}],"warnings":[]}`},
		{"no change", document.NewResult(onto.Result{At: 7}), `{"commit_id":null,"changed":false,"operations":0,"repeated":false,"at_commit_id":7}`},
		{"version", document.NewVersion(ada), `{"type":"Customer","key":"c1","fields":{"id":"c1"},"commit_id":1}`},
		{"past version", document.NewPast(store.Entry{Version: link, Commit: onto.Commit{ID: 2, Time: at, Actor: onto.Operator("ana")}}),
			`{"type":"Subscription","left_key":"c1","right_key":"p1","instance_key":"","fields":{},"commit_id":2,"op":"put","created_at":"2026-02-10T12:34:56.000000+00:00","actor":"operator:ana"}`},
		{"past version of a fact", document.NewPast(store.Entry{Version: pay, Commit: onto.Commit{ID: 1, Time: at}}),
			`{"type":"Contract","subject":"ada","attribute":"salary","fact_id":"f1","fields":{"salary":4000},"commit_id":1,"op":"put","created_at":"2026-02-10T12:34:56.000000+00:00","actor":null}`},
		{"fact", document.NewFact(raise),
			`{"type":"Contract","subject":"ada","attribute":"pay rate","fact_id":"f1","value":{"a":"<1>","b":2.5},"valid_from":"2026-02-10T12:34:56.000000+00:00","valid_until":null,` +
				`"fact_kind":null,"asserted":1,"commit_id":2,"revoked":true,"ref":"Contract/ada/pay%20rate/f1"}`},
		{"segment", document.NewSegment("Contract", store.Segment{Subject: "ada", Attribute: "pay rate", Until: at, Fact: raise}),
			`{"type":"Contract","subject":"ada","attribute":"pay rate","valid_from":null,"valid_until":"2026-02-10T12:34:56.000000+00:00","gap":false,"value":{"a":"<1>","b":2.5},` +
				`"fact_id":"f1","fact_kind":null,"asserted":1,"commit_id":2,"ref":"Contract/ada/pay%20rate/f1"}`},
		{"gap", document.NewSegment("Contract", store.Segment{Subject: "ada", Attribute: "salary", Gap: true}),
			`{"type":"Contract","subject":"ada","attribute":"salary","valid_from":null,"valid_until":null,"gap":true,"value":null,"fact_id":null,"fact_kind":null,"asserted":null,"commit_id":null,"ref":null}`},
		{"fold", document.NewFold(store.FoldStatus{Name: "f", Facts: "F", State: "S", Version: 2, Behind: 7, Lag: 3, Unable: "no", Err: errors.New("disk on fire")}),
			`{"name":"f","facts":"F","state":"S","version":2,"program":null,"folded_commit_id":7,"lag":3,"rebuilding":false,"rebuilt":0,"unable":"no","error":"disk on fire"}`},
		{"difference", document.NewDifference(onto.Change{Identity: ada.Identity, Before: &ada}),
			`{"kind":"entity","type":"Customer","key":"c1","operation":"delete","before":{"id":"c1"},"after":null,"commit_id":null}`},
		{"revert", document.NewReverted(store.RevertChange{Identity: ada.Identity, Then: &ada}),
			`{"kind":"entity","type":"Customer","key":"c1","operation":"insert","before":null,"after":{"id":"c1"},"blocked_by":[]}`},
		{"entry", document.NewEntry(store.Entry{Version: ada, Commit: first}),
			`{"type":"Customer","key":"c1","op":"put","commit_id":1,"created_at":"2026-02-10T12:34:56.000000+00:00","actor":null,"comment":null,"fields":{"id":"c1"}}`},
		{"group", document.Group{Names: []string{"$.b", "count"}, Values: []json.RawMessage{nil, json.RawMessage("3")}}, `{"$.b":null,"count":3}`},
		{"drop", document.NewDropped(onto.Result{}, &store.DropPlan{Token: "t"}),
			`{"commit_id":null,"changed":false,"operations":0,"repeated":false,"at_commit_id":0,"head_commit_id":0,"types":[],"dependents":[],"purge_history":false,"token":"t"}`},
		{"lease", document.NewLease(onto.Lease{Name: "write", Owner: "o", Epoch: 1}, "held"),
			`{"name":"write","owner":"o","epoch":1,"acquired_at":null,"expires_at":null,"purpose":null,"note":null,"state":"held"}`},
		{"import", document.NewImport(&records.Outcome{Records: 1, Conflicts: 1, First: []records.Conflict{{Line: 7, Identity: ada.Identity, Reason: "r"}}}, true),
			`{"dry_run":true,"records":1,"inserts":0,"updates":0,"unchanged":0,"deletes":0,"skipped":0,"conflicts":1,"repeated":0,"untracked":0,"rejected":0,"emptied":0,"commit_id":null,` +
				`"first_conflicts":[{"line":7,"kind":"entity","type":"Customer","key":"c1","reason":"r"}],"first_rejected":[]}`},
		{"error", document.NewReport(onto.Errorf(onto.NotFound, "a < b"), onto.NewHint("look")), `{"code":"not_found","message":"a < b","hint":"look"}`},
		{"error with a command", document.NewReport(onto.Errorf(onto.NotFound, "gone"), onto.NewHint("look", "log", "T", "a b")),
			`{"code":"not_found","message":"gone","hint":"look: onto log T 'a b'","command":["onto","log","T","a b"]}`},
		{"finding", document.NewFinding(onto.Finding{Code: "c", Severity: onto.SeverityError, Message: "m"}, onto.NewHint("mend it", "doctor")),
			`{"code":"c","severity":"error","message":"m","remedy":"mend it: onto doctor","command":["onto","doctor"]}`},
	} {
		got, err := document.Encode(c.doc)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: got\n%s, %v, want\n%s", c.name, got, err, c.want)
		}
	}
}

func TestCodesOfErrors(t *testing.T) {
	for _, c := range []struct {
		err     error
		code    onto.Code
		message string
	}{
		{errors.New("disk on fire"), document.General, "disk on fire"},
		{fmt.Errorf("read: %w", context.Canceled), document.Interrupted, "interrupted"},
		{fmt.Errorf("outer: %w", onto.Errorf(onto.Full, "no room")), onto.Full, "outer: no room"},
		{errors.Join(onto.Errorf(onto.Corrupt, "the one"), errors.New("the other")), onto.Corrupt, "the one; the other"},
	} {
		if code, message := document.CodeOf(c.err), document.Message(c.err); code != c.code || message != c.message {
			t.Errorf("%v: got %s, %q, want %s, %q", c.err, code, message, c.code, c.message)
		}
	}
}
