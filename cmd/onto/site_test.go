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
// URL. The ETag of a file is a hash of it. The path /wait is answered once the file DIR/go
// is there.
func serveSite(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: serve DIR")
	}
	dir := ts.MkAbs(args[0])
	site := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		if in.URL.Path == "/wait" {
			_ = os.WriteFile(filepath.Join(dir, "waits"), nil, 0o666)
			for in.Context().Err() == nil {
				if _, err := os.Stat(filepath.Join(dir, "go")); err == nil {
					break
				}
				time.Sleep(time.Millisecond)
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
