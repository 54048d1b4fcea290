package work_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/work"
)

// Which links are followed, and how the items are named.
func TestLinkOptions(t *testing.T) {
	const page = `<a href="b?y=1&x=2&utm_source=z">b</a> <a href="https://www.example.org/w">w</a> <a href="https://other.example/o">o</a>
		<a rel="nofollow" href="/n">n</a> <a href="javascript:x()">x</a> <a href="https://example.org:443/a/#self">self</a>`
	record := func(id string, depth int) *work.Record {
		return &work.Record{
			Item: &onto.WorkItem{System: "http", Source: "docs", Type: "page", Resource: id, URI: "https://example.org/a/", Depth: depth},
			URL:  "https://example.org/a/", ContentType: "text/html", Body: []byte(page),
		}
	}
	const b = "https://example.org/a/b?y=1&x=2&utm_source=z"
	byURL, byPath := record("first", 0), record("/a/", 0)
	quiet := record("first", 0)
	quiet.Header = http.Header{"X-Robots-Tag": {"noindex, nofollow"}}
	plain := record("first", 0)
	plain.ContentType = "text/plain"
	moved := record("first", 0)
	moved.URL = "https://www.example.org/w"
	movedDeep := record("first", 1)
	movedDeep.URL = "https://www.example.org/w"
	for name, c := range map[string]struct {
		o    *work.LinkOptions
		r    *work.Record
		want []string
	}{
		"the same host":            {nil, byURL, []string{b}},
		"by path":                  {nil, byPath, []string{"/a/b?y=1&x=2&utm_source=z"}},
		"any host":                 {&work.LinkOptions{AnyHost: true}, byPath, []string{"/a/b?y=1&x=2&utm_source=z", "https://www.example.org/w", "https://other.example/o"}},
		"domains":                  {&work.LinkOptions{Domains: []string{"example.org"}}, byURL, []string{b, "https://www.example.org/w"}},
		"nofollow":                 {&work.LinkOptions{NoFollow: true}, byURL, []string{b, "https://example.org/n"}},
		"header":                   {nil, quiet, nil},
		"header, ignored":          {&work.LinkOptions{NoFollow: true}, quiet, []string{b, "https://example.org/n"}},
		"not HTML":                 {nil, plain, nil},
		"depth":                    {&work.LinkOptions{Depth: 1}, byURL, []string{b}},
		"depth is reached":         {&work.LinkOptions{Depth: 1}, record("first", 1), nil},
		"query":                    {&work.LinkOptions{SortQuery: true, DropQuery: []string{"utm_*"}}, byURL, []string{"https://example.org/a/b?x=2&y=1"}},
		"only":                     {&work.LinkOptions{AnyHost: true, Only: func(u *url.URL) bool { return u.Path == "/o" }}, byURL, []string{"https://other.example/o"}},
		"max":                      {&work.LinkOptions{AnyHost: true, Max: 1}, byURL, []string{b}},
		"a seed that has moved":    {nil, moved, []string{"https://www.example.org/b?y=1&x=2&utm_source=z", "https://example.org/a/"}},
		"a link that leads abroad": {nil, movedDeep, []string{"https://example.org/a/"}},
	} {
		t.Run(name, func(t *testing.T) {
			items, err := work.Links(c.o).Discover(t.Context(), c.r)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, i := range items {
				got = append(got, i.ID)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// A link that is too long to be an item is left out.
func TestLinksThatAreNoItems(t *testing.T) {
	r := &work.Record{
		Item: &onto.WorkItem{System: "http", Source: "docs", Type: "page", Resource: "first", URI: "https://example.org/"},
		URL:  "https://example.org/", ContentType: "text/html",
		Body: fmt.Appendf(nil, `<a href="/%s">long</a><a href="/short">short</a>`, strings.Repeat("x", onto.MaxKey)),
	}
	items, err := work.Links(nil).Discover(t.Context(), r)
	if err != nil || len(items) != 1 || items[0].URI != "https://example.org/short" {
		t.Errorf("got %+v, %v", items, err)
	}
}

// Until robots.txt can be reached, nothing is fetched.
func TestRobotsThatCannotBeReached(t *testing.T) {
	asked := false
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		if in.URL.Path == "/robots.txt" {
			asked = true
			http.Error(out, "broken", http.StatusInternalServerError)
			return
		}
		t.Error("a page was fetched without the rules")
	}))
	defer server.Close()
	w := newWorld(t)
	w.enqueue(seed(server.URL))
	sum := w.run(crawlerInto(w.q, work.HTTP(loopback())), &work.RunOptions{MaxWait: time.Second})
	s := w.expect("/", onto.WorkPending, "failed")
	w.says(s.Error, "robots.txt cannot be reached", "500")
	if sum.Retried != 1 || !asked || s.Attempts[0].Class != "robots" || s.Attempts[0].RetryAfter.Sub(s.Attempts[0].Finished) < time.Second {
		t.Errorf("got %+v, %+v", sum, s.Attempts)
	}
}

// What is discovered in a run of its own stays in it.
func TestScopeIsInherited(t *testing.T) {
	w := newWorld(t)
	for _, run := range []string{"one", "two"} {
		i := item("root")
		i.Run, i.Scope = run, work.ScopeRun
		w.enqueue(i)
		r := w.connect(fetched)
		r.Discover = []work.Discovery{work.DiscoveryFunc(func(_ context.Context, rec *work.Record) ([]work.Item, error) {
			return []work.Item{{ID: "child", URI: "test://site/child"}}, nil
		})}
		if sum := w.run(r, &work.RunOptions{Run: run, OnlyRun: true}); sum.Completed != 2 || sum.Discovered != 1 || sum.Known != 1 {
			t.Errorf("%s: got %+v", run, sum)
		}
	}
	if got, want := w.tree(""), "root 0 one\n child 1 one\nroot 0 two\n child 1 two\n"; got != want {
		t.Errorf("got the tree\n%swant\n%s", got, want)
	}
}
