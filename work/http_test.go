package work_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/work"
)

// Whatever a server does, it fails or skips the item alone, with a reason.
func TestHostileServers(t *testing.T) {
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	defer server.Close()
	gone := make(chan struct{})
	defer close(gone)
	html := func(out http.ResponseWriter) { out.Header().Set("Content-Type", "text/html") }
	mux.HandleFunc("/robots.txt", func(out http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(out, "User-agent: *\nDisallow: /no\n")
		line := []byte("Disallow: /" + strings.Repeat("x", 1000) + "\n")
		for range 10 << 10 {
			if _, err := out.Write(line); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/large", func(out http.ResponseWriter, _ *http.Request) { out.Write(make([]byte, 2<<20)) })
	mux.HandleFunc("/endless", func(out http.ResponseWriter, in *http.Request) {
		html(out)
		for in.Context().Err() == nil {
			if _, err := out.Write(bytes.Repeat([]byte("<div>"), 1000)); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/bomb", func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(out)
		z.Write(make([]byte, 900<<10))
		z.Close()
	})
	mux.HandleFunc("/loop", func(out http.ResponseWriter, in *http.Request) { http.Redirect(out, in, "/loop", http.StatusFound) })
	mux.HandleFunc("/private", func(out http.ResponseWriter, in *http.Request) {
		http.Redirect(out, in, "http://169.254.169.254/latest/meta-data", http.StatusFound)
	})
	mux.HandleFunc("/disallowed", func(out http.ResponseWriter, in *http.Request) { http.Redirect(out, in, "/no", http.StatusFound) })
	mux.HandleFunc("/silent", func(_ http.ResponseWriter, in *http.Request) {
		select {
		case <-gone:
		case <-in.Context().Done():
		}
	})
	mux.HandleFunc("/unclosed", func(out http.ResponseWriter, _ *http.Request) {
		html(out)
		fmt.Fprint(out, strings.Repeat("<div><b>", 50000), `<a href="/found">`)
	})
	mux.HandleFunc("/found", func(out http.ResponseWriter, _ *http.Request) { html(out) })
	mux.HandleFunc("/no", func(out http.ResponseWriter, _ *http.Request) { t.Error("what is disallowed was fetched") })

	w := newWorld(t)
	at := func(id, uri string) {
		i := seed("")
		i.ID, i.URI = id, uri
		w.enqueue(i)
	}
	for _, path := range []string{"large", "endless", "bomb", "loop", "private", "disallowed", "unclosed"} {
		at("/"+path, server.URL+"/"+path)
	}
	silent := seed("")
	silent.System, silent.ID, silent.URI = "hasty", "/silent", server.URL+"/silent"
	w.enqueue(silent)
	at("metadata", "http://169.254.169.254/")
	at("name", "http://localhost:1/")
	at("octal", "http://0177.0.0.1/")
	at("scheme", "gopher://example.org/")

	o := loopback()
	o.MaxBytes, o.Timeout = 1<<20, time.Minute
	r := crawlerInto(w.q, work.HTTP(o))
	o.Timeout, o.IgnoreRobots = 200*time.Millisecond, true
	r.Connectors["hasty"] = work.HTTP(o)
	sum := w.run(r, &work.RunOptions{Workers: 8, MaxAttempts: 1})
	for _, c := range []struct {
		id     string
		status onto.WorkStatus
		says   string
	}{
		{"/large", onto.WorkFailed, "more than 1048576 bytes"},
		{"/endless", onto.WorkFailed, "more than 1048576 bytes"},
		{"/bomb", onto.WorkFailed, "compressed"},
		{"/loop", onto.WorkFailed, "loop"},
		{"/private", onto.WorkFailed, "169.254.169.254"},
		{"/disallowed", onto.WorkSkipped, "disallowed by "},
		{"/silent", onto.WorkFailed, "no complete answer"},
		{"metadata", onto.WorkFailed, "link-local"},
		{"octal", onto.WorkFailed, "0177.0.0.1"},
		{"scheme", onto.WorkFailed, "gopher"},
		{"name", onto.WorkFailed, "localhost"},
		{"/unclosed", onto.WorkCompleted, ""},
		{"/found", onto.WorkCompleted, ""},
	} {
		s := w.state(c.id)
		if s.Status != c.status || !strings.Contains(s.Error, c.says) || len(s.Attempts) != 1 || c.status == onto.WorkFailed && s.Attempts[0].Class == "" {
			t.Errorf("%s is %s after %d attempts (%+v), with the error %q; want %s, and an error that says %q", c.id, s.Status, len(s.Attempts), s.Attempts, s.Error, c.status, c.says)
		}
	}
	if sum.Completed != 2 || sum.Failed != 10 || sum.Skipped != 1 {
		t.Errorf("got %+v", sum)
	}
}

// crawlerInto follows links and writes nothing.
func crawlerInto(q *work.Queue, c work.Connector) *work.Runner {
	return &work.Runner{Queue: q, Connectors: map[string]work.Connector{"http": c}, Discover: []work.Discovery{work.Links(nil)}}
}

// Headers and body of an item are sent, and an answer with Retry-After is waited for.
func TestRequests(t *testing.T) {
	t.Parallel()
	var got []string
	busy := true
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		if in.URL.Path == "/robots.txt" {
			http.NotFound(out, in)
			return
		}
		var body bytes.Buffer
		body.ReadFrom(in.Body)
		got = append(got, in.Method+" "+in.Header.Get("X-Token")+" "+body.String()+" "+in.UserAgent())
		if busy {
			busy = false
			out.Header().Set("Retry-After", "1")
			http.Error(out, "slow down", http.StatusTooManyRequests)
		}
	}))
	defer server.Close()
	w := newWorld(t)
	i := seed(server.URL)
	i.Method, i.Body, i.Headers = "POST", "question", map[string]string{"X-Token": "secret"}
	w.enqueue(i)
	sum := w.run(crawlerInto(w.q, work.HTTP(loopback())), &work.RunOptions{BackoffBase: time.Microsecond})
	if want := "POST secret question onto-test"; len(got) != 2 || got[0] != want || sum.Completed != 1 {
		t.Errorf("got %q, want twice %q; %+v", got, want, sum)
	}
	s := w.state("/")
	if a := s.Attempts[0]; a.RetryAfter.Sub(a.Finished) < time.Second || a.Class != "status" {
		t.Errorf("got %+v", a)
	}
}

// An error of an address that is not public tells which network AllowNets would have to name.
func TestRefusedNet(t *testing.T) {
	for uri, want := range map[string]string{
		"http://127.0.0.1/":               "127.0.0.1/32",
		"http://localhost/":               "127.0.0.0/8",
		"http://[::ffff:169.254.169.254]": "169.254.169.254/32",
		"http://site.example:22/":         "",
	} {
		_, err := work.HTTP(&work.HTTPOptions{IgnoreRobots: true}).Fetch(t.Context(), &onto.WorkItem{URI: uri, Method: "GET"})
		net, ok := work.RefusedNet(err)
		if err == nil || ok != (want != "") || ok && net.String() != want {
			t.Errorf("%s: got %v (%v) of error %v, want %q", uri, net, ok, err, want)
		}
	}
}
