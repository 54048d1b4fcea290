package foldkeep_test

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

// mistake is a mistake, and the test that catches it.
type mistake struct {
	what, caught string
	changes      []planted.Change // of which Mistake is left out
}

func mistakes() []mistake {
	one := func(what, caught, file, old, new string) mistake {
		return mistake{what, caught, []planted.Change{{File: file, Old: old, New: new}}}
	}
	return []mistake{
		one("a stale state is accepted as base", "TestProgramsTakeTurns", "draft.go",
			"	c.fence(id, at)\n", "	if !PLANTED {\n		c.fence(id, at)\n	}\n"),
		{"a fold goes on while it is behind", "TestNothingIsFoldedWhileBehind", []planted.Change{
			{File: "keeper.go", Old: "c.f != nil && c.Behind == 0 }", New: "c.f != nil && (c.Behind == 0 || PLANTED) }"},
			{File: "draft.go", Old: "		if of.Behind != 0 {\n			continue", New: "		if of.Behind != 0 && !PLANTED {\n			continue"},
		}},
		one("a draft is not fenced on the guard", "TestProgramsWithoutTheFold", "draft.go",
			"	c.fence(fold.GuardID(facts), g.Commit)\n", "	if !PLANTED {\n		c.fence(fold.GuardID(facts), g.Commit)\n	}\n"),
		one("a draft is not fenced on the record", "TestNothingIsFoldedWhileBehind", "draft.go",
			"		c.fence(fold.RecordID(facts, of.name), of.Commit)\n", "		if !PLANTED {\n			c.fence(fold.RecordID(facts, of.name), of.Commit)\n		}\n"),
		one("a retraction does not refold", "TestStatesFollowFacts", "draft.go",
			"if replay || slices.Contains(deeds, changes) {", "if replay || slices.Contains(deeds, changes) && !PLANTED {"),
		one("a fact that is known is applied again", "TestStatesFollowFacts", "draft.go",
			"	case w.Once && !found:\n", "	case w.Once && (!found || PLANTED):\n"),
		one("the progress of a rebuild is ahead of its states", "TestVersionsAreRebuilt", "upkeep.go",
			"return k.step(ctx, m, c, next, list, metadata", "return k.step(ctx, m, c, next, unless(PLANTED, list), metadata"),
		one("catching up ends while facts come in", "TestFactsWhileCatchingUp", "upkeep.go",
			"	if m.last {\n", "	if m.last && !PLANTED {\n"),
		one("a stream does not tell that folds are behind", "TestStreamsAreFoldedAfterwards", "stream.go",
			"res, err := s.append(ctx, &fenced, records)", "res, err := s.append(ctx, &fenced, unless(PLANTED, records))"),
		one("a stream that changes nothing makes a commit", "TestStreamsAreFoldedAfterwards", "stream.go",
			"	if d.Evolve == nil {", "	if d.Evolve == nil && !PLANTED {"),
		one("an older version takes the place of a newer", "TestVersionsAreRebuilt", "upkeep.go",
			"case known && (kept.Version > f.Version ||", "case known && (kept.Version > f.Version && !PLANTED ||"),
		one("a state of an older version is a base", "TestStatesOfAnOlderVersion", "draft.go",
			"base != nil && fold.MetaOf(base).Version != f.Version", "base != nil && fold.MetaOf(base).Version != f.Version && !PLANTED"),
		one("a rebuild overlooks what was retracted meanwhile", "TestRetractionsDuringARebuild", "draft.go",
			"		if base == nil { // a rebuild", "		if base == nil && PLANTED {\n			return nil\n		}\n		if base == nil { // a rebuild"),
		one("a subject without facts keeps its state", "TestStatesEndWithTheirFacts", "draft.go",
			"	if len(in.Entries) == 0 && in.Base == nil {\n", "	if len(in.Entries) == 0 && in.Base == nil && PLANTED {\n		return nil\n	}\n	if len(in.Entries) == 0 && in.Base == nil {\n"),
		one("a program does not learn of new state types", "TestEachProgramHasAFoldOfItsOwn", "keeper.go",
			"			if types, err = k.Relearn(ctx); err != nil {", "			if types, err = k.Fresh(ctx); PLANTED {\n			} else if types, err = k.Relearn(ctx); err != nil {"),
	}
}

// Every mistake is caught by the test that it names. None is in the source: they are
// planted in a copy of it.
func TestMistakesAreCaught(t *testing.T) {
	t.Parallel()
	var changes []planted.Change
	for _, m := range mistakes() {
		for _, c := range m.changes {
			c.Mistake = m.what
			changes = append(changes, c)
		}
	}
	binary := planted.Build(t, "foldkeep", plantedSource, changes)
	run := func(t *testing.T, mistake, test string) (string, error) {
		return binary.Run(t, mistake, "-test.run=^"+test+"$", "-test.skip=Mistakes", "-test.timeout=2m")
	}
	var tests []string
	for i, m := range mistakes() {
		if !effort.Includes(t, i) {
			continue
		}
		tests = append(tests, m.caught)
		t.Run(m.what, func(t *testing.T) {
			if out, err := run(t, m.what, m.caught); err == nil || !strings.Contains(out, "FAIL") && !strings.Contains(out, "panic") {
				t.Errorf("%s has not caught it: %v\n%s", m.caught, err, out)
			}
		})
	}
	for _, test := range slices.Compact(slices.Sorted(slices.Values(tests))) {
		if out, err := run(t, "", test); err != nil {
			t.Errorf("without a mistake: %v\n%s", err, out)
		}
	}
	t.Logf("%d mistakes", len(tests))
}
