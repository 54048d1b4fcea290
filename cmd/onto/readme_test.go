package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The story of the README works when it is pasted, from an empty directory to its end.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, story, found := strings.Cut(string(text), "\n## From an empty directory\n")
	story, _, ended := strings.Cut(story, "\n## ")
	if !found || !ended {
		t.Fatal("the README has no part \"From an empty directory\" with one after it")
	}
	var pasted strings.Builder
	for i, block := range strings.Split(story, "\n```") {
		if code, isCode := strings.CutPrefix(block, "sh\n"); isCode && i%2 == 1 {
			pasted.WriteString(code + "\n")
		}
	}
	install, rest, found := strings.Cut(pasted.String(), "\n")
	if !found || !strings.HasPrefix(install, "go install ./cmd/onto ") {
		t.Fatalf("the story begins with %q, want the installation", install)
	}
	if n := strings.Count(rest, "\nonto "); n < 40 {
		t.Errorf("the story has %d commands, which is not all of it", n)
	}
	dir := t.TempDir()
	script := "exec bash -euo pipefail story.sh\n-- story.sh --\n" + rest
	if err := os.WriteFile(filepath.Join(dir, "readme.txtar"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{Dir: dir})
}
