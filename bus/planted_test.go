package bus_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// plantedVariable selects the mistake in the binary of TestMistakesAreCaught.
const plantedVariable = "ONTO_PLANTED_MISTAKE"

// plantedSource is the additional file of that binary.
const plantedSource = `package bus

import "os"

// planted is the mistake to make; "" for none.
var planted = os.Getenv("` + plantedVariable + `")

// unless is a value, or none if a mistake is made.
func unless[T any](planted bool, v T) T {
	if planted {
		v = *new(T)
	}
	return v
}
`

// plantAll builds the tests of this package from a copy of its source with all mistakes,
// each behind a switch.
func plantAll(t *testing.T) (binary string) {
	t.Helper()
	dir := t.TempDir()
	sources := map[string]string{"planted.go": plantedSource}
	for _, m := range mistakes() {
		text, changed := sources[m.file]
		if !changed {
			body, err := os.ReadFile(m.file)
			if err != nil {
				t.Fatal(err)
			}
			text = string(body)
		}
		if n := strings.Count(text, m.old); n != 1 {
			t.Fatalf("%s: %s has %d times what is to be changed, want once:\n%s", m.what, m.file, n, m.old)
		}
		sources[m.file] = strings.Replace(text, m.old, strings.ReplaceAll(m.new, "PLANTED", fmt.Sprintf("(planted == %q)", m.what)), 1)
	}
	replace := map[string]string{}
	for file, text := range sources {
		path, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		replace[path] = filepath.Join(dir, file)
		if err := os.WriteFile(replace[path], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	binary = filepath.Join(dir, "planted.test")
	if out, err := exec.Command("go", "test", "-c", "-overlay", filepath.Join(dir, "overlay.json"), "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// Every mistake is caught by the test that it names. None is in the source: they are
// planted in a copy of it.
func TestMistakesAreCaught(t *testing.T) {
	binary := plantAll(t)
	run := func(t *testing.T, mistake, test string) (string, error) {
		c := exec.CommandContext(t.Context(), binary, "-test.run="+test, "-test.skip=/sqlite|Mistakes", "-test.timeout=20s")
		c.Env = append(os.Environ(), plantedVariable+"="+mistake)
		out, err := c.CombinedOutput()
		return string(out), err
	}
	var tests []string
	for _, m := range mistakes() {
		tests = append(tests, m.caught)
		t.Run(m.what, func(t *testing.T) {
			if out, err := run(t, m.what, "^"+m.caught+"$"); err == nil || !strings.Contains(out, "FAIL") && !strings.Contains(out, "panic") {
				t.Errorf("%s has not caught it: %v\n%s", m.caught, err, out)
			}
		})
	}
	for _, test := range slices.Compact(slices.Sorted(slices.Values(tests))) {
		if out, err := run(t, "", "^"+test+"$"); err != nil {
			t.Errorf("without a mistake: %v\n%s", err, out)
		}
	}
	t.Logf("%d mistakes", len(tests))
}
