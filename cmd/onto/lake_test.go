package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/cmd/onto/internal/care"
	"github.com/ontologia/onto/internal/place"
)

// served is where the script keeps the objects of its S3 services.
type served struct{}

// serveS3 BUCKET [WAY] starts an S3 service with a bucket, and sets the environment
// so that the command finds it. The way is how the service gets requests wrong.
func serveS3(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: serve-s3 BUCKET [careless|refusing|guarded]")
	}
	memory := ts.Value(served{}).(*s3mem.Backend)
	if there, err := memory.BucketExists(args[0]); err != nil || !there {
		ts.Check(memory.CreateBucket(args[0]))
	}
	handler := gofakes3.New(memory).Server()
	if len(args) == 2 {
		handler = spoilRequests(ts, args[1], handler)
	}
	server := httptest.NewServer(handler)
	ts.Defer(server.Close)
	ts.Setenv("ONTO_S3_ENDPOINT_URL", server.URL)
	ts.Setenv("AWS_EC2_METADATA_DISABLED", "true")
}

// spoilRequests is a service that ignores the conditions of writes, that refuses them,
// or that knows no credentials but AKIAHUNTER.
func spoilRequests(ts *testscript.TestScript, way string, next http.Handler) http.Handler {
	fail := func(w http.ResponseWriter, status int, code string) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		fmt.Fprintf(w, "<Error><Code>%s</Code><Message>hunter2hunter2</Message></Error>", code)
	}
	conditions := []string{"If-Match", "If-None-Match"}
	switch way {
	case "careless":
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for _, name := range conditions {
				if r.Method == http.MethodPut {
					r.Header.Del(name)
				}
			}
			next.ServeHTTP(w, r)
		})
	case "refusing":
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut && r.Header.Get(conditions[0])+r.Header.Get(conditions[1]) != "" {
				fail(w, http.StatusNotImplemented, "NotImplemented")
				return
			}
			next.ServeHTTP(w, r)
		})
	case "guarded":
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.Contains(r.Header.Get("Authorization"), "Credential=AKIAHUNTER/") {
				fail(w, http.StatusForbidden, "InvalidAccessKeyId")
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	ts.Fatalf("serve-s3: no way %q", way)
	return nil
}

// objectsOf tells one state of a bucket from another.
func objectsOf(ts *testscript.TestScript, name string) string {
	memory := ts.Value(served{}).(*s3mem.Backend)
	list, err := memory.ListBucket(name, &gofakes3.Prefix{}, gofakes3.ListBucketPage{})
	ts.Check(err)
	sum := sha256.New()
	for _, o := range list.Contents {
		fmt.Fprintf(sum, "%q %s %d\n", o.Key, o.ETag, o.Size)
	}
	return fmt.Sprintf("%d objects, %x", len(list.Contents), sum.Sum(nil))
}

// changeObject BUCKET PATTERN [FILE] makes an object what is in a file, and without a file
// removes it. The pattern must match one object.
func changeObject(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: object BUCKET PATTERN [FILE]")
	}
	memory := ts.Value(served{}).(*s3mem.Backend)
	list, err := memory.ListBucket(args[0], &gofakes3.Prefix{}, gofakes3.ListBucketPage{})
	ts.Check(err)
	var keys []string
	for _, o := range list.Contents {
		if match, err := path.Match(args[1], o.Key); err == nil && match {
			keys = append(keys, o.Key)
		}
	}
	if len(keys) != 1 {
		ts.Fatalf("%d objects match %s", len(keys), args[1])
	}
	if len(args) == 2 {
		_, err = memory.DeleteObject(args[0], keys[0])
		ts.Check(err)
		return
	}
	text := ts.ReadFile(args[2])
	_, err = memory.PutObject(args[0], keys[0], map[string]string{}, strings.NewReader(text), int64(len(text)), nil)
	ts.Check(err)
}

// flip PATTERN changes one bit in the middle of files, and cut-short PATTERN removes
// their second half.
func flip(ts *testscript.TestScript, neg bool, args []string) {
	damage(ts, args, func(data []byte) []byte {
		data[len(data)/2] ^= 1
		return data
	})
}

func cutShort(ts *testscript.TestScript, neg bool, args []string) {
	damage(ts, args, func(data []byte) []byte { return data[:len(data)/2] })
}

func damage(ts *testscript.TestScript, args []string, change func([]byte) []byte) {
	if len(args) != 1 {
		ts.Fatalf("usage: flip PATTERN, or cut-short PATTERN")
	}
	for _, name := range matches(ts, args[0]) {
		data, err := os.ReadFile(name)
		ts.Check(err)
		ts.Check(os.WriteFile(name, change(data), 0o666))
	}
}

// noise N FILE writes N records of type T, whose texts do not compress.
func noise(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: noise N FILE")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	var text bytes.Buffer
	for i := range n {
		id := fmt.Sprintf("%x", sha256.Sum256([]byte(strconv.Itoa(i))))
		fmt.Fprintf(&text, `{"kind":"entity","type":"T","key":"%s","fields":{"id":"%s","n":%d}}`+"\n", id, id, i)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), text.Bytes(), 0o666))
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

// hold URI OWNER [NOTE] takes the write lease of a store for an hour, with a note for a
// migration.
func hold(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 && len(args) != 3 {
		ts.Fatalf("usage: hold URI OWNER [NOTE]")
	}
	loc, err := place.ParseURI(args[0])
	ts.Check(err)
	b, err := loc.Open(context.Background(), place.Writing, place.Settings{}, place.Opener{Lake: care.OpenLake})
	ts.Check(err)
	defer b.Close()
	leaser, ok := backend.As[backend.Leaser](b)
	if !ok {
		ts.Fatalf("%s keeps no leases", loc)
	}
	r := &backend.LeaseRequest{Name: onto.WriteLease, Owner: args[1], TTL: time.Hour}
	if len(args) == 3 {
		r.Purpose, r.Note = onto.MigrationLease, args[2]
	}
	_, err = leaser.Acquire(context.Background(), r)
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
