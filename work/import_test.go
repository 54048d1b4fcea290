package work_test

import (
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/work"
)

// A line of JSON has what an item was, and the attempts at it.
const lines = `{"work_item_id":"1","source_system":"test","source_name":"en:wiki","resource_type":"page","resource_id":"a","request_uri":"test://a","request_method":"GET","request_headers":{"a":"b"},"request_body":null,"metadata":{"n":1234567890123456789},"priority":7,"status":"failed","attempt":3,"run_id":"r","discovered_from":null,"depth":2,"created_at":"2026-01-01 00:00:00","updated_at":"2026-01-01T00:00:09Z","not_before":null,"lease_owner":null,"lease_until":null,"error_message":"no\nway","dedupe_key":"test:en:wiki:page:a","onto_revised":1,"attempts":[{"number":2,"worker":"w","started_at":"2026-01-01T00:00:01Z","finished_at":"2026-01-01T00:00:02Z","status":"lost","diagnostic":null},{"number":3,"worker":"w","started_at":"2026-01-01T00:00:08Z","finished_at":"2026-01-01T00:00:09Z","status":"failed","error":"no\nway","failure_class":"status","diagnostic":{"status":500}}]}
{"work_item_id":"2","source_system":"test","source_name":"site","resource_type":"page","resource_id":"b","request_uri":"test://b","request_method":"GET","request_headers":null,"request_body":null,"metadata":null,"priority":100,"status":"in_progress","attempt":1,"run_id":null,"discovered_from":"1","created_at":"2026-01-01T00:00:01Z","updated_at":"2026-01-01T00:00:09Z","error_message":null,"dedupe_key":"test:site:page:b","lease_owner":"w","lease_until":"2026-01-01T00:01:09Z","attempts":[{"number":1,"worker":"w","started_at":"2026-01-01T00:00:09Z","status":"running"}]}
{"work_item_id":"3","source_system":"test","source_name":"site","resource_type":"page","resource_id":"c","request_uri":"test://c","request_method":"GET","request_headers":null,"request_body":null,"metadata":null,"priority":100,"status":"completed","attempt":2,"run_id":null,"discovered_from":"2","created_at":"2026-01-01T00:00:02Z","updated_at":"2026-01-01T00:00:09Z","error_message":null,"dedupe_key":"test:site:page:c","attempts":[{"number":2,"worker":"w","started_at":"2026-01-01T00:00:08Z","finished_at":"2026-01-01T00:00:09Z","status":"failed","error":"no"}]}
`

// Items keep what they were; those in progress are pending, and attempts that contradict
// their item are only counted.
func TestImportOfLines(t *testing.T) {
	w := newWorld(t)
	began := time.Now().Add(-time.Second)
	const want = "3 items: 3 new, 0 known, 1 released, 1 counted, 1 runs"
	o := &work.ImportOptions{Rows: 3, Runs: []onto.WorkRun{{ID: "r", Started: began, Status: "finished", Options: []byte(`{"b": 1, "a": 2}`)}}}
	plan, err := w.q.PlanImport(t.Context(), work.ReadLines(strings.NewReader(lines)), o)
	if err != nil || showImport(plan) != want {
		t.Fatalf("got %s, %v, want %s", showImport(plan), err, want)
	}
	if list := items(w); len(list) != 0 {
		t.Errorf("a plan has added %v", list)
	}
	did, err := w.q.Import(t.Context(), work.ReadLines(strings.NewReader(lines)), o)
	if err != nil || showImport(did) != want || did.ByStatus[onto.WorkPending] != 1 || did.ByStatus[onto.WorkFailed] != 1 || did.ByStatus[onto.WorkCompleted] != 1 {
		t.Fatalf("got %s, %v, want %s", showImport(did), err, want)
	}
	a, b, c := w.state("a"), w.state("b"), w.state("c")
	if a.Status != onto.WorkFailed || a.Attempt != 3 || a.Revised != 1 || a.Error != "no\nway" || a.Key != "test:en:wiki:page:a" || a.Depth != 2 || a.Run != "r" ||
		string(a.Metadata) != `{"n":1234567890123456789}` || !a.Created.Equal(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) || len(a.Attempts) != 2 ||
		a.Attempts[1].ID != "1:3" || string(a.Attempts[1].Diagnostic) != `{"status":500}` {
		t.Errorf("got %+v", a)
	}
	if b.Status != onto.WorkPending || b.Attempt != 1 || b.Parent != "1" || b.Owner != "" || !b.Until.IsZero() || b.Updated.Before(began) ||
		b.Attempts[0].Status != onto.AttemptLost || !b.Attempts[0].Finished.Equal(b.Updated) {
		t.Errorf("got %+v", b)
	}
	if c.Status != onto.WorkCompleted || c.Attempt != 2 || len(c.Attempts) != 0 {
		t.Errorf("got %+v", c)
	}
	runs, err := w.q.Runs(t.Context())
	if err != nil || len(runs) != 1 || string(runs[0].Options) != `{"a":2,"b":1}` {
		t.Errorf("got %+v, %v", runs, err)
	}
	if did, err = w.q.Import(t.Context(), work.ReadLines(strings.NewReader(lines)), o); err != nil || showImport(did) != "3 items: 0 new, 3 known" {
		t.Errorf("again: got %s, %v", showImport(did), err)
	}
	same := work.Item{System: "test", Source: "en:wiki", Type: "page", ID: "a", URI: "test://a"} // with a key of this program
	if fresh := w.enqueue(same); fresh[0] {
		t.Error("an item that was imported is not known by its resource")
	}
	if s, err := w.q.Find(t.Context(), same); err != nil || s.ID != "1" || s.Key != a.Key {
		t.Errorf("got %+v, %v", s, err)
	}
	same.ID = "nothing"
	_, err = w.q.Find(t.Context(), same)
	code(t, err, onto.NotFound)
	if sum := w.run(w.connect(fetched), nil); sum.Completed != 1 {
		t.Errorf("got %+v", sum)
	}
	w.expect("b", onto.WorkCompleted, "lost completed")
}

func items(w *world) (list []string) {
	for i, err := range w.q.Items(w.Context(), &backend.WorkQuery{}) {
		if err != nil {
			w.Fatal(err)
		}
		list = append(list, i.ID)
	}
	return list
}

// Lines that are none of an item are refused by name, and nothing is added.
func TestLinesThatAreRefused(t *testing.T) {
	first, _, _ := strings.Cut(lines, "\n")
	for name, c := range map[string]struct{ change, into, says string }{
		"no JSON":            {`{"work_item_id"`, `{work_item_id`, "line 2: this is no JSON object"},
		"a column":           {`"depth"`, `"dept"`, `line 2: "dept" is no column`},
		"a missing column":   {`"dedupe_key":"test:en:wiki:page:a",`, ``, "the item has no dedupe_key"},
		"a list":             {`{"a":"b"}`, `[1]`, "request_headers cannot be a list"},
		"a header":           {`{"a":"b"}`, `{"a":1}`, "request_headers: a value is no text"},
		"a status":           {`"status":"failed","attempt"`, `"status":"done","attempt"`, `line 2: status: "done" is not a status`},
		"revised":            {`"onto_revised":1`, `"onto_revised":4`, "more than the 3 attempts"},
		"a fraction":         {`"priority":7`, `"priority":7.5`, "priority"},
		"a time":             {"2026-01-01 00:00:00", "yesterday", "created_at"},
		"a time of attempts": {"2026-01-01T00:00:08Z", "yesterday", "attempts"},
		"nothing":            {"nothing", "nothing", `the item "1" comes twice`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			_, err := w.q.Import(t.Context(), work.ReadLines(strings.NewReader(first+"\n"+strings.Replace(first, c.change, c.into, 1)+"\n")), nil)
			if text := code(t, err, onto.Invalid); !strings.Contains(text, c.says) {
				t.Errorf("got %q, want something about %q", text, c.says)
			}
			if list := items(w); len(list) != 0 {
				t.Errorf("it has added %v", list)
			}
		})
	}
}

// An import that was interrupted is repeated, and the items that it had renamed stay the same.
func TestImportInTwoSteps(t *testing.T) {
	w := newWorld(t)
	w.enqueue(item("other"))
	taken := w.state("other").ID
	var file strings.Builder
	for n := range 1500 {
		id, parent := fmt.Sprint(n), fmt.Sprint(n/2)
		if n == 5 {
			id = taken
		} else if n/2 == 5 {
			parent = taken
		}
		fmt.Fprintf(&file, `{"work_item_id":%q,"source_system":"test","source_name":"site","resource_type":"page","resource_id":"%d","request_uri":"test://x","request_method":"GET",`+
			`"request_headers":null,"request_body":null,"metadata":null,"priority":%d,"status":"completed","attempt":2,"run_id":null,"discovered_from":%q,"created_at":"2026-01-01T00:00:00Z",`+
			`"updated_at":"2026-01-01T00:00:09Z","error_message":null,"dedupe_key":"test:site:page:%d"}`+"\n", id, n, 2000-n, parent, n)
	}
	calls := 0
	w.m.bring = func() error {
		if calls++; calls == 2 {
			return onto.Errorf(onto.Full, "planted")
		}
		return nil
	}
	read := func() iter.Seq2[work.ImportItem, error] { return work.ReadLines(strings.NewReader(file.String())) }
	did, err := w.q.Import(t.Context(), read(), nil)
	if onto.CodeOf(err) != onto.Full || showImport(did) != "1000 items: 1000 new, 0 known, 1 renamed" {
		t.Fatalf("got %s, error %v", showImport(did), err)
	}
	five := w.state("5").ID
	if did, err = w.q.Import(t.Context(), read(), nil); err != nil || showImport(did) != "1500 items: 500 new, 1000 known" {
		t.Fatalf("got %s, error %v", showImport(did), err)
	}
	if five == taken || w.state("5").ID != five || w.state("10").Parent != five || w.state("11").Parent != five || w.state("other").ID != taken {
		t.Errorf("got %s, and %s with the parent %s", five, w.state("10").ID, w.state("10").Parent)
	}
}
