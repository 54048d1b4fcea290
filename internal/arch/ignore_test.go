package arch

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestMadeFilesAreIgnored tests that git ignores the stores, exports and backups that the
// commands of the README make where the repository is.
func TestMadeFilesAreIgnored(t *testing.T) {
	rules, err := os.ReadFile("../../.gitignore")
	if err != nil {
		t.Fatal(err)
	}
	ignored := func(name string) bool {
		for line := range strings.Lines(string(rules)) {
			rule, rooted := strings.CutPrefix(strings.TrimSpace(line), "/")
			if ok, err := path.Match(rule, name); ok && err == nil && rule != "" && (rooted || !strings.Contains(rule, "/")) {
				return true
			}
		}
		return false
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`\b[\w-]+\.(db|jsonl|jsonl\.gz|csv|parquet)\b`).FindAllString(string(readme), -1)
	names = append(names, "onto.db", "onto.db-wal", "onto.db-shm", "demo-2.db", "onto.db.before-restore-3")
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if !ignored(name) {
			t.Errorf("git does not ignore %s", name)
		}
	}
	if ignored("go.mod") || ignored("README.md") {
		t.Error("git ignores what belongs to the repository")
	}
}
