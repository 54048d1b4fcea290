package work_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/work"
)

// A queue that is exported and imported has the same items and lineage; what was finished
// is not fetched again.
func TestCSV(t *testing.T) {
	w := newWorld(t)
	odd := item("odd, \"quoted\"\u2028")
	odd.Headers, odd.Metadata, odd.Body, odd.Priority = map[string]string{"A": "b"}, map[string]any{"n": 1}, "line\nline", -5
	odd.Run, odd.Scope = "r", work.ScopeRun
	w.enqueue(item("root"), item("fails"), odd)
	r := w.connect(func(_ context.Context, i *onto.WorkItem) (*work.Record, error) {
		if i.Resource == "fails" {
			return nil, work.Permanent(errors.New("no\nway"))
		}
		return &work.Record{}, nil
	})
	r.Discover = []work.Discovery{work.DiscoveryFunc(func(_ context.Context, rec *work.Record) ([]work.Item, error) {
		if rec.Item.Resource != "root" {
			return nil, nil
		}
		return []work.Item{{ID: "child", URI: "test://site/child"}}, nil
	})}
	w.run(r, &work.RunOptions{MaxItems: 3, Workers: 1, Run: "x"})

	var file bytes.Buffer
	rows, err := w.q.ExportCSV(t.Context(), &file, nil)
	if err != nil || rows != 4 {
		t.Fatalf("got %d rows, %v", rows, err)
	}
	if n, err := w.q.ExportCSV(t.Context(), &bytes.Buffer{}, &backend.WorkQuery{Status: []onto.WorkStatus{onto.WorkPending}}); n != 1 || err != nil {
		t.Errorf("got %d rows, %v", n, err)
	}

	v := newWorld(t)
	by := &work.ImportOptions{Rows: 4, By: onto.Operator("ana")}
	for _, want := range []work.Imported{{Rows: 4, Fresh: 4, Done: 3}, {Rows: 4, Known: 4}} {
		if got, err := v.q.ImportCSV(t.Context(), bytes.NewReader(file.Bytes()), by); err != nil || got != want {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
	if got, want := v.tree(""), w.tree(""); got != want {
		t.Errorf("got the tree\n%swant\n%s", got, want)
	}
	for _, id := range []string{"root", "fails", odd.ID, "child"} {
		a, b := v.state(id), w.state(id)
		if a.ID != b.ID || a.Key != b.Key || a.Priority != b.Priority || a.Parent != b.Parent || a.Depth != b.Depth || string(a.Metadata) != string(b.Metadata) ||
			string(a.Headers) != string(b.Headers) || a.Body != b.Body || a.URI != b.URI || a.Method != b.Method || a.Run != b.Run {
			t.Errorf("got  %+v\nwant %+v", a, b)
		}
	}
	v.says(v.expect("fails", onto.WorkSkipped, "skipped").Error, "imported as failed: no way")
	v.expect("root", onto.WorkSkipped, "skipped")
	if sum := v.run(v.connect(fetched), nil); sum.Completed != 1 {
		t.Errorf("got %+v", sum)
	}
	v.expect("child", onto.WorkCompleted, "completed")

	// Into a queue that has the ids for something else.
	u := newWorld(t)
	taken := w.state("root").WorkItem
	taken.Key, taken.Resource, taken.NotBefore = "another", "another", taken.Created
	if _, err := u.m.full.Enqueue(t.Context(), []onto.WorkItem{taken}); err != nil {
		t.Fatal(err)
	}
	if got, err := u.q.ImportCSV(t.Context(), bytes.NewReader(file.Bytes()), by); err != nil || got.Fresh != 4 {
		t.Errorf("got %+v, %v", got, err)
	}
	if root, child := u.state("root"), u.state("child"); root.ID == taken.ID || child.Parent != root.ID {
		t.Errorf("got %+v and %+v", root, child)
	}
}

// A file that is not well formed changes nothing.
func TestCSVThatIsRefused(t *testing.T) {
	w := newWorld(t)
	const header = "work_item_id,source_system,source_name,resource_type,resource_id,request_uri,request_method,request_headers,request_body,metadata,priority,status,attempt,run_id,discovered_from,created_at,updated_at,error_message,dedupe_key\n"
	row := func(n int, change ...string) string {
		text := fmt.Sprintf(`%d,mediawiki,wikipedia,page,Star_Wars,https://en.wikipedia.org/w/api.php,GET,,,"{""seed"": true}",10,pending,0,,,2026-01-01T00:00:00,2026-01-01T00:00:00,,mediawiki:wikipedia:page:Star_Wars`, n)
		return strings.NewReplacer(change...).Replace(text) + "\n"
	}
	for name, c := range map[string]struct{ file, says string }{
		"a column is missing": {strings.Replace(header, "priority,", "", 1), "no column priority"},
		"count":               {header + row(1), "2 were expected"},
		"uri":                 {header + row(1) + row(2, "https://en.wikipedia.org/w/api.php", "api.php"), "line 3"},
		"metadata":            {header + row(1) + row(2, `""seed"": true`, "seed"), "metadata"},
		"headers":             {header + row(1) + row(2, "GET,,", `GET,"{""A"":1}",`), "request_headers"},
		"priority":            {header + row(1) + row(2, ",10,", ",ten,"), "priority"},
		"status":              {header + row(1) + row(2, "pending", "done"), `"done" is not a status`},
		"twice":               {header + row(1) + row(1), "comes twice"},
		"not CSV":             {header + row(1) + "\"", "line 3"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.q.ImportCSV(t.Context(), strings.NewReader(c.file), &work.ImportOptions{Rows: 2})
			if text := code(t, err, onto.Invalid); !strings.Contains(text, c.says) {
				t.Errorf("got %q, want something about %q", text, c.says)
			}
		})
	}
	for i, err := range w.q.Items(t.Context(), nil) {
		t.Errorf("got %+v, %v", i, err)
	}
	if did, err := w.q.ImportCSV(t.Context(), strings.NewReader(header+row(1)), nil); err != nil || did.Fresh != 1 {
		t.Errorf("got %+v, %v", did, err)
	}
	if again := w.enqueue(work.Item{System: "mediawiki", Source: "wikipedia", Type: "page", ID: "Star_Wars", URI: "https://x.org/"}); again[0] {
		t.Error("it is not known by its key")
	}
}
