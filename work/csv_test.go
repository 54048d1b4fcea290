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

// A queue that is exported and imported has the same items and lineage, and is exported as
// the same bytes; what was finished is not fetched again.
func TestCSV(t *testing.T) {
	w := newWorld(t)
	odd := item("odd, \"quoted\"\u2028")
	odd.Headers, odd.Metadata, odd.Body, odd.Priority = map[string]string{"A": "b"}, map[string]any{"n": 1}, "line\nline", new(-5)
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
	for _, want := range []string{"4 items: 4 new, 0 known", "4 items: 0 new, 4 known"} {
		if got, err := v.q.Import(t.Context(), work.ReadCSV(bytes.NewReader(file.Bytes())), &work.ImportOptions{Rows: 4}); err != nil || showImport(got) != want {
			t.Errorf("got %s, %v, want %s", showImport(got), err, want)
		}
	}
	if got, want := v.tree(""), w.tree(""); got != want {
		t.Errorf("got the tree\n%swant\n%s", got, want)
	}
	var again bytes.Buffer
	if _, err := v.q.ExportCSV(t.Context(), &again, nil); err != nil || again.String() != file.String() {
		t.Errorf("got\n%s\nwant\n%s\nerror %v", &again, &file, err)
	}
	v.says(v.expect("fails", onto.WorkFailed, "").Error, "no")
	if sum := v.run(v.connect(fetched), nil); sum.Completed != 1 {
		t.Errorf("got %+v", sum)
	}
	v.expect("child", onto.WorkCompleted, "completed")

	// Into a queue that has the ids for something else, and an item under another id.
	u := newWorld(t)
	u.enqueue(item("fails"))
	taken := w.state("root").WorkItem
	taken.Key, taken.Resource, taken.NotBefore = "another", "another", taken.Created
	if _, err := u.m.full.Enqueue(t.Context(), []onto.WorkItem{taken}); err != nil {
		t.Fatal(err)
	}
	if got, err := u.q.Import(t.Context(), work.ReadCSV(bytes.NewReader(file.Bytes())), nil); err != nil || showImport(got) != "4 items: 3 new, 1 known, 1 renamed" {
		t.Errorf("got %s, %v", showImport(got), err)
	}
	if root, child := u.state("root"), u.state("child"); root.ID == taken.ID || child.Parent != root.ID {
		t.Errorf("got %+v and %+v", root, child)
	}
}

// showImport shows the counts of an import that are not zero.
func showImport(d work.Imported) string {
	text := fmt.Sprintf("%d items: %d new, %d known", d.Items, d.New, d.Known)
	for _, c := range []struct {
		n    int64
		what string
	}{{d.Released, "released"}, {d.Counted, "counted"}, {d.Renamed, "renamed"}, {d.Runs, "runs"}, {d.Refused, "refused"}} {
		if c.n > 0 {
			text += fmt.Sprintf(", %d %s", c.n, c.what)
		}
	}
	return text
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
		"twice":               {header + row(1) + row(1), `the item "1" comes twice`},
		"a key twice":         {header + row(1) + row(2), `the dedupe key "mediawiki:wikipedia:page:Star_Wars" comes twice`},
		"no key":              {header + row(1) + row(2, ",mediawiki:wikipedia:page:Star_Wars", `,""`), "dedupe_key is missing"},
		"a bad key":           {header + row(1) + row(2, ":page:", ":\x07:"), "is no key of an item"},
		"attempts":            {header + row(1) + row(2, "pending,0", "pending,-1"), "attempt: -1"},
		"a time":              {header + row(1) + row(2, "2026-01-01T00:00:00", "soon"), "created_at"},
		"not CSV":             {header + row(1) + "\"", "line 3"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.q.Import(t.Context(), work.ReadCSV(strings.NewReader(c.file)), &work.ImportOptions{Rows: 2})
			if text := code(t, err, onto.Invalid); !strings.Contains(text, c.says) {
				t.Errorf("got %q, want something about %q", text, c.says)
			}
		})
	}
	for i, err := range w.q.Items(t.Context(), nil) {
		t.Errorf("got %+v, %v", i, err)
	}
	if did, err := w.q.Import(t.Context(), work.ReadCSV(strings.NewReader(header+row(1))), nil); err != nil || did.New != 1 {
		t.Errorf("got %+v, %v", did, err)
	}
	if again := w.enqueue(work.Item{System: "mediawiki", Source: "wikipedia", Type: "page", ID: "Star_Wars", URI: "https://x.org/"}); again[0] {
		t.Error("it is not known by its key")
	}
}
