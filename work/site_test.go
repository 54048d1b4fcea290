package work_test

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ontologia/onto/work"
)

// site is a generated site: page n links to pages 2n+1 and 2n+2 and to some others, in
// ways that a crawler has to understand. Some pages lead away, or are not to be followed.
type site struct {
	*httptest.Server
	pages int

	mu      sync.Mutex // guards what follows
	text    map[int]string
	fetches map[string]int // full answers by path
	same    int            // answers that nothing has changed
	busy    map[string]int // how often a path is answered with 503 before
	latency time.Duration
	now     int // pages being fetched
	peak    int // most of them at once
	asked   int // pages that were asked for
}

func newSite(t *testing.T, pages int) *site {
	s := &site{pages: pages, text: map[int]string{}, fetches: map[string]int{}, busy: map[string]int{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *site) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	if in.URL.Path == "/robots.txt" {
		fmt.Fprint(out, "User-agent: *\nDisallow: /private/\n")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now++
	s.asked++
	s.peak = max(s.peak, s.now)
	latency := s.latency
	s.mu.Unlock()
	select {
	case <-time.After(latency):
	case <-in.Context().Done():
	}
	s.mu.Lock()
	s.now--
	var n int
	if in.URL.Path != "/" {
		if _, err := fmt.Sscanf(in.URL.Path, "/p/%d", &n); err != nil || n >= s.pages || in.URL.RawQuery != "" {
			http.NotFound(out, in)
			return
		}
	}
	if s.busy[in.URL.Path] > 0 {
		s.busy[in.URL.Path]--
		http.Error(out, "busy", http.StatusServiceUnavailable)
		return
	}
	body := s.page(n)
	h := fnv.New64()
	h.Write([]byte(body))
	etag := fmt.Sprintf(`"%x"`, h.Sum64())
	out.Header().Set("ETag", etag)
	out.Header().Set("Content-Type", "text/html; charset=utf-8")
	if in.Header.Get("If-None-Match") == etag {
		s.same++
		out.WriteHeader(http.StatusNotModified)
		return
	}
	s.fetches[in.URL.Path]++
	fmt.Fprint(out, body)
}

func path(n int) string {
	if n == 0 {
		return "/"
	}
	return fmt.Sprintf("/p/%d", n)
}

func (s *site) page(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<html><head><title>Page %d</title></head><body><p>%s</p>", n, s.text[n])
	for _, m := range s.targets(n) {
		fmt.Fprintf(&b, `<a href="%s#part">page %d</a> `, path(m), m)
	}
	b.WriteString(`<a href="http://elsewhere.invalid/">away</a> <a rel="nofollow" href="/p/none">no</a> <a href="mailto:x@y">mail</a></body></html>`)
	return b.String()
}

// targets are the pages that a page links to.
func (s *site) targets(n int) []int {
	list := []int{2*n + 1, 2*n + 2, n / 2, (n*7 + 3) % s.pages}
	return slices.DeleteFunc(list, func(m int) bool { return m >= s.pages })
}

// links reports whether one path links to another.
func (s *site) links(from, to string) bool {
	n := 0
	_, _ = fmt.Sscanf(from, "/p/%d", &n)
	return slices.ContainsFunc(s.targets(n), func(m int) bool { return path(m) == to })
}

// slow lets each page take some time.
func (s *site) slow(latency time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latency, s.peak, s.asked = latency, 0, 0
}

// most is how many pages were fetched at once.
func (s *site) most() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peak
}

// served is how many pages were asked for since slow was called.
func (s *site) served() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// change gives a page another text.
func (s *site) change(n int, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text[n] = text
}

// answers are how many full answers were given, and how many that nothing has changed.
func (s *site) answers() (full, same int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.fetches {
		full += n
	}
	same = s.same
	s.fetches, s.same = map[string]int{}, 0
	return full, same
}

// loopback is what a test may connect to.
func loopback() *work.HTTPOptions {
	return &work.HTTPOptions{UserAgent: "onto-test", AllowNets: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}}
}

// seed is the first page of a site.
func seed(url string) work.Item {
	return work.Item{System: "http", Source: "docs", Type: "page", ID: "/", URI: url + "/", Priority: new(10)}
}

var title, paragraph = regexp.MustCompile("<title>(.*)</title>"), regexp.MustCompile("<p>(.*)</p>")

// toPage makes a page of a record.
func toPage(r *work.Record) ([]any, error) {
	t, p := title.FindSubmatch(r.Body), paragraph.FindSubmatch(r.Body)
	if t == nil || p == nil {
		return nil, work.Permanent(fmt.Errorf("no title in %s", r.URL))
	}
	return []any{Page{URL: r.Item.Resource, Title: string(t[1]), Text: string(p[1])}}, nil
}
