package work_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/work"
)

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// fileItem is a file of the test's directory.
func fileItem(name string) work.Item {
	return work.Item{System: "file", Source: "disk", Type: "list", ID: name, URI: "file:///" + name}
}

// Lines of a file become entities. The file is not read again until it changes.
func TestJSONLinesFromFiles(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	write(t, dir, "pages.jsonl", "\ufeff{\"url\":\"a\",\"title\":\"A\",\"text\":\"\"}\n\n{\"url\":\"b\",\"title\":\"B\",\"text\":\"\"}\n")
	write(t, dir, "bad.jsonl", "{\"url\":\"c\",\"title\":\"C\",\"text\":\"\"}\n{\"url\":\n")
	write(t, dir, "large.jsonl", strings.Repeat("{}\n", 1000))
	write(t, t.TempDir(), "outside", "{}")
	w.enqueue(fileItem("pages.jsonl"), fileItem("bad.jsonl"), fileItem("missing.jsonl"), fileItem("large.jsonl"), fileItem("../outside"), fileItem("sub"))
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o777); err != nil {
		t.Fatal(err)
	}
	r := &work.Runner{
		Queue: w.q, Connectors: map[string]work.Connector{"file": work.Files(dir, &work.FileOptions{MaxBytes: 1000})},
		Writers: []work.Writer{work.Ensure(w.s, func(r *work.Record) ([]any, error) {
			var list []any
			for line, err := range work.Lines(r) {
				if err != nil {
					return nil, err
				}
				list = append(list, onto.Entity{Type: "Page", Fields: line})
			}
			return list, nil
		})},
	}
	before := head(t, w.s)
	sum := w.run(r, nil)
	if commits := head(t, w.s) - before; commits != 1 || sum.Completed != 1 || sum.Failed != 5 {
		t.Errorf("%d commits, %+v", commits, sum)
	}
	w.says(w.expect("bad.jsonl", onto.WorkFailed, "failed").Error, "line 2", "not JSON")
	w.says(w.expect("missing.jsonl", onto.WorkFailed, "failed").Error, "missing.jsonl")
	w.says(w.expect("large.jsonl", onto.WorkFailed, "failed").Error, "more than 1000 bytes")
	w.expect("../outside", onto.WorkFailed, "failed")
	w.expect("sub", onto.WorkFailed, "failed")

	again := work.Revision{}
	again.Items.IDs = []string{w.state("pages.jsonl").ID}
	for _, c := range []struct {
		change func()
		same   int64
	}{
		{func() {}, 1},
		{func() {
			write(t, dir, "pages.jsonl", "{\"url\":\"a\",\"title\":\"A2\",\"text\":\"\"}\n")
		}, 0},
	} {
		c.change()
		if n, err := w.q.Recrawl(t.Context(), again); n != 1 || err != nil {
			t.Fatalf("got %d, %v", n, err)
		}
		if sum := w.run(r, nil); sum.Completed != 1 || sum.NotModified != c.same {
			t.Errorf("got %+v", sum)
		}
	}
	if commits := head(t, w.s) - before; commits != 2 {
		t.Errorf("got %d commits", commits)
	}
}

const (
	rss = `<?xml version="1.0" encoding="ISO-8859-1"?><rss version="2.0"><channel><title>News</title><link>https://example.org/</link>
		<item><title>Caf` + "\xe9" + `</title><link>/one</link><guid isPermaLink="false">g1</guid><pubDate>Mon, 02 Jan 2006 15:04:05 GMT</pubDate><description>first &amp; best</description></item>
		<item><title>Two</title><guid>https://example.org/two</guid></item></channel></rss>`
	atom = `<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title><link rel="self" href="https://example.org/feed"/><link href="https://example.org/"/>
		<entry><id>urn:1</id><title>One</title><link rel="alternate" href="https://example.org/one"/><updated>2026-01-02T03:04:05Z</updated><summary>s</summary></entry></feed>`
	rdf = `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><channel><title>Old</title></channel>
		<item rdf:about="https://example.org/x"><title>X</title><link>https://example.org/x</link></item></rdf:RDF>`
)

func TestFeeds(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{rss, `News https://example.org/|g1,Café,https://example.org/one,first & best,2006-01-02T15:04:05Z|https://example.org/two,Two,https://example.org/two,,0001-01-01T00:00:00Z`},
		{atom, `News https://example.org/|urn:1,One,https://example.org/one,s,2026-01-02T03:04:05Z`},
		{rdf, `Old |https://example.org/x,X,https://example.org/x,,0001-01-01T00:00:00Z`},
	} {
		f, err := work.ReadFeed(&work.Record{URL: "https://example.org/feed", Body: []byte(c.text)})
		if err != nil {
			t.Fatal(err)
		}
		got := []string{f.Title + " " + f.Link}
		for _, e := range f.Entries {
			at := e.Published
			if at.IsZero() {
				at = e.Updated
			}
			got = append(got, strings.Join([]string{e.ID, e.Title, e.Link, e.Summary, at.Format(time.RFC3339)}, ","))
		}
		if got := strings.Join(got, "|"); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	for _, text := range []string{"", "<html></html>", "<rss><channel>", `{"items":[]}`} {
		if _, err := work.ReadFeed(&work.Record{Body: []byte(text)}); onto.CodeOf(err) != onto.Invalid {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

// The entries of a feed in a file are discovered as pages to fetch.
func TestFeedsFromFiles(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	write(t, dir, "feed.xml", rss)
	w.enqueue(fileItem("feed.xml"))
	var pages []string
	r := &work.Runner{
		Queue: w.q, Discover: []work.Discovery{work.Entries("http", "page")},
		Connectors: map[string]work.Connector{
			"file": work.Files(dir, nil),
			"http": work.ConnectorFunc(func(_ context.Context, i *onto.WorkItem) (*work.Record, error) {
				pages = append(pages, i.URI+" "+i.Type)
				return &work.Record{}, nil
			}),
		},
	}
	sum := w.run(r, &work.RunOptions{Workers: 1})
	if want := []string{"https://example.org/one page", "https://example.org/two page"}; !slices.Equal(pages, want) || sum.Completed != 3 {
		t.Errorf("got %q, want %q; %+v", pages, want, sum)
	}
}

// Records become files, whatever their names are.
func TestDirectory(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	bodies := map[string]string{
		"plain": "text", "a/b": `{"b":1,"a":[2]}`, "../../etc/passwd": "\xff", "Case": "1", "case": "2", ".": "dot", "..": "dots",
		strings.Repeat("é", 200): "long", strings.Repeat("é", 199) + "e": "long, too", "empty": "",
	}
	for id := range bodies {
		w.enqueue(item(id))
	}
	r := w.connect(func(_ context.Context, i *onto.WorkItem) (*work.Record, error) {
		return &work.Record{Body: []byte(bodies[i.Resource]), ContentType: "text/plain"}, nil
	})
	r.Writers = []work.Writer{work.Directory(dir)}
	for range 2 {
		if sum := w.run(r, nil); sum.Completed != int64(len(bodies)) {
			t.Fatalf("got %+v", sum)
		}
		got := map[string]string{}
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			if rel, _ := filepath.Rel(dir, path); filepath.Dir(rel) != filepath.Join("site", "page") || filepath.Ext(rel) != ".json" || strings.HasPrefix(filepath.Base(rel), ".") {
				t.Errorf("there is a file %s", rel)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			var f work.File
			if err := json.Unmarshal(text, &f); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			switch {
			case f.Text != nil:
				got[f.ID] = *f.Text
			case f.JSON != nil:
				var m any
				_ = json.Unmarshal(f.JSON, &m)
				got[f.ID] = fmt.Sprint(m)
			default:
				got[f.ID] = string(f.Base64)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for id, body := range bodies {
			if want := map[string]string{"a/b": "map[a:[2] b:1]"}[id]; got[id] != body && got[id] != want {
				t.Errorf("%q: got %q, want %q", id, got[id], body)
			}
		}
		if len(got) != len(bodies) {
			t.Errorf("got %d files, want %d", len(got), len(bodies))
		}
		if _, err := w.q.Recrawl(t.Context(), work.Revision{All: true}); err != nil {
			t.Fatal(err)
		}
	}

	// A directory that is not there fails the items, and nothing is made.
	r.Writers = []work.Writer{work.Directory(filepath.Join(dir, "missing"))}
	if sum := w.run(r, &work.RunOptions{MaxAttempts: 1}); sum.Failed != int64(len(bodies)) {
		t.Errorf("got %+v", sum)
	}
	w.says(w.state("plain").Error, "missing", `source "site"`)
}

// Pages of an API are found by the link to the next one.
func TestJSONNext(t *testing.T) {
	w := newWorld(t)
	start := item("https://api.example.org/list")
	start.URI = start.ID
	w.enqueue(start)
	answers := map[string]string{
		"https://api.example.org/list":        `{"meta":{"next":"/list?page=2"},"next":"/wrong"}`,
		"https://api.example.org/list?page=2": `{"meta":{"next":"https://elsewhere.example.org/list?page=3"}}`,
	}
	next, err := work.JSONNext(nil, "$.meta.next")
	if err != nil {
		t.Fatal(err)
	}
	r := w.connect(func(_ context.Context, i *onto.WorkItem) (*work.Record, error) {
		return &work.Record{Body: []byte(answers[i.URI]), ContentType: "application/json; charset=utf-8"}, nil
	})
	r.Discover = []work.Discovery{next}
	if sum := w.run(r, nil); sum.Completed != 2 || sum.Failed != 0 {
		t.Errorf("got %+v", sum)
	}
	w.expect("https://api.example.org/list?page=2", onto.WorkCompleted, "completed")
	if _, err := work.JSONNext(nil, "$..["); onto.CodeOf(err) != onto.Invalid {
		t.Errorf("got %v", err)
	}
}
