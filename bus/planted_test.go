package bus_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/internal/planted"
)

// plantedSource is what mistakes use.
const plantedSource = `
// unless is a value, or none if a mistake is made.
func unless[T any](planted bool, v T) T {
	if planted {
		v = *new(T)
	}
	return v
}
`

// Every mistake is caught by the test that it names. None is in the source: they are
// planted in a copy of it.
func TestMistakesAreCaught(t *testing.T) {
	t.Parallel()
	var changes []planted.Change
	for _, m := range mistakes() {
		changes = append(changes, planted.Change{Mistake: m.what, File: m.file, Old: m.old, New: m.new})
	}
	binary := planted.Build(t, "bus", plantedSource, changes)
	run := func(t *testing.T, mistake, test string) (string, error) {
		return binary.Run(t, mistake, "-test.run="+test, "-test.timeout=20s")
	}
	var tests []string
	for i, m := range mistakes() {
		if !effort.Includes(t, i) {
			continue
		}
		tests = append(tests, m.caught)
		t.Run(m.what, func(t *testing.T) {
			t.Parallel()
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
