package protocol

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// plantedVariable selects the mistake in the binary of TestSimulationCatchesMistakes.
const plantedVariable = "ONTO_PLANTED_MISTAKE"

// plantedSource is the additional file of that binary.
const plantedSource = `package protocol

import "os"

// planted is the mistake to make; "" for none.
var planted = os.Getenv("` + plantedVariable + `")
`

// plantAll builds the tests of this package from a copy of its source with all
// mistakes, each behind a switch.
func plantAll(t *testing.T) (binary string) {
	t.Helper()
	dir := t.TempDir()
	sources := map[string]string{"planted.go": plantedSource}
	for _, m := range mistakes() {
		for _, c := range m.changes {
			text, changed := sources[c.file]
			if !changed {
				body, err := os.ReadFile(c.file)
				if err != nil {
					t.Fatal(err)
				}
				text = string(body)
			}
			if n := strings.Count(text, c.old); n != 1 {
				t.Fatalf("%s: %s has %d times what is to be changed, want once:\n%s", m.what, c.file, n, c.old)
			}
			sources[c.file] = strings.Replace(text, c.old, strings.ReplaceAll(c.new, "PLANTED", fmt.Sprintf("(planted == %q)", m.what)), 1)
		}
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

// complaint is what the simulation prints about the first seed that goes wrong.
var complaint = regexp.MustCompile(`seed \d+: .*`)

// Every mistake is caught by some seed. None is in the source: they are planted in a
// copy of it.
func TestSimulationCatchesMistakes(t *testing.T) {
	binary := plantAll(t)
	run := func(t *testing.T, mistake string, first, seeds uint64) (out string, err error) {
		c := exec.CommandContext(t.Context(), binary, "-test.run=^TestSimulation$", "-test.timeout=20m", fmt.Sprint("-first=", first), fmt.Sprint("-seeds=", seeds))
		c.Env = append(os.Environ(), plantedVariable+"="+mistake)
		text, err := c.CombinedOutput()
		return string(text), err
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		if out, err := run(t, "", 0, 20); err != nil {
			t.Errorf("without a mistake: %v\n%s", err, out)
		}
	})
	for _, m := range mistakes() {
		t.Run(m.what, func(t *testing.T) {
			t.Parallel()
			out, err := run(t, m.what, m.seed, 1000)
			if found := complaint.FindString(out); err != nil && found != "" {
				t.Log(found)
				return
			}
			t.Errorf("no seed has caught it: %v\n%s", err, out)
		})
	}
}
