package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ontologia/onto/cmd/onto/internal/session"
)

// weighed runs onto in a process of its own, with what is written to its stdin, and
// returns its exit status, what it printed and how many MB it took.
func weighed(t *testing.T, write func(io.Writer), args ...string) (status int, said string, rss int64) {
	t.Helper()
	cmd := exec.Command("weigh", args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	weight, err := os.Create(filepath.Join(t.TempDir(), "weight"))
	if err != nil {
		t.Fatal(err)
	}
	defer weight.Close()
	cmd.ExtraFiles = []*os.File{weight}
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	text := bufio.NewWriterSize(in, 1<<20)
	write(text)
	_ = text.Flush() // how the command ended says more
	in.Close()
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if _, err := fmt.Fscan(io.NewSectionReader(weight, 0, 100), &rss); err != nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), rss
}

// Objects come from stdin in any number, on lines of their own or over several, as one
// commit. They take no more memory for being many, also if the last one is bad and
// nothing is stored.
func TestPutOfAnyLength(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "things.db")
	must(t, "entities: {Thing: {key: id, fields: {id: {type: string}, note: {type: string, optional: true}}}}", "init", "--schema", "-", "--db", path)
	const n, many, size = 12_000, 16_000, 8 << 10
	var objects strings.Builder
	for i := range n {
		fmt.Fprintf(&objects, "{\n  \"id\": \"thing-%05d\"\n}", i)
	}
	if got := must(t, objects.String(), "put", "Thing", "-", "--db", path); got != "1\n" {
		t.Errorf("got %q", got)
	}
	if got := must(t, "", "commits", "examine", "--id", "1", "--db", path); !strings.Contains(got, fmt.Sprintf("operations  %d\n", n)) {
		t.Errorf("got %.200s", got)
	}

	note := strings.Repeat("x", size)
	status, said, rss := weighed(t, func(w io.Writer) {
		for i := range many {
			fmt.Fprintf(w, "{\"id\":\"long-%05d\",\"note\":\"%s\"}\n", i, note)
		}
		io.WriteString(w, `{"id":"last","note":7}`)
	}, "put", "Thing", "-", "--db", path)
	if want := fmt.Sprintf(`onto: stdin, object %d: Thing "last": field note: expected string, found int`, many+1); status != session.ExitUsage || !strings.HasPrefix(said, want) {
		t.Errorf("got status %d and %.300s, want %s", status, said, want)
	}
	const text = many * size >> 20
	t.Logf("%d objects with %d MB of text took %d MB", many, text, rss)
	if rss > 2*text {
		t.Errorf("%d MB of text took %d MB", text, rss)
	}

	// Among so many keys, a similar one is found where it begins alike.
	var stderr bytes.Buffer
	status = run(t.Context(), []string{"get", "Thing", "thing-0815", "--db", path}, strings.NewReader(""), io.Discard, &stderr)
	if got := stderr.String(); status != session.ExitNotFound || !strings.Contains(got, "hint: a similar key exists: onto get Thing thing-0") {
		t.Errorf("got status %d and %s", status, got)
	}
}

// The bad records of a long import go to the file as they come: they take no memory.
func TestManyRejects(t *testing.T) {
	t.Parallel()
	const n, size = 6_000, 16 << 10
	dir := t.TempDir()
	path, bad := filepath.Join(dir, "things.db"), filepath.Join(dir, "bad.jsonl")
	must(t, things, "init", "--schema", "-", "--db", path)
	note := strings.Repeat("x", size)
	status, out, rss := weighed(t, func(w io.Writer) {
		for i := range n {
			fmt.Fprintf(w, `{"id":"bad-%d","no such field":"%s"}`+"\n"+`{"id":"good-%d"}`+"\n", i, note, i)
		}
	}, "import", "--input", "-", "--type", "Thing", "--apply", "--rejects", bad, "--db", path, "--json")
	if status != 0 || !strings.Contains(out, fmt.Sprintf(`"rejected": %d`, n)) || !strings.Contains(out, fmt.Sprintf(`"inserts": %d`, n)) {
		t.Errorf("got %.500s", out)
	}
	info, err := os.Stat(bad)
	if err != nil || info.Size() < n*size {
		t.Errorf("got %v, %v", info, err)
	}
	t.Logf("%d bad records with %d MB took %d MB", n, info.Size()>>20, rss)
	if most := info.Size() >> 20 * 2; rss > most {
		t.Errorf("it took %d MB, want less than %d MB", rss, most)
	}
}
