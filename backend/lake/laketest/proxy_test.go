package laketest

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/s3/s3fake"
	"github.com/ontologia/onto/internal/effort"
)

// lie is a false answer of a proxy to a PUT.
type lie struct {
	status  int // 0 for the server's answer
	code    string
	applied bool          // the server has applied it
	late    time.Duration // the answer comes so much later, or never if the client gives up before
	tag     bool          // the server's answer with a wrong ETag
}

func (l lie) String() string {
	text := l.code
	if l.status == 0 {
		text = "true answer"
	}
	if l.status != 0 && l.applied {
		text += " although applied"
	}
	if l.tag {
		text += " with a wrong ETag"
	}
	if l.late > 0 {
		text += ", late"
	}
	return text
}

// refusals are answers of a proxy to a PUT that was not applied.
func refusals() []lie {
	return []lie{
		{status: 409, code: "ConditionalRequestConflict"}, slowDown,
		{status: 404, code: "NoSuchKey"}, {status: 412, code: "PreconditionFailed"},
	}
}

var slowDown = lie{status: 503, code: "SlowDown"}

// lies are false answers of a proxy to a PUT.
func lies() []lie {
	const patience = stormPatience
	list := []lie{{tag: true}, {late: 3 * patience}}
	for _, l := range refusals() {
		list = append(list, l)
		l.applied = true
		list = append(list, l)
		l.late = patience * 9 / 10
		list = append(list, l)
	}
	return list
}

// liar is a proxy in front of an S3 server with false answers to PUTs.
type liar struct {
	server http.Handler // the transport to the server

	mu       sync.Mutex // guards what follows
	r        *rand.Rand
	head     int   // of a hundred swaps of heads, so many are lied about
	others   int   // likewise, of other PUTs
	script   []lie // about the next swaps of heads; before chance
	blind    bool  // heads cannot be read
	requests int
	told     map[string]int // lies by their names
}

// startLiar starts a proxy before a server, until the test ends, and returns its
// address.
func startLiar(t *testing.T, endpoint string) (*liar, string) {
	t.Helper()
	to, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	t.Cleanup(transport.CloseIdleConnections)
	p := &liar{r: effort.Rand(t), told: map[string]int{}}
	p.server = &httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) { // the host is signed, so it stays
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = to.Scheme, to.Host, r.In.Host
		},
	}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	return p, server.URL
}

// ServeHTTP passes a request on, or lies about it.
func (p *liar) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l, lying := p.pick(r)
	if !lying {
		p.server.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // it never arrived
	}
	answer := httptest.NewRecorder()
	if l.applied || l.status == 0 {
		sent := r.Clone(r.Context())
		sent.Body = io.NopCloser(bytes.NewReader(body))
		p.server.ServeHTTP(answer, sent)
	}
	if l.late > 0 && wait(r.Context(), l.late) != nil {
		return // the client has given up
	}
	if l.status != 0 {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(l.status)
		fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>so the proxy says</Message></Error>`, l.code)
		return
	}
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	if l.tag && w.Header().Get("ETag") != "" {
		w.Header().Set("ETag", `"00000000000000000000000000000000"`)
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// pick decides about a request. It reports false if it is passed on.
func (p *liar) pick(r *http.Request) (lie, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests++
	head := strings.HasSuffix(r.URL.Path, "meta/head.json")
	if r.Method != http.MethodPut {
		return slowDown, p.blind && head
	}
	swap := head && r.Header.Get("If-Match") != ""
	var l lie
	switch all := lies(); {
	case swap && len(p.script) > 0:
		l, p.script = p.script[0], p.script[1:]
	case swap && p.r.IntN(100) < p.head, !swap && p.r.IntN(100) < p.others:
		l = all[p.r.IntN(len(all))]
	default:
		return lie{}, false
	}
	p.told[l.String()]++
	return l, true
}

// lieAbout sets how many of a hundred PUTs the proxy lies about.
func (p *liar) lieAbout(head, others int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.head, p.others, p.script = head, others, nil
}

// plan sets what the proxy says about the next swaps of heads, and whether they
// can be read.
func (p *liar) plan(blind bool, script ...lie) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.blind, p.script = blind, script
}

// A proxy with false answers about what a real S3 server has applied loses nothing.
func TestLyingProxyOnVersitygw(t *testing.T) {
	t.Parallel()
	lieOver(t, gateway(t))
}

// The same before a server in this process.
func TestLyingProxyOnFake(t *testing.T) {
	t.Parallel()
	lieOver(t, s3fake.Serve(t, "things"))
}

func lieOver(t *testing.T, endpoint string) {
	p, proxy := startLiar(t, endpoint)
	t.Run("one by one", func(t *testing.T) { lieOneByOne(t, p, endpoint, proxy) })
	t.Run("storm", func(t *testing.T) {
		each := effort.Count(t, 120)
		p.lieAbout(30, 8)
		plain := openBucket(t, endpoint, "storm")
		storm(t, plain, func(int) bucket.Bucket { return openBucket(t, proxy, "storm") }, func() { p.lieAbout(0, 0) }, each)
	})
	p.mu.Lock() // an answer may still be on its way
	defer p.mu.Unlock()
	t.Logf("%d requests; lies: %v", p.requests, p.told)
}

// lieOneByOne gives each false answer to one swap, also after a true 409 that has taken
// half of the patience; then each refusal until the patience ends. The commit
// afterwards must succeed.
func lieOneByOne(t *testing.T, p *liar, endpoint, proxy string) {
	plain := openBucket(t, endpoint, "one-by-one")
	openThings(t, plain, lake.Options{})
	l, err := lake.Open(t.Context(), kept{openBucket(t, proxy, "one-by-one")}, &lake.Options{MustExist: true, Patience: stormPatience})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	g := newLedger()
	honest := lie{status: 409, code: "ConditionalRequestConflict", late: stormPatience / 2}
	cases := 0
	next := func() bool { // each waits for about as long as the patience is
		cases++
		return effort.Includes(t, cases)
	}
	for i, what := range lies() {
		for _, script := range [][]lie{{what}, {honest, what}} {
			if !next() {
				continue
			}
			p.plan(false, script...)
			key := fmt.Sprintf("%d %v after %d", i, what, len(script)-1)
			err := g.put(t.Context(), l, key)
			if err != nil && onto.CodeOf(err) != onto.OutcomeUnknown {
				t.Errorf("%s: got %v, want it done or not known", key, err)
			}
			p.plan(false)
			g.mustPut(t, l, key+", then")
		}
	}
	for _, what := range refusals() {
		for _, applied := range []bool{true, false} { // and nothing settles it until the patience ends
			if !next() {
				continue
			}
			what.applied = applied
			p.plan(applied, slices.Repeat([]lie{what}, 100)...)
			key := fmt.Sprintf("%v, again and again", what)
			if err := g.put(t.Context(), l, key); onto.CodeOf(err) != onto.OutcomeUnknown {
				t.Errorf("%s: got %v, want that nobody knows", key, err)
			}
			p.plan(false)
			g.mustPut(t, l, key+", then")
		}
	}
	g.judge(t, plain)
}
