package main

import (
	"bytes"
	"context"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/store"
)

// everyChapter is every commit of the demo that a command could make.
func everyChapter() []chapter { return append(story(), order()) }

// beginning makes a store with the first n commits of the story.
func beginning(t *testing.T, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "story.db")
	b, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), b, onto.TypeOf[Customer](), onto.TypeOf[Product](), onto.TypeOf[Subscription](), onto.TypeOf[Order]())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, c := range everyChapter()[:n] {
		if _, err := s.Commit(t.Context(), c.draft); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// TestDemoCommandsAreTheStory compares each commit of the story with the one
// that the command beside it makes.
func TestDemoCommandsAreTheStory(t *testing.T) {
	whole := beginning(t, len(everyChapter()))
	for i, c := range everyChapter() {
		if c.args == "" {
			continue
		}
		path := beginning(t, i)
		if out, err := exec.Command("sh", "-c", "onto "+c.args+" --db "+path).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", c.args, err, out)
		}
		examine := []string{"commits", "examine", "--id", string(rune('1' + i)), "--db"}
		got, want := must(t, "", append(examine, path)...), must(t, "", append(examine, whole)...)
		if timeless(got) != timeless(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", c.args, got, want)
		}
	}
}

// timeless leaves out what differs between any two commits.
func timeless(examined string) string {
	event := regexp.MustCompile(`[0-9a-f-]{36}( .* )\S+Z`)
	var kept []string
	for line := range strings.Lines(examined) {
		if !strings.HasPrefix(line, "time ") && !strings.HasPrefix(line, "runtime ") {
			kept = append(kept, event.ReplaceAllString(line, "EVENT $1"))
		}
	}
	return strings.Join(kept, "")
}

func TestDemoOnATerminalHasColour(t *testing.T) {
	var buf bytes.Buffer
	c := &session.Session{Printer: &terminal.Printer{Out: terminal.NewOutput(&buf), Err: terminal.NewOutput(&buf)}, In: strings.NewReader("")}
	c.Out.Terminal, c.Out.Colour = true, true
	c.Flags.DB = filepath.Join(t.TempDir(), "demo.db")
	if err := demo(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	c.Out.Flush()
	for _, want := range []string{"\x1b[1mWho are the customers now?\x1b[0m", "\x1b[36monto query entities Customer", "\x1b[31m- Customer c3\x1b[0m"} {
		if !strings.Contains(buf.String(), want) {
			t.Errorf("%q is missing", want)
		}
	}
}

// Concurrent demos do not use each other's files.
func TestDemosAtOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			var stderr bytes.Buffer
			if status := run(context.Background(), []string{"demo"}, strings.NewReader(""), io.Discard, &stderr); status != session.ExitOK {
				t.Errorf("got status %d: %s", status, &stderr)
			}
		})
	}
	wg.Wait()
	for _, name := range []string{"demo.db", "demo-2.db", "demo-3.db", "demo-4.db"} {
		var stdout, stderr bytes.Buffer
		run(context.Background(), []string{"commits", "--json", "--db", name}, strings.NewReader(""), &stdout, &stderr)
		if n := strings.Count(stdout.String(), `"commit_id"`); n != len(everyChapter())+2 {
			t.Errorf("%s: got %d commits, want %d (%s)", name, n, len(everyChapter())+2, &stderr)
		}
	}
}
