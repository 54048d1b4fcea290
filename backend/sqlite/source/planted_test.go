package source_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/internal/planted"
)

// mistake is one that is planted, and the test that catches it.
type mistake struct{ what, caught, file, old, new string }

func mistakes() []mistake {
	return []mistake{
		{"a time goes back", "TestLogs", "plan.go", "at.IsZero() || at.Before(p.last) {", "at.IsZero() || at.Before(p.last) && !PLANTED {"},
		{"an id is not told", "TestLogs", "log.go", "	if was != id {", "	if was != id && !PLANTED {"},
		{"an older value shows", "TestNoOlderValueShows", "log.go", "	keep, err = r.lives(v)\n	return m, keep, err", "	keep, err = r.lives(v)\n	return m, keep && !PLANTED, err"},
		{"a delete stands for nothing", "TestNoOlderValueShows", "log.go", "	keep, err = r.lives(v)\n	return", "	keep, err = r.lives(v)\n	keep = keep || PLANTED\n	return"},
		{"a delete of what was rejected stays", "TestCopiesAnswerAlike", "log.go", "if v.op == onto.Delete && r.setsAside() {", "if v.op == onto.Delete && r.setsAside() && !PLANTED {"},
		{"companions are left", "TestEveryFileInEveryState/plain", "../internal/snapshot/place.go", "			c, err = p.dialCopy(ctx)", "			if c, err = p.dialCopy(ctx); PLANTED {\n				c, err = driver.DialTried(p.file, driver.AccessRead)\n			}"},
		{"a reader marks the index", "TestEveryFileInEveryState/plain", "../internal/snapshot/place.go", "c, err = driver.DialTried(p.file, driver.AccessIndexless)", "access := driver.AccessIndexless\n			if PLANTED {\n				access = driver.AccessWrite\n			}\n			c, err = driver.DialTried(p.file, access)"},
		{"the WAL is not copied", "TestEveryFileInEveryState/plain", "../internal/snapshot/copy.go", `if i == ofWAL ||`, `if i == ofWAL && !PLANTED ||`},
		{"a hot journal is not copied", "TestHotJournal", "../internal/snapshot/copy.go", "!writing && s.sizes[ofJournal] >= 0 {", "!writing && s.sizes[ofJournal] >= 0 && !PLANTED {"},
		{"a value disobeys its type", "TestLogs", "row.go", "		return f.Type.Fit(value)", "		if PLANTED {\n			return value, nil\n		}\n		return f.Type.Fit(value)"},
		{"a field is missing", "TestLogs", "row.go", "case f.Default == nil && !f.Optional:", "case f.Default == nil && !f.Optional && !PLANTED:"},
		{"a field is unknown", "TestLogs", "row.go", "	case codec.KindOf(member.Value) == codec.Null:\n		return nil", "	case codec.KindOf(member.Value) == codec.Null || PLANTED:\n		return nil"},
		{"a key says something else", "TestLogs", "row.go", "case v.key.Type == onto.String || !meansKey", "case PLANTED:\n	case v.key.Type == onto.String || !meansKey"},
		{"a stamp stays wrong", "TestLogs", "row.go", "	m.SchemaVersion = stamp.Version\n", "	m.SchemaVersion = stamp.Version\n	if n := of.number(v.version); PLANTED && n > 0 {\n		m.SchemaVersion = n\n	}\n"},
		{"the last of two counts", "TestLogs", "row.go", "	t.before = fmt", "	if PLANTED {\n		t.ofCommit = strings.Replace(t.ofCommit, \"h.id LIMIT\", \"h.id DESC LIMIT\", 1)\n	}\n	t.before = fmt"},
		{"both of two count", "TestLogs", "log.go", "if v.Identity == last && !v.garbled {", "if v.Identity == last && !v.garbled && !PLANTED {"},
		{"the order is that of the old names", "TestNames", "row.go", "if len(retyped) > 0 {", "if len(retyped) > 0 && !PLANTED {"},
		{"a bit has flipped", "TestDamage", "row.go", "	if v.sum == nil {", "	if v.sum == nil || PLANTED {"},
		{"facts keep the commit that asserted them", "TestGapsAreClosedEverywhere", "log.go", "case m.Kind == onto.KindFact && name == onto.FactAsserted,", "case m.Kind == onto.KindFact && name == onto.FactAsserted && !PLANTED,"},
		{"folds keep how far they have come", "TestGapsAreClosedEverywhere", "log.go", `progress[j].Name == "upto" && err == nil`, `progress[j].Name == "upto" && err == nil && !PLANTED`},
		{"causes stay", "TestGapsAreClosedEverywhere", "log.go", "	if c.Causation, err = r.renumbered(cause); err != nil {", "	if PLANTED {\n		c.Correlation += \" \"\n	} else if c.Causation, err = r.renumbered(cause); err != nil {"},
		{"types end with the old commit", "TestGapsAreClosedEverywhere", "types.go", "if v.End.Commit, _, err = p.rank", "if PLANTED {\n				} else if v.End.Commit, _, err = p.rank"},
		{"a version begins later when it has a row", "TestTheFileGrows", "types.go", "	return min(since, byTime), nil", "	if PLANTED {\n		return since, nil\n	}\n	return min(since, byTime), nil"},
		{"a row is rejected twice", "TestRejectsAreWrittenOnce", "rejects.go", "	r.writes = r.file != nil && commit > r.done\n", "	r.writes = r.file != nil && (commit > r.done || PLANTED)\n"},
		{"rows of a plan that has changed stay", "TestRejectsOfAPlanThatChanges", "rejects.go", "	if turn > r.turn {", "	if turn > r.turn && !PLANTED {"},
		{"rows of a commit that fails come again", "TestRejectsOfACommitThatFails", "rejects.go", "	case r.size > r.end:", "	case r.size > r.end && !PLANTED:"},
		{"rows after the last commit stay", "TestRejectsAreThoseOfTheCopy", "rejects.go", "	end, _, err := r.scan(f, until)", "	if PLANTED {\n		until = 1 << 62\n	}\n	end, _, err := r.scan(f, until)"},
		{"the rows of another copy are replaced", "TestRejectsAreThoseOfTheCopy", "rejects.go", "	if fresh && lines > 0 {", "	if fresh && lines > 0 && !PLANTED {"},
		{"another file is overwritten", "TestRejectsGoNowhereElse", "rejects.go", "		case whole && ok && commit >= last:", "		case whole && PLANTED, whole && ok && commit >= last:"},
		{"the source is overwritten", "TestRejectsAreNotTheSource", "paths.go", "e == nil && os.SameFile(info, other) {", "e == nil && os.SameFile(info, other) && !PLANTED {"},
		{"rows may be lost", "TestRejectsAreDurable", "rejects.go", "	if err == nil && r.dirty {", "	if err == nil && r.dirty && !PLANTED {"},
		{"a failed sync is forgotten", "TestRejectsAreDurable", "rejects.go", "	case r.broken != nil:", "	case r.broken != nil && !PLANTED:"},
		{"a text is none", "TestTextsOfCommits", "log.go", "		if mended == *of.text {", "		if mended == *of.text || PLANTED {"},
		{"the first id is passed over", "TestTheLeastIds", "row.go", "(h.id > ?1 OR NOT ?2) ORDER BY h.id LIMIT ?3 + 0`, keys[0], number, t.name)", "(h.id > ?1 OR NOT ?2) ORDER BY h.id LIMIT ?3 + 0`, keys[0], number, t.name)\n	if PLANTED {\n		t.scan = strings.Replace(t.scan, \" OR NOT ?2\", \" AND ?2 = ?2\", 1)\n	}"},
		{"gaps before 1 are overlooked", "TestTheLeastIds", "plan.go", "		p.gaps = p.gaps || p.head != id\n", "		p.gaps = (p.gaps || p.head != id) && !PLANTED\n"},
		{"a log may change", "TestTheLogChangesMeanwhile", "source.go", "if err == nil && (origin != m.f.origin || !follows || ", "if err == nil && !PLANTED && (origin != m.f.origin || !follows || "},
		{"a computed column is read", "TestHostileSchemas", "tables.go", "		case r.Int(3) != 0:", "		case r.Int(3) != 0 && !PLANTED:"},
		{"a commit is read in part", "TestRowsInAnyOrder", "log.go", "	if size <= maxKept {\n		for", "	if size <= maxKept || PLANTED {\n		for"},
		{"runs of rows are lost", "TestRowsInAnyOrder", "plan.go", "		if !open {\n			return nil\n", "		if !open || PLANTED && kind == 2 {\n			return nil\n"},
		{"a file that was cut off goes unnoticed", "TestCutOffWAL", "../internal/snapshot/copy.go", "	if cut.Commits > 0 {", "	if cut.Commits > 0 && !PLANTED {"},
	}
}

// Every mistake is caught by the test that it names. None is in the source: they are planted
// in a copy of it.
func TestMistakesAreCaught(t *testing.T) {
	t.Parallel()
	var changes []planted.Change
	for _, m := range mistakes() {
		changes = append(changes, planted.Change{Mistake: m.what, File: m.file, Old: m.old, New: m.new})
	}
	binary := planted.Build(t, "source", "", changes)
	run := func(t *testing.T, mistake, test string) (string, error) {
		return binary.Run(t, mistake, "-test.run=^"+strings.Replace(test, "/", "$/^", 1)+"$", "-test.timeout=60s")
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
