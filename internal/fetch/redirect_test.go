package fetch

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
)

func TestRedirectLimit(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Path[1:])
		if n == 0 {
			fmt.Fprint(w, "here")
			return
		}
		w.Header().Set("Location", fmt.Sprint(n-1)) // relative
		w.WriteHeader(http.StatusMovedPermanently)
	})
	c := w.client(t, Options{})
	for _, tt := range []struct {
		redirects, limit int
		followed         bool
	}{{10, 0, true}, {11, 0, false}, {5, 5, true}, {6, 5, false}, {20, 30, true}} {
		r := Request{URL: fmt.Sprintf("http://site.example/%d", tt.redirects), MaxRedirects: tt.limit}
		if !tt.followed {
			wantFailure(t, c, r, onto.Refused, Redirect, false)
		} else if got := get(t, c, r); string(got.Body) != "here" || got.URL != "http://site.example/0" {
			t.Errorf("got %s from %s", got.Body, got.URL)
		}
	}
	if r := get(t, c, Request{URL: "http://site.example/3", MaxRedirects: -1}); r.Status != 301 || r.Header.Get("Location") != "2" {
		t.Errorf("got %+v, want the redirect itself", r)
	}
	if len(w.dialed) > 3 {
		t.Errorf("%d connections, want the connection to be used again", len(w.dialed))
	}
}

func TestRedirectLoops(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		to := map[string]string{"/self": "/self", "/a": "/b", "/b": "/c", "/c": "/b#x", "/post": "/post", "/none": ""}[r.URL.Path]
		w.Header()["Location"] = []string{to}
		w.WriteHeader(http.StatusFound)
	})
	c := w.client(t, Options{})
	for _, path := range []string{"/self", "/a"} {
		err := wantFailure(t, c, Request{URL: "http://site.example" + path}, onto.Refused, Redirect, false)
		if !strings.Contains(err.Error(), "loop") {
			t.Errorf("got %v, want a loop", err)
		}
	}
	wantFailure(t, c, Request{URL: "http://site.example/post", Method: "POST"}, onto.Refused, Redirect, false)
	if r := get(t, c, Request{URL: "http://site.example/none"}); r.Status != 302 || FailureOf(r.Err()) == nil {
		t.Errorf("got %+v, want the answer: it leads nowhere", r)
	}
}

// TestCredentials: headers go along on the same origin; elsewhere, and after that, only harmless
// ones.
func TestCredentials(t *testing.T) {
	to := map[string]string{
		"site.example/same":        "/end",
		"site.example/other":       "http://other.example/end",
		"site.example/port":        "http://site.example:8080/end",
		"site.example/there":       "http://other.example/back",
		"other.example/back":       "http://site.example/end",
		"site.example/sub":         "http://www.site.example/end",
		"site.example/upper":       "http://SITE.example./end",
		"site.example/upgrade":     "https://site.example/end",
		"site.example/odd-upgrade": "https://site.example:8443/end",
	}
	var seen http.Header
	handler := func(w http.ResponseWriter, r *http.Request) {
		if target := to[r.Host+r.URL.Path]; target != "" {
			http.Redirect(w, r, target, http.StatusTemporaryRedirect)
			return
		}
		seen = r.Header
	}
	header := http.Header{"authorization": {"Bearer abc"}, "Cookie": {"a=b"}, "X-Api-Key": {"abc"}, "Accept": {"text/html"}}
	for path, kept := range map[string]bool{
		"same": true, "other": false, "port": false, "there": false, "sub": false, "upper": true, "upgrade": true, "odd-upgrade": false,
	} {
		w := newWorld(t, handler)
		w.resolve("www.site.example", publicAddr)
		c := w.client(t, Options{})
		at := "http://site.example/" + path
		if strings.HasSuffix(path, "upgrade") { // the server here has no TLS: look at the hop
			from, _ := c.firstHop(&Request{URL: at, Header: header})
			target, _ := c.policy.parse(from.url, to["site.example/"+path])
			seen = from.follow(target, http.StatusFound).request(t.Context(), "").Header
		} else {
			get(t, c, Request{URL: at, Header: header})
		}
		for _, name := range []string{"Authorization", "Cookie", "X-Api-Key"} {
			if got := seen.Get(name) != ""; got != kept {
				t.Errorf("%s: %s was sent on: %v, want %v", path, name, got, kept)
			}
		}
		if seen.Get("Accept") != "text/html" || seen.Get("Referer") != "" {
			t.Errorf("%s: got %v", path, seen)
		}
	}
	if _, changed := header["Authorization"]; changed || len(header) != 4 {
		t.Errorf("the header of the caller was changed: %v", header)
	}
}

func TestRedirectedPost(t *testing.T) {
	var method string
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		method = r.Method
		if status, err := strconv.Atoi(r.URL.Path[1:]); err == nil {
			w.Header().Set("Location", r.URL.Query().Get("to"))
			w.WriteHeader(status)
		}
	})
	c := w.client(t, Options{})
	for status, want := range map[int]string{301: "GET", 302: "GET", 303: "GET", 307: "POST", 308: "POST"} {
		post := Request{URL: fmt.Sprintf("http://site.example/%d?to=/end", status), Method: "POST", Body: []byte("secret")}
		get(t, c, post)
		if method != want {
			t.Errorf("%d: got %s, want %s", status, method, want)
		}
		post.URL = fmt.Sprintf("http://site.example/%d?to=http://other.example/end", status)
		if want == "POST" {
			wantFailure(t, c, post, onto.Refused, Redirect, false)
		} else {
			get(t, c, post)
		}
	}
}

func TestDowngrade(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://example.com/", http.StatusFound)
	})
	w.server.StartTLS()
	w.resolve("example.com", publicAddr)
	roots := x509.NewCertPool()
	roots.AddCert(w.server.Certificate())
	err := wantFailure(t, w.client(t, Options{RootCAs: roots}), Request{URL: "https://example.com/"}, onto.Refused, Redirect, false)
	if want := "GET https://example.com/ (at http://example.com/): a redirect from https to http"; err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestOnRedirect: the caller is asked about each target, and may end the request.
func TestOnRedirect(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/private" {
			t.Error("the target was fetched")
		}
		http.Redirect(w, r, map[string]string{"/": "/next", "/next": "/private"}[r.URL.Path], http.StatusFound)
	})
	disallowed := errors.New("robots.txt disallows it")
	var asked []string
	r := Request{URL: "http://site.example/", OnRedirect: func(_ context.Context, target string) error {
		asked = append(asked, target)
		if strings.HasSuffix(target, "/private") {
			return disallowed
		}
		return nil
	}}
	err := wantFailure(t, w.client(t, Options{}), r, onto.Refused, Redirect, false)
	if !errors.Is(err, disallowed) || FailureOf(err).URL != "http://site.example/private" || len(asked) != 2 {
		t.Errorf("asked about %v: %v", asked, err)
	}
}

// TestOnRedirectTime: the time that the caller takes for its answer counts, too.
func TestOnRedirectTime(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/next", http.StatusFound) })
	r := Request{URL: "http://site.example/", OnRedirect: func(ctx context.Context, _ string) error {
		<-ctx.Done()
		return ctx.Err()
	}}
	wantFailure(t, w.client(t, Options{Timeout: 200 * time.Millisecond}), r, onto.Unavailable, Timeout, true)
}

// TestSystem uses the resolver and the connections of the system: one server of this machine
// is allowed, and may not lead to another.
func TestSystem(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request arrived") }))
	defer other.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/lead" {
			http.Redirect(w, r, "http://127.0.0.2"+other.URL[strings.LastIndex(other.URL, ":"):], http.StatusFound)
		}
	}))
	defer server.Close()
	allowed := New(&Options{AllowNets: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}})
	defer allowed.Close()
	get(t, allowed, Request{URL: server.URL})
	wantFailure(t, allowed, Request{URL: server.URL + "/lead"}, onto.Refused, Refused, false)
	wantFailure(t, New(nil), Request{URL: server.URL}, onto.Refused, Refused, false)

	server.Close()
	wantFailure(t, allowed, Request{URL: server.URL}, onto.Unavailable, Connect, true)
}
