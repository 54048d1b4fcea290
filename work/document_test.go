package work_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every row of docs/work.md about the original program says where it holds: in a file that
// exists and has what is named, or in words.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile("../docs/work.md")
	if err != nil {
		t.Fatal(err)
	}
	_, tables, found := strings.Cut(string(text), "\n## The original program's queue\n")
	if !found {
		t.Fatal("docs/work.md has no part about the original program")
	}
	place := regexp.MustCompile("`([\\w/]+(?:\\.\\w+)+)` `([^`]+)`")
	rows, named := 0, 0
	for line := range strings.Lines(tables) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) < 2 || strings.HasPrefix(cells[1], "---") || strings.Contains(line, "| the page says |") {
			continue
		}
		rows++
		if len(cells) != 5 || strings.TrimSpace(cells[3]) == "" {
			t.Errorf("a row does not say where it holds: %s", line)
			continue
		}
		for _, m := range place.FindAllStringSubmatch(cells[3], -1) {
			named++
			if data, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(m[1]))); err != nil || !strings.Contains(string(data), m[2]) {
				t.Errorf("%s has no %q: %v", m[1], m[2], err)
			}
		}
	}
	if rows < 35 || named < rows {
		t.Errorf("%d rows name %d places", rows, named)
	}
}
