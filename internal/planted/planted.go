// Package planted builds the tests of a package with mistakes in its source, to see whether
// they are caught. Nothing of it is in the product: the source is copied, and each mistake is
// behind a switch in the copy.
package planted

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ontologia/onto/internal/effort"
)

// variable selects the mistake.
const variable = "ONTO_PLANTED_MISTAKE"

// Change replaces a snippet that a source file has exactly once. In New, the word PLANTED
// stands for the condition that the mistake is made.
type Change struct{ Mistake, File, Old, New string }

// Binary is the tests of a package with mistakes in it.
type Binary string

// Build builds the tests of the package in the present directory, which has that name, with
// all changes, which may be in other packages too. Extra is further source for the package.
func Build(t *testing.T, name, extra string, changes []Change) Binary {
	t.Helper()
	dir := t.TempDir()
	sources := map[string]string{"planted.go": plantedSource(name) + extra}
	for _, c := range changes {
		text, changed := sources[c.File]
		if !changed {
			body, err := os.ReadFile(c.File)
			if err != nil {
				t.Fatal(err)
			}
			text = string(body)
		}
		if n := strings.Count(text, c.Old); n != 1 {
			t.Fatalf("%s: %s has %d times what is to be changed, want once:\n%s", c.Mistake, c.File, n, c.Old)
		}
		sources[c.File] = strings.Replace(text, c.Old, strings.ReplaceAll(c.New, "PLANTED", fmt.Sprintf("(plantedMistake == %q)", c.Mistake)), 1)
		if other := filepath.Join(filepath.Dir(c.File), "planted.go"); sources[other] == "" {
			sources[other] = plantedSource(packageName.FindStringSubmatch(text)[1])
		}
	}
	binary := filepath.Join(dir, "planted.test")
	if out, err := exec.Command("go", "test", "-c", "-ldflags=-s -w", "-overlay", overlay(t, dir, sources), "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return Binary(binary)
}

var packageName = regexp.MustCompile(`(?m)^package (\w+)`)

// plantedSource is the switch of a package.
func plantedSource(name string) string {
	return fmt.Sprintf(`package %s

import "os"

// plantedMistake is the mistake to make; "" for none.
var plantedMistake = os.Getenv(%q)
`, name, variable)
}

// overlay writes sources to a directory, and the file that puts them in place of others.
func overlay(t *testing.T, dir string, sources map[string]string) string {
	t.Helper()
	replace := map[string]string{}
	for file, text := range sources {
		path, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		replace[path] = filepath.Join(dir, fmt.Sprintf("%d-%s", len(replace), filepath.Base(file)))
		if err := os.WriteFile(replace[path], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	path := filepath.Join(dir, "overlay.json")
	if err == nil {
		err = os.WriteFile(path, list, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Run runs the tests with a mistake, or without one if it is "", and returns what they print.
// They do as much as in a plain run, which has to catch it.
func (b Binary) Run(t *testing.T, mistake string, args ...string) (string, error) {
	c := exec.CommandContext(t.Context(), string(b), args...)
	c.Env = append(os.Environ(), variable+"="+mistake, effort.LevelVariable+"=", effort.SeedVariable+"=")
	out, err := c.CombinedOutput()
	return string(out), err
}
