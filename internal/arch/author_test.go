package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mayTellOfOthers lists where the code of the product may speak of what others have written.
// Everything in a store was written by this program, see docs/decisions/0026-one-author.md.
func mayTellOfOthers() []string {
	return []string{
		"backend/sqlite/source/", // reads files of others, to copy them

		// A bucket has objects that a lake has not written, and files have other users.
		"backend/lake/", "backend/capability.go", "internal/place/lake.go", "internal/document/lake.go",
		"cmd/onto/internal/care/janitor.go", "internal/audit/code.go", "upkeep/catalogue.go",

		"internal/audit/log.go", // commit_time_unreadable

		"backend/backendtest/read.go", "backend/backendtest/work_revise.go", // in other senses
	}
}

// TestOneAuthor finds traces of living beside other programs in one file.
func TestOneAuthor(t *testing.T) {
	keys := regexp.MustCompile(`FOREIGN KEY|foreign[ _]keys?|foreignKeys`) // of SQL
	words := regexp.MustCompile(`[Ff]oreign|[Uu]ntouched|[Aa]dopt|\b[Ss]tand-?[Ii]ns?\b|[Uu]nreadable`)
	used := map[string]bool{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(s.path)))
		if err != nil {
			t.Fatal(err)
		}
		found := words.FindString(keys.ReplaceAllString(string(text), ""))
		if found == "" {
			continue
		}
		allowed := false
		for _, prefix := range mayTellOfOthers() {
			if strings.HasPrefix(s.path, prefix) {
				allowed, used[prefix] = true, true
			}
		}
		if !allowed {
			t.Errorf("%s: says %q", s.path, found)
		}
	}
	for _, prefix := range mayTellOfOthers() {
		if !used[prefix] && prefix != "backend/sqlite/source/" {
			t.Errorf("%s is allowed these words, and has none", prefix)
		}
	}
}
