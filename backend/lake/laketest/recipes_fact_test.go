package laketest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket/file"
	"github.com/ontologia/onto/internal/codec"
)

// factRecipes are the statements about facts of the page on the format of lakes: the
// view, what holds at a commit and a time, and the events.
func factRecipes(t *testing.T) (view, holds, events string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "format", "lake.md"))
	must(t, err)
	_, text, _ := strings.Cut(string(page), "\n## Facts\n")
	text, _, _ = strings.Cut(text, "\n## ")
	var found []string
	for _, block := range strings.Split(text, "```sql\n")[1:] {
		sql, _, _ := strings.Cut(block, "```")
		found = append(found, sql)
	}
	if len(found) != 3 {
		t.Fatalf("the page has %d statements about facts, want 3", len(found))
	}
	return found[0], found[1], found[2]
}

// openFacts makes a lake in a directory with a type of facts.
func openFacts(t *testing.T, dir string, open bool) *lake.Backend {
	t.Helper()
	b, err := file.Open(dir, &file.Options{Create: true})
	must(t, err)
	l, err := lake.Open(t.Context(), b, &lake.Options{Trusted: true})
	must(t, err)
	s := contracts("salary", "subject")
	s.Open, s.Fields = open, append(s.Fields, onto.FactFields(open)[len(onto.FactFields(false)):]...)
	s.SortFields()
	_, err = l.Register(t.Context(), &backend.Registration{Schemas: []onto.Schema{persons("Person"), s}})
	must(t, err)
	return l
}

// at replaces the directory, the commit and the time that a recipe names.
func at(t *testing.T, recipe, dir string, commit int64, valid time.Time) string {
	t.Helper()
	for _, change := range [][2]string{
		{"'lake/", "'" + dir + "/"}, {"commit_id <= 3", fmt.Sprintf("commit_id <= %d", commit)},
		{"'2026-05-01T00:00:00.000000+00:00'", "'" + codec.FormatTime(valid) + "'"},
	} {
		recipe = strings.ReplaceAll(recipe, change[0], change[1])
	}
	return recipe
}

// rowsOf is the answer to a statement as text, one line for each row.
func (s *stockDuckDB) rowsOf(t *testing.T, sql string) string {
	t.Helper()
	sql = strings.TrimSuffix(strings.TrimSpace(sql), ";")
	return s.text(t, `SELECT coalesce(string_agg(line, chr(10)), '') FROM (SELECT concat_ws(' ', *COLUMNS(*)) AS line FROM (`+sql+`))`, 0)
}

// A contract, as it was signed, corrected, ended and taken back: the recipes tell what
// held at each commit about each time, and what happened.
func TestRecipesForFacts(t *testing.T) {
	view, holds, events := factRecipes(t)
	dir := filepath.Join(t.TempDir(), "lake")
	l := openFacts(t, dir, true)
	put := func(attribute, id, fields string) backend.Write {
		return write(onto.FactID("Contract", "ada", attribute, id), fields)
	}
	commit := func(writes ...backend.Write) {
		t.Helper()
		slices.SortFunc(writes, func(a, b backend.Write) int { return a.Identity.Compare(b.Identity) })
		_, err := l.Append(t.Context(), &backend.Draft{Writes: writes})
		must(t, err)
	}
	month := func(m time.Month) time.Time { return time.Date(2026, m, 1, 0, 0, 0, 0, time.UTC) }
	jan, jul, sep := codec.FormatTime(month(1)), codec.FormatTime(month(7)), codec.FormatTime(month(9))
	commit(put("salary", "a", `{"salary":4000,"valid_from":"`+jan+`","valid_until":"`+jul+`"}`),
		put("salary", "b", `{"salary":4500,"seq":1,"valid_from":"`+jul+`"}`), put("mood", "c", `{"kind":"guessed","seq":2,"value":{"x":[1]}}`))
	commit(put("salary", "d", `{"salary":4100,"valid_from":"`+codec.FormatTime(month(5))+`","valid_until":"`+codec.FormatTime(month(6))+`"}`))
	commit(put("salary", "b", `{"asserted":1,"revoked":"she left","salary":4500,"seq":1,"valid_from":"`+jul+`","valid_until":"`+sep+`"}`))
	commit(backend.Write{Identity: onto.FactID("Contract", "ada", "salary", "d"), Op: onto.Delete, SchemaVersion: 1})
	must(t, l.Close())

	db := openDuckDB(t)
	for _, sql := range strings.SplitAfter(at(t, view, dir, 0, jan2026()), ";\n") {
		db.text(t, sql, 0)
	}
	const mood, first, second, corrected = `ada mood c {"kind":"guessed","seq":2,"value":{"x":[1]}} 1`, "ada salary a ", "ada salary b ", "ada salary d "
	for _, c := range []struct {
		commit int64
		valid  time.Time
		want   string // the beginning of the second line; "" for none
	}{
		{1, month(5), first}, {2, month(5), corrected}, {3, month(5), corrected}, {4, month(5), first}, {4, month(6), first}, {2, month(6), first},
		{1, month(7), second}, {1, month(10), second}, {3, month(10), ""}, {4, month(8), second}, {4, month(9), ""}, {4, month(1).Add(-time.Microsecond), ""},
	} {
		lines := append(strings.SplitN(db.rowsOf(t, at(t, holds, dir, c.commit, c.valid)), "\n", 2), "")
		if lines[0] != mood || c.want == "" != (lines[1] == "") || !strings.HasPrefix(lines[1], c.want) {
			t.Errorf("at commit %d, about %s: got %q, want %q and %q", c.commit, c.valid.Format(time.DateOnly), lines, mood, c.want)
		}
	}
	db.text(t, events, 0)
	want := strings.Join([]string{
		"a 1 ada assert salary 4000 ? " + jan + " " + jul,
		"b 1 ada assert salary 4500 ? " + jul + " ?",
		`c 1 ada guessed mood {"x":[1]} ? ? ?`,
		"d 2 ada assert salary 4100 ? " + codec.FormatTime(month(5)) + " " + codec.FormatTime(month(6)),
		"b@3 3 ada revoke salary 4500 b " + jul + " " + sep,
		"d@4 4 ada retract salary 4100 d ? ?",
	}, "\n")
	got := db.rowsOf(t, `SELECT event_id, tx_id, subject_id, event_kind, attribute, value_json, coalesce(target_event_id, '?') AS target,
		coalesce(valid_from, '?') AS f, coalesce(valid_until, '?') AS u FROM domain_events`)
	if got != want {
		t.Errorf("events: got\n%s\nwant\n%s", got, want)
	}
}

func jan2026() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// rows is facts as a list of rows, for what holds by their own rule.
type rows []onto.Version

// holding is the identity of the fact that holds, by subject and attribute.
func (r rows) holding(t *testing.T, commit int64, valid time.Time) string {
	t.Helper()
	newest := map[onto.Identity]onto.Version{}
	for _, v := range r {
		if v.Commit <= commit {
			newest[v.Identity] = v
		}
	}
	best := map[[2]string]onto.Fact{}
	for _, v := range newest {
		if !v.Live() {
			continue
		}
		f, err := onto.FactOf(&v)
		must(t, err)
		place := [2]string{f.Subject, f.Attribute}
		other, found := best[place]
		if f.Holds(valid) && (!found || cmp.Or(cmp.Compare(f.Asserted, other.Asserted), cmp.Compare(f.Seq, other.Seq), cmp.Compare(f.ID, other.ID)) > 0) {
			best[place] = f
		}
	}
	var lines []string
	for _, f := range best {
		lines = append(lines, fmt.Sprintf("%s %s %s", f.Subject, f.Attribute, f.ID))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// The recipe and the rule agree about random facts, in files as commits and compactions
// leave them.
func TestRecipesForFactsAgree(t *testing.T) {
	view, holds, _ := factRecipes(t)
	random := rand.New(rand.NewPCG(17, 3))
	dir := filepath.Join(t.TempDir(), "lake")
	l := openFacts(t, dir, false)
	day := func(n int) time.Time { return jan2026().AddDate(0, 0, n) }
	var all rows
	const commits, points = 60, 100
	for c := range int64(commits) {
		drafted := map[onto.Identity]backend.Write{}
		for seq := range 1 + random.IntN(5) {
			id := onto.FactID("Contract", fmt.Sprint("p", random.IntN(2)), []string{"salary", "subject"}[random.IntN(2)], fmt.Sprint("f", c, "-", random.IntN(9)))
			members := []string{fmt.Sprintf(`%q:%d`, id.Right, random.IntN(3))}
			if seq > 0 && random.IntN(2) > 0 { // else the id decides
				members = append(members, fmt.Sprintf(`"seq":%d`, seq))
			}
			from := random.IntN(20)
			if random.IntN(4) > 0 {
				members = append(members, fmt.Sprintf(`"valid_from":%q`, codec.FormatTime(day(from))))
			}
			if random.IntN(4) > 0 {
				members = append(members, fmt.Sprintf(`"valid_until":%q`, codec.FormatTime(day(from+1+random.IntN(9)))))
			}
			slices.Sort(members)
			drafted[id] = write(id, "{"+strings.Join(members, ",")+"}")
		}
		if len(all) > 0 && random.IntN(2) == 0 {
			old := all[random.IntN(len(all))]
			if f, err := onto.FactOf(&old); err == nil && old.Live() && f.Asserted == old.Commit {
				fields := strings.Replace(string(old.Fields), "{", fmt.Sprintf(`{"asserted":%d,"revoked":true,`, f.Asserted), 1)
				drafted[old.Identity] = write(old.Identity, canonicalText(t, fields))
				if random.IntN(2) == 0 {
					drafted[old.Identity] = backend.Write{Identity: old.Identity, Op: onto.Delete, SchemaVersion: 1}
				}
			}
		}
		var writes []backend.Write
		for _, w := range drafted {
			writes = append(writes, w)
		}
		writes, err := backend.SortWrites(writes)
		must(t, err)
		res, err := l.Append(t.Context(), &backend.Draft{Writes: writes})
		must(t, err)
		if c == commits/2 {
			plan, err := l.PlanCompaction(t.Context(), &backend.CompactionOptions{All: true})
			must(t, err)
			_, err = l.Compact(t.Context(), plan, nil)
			must(t, err)
		}
		for v, err := range l.Scan(t.Context(), &backend.Query{Kind: onto.KindFact, Type: "Contract", Mode: backend.History, Since: res.ID - 1, At: res.ID}) {
			must(t, err)
			all = append(all, v)
		}
	}
	must(t, l.Close())
	db := openDuckDB(t)
	for _, sql := range strings.SplitAfter(at(t, view, dir, 0, jan2026()), ";\n") {
		db.text(t, sql, 0)
	}
	told := 0
	for range points {
		commit, valid := 1+random.Int64N(commits), day(random.IntN(30))
		want := all.holding(t, commit, valid)
		sql := strings.Replace(at(t, holds, dir, commit, valid), "SELECT subject, attribute, fact_id, fields_json, commit_id", "SELECT subject, attribute, fact_id", 1)
		if got := db.rowsOf(t, sql); got != want {
			t.Errorf("at commit %d, about %s: got\n%s\nwant\n%s", commit, valid.Format(time.DateOnly), got, want)
		}
		told += len(strings.Fields(want)) / 3
	}
	t.Logf("%d versions, %d points, %d facts that hold", len(all), points, told)
}

func canonicalText(t *testing.T, text string) string {
	t.Helper()
	canonical, err := codec.AppendCanonical(nil, []byte(text))
	must(t, err)
	return string(canonical)
}
