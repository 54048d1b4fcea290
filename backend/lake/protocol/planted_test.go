package protocol

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/internal/planted"
)

// complaint is what the simulation prints about the first seed that goes wrong.
var complaint = regexp.MustCompile(`seed \d+: .*`)

// Every mistake is caught by some seed. None is in the source: they are planted in a
// copy of it.
func TestSimulationCatchesMistakes(t *testing.T) {
	var changes []planted.Change
	for _, m := range mistakes() {
		for _, c := range m.changes {
			changes = append(changes, planted.Change{Mistake: m.what, File: c.file, Old: c.old, New: c.new})
		}
	}
	binary := planted.Build(t, "protocol", "", changes)
	run := func(t *testing.T, mistake string, first, seeds uint64) (out string, err error) {
		return binary.Run(t, mistake, "-test.run=^TestSimulationFrom$", "-test.timeout=20m", fmt.Sprint(first), fmt.Sprint(seeds))
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		if out, err := run(t, "", 0, 20); err != nil {
			t.Errorf("without a mistake: %v\n%s", err, out)
		}
	})
	for i, m := range mistakes() {
		if !effort.Includes(t, i) {
			continue
		}
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
