package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ontologia/onto"
)

// world is an internet of one server: every connection that a client makes leads to it,
// whatever the address, and is written down.
type world struct {
	server *httptest.Server
	mu     sync.Mutex // guards the fields below
	names  map[string][]string
	dialed []string
}

const publicAddr = "93.184.216.34"

// newWorld starts the server. The names site.example and other.example have public addresses.
func newWorld(t *testing.T, handler http.HandlerFunc) *world {
	w := &world{server: httptest.NewUnstartedServer(handler)}
	w.names = map[string][]string{"site.example": {publicAddr}, "other.example": {"93.184.216.35"}}
	w.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(w.server.Close)
	return w
}

// resolve sets the answers for a name: one list of addresses per question, the last for all
// that follow.
func (w *world) resolve(name string, answers ...string) { w.names[name] = answers }

func (w *world) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	answers := w.names[host]
	if len(answers) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(answers) > 1 {
		w.names[host] = answers[1:]
	}
	var addrs []netip.Addr
	for _, text := range strings.Fields(answers[0]) {
		addrs = append(addrs, netip.MustParseAddr(text))
	}
	return addrs, nil
}

func (w *world) dial(ctx context.Context, network, addrPort string) (net.Conn, error) {
	w.mu.Lock()
	w.dialed = append(w.dialed, addrPort)
	w.mu.Unlock()
	return (&net.Dialer{}).DialContext(ctx, network, w.server.Listener.Addr().String())
}

// client starts the server, without TLS unless that runs already, and returns a client.
func (w *world) client(t *testing.T, o Options) *Client {
	if w.server.URL == "" {
		w.server.Start()
	}
	o.Resolver = w
	if o.Dial == nil {
		o.Dial = w.dial
	}
	c := New(&o)
	t.Cleanup(c.Close)
	return c
}

// get fetches a URL, which must succeed.
func get(t *testing.T, c *Client, r Request) *Response {
	t.Helper()
	answer, err := c.Do(t.Context(), &r)
	if err != nil {
		t.Fatalf("%s: %v", r.URL, err)
	}
	return answer
}

// wantFailure fetches, and expects a failure.
func wantFailure(t *testing.T, c *Client, r Request, code onto.Code, class Class, temporary bool) error {
	t.Helper()
	answer, err := c.Do(t.Context(), &r)
	if err == nil {
		t.Fatalf("%s: got status %d and %d bytes, want an error", r.URL, answer.Status, len(answer.Body))
	}
	var outer *onto.Error
	f := FailureOf(err)
	if !errors.As(err, &outer) || f == nil {
		t.Fatalf("%s: got %T %v, want an onto.Error with a Failure", r.URL, err, err)
	}
	if outer.Code != code || f.Class != class || f.Temporary != temporary {
		t.Errorf("%s: got code %s, class %s, temporary %v (%v); want %s, %s, %v", r.URL, outer.Code, f.Class, f.Temporary, err, code, class, temporary)
	}
	return err
}

func TestAnswer(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		fmt.Fprintf(w, "%s %s %s agent=%s encoding=%s", r.Method, r.Host, r.URL, r.UserAgent(), r.Header.Get("Accept-Encoding"))
	})
	c := w.client(t, Options{UserAgent: "tester/1"})
	r := get(t, c, Request{URL: "HTTP://Site.Example.:80/a?b=c#d"})
	if got, want := string(r.Body), "GET site.example /a?b=c agent=tester/1 encoding=gzip"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if r.URL != "http://site.example/a?b=c" || r.ETag != `"1"` || r.Status != 200 {
		t.Errorf("got %+v", r)
	}
	if want := []string{publicAddr + ":80"}; !slices.Equal(w.dialed, want) {
		t.Errorf("connected to %v, want %v", w.dialed, want)
	}
}

func TestPortIsKept(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Host) })
	c := w.client(t, Options{})
	for at, want := range map[string]string{
		"http://site.example:8080/":       "site.example:8080",
		"http://site.example:443/":        "site.example:443",
		"http://site.example:/":           "site.example",
		"http://[2606:2800:220:1::1]:81/": "",
		"http://[2606:2800:220:1::1]:88":  "",
		"http://[2606:2800:220:1::1]/":    "[2606:2800:220:1::1]",
	} {
		if want == "" {
			wantFailure(t, c, Request{URL: at}, onto.Refused, Refused, false)
		} else if got := string(get(t, c, Request{URL: at}).Body); got != want {
			t.Errorf("%s: the server was asked as %s, want %s", at, got, want)
		}
	}
	slices.Sort(w.dialed)
	want := []string{publicAddr + ":443", publicAddr + ":80", publicAddr + ":8080", "[2606:2800:220:1::1]:80"}
	if !slices.Equal(w.dialed, want) {
		t.Errorf("connected to %v, want %v", w.dialed, want)
	}
}

func TestPost(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s", r.Method, body)
	})
	c := w.client(t, Options{})
	if got := string(get(t, c, Request{URL: "http://site.example/", Method: "POST", Body: []byte("hello")}).Body); got != "POST hello" {
		t.Errorf("got %q", got)
	}
	wantFailure(t, c, Request{URL: "http://site.example/", Body: []byte("x")}, onto.Invalid, Invalid, false)
	wantFailure(t, c, Request{URL: "http://site.example/", Method: "CONNECT"}, onto.Invalid, Invalid, false)
	err := wantFailure(t, c, Request{URL: "http://site.example/", Method: "GET / HTTP/1.1\r\nX: y"}, onto.Invalid, Invalid, false)
	if strings.ContainsAny(err.Error(), "\r\n") {
		t.Errorf("the error is not fit for a log: %q", err)
	}
}

func TestHeaderInjection(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) { t.Errorf("a request arrived: %v", r.Header) })
	c := w.client(t, Options{})
	const at = "http://site.example/"
	for _, r := range []Request{
		{URL: at, Header: http.Header{"X": {"a\r\nEvil: yes"}}},
		{URL: at, Header: http.Header{"X": {"fine", "a\nb"}}},
		{URL: at, Header: http.Header{"X": {"a\x00"}}},
		{URL: at, Header: http.Header{"X\r\nEvil": {"a"}}},
		{URL: at, Header: http.Header{"X Y": {"a"}}},
		{URL: at, Header: http.Header{"": {"a"}}},
		{URL: at, Header: http.Header{"host": {"internal"}}},
		{URL: at, Header: http.Header{"Transfer-Encoding": {"chunked"}}},
		{URL: at, Header: http.Header{"content-length": {"3"}}},
		{URL: at, Header: http.Header{"Connection": {"Authorization"}}},
		{URL: at, ETag: "\"1\"\r\nEvil: yes"},
		{URL: at, LastModified: "x\ny"},
		{URL: at + "\r\nEvil: yes"},
		{URL: at + "a b\nc"},
	} {
		wantFailure(t, c, r, onto.Invalid, Invalid, false)
	}
	wantFailure(t, w.client(t, Options{UserAgent: "a\nb"}), Request{URL: at}, onto.Invalid, Invalid, false)
}

// TestConditional fetches a page twice. Its validators are sent to the URL that they came
// from and to no other.
func TestConditional(t *testing.T) {
	target := "/new"
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/old":
			if r.Header.Get("If-None-Match") != "" {
				t.Error("the validators were sent to the redirect")
			}
			http.Redirect(w, r, target, http.StatusFound)
		case r.Header.Get("If-None-Match") == `"1"` && r.Header.Get("If-Modified-Since") != "":
			w.WriteHeader(http.StatusNotModified)
		default:
			w.Header().Set("ETag", `"1"`)
			w.Header().Set("Last-Modified", "Mon, 16 Nov 2026 08:00:00 GMT")
			fmt.Fprint(w, r.URL.Path)
		}
	})
	c := w.client(t, Options{})
	first := get(t, c, Request{URL: "http://site.example/old"})
	if first.NotModified || first.URL != "http://site.example/new" {
		t.Fatalf("got %+v", first)
	}
	again := Request{URL: "http://site.example/old", ETag: first.ETag, LastModified: first.LastModified, Validated: first.URL}
	second := get(t, c, again)
	if !second.NotModified || second.Err() != nil || second.ETag != `"1"` || second.LastModified != first.LastModified || len(second.Body) > 0 {
		t.Errorf("got %+v, want not modified with the validators", second)
	}
	target = "/newer" // has the same ETag, and is another page
	if third := get(t, c, again); third.NotModified || string(third.Body) != "/newer" {
		t.Errorf("got %+v %s, want the page", third, third.Body)
	}
}

func TestNotModifiedUnasked(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNotModified) })
	r := get(t, w.client(t, Options{}), Request{URL: "http://site.example/"})
	if r.NotModified || FailureOf(r.Err()) == nil {
		t.Errorf("got %+v, want a failure: nothing is known that could be unmodified", r)
	}
}

func TestStatus(t *testing.T) {
	for _, tt := range []struct {
		status    int
		code      onto.Code
		temporary bool
	}{
		{200, "", false}, {204, "", false}, {206, "", false},
		{300, onto.Unavailable, false}, {400, onto.Unavailable, false},
		{401, onto.Refused, false}, {403, onto.Refused, false}, {451, onto.Refused, false},
		{404, onto.NotFound, false}, {410, onto.NotFound, false},
		{408, onto.Unavailable, true}, {425, onto.Unavailable, true}, {429, onto.Unavailable, true},
		{500, onto.Unavailable, true}, {502, onto.Unavailable, true}, {503, onto.Unavailable, true}, {599, onto.Unavailable, true},
		{501, onto.Unavailable, false}, {505, onto.Unavailable, false},
	} {
		w := newWorld(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(tt.status) })
		err := get(t, w.client(t, Options{}), Request{URL: "http://site.example/?token=abc"}).Err()
		if onto.CodeOf(err) != tt.code {
			t.Errorf("%d: got code %q, want %q", tt.status, onto.CodeOf(err), tt.code)
		}
		if f := FailureOf(err); f != nil && (f.Class != Status || f.Temporary != tt.temporary || strings.Contains(err.Error(), "abc")) {
			t.Errorf("%d: got %+v", tt.status, f)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	const date = "Mon, 16 Nov 2026 08:00:00 GMT"
	for _, tt := range []struct {
		value string
		want  time.Duration
	}{
		{"", 0}, {"0", 0}, {"120", 2 * time.Minute}, {" 7 ", 7 * time.Second},
		{"86401", 24 * time.Hour}, {"99999999999999999999999", 24 * time.Hour},
		{"-5", 0}, {"1.5", 0}, {"soon", 0}, {"1e3", 0},
		{"Mon, 16 Nov 2026 08:01:00 GMT", time.Minute},
		{"Mon, 16 Nov 2026 07:00:00 GMT", 0},
		{"Mon, 16 Nov 2099 07:00:00 GMT", 24 * time.Hour},
		{"Monday, 16-Nov-26 08:00:30 GMT", 30 * time.Second},
	} {
		if got := retryAfter(http.Header{"Retry-After": {tt.value}, "Date": {date}}); got != tt.want {
			t.Errorf("%q: got %s, want %s", tt.value, got, tt.want)
		}
	}
	synctest.Test(t, func(t *testing.T) { // without Date, by the own clock
		at := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
		if got := retryAfter(http.Header{"Retry-After": {at}}); got != time.Hour {
			t.Errorf("got %s, want 1h", got)
		}
	})
}

// TestTLS checks that the certificate is held against the name, not against the address.
func TestTLS(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.TLS.ServerName) })
	w.server.StartTLS()
	w.resolve("example.com", publicAddr)
	roots := x509.NewCertPool()
	roots.AddCert(w.server.Certificate())
	c := w.client(t, Options{RootCAs: roots})
	if got := string(get(t, c, Request{URL: "https://example.com/"}).Body); got != "example.com" {
		t.Errorf("the server was asked for %q", got)
	}
	wantFailure(t, c, Request{URL: "https://site.example/"}, onto.Unavailable, TLS, false)
	wantFailure(t, w.client(t, Options{}), Request{URL: "https://example.com/"}, onto.Unavailable, TLS, false)

	w.server.TLS.MaxVersion = tls.VersionTLS11
	wantFailure(t, w.client(t, Options{RootCAs: roots}), Request{URL: "https://example.com/"}, onto.Unavailable, TLS, true)
	plain := newWorld(t, func(http.ResponseWriter, *http.Request) {})
	wantFailure(t, plain.client(t, Options{}), Request{URL: "https://site.example/"}, onto.Unavailable, TLS, true)
}

func TestNoConnection(t *testing.T) {
	w := newWorld(t, nil)
	broken := errors.New("connection refused")
	c := w.client(t, Options{Dial: func(context.Context, string, string) (net.Conn, error) { return nil, broken }})
	wantFailure(t, c, Request{URL: "http://nowhere.example/"}, onto.Unavailable, DNS, true)
	err := wantFailure(t, c, Request{URL: "http://site.example/"}, onto.Unavailable, Connect, true)
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want the cause in it", err)
	}
}

// TestSecondAddress connects to the next address of a host if one does not answer, each in its share
// of the time.
func TestSecondAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{names: map[string][]string{"site.example": {"2606:2800:220:1::1 " + publicAddr}}}
		c := New(&Options{Resolver: w, Dial: func(ctx context.Context, _, addrPort string) (net.Conn, error) {
			if strings.HasPrefix(addrPort, "[") {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			here, there := net.Pipe()
			go respond(there, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			return here, nil
		}})
		defer c.Close()
		start := time.Now()
		if got := string(get(t, c, Request{URL: "http://site.example/"}).Body); got != "ok" || time.Since(start) != 15*time.Second {
			t.Errorf("got %q after %s, want ok after 15s, half of the timeout", got, time.Since(start))
		}
	})
}

// respond reads a request and answers it, on a connection of a test's own.
func respond(conn net.Conn, answer string) {
	if _, err := http.ReadRequest(newReader(conn)); err == nil {
		io.WriteString(conn, answer)
	}
}

// TestNoAnswer meets servers that stop at each stage. The clock is that of the test.
func TestNoAnswer(t *testing.T) {
	for name, answer := range map[string]string{
		"nothing":        "",
		"half a header":  "HTTP/1.1 200 OK\r\nContent-",
		"half a body":    "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello",
		"half a chunk":   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
		"no end":         "HTTP/1.1 200 OK\r\n\r\nhello",
		"only a promise": "HTTP/1.1 100 Continue\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{names: map[string][]string{"site.example": {publicAddr}}}
				c := New(&Options{Resolver: w, Dial: func(context.Context, string, string) (net.Conn, error) {
					here, there := net.Pipe()
					go respond(there, answer)
					return here, nil
				}})
				defer c.Close()
				start := time.Now()
				err := wantFailure(t, c, Request{URL: "http://site.example/"}, onto.Unavailable, Timeout, true)
				if took := time.Since(start); took != 30*time.Second || !strings.Contains(err.Error(), "30s") {
					t.Errorf("took %s: %v", took, err)
				}
			})
		})
	}
}

func TestSilence(t *testing.T) {
	hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for name, o := range map[string]Options{
		"resolver": {Resolver: lookup(func(ctx context.Context) ([]netip.Addr, error) { return nil, hang(ctx) })},
		"connect": {
			Resolver: lookup(func(context.Context) ([]netip.Addr, error) {
				return []netip.Addr{netip.MustParseAddr(publicAddr)}, nil
			}),
			Dial: func(ctx context.Context, _, _ string) (net.Conn, error) { return nil, hang(ctx) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := New(&o)
				defer c.Close()
				wantFailure(t, c, Request{URL: "http://site.example/"}, onto.Unavailable, Timeout, true)
			})
			synctest.Test(t, func(t *testing.T) { // the caller's context ends first
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				c := New(&o)
				if _, err := c.Do(ctx, &Request{URL: "http://site.example/"}); err != context.DeadlineExceeded {
					t.Errorf("got %v, want the error of the context", err)
				}
				time.Sleep(c.timeout) // on the test's clock: net/http goes on to dial until then
			})
		})
	}
}

type lookup func(ctx context.Context) ([]netip.Addr, error)

func (l lookup) LookupNetIP(ctx context.Context, _, _ string) ([]netip.Addr, error) { return l(ctx) }
