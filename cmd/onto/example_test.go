package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/cmd/onto/internal/evolve"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/store/schemafile"
)

// exampleStore makes a store with the types of the help of init, and enough commits for
// the examples that name one.
func exampleStore(t *testing.T) string {
	t.Helper()
	types, err := schemafile.Read(strings.NewReader(evolve.ExampleSchema))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "onto.db")
	b, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), b, types...)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	fact := func(attribute, id string, value any) onto.Fact {
		return onto.Fact{Type: "Contract", Subject: "ada", Attribute: attribute, ID: id, Value: value}
	}
	for _, d := range []onto.Draft{
		onto.Draft{}.Ensure(onto.Entity{Type: "Customer", Fields: map[string]any{"id": "ada", "name": "Ada", "tier": "Gold"}}),
		onto.Draft{}.Assert(fact("salary", "f2", 4100), fact("employer", "f2", "Acme")),
	} {
		if _, err := s.Commit(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 42 {
		d := onto.Draft{}.Ensure(onto.Entity{Type: "Product", Fields: map[string]any{"sku": fmt.Sprint("p", n)}})
		if n == 4 {
			d = d.Assert(fact("salary", "f1", 4200))
		}
		if _, err := s.Commit(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// Every example about facts does what the help says: it succeeds.
func TestExamplesAboutFactsRun(t *testing.T) {
	t.Parallel()
	template, err := os.ReadFile(exampleStore(t))
	if err != nil {
		t.Fatal(err)
	}
	about := regexp.MustCompile(`\bContract\b`)
	toFill := regexp.MustCompile(`\b(CURSOR|TOKEN)\b`)
	n := 0
	walk(commands(), func(cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Example) {
			line = strings.TrimSpace(line)
			if !about.MatchString(line) || toFill.MatchString(line) {
				continue
			}
			n++
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "onto.db"), template, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "staff.csv"), []byte("id,salary,photo,updated_at\nada,4300,x.png,2026-03-01\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			run := exec.Command("sh", "-c", line)
			run.Dir = dir
			if out, err := run.CombinedOutput(); err != nil {
				t.Errorf("%s: %s: %v\n%s", cmd.CommandPath(), line, err, out)
			}
		}
	})
	t.Logf("ran %d examples", n)
	if n < 20 {
		t.Errorf("ran %d examples: does the search still know them?", n)
	}
}
