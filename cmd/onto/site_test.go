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
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// serve DIR serves the files of a directory on a loopback address, and sets SITE to its
// URL. The ETag of a file is a hash of it. A request for the path /wait makes the file
// DIR/waits, and is answered by answer.
func serveSite(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: serve DIR")
	}
	dir := ts.MkAbs(args[0])
	answers := ts.Value(answers{}).(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		if in.URL.Path == "/wait" {
			_ = os.WriteFile(filepath.Join(dir, "waits"), nil, 0o666)
			select {
			case <-answers:
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

// answers is the key of the channel with the answers to requests that wait.
type answers struct{}

// answer answers one request for the path /wait, when there is one.
func answer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: answer")
	}
	select {
	case ts.Value(answers{}).(chan struct{}) <- struct{}{}:
	case <-time.After(time.Minute):
		ts.Fatalf("no request waits")
	}
}
