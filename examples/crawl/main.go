// Command crawl crawls a small site twice into a store, and then tells what the site said
// at each time. The site is served by the program itself; after the first crawl one of its
// pages changes.
package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"html"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"regexp"
	"sync"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/work"
)

// Page is a page of the site.
type Page struct {
	Path  string `json:"path" onto:"key"`
	Title string `json:"title"`
	Text  string `json:"text" onto:"search"`
}

func main() {
	path := ":memory:" // a temporary file; name one to look at it afterwards
	if len(os.Args) > 1 {
		path = os.Args[1]
	}
	if err := run(context.Background(), path); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, path string) error {
	site := &site{pages: map[string]string{
		"/":        `<title>Home</title><p>Welcome. <a href="/about">About us</a> <a href="/prices">Prices</a></p>`,
		"/about":   `<title>About</title><p>We sell tea. <a href="/">Home</a></p>`,
		"/prices":  `<title>Prices</title><p>Oolong: 8 euros. <a href="/prices/old">Old prices</a></p>`,
		"/private": `<title>Private</title><p>Nobody should see this.</p>`,
	}}
	server := httptest.NewServer(site)
	defer server.Close()

	db, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	s, err := store.Open(ctx, db, onto.TypeOf[Page]())
	if err != nil {
		return err
	}
	defer s.Close()
	q, err := work.Open(s)
	if err != nil {
		return err
	}

	// The first crawl finds the pages by their links.
	if _, err := q.Enqueue(ctx, work.Item{System: "http", Source: "shop", Type: "page", ID: "/", URI: server.URL + "/"}); err != nil {
		return err
	}
	first, err := crawl(ctx, q, s, "first")
	if err != nil {
		return err
	}

	// The second one fetches what has changed.
	site.change("/prices", `<title>Prices</title><p>Oolong: 9 euros.</p>`)
	again := work.Revision{All: true, By: onto.Operator("ana"), Reason: "monthly", Run: "second"}
	if _, err := q.Recrawl(ctx, again); err != nil {
		return err
	}
	second, err := crawl(ctx, q, s, "second")
	if err != nil {
		return err
	}
	for _, at := range []int64{first, second} {
		p, err := store.Get[Page](ctx, s.At(at), "/prices")
		if err != nil {
			return err
		}
		fmt.Printf("at commit %d: %s\n", at, p.Text)
	}
	return failures(ctx, q)
}

// crawl works on the queue until it is empty, and returns the store's head.
func crawl(ctx context.Context, q *work.Queue, s *store.Store, run string) (int64, error) {
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	sum, err := (&work.Runner{
		Queue:      q,
		Connectors: map[string]work.Connector{"http": work.HTTP(&work.HTTPOptions{AllowNets: loopback})},
		Writers:    []work.Writer{work.Ensure(s, toPage)},
		Discover:   []work.Discovery{work.Links(&work.LinkOptions{Depth: 3})},
	}).Run(ctx, &work.RunOptions{
		Run: run, Workers: 4, Limits: work.Limits{"shop": {Concurrent: 2, PerSecond: 50}},
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return 0, err
	}
	head, err := s.Head(ctx)
	fmt.Printf("%s crawl: %d completed, %d of them unchanged, %d failed\n", run, sum.Completed, sum.NotModified, sum.Failed)
	return head.ID, err
}

var page = regexp.MustCompile(`(?s)<title>(.*)</title><p>(.*)</p>`)

// toPage makes a page of what was fetched.
func toPage(r *work.Record) ([]any, error) {
	m := page.FindSubmatch(r.Body)
	if m == nil {
		return nil, work.SkipItem("it is no page of the shop")
	}
	text := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(string(m[2]), "")
	return []any{Page{Path: r.Item.Resource, Title: string(m[1]), Text: html.UnescapeString(text)}}, nil
}

// failures tells which items have failed, and where they were found.
func failures(ctx context.Context, q *work.Queue) error {
	for n, err := range q.Tree(ctx, "") {
		if err != nil {
			return err
		}
		if n.Status == onto.WorkFailed {
			parent, err := q.Item(ctx, n.Parent)
			if err != nil {
				return err
			}
			fmt.Printf("%s, found in %s, failed %d times\n", n.Resource, parent.Resource, n.Tries())
		}
	}
	return nil
}

// site serves pages.
type site struct {
	mu    sync.Mutex // guards pages
	pages map[string]string
}

func (s *site) change(path, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages[path] = text
}

func (s *site) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	s.mu.Lock()
	text, ok := s.pages[in.URL.Path]
	s.mu.Unlock()
	tag := fmt.Sprintf(`"%x"`, sha256.Sum256([]byte(text)))
	out.Header().Set("Content-Type", "text/html; charset=utf-8")
	out.Header().Set("ETag", tag)
	switch {
	case !ok:
		http.NotFound(out, in)
	case in.Header.Get("If-None-Match") == tag:
		out.WriteHeader(http.StatusNotModified)
	default:
		fmt.Fprint(out, text)
	}
}
