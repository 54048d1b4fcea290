package main

import (
	"bytes"
	"context"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// serveS3 BUCKET starts an S3 service with a bucket, and sets the environment so
// that the command finds it.
func serveS3(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: serve-s3 BUCKET")
	}
	memory := s3mem.New()
	ts.Check(memory.CreateBucket(args[0]))
	server := httptest.NewServer(gofakes3.New(memory).Server())
	ts.Defer(server.Close)
	ts.Setenv("ONTO_S3_ENDPOINT_URL", server.URL)
	ts.Setenv("AWS_EC2_METADATA_DISABLED", "true")
}

// spoil PATTERN TEXT writes a text into the files that match a pattern, of which
// there must be some.
func spoil(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: spoil PATTERN TEXT")
	}
	for _, name := range matches(ts, args[0]) {
		ts.Check(os.WriteFile(name, []byte(args[1]), 0o666))
	}
}

// age PATTERN TIME makes files look as if they had been written so long ago.
func age(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: age PATTERN TIME")
	}
	ago, err := time.ParseDuration(args[1])
	ts.Check(err)
	for _, name := range matches(ts, args[0]) {
		then := time.Now().Add(-ago)
		ts.Check(os.Chtimes(name, then, then))
	}
}

// hold URI OWNER takes the write lease of a store for an hour.
func hold(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: hold URI OWNER")
	}
	loc, err := parseURI(args[0])
	ts.Check(err)
	b, err := loc.open(context.Background(), writing, configuration{})
	ts.Check(err)
	defer b.Close()
	leaser, ok := backend.As[backend.Leaser](b)
	if !ok {
		ts.Fatalf("%s keeps no leases", loc)
	}
	_, err = leaser.Acquire(context.Background(), &backend.LeaseRequest{Name: onto.WriteLease, Owner: args[1], TTL: time.Hour})
	ts.Check(err)
}

func matches(ts *testscript.TestScript, pattern string) []string {
	found, err := filepath.Glob(ts.MkAbs(pattern))
	ts.Check(err)
	if len(found) == 0 {
		ts.Fatalf("nothing matches %s", pattern)
	}
	return found
}

func TestReadingALakeWhereNothingCanBeWritten(t *testing.T) {
	r := newRestricted(t)
	lake := filepath.Join(r.folder, "lake")
	uri := "file://" + lake
	chmod := func(mode os.FileMode) {
		t.Helper()
		for _, dir := range append(folders(t, lake), r.folder) {
			if err := os.Chmod(dir, mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Chmod(r.folder, 0o755); err != nil {
		t.Fatal(err)
	}
	must(t, things, "init", "--schema", "-", "--storage-uri", uri)
	must(t, "", "put", "Thing", `{"id":"thing-1"}`, "--storage-uri", uri)
	chmod(0o555)
	t.Cleanup(func() { chmod(0o755) })
	for _, c := range []struct {
		args   string
		status int
		want   string // in stdout, or in stderr after a failure
	}{
		{"info --stats", 0, "Thing  entity  1        1"},
		{"query entities Thing --as-of 1", 0, "thing-1"},
		{"log Thing thing-1", 0, "thing-1"},
		{"janitor", 0, ""},
		{"init", 0, ""}, // there is nothing to do
		{"init --storage-uri file://" + r.folder + "/other", 5, "permission denied"},
	} {
		var stdout, stderr bytes.Buffer
		cmd := r.command()
		cmd.Args = append([]string{r.binary, "--storage-uri", uri}, strings.Fields(c.args)...)
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		status := exitStatus(t, cmd)
		text := stdout.String()
		if c.status != 0 {
			text = stderr.String()
		}
		if status != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%s: status %d, stdout %q, stderr %q; want status %d and %q", c.args, status, &stdout, &stderr, c.status, c.want)
		}
	}
}

// folders is a directory and all below it.
func folders(t *testing.T, dir string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			list = append(list, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
