package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// serve DIR serves the files of a directory on a loopback address, and sets SITE to its
// URL. The ETag of a file is a hash of it. A request for the path /wait makes the file
// DIR/waits, and waits for answer yes.
func serveSite(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: serve DIR")
	}
	dir := ts.MkAbs(args[0])
	gate := ts.Value(gateOf{}).(*gate)
	site := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		if in.URL.Path == "/wait" {
			open := gate.opened()
			_ = os.WriteFile(filepath.Join(dir, "waits"), nil, 0o666)
			select {
			case <-open:
			case <-in.Context().Done():
			}
			return
		}
		name := in.URL.Path
		if strings.HasSuffix(name, "/") {
			name += "index.html"
		}
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			http.NotFound(out, in)
			return
		}
		out.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256(text)))
		http.ServeContent(out, in, name, time.Time{}, bytes.NewReader(text))
	}))
	ts.Defer(site.Close)
	ts.Setenv("SITE", site.URL)
}

// gate is what requests for the path /wait wait for.
type gate struct {
	mu   sync.Mutex    // guards open
	open chan struct{} // closed while they are answered
}

func newGate() *gate { return &gate{open: make(chan struct{})} }

func (g *gate) opened() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open
}

// gateOf is the key of the gate of a story.
type gateOf struct{}

// answer yes answers requests for the path /wait from now on, and answer no lets those wait
// that come.
func answer(ts *testscript.TestScript, neg bool, args []string) {
	g := ts.Value(gateOf{}).(*gate)
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case !neg && len(args) == 1 && args[0] == "yes":
		close(g.open)
	case !neg && len(args) == 1 && args[0] == "no":
		g.open = make(chan struct{})
	default:
		ts.Fatalf("usage: answer yes, or answer no")
	}
}
