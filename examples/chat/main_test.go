package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The program prints the same when it is run again.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	const want = `What ana wrote, on all shards:
  m3 in kitchen: Coffee is ready (by operator:ana)
  m1 in lobby: Hello, everybody (by operator:ana)
The lobby has 2 messages, 2 say hello, and the rival sees 0.
`
	for range 2 {
		var out bytes.Buffer
		if err := run(t.Context(), dir, &out); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("it prints %s, want %s", out.String(), want)
		}
	}
}

// What the README shows is in this program.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(readme), "\n## Objects of many tenants\n")
	_, block, begins := strings.Cut(section, "```go\n")
	block, _, ends := strings.Cut(block, "```\n")
	if !found || !begins || !ends {
		t.Fatal("the README has no program of objects")
	}
	for _, part := range strings.Split(block, "\n\n") {
		if !strings.Contains(string(program), strings.TrimSpace(part)) {
			t.Errorf("main.go has no\n%s", part)
		}
	}
}
