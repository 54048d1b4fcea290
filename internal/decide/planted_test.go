package decide_test

import (
	"strings"
	"testing"

	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/internal/planted"
)

// Mistakes with facts are each caught by the test that they name.
func TestFactMistakes(t *testing.T) {
	const judged = "		if w.Once && newest != nil && !backend.Repeats(w, newest) {"
	forget := func(when string) string {
		return "		if " + when + " {\n			other := *w\n			other.Once, w = false, &other\n		}\n" + judged
	}
	mistakes := []struct{ what, test, file, old, new string }{
		{"a write once is like any other", "TestFactsInRound", "candidate.go", judged, forget("PLANTED")},
		{"a write once brings back what was deleted", "TestFactsInRound", "candidate.go", judged, forget("PLANTED && newest != nil && !newest.Live()")},
		{"a fact that is refused is left out", "TestFactsInRound", "candidate.go",
			"return nil, refusal.FactKnown(w, newest)", "if PLANTED {\n				continue\n			}\n			return nil, refusal.FactKnown(w, newest)"},
		{"a repeated fact makes a version", "TestFactsInRound", "candidate.go",
			"if w.Once && newest != nil || !backend.Changes(w, newest) {", "if w.Once && newest != nil && !PLANTED || !backend.Changes(w, newest) {"},
		{"what the round wrote is not known", "TestFactsInRound", "round.go",
			"		r.Newest[added[i].Identity] = &added[i].Version", "		if !PLANTED {\n			r.Newest[added[i].Identity] = &added[i].Version\n		}"},
		{"a stale draft is accepted", "TestFactOrder", "candidate.go",
			"if err := r.fence(d.Fence); err != nil {", "if err := r.fence(d.Fence); err != nil && !PLANTED {"},
		{"a fence is judged before expectations", "TestFactOrder", "candidate.go", "	if err := r.expect(d.Expect); err != nil {",
			"	if err := r.fence(d.Fence); err != nil && PLANTED {\n		return true, onto.Result{}, err\n	}\n	if err := r.expect(d.Expect); err != nil {"},
		{"what was purged counts", "TestOncePurged", "candidate.go",
			"if c.purged != nil && slices.Contains(c.purged, w.TypeName()) {", "if c.purged != nil && !PLANTED && slices.Contains(c.purged, w.TypeName()) {"},
	}
	var changes []planted.Change
	for _, m := range mistakes {
		changes = append(changes, planted.Change{Mistake: m.what, File: m.file, Old: m.old, New: m.new})
	}
	binary := planted.Build(t, "decide", "", changes)
	if out, err := binary.Run(t, "", "-test.run=^(TestFactsInRound|TestFactOrder|TestOncePurged|TestFactsAgainstMemory)$"); err != nil {
		t.Fatalf("without a mistake: %v\n%s", err, out)
	}
	tried := 0
	for i, m := range mistakes {
		if !effort.Includes(t, i) {
			continue
		}
		tried++
		for _, test := range []string{m.test, "TestFactsAgainstMemory"} {
			if test != m.test && (m.test == "TestOncePurged" || m.what == "a fence is judged before expectations") {
				continue // which has neither purges nor expectations
			}
			out, err := binary.Run(t, m.what, "-test.run=^"+test+"$")
			if err == nil || !strings.Contains(out, "--- FAIL: "+test) {
				t.Errorf("%s: %s got %v and this, want a failure:\n%s", m.what, test, err, out)
			}
		}
	}
	t.Logf("%d mistakes", tried)
}
