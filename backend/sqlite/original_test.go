package sqlite_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The table of what the original says names tests that exist.
func TestDocumentedBehaviour(t *testing.T) {
	text, err := os.ReadFile("../../docs/format/sqlite.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "\n## What the original says\n")
	if !ok {
		t.Fatal("docs/format/sqlite.md has no section about the original")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	rows := regexp.MustCompile(`(?m)^\| (.+) \| (.+) \| (.+) \|$`).FindAllStringSubmatch(section, -1)
	if len(rows) < 50 {
		t.Errorf("got %d rows", len(rows))
	}
	reference := regexp.MustCompile("`([^`]+)`")
	for _, row := range rows[1:] {
		named := reference.FindAllStringSubmatch(row[3], -1)
		if len(named) == 0 {
			t.Errorf("no test is named for: %s", row[1])
		}
		for _, name := range named {
			if !isTested(t, name[1]) {
				t.Errorf("%s: there is no %s", row[1], name[1])
			}
		}
	}
}

// isTested reports whether a test, or a story of the contract or of the command, exists.
func isTested(t *testing.T, name string) bool {
	t.Helper()
	pattern, wanted := "", ""
	if story, ok := strings.CutPrefix(name, "story: "); ok {
		pattern, wanted = "../backendtest/*.go", `"`+story
	} else if strings.HasSuffix(name, ".txtar") {
		pattern = "../../cmd/onto/testdata/" + name
	} else {
		dot := strings.LastIndex(name, ".")
		pattern, wanted = filepath.Join("../..", name[:dot], "*_test.go"), "func "+name[dot+1:]+"("
	}
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), wanted) {
			return true
		}
	}
	return false
}
