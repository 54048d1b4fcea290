package source_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/source"
)

// What files become is in testdata/NAME.log: their types, the notes of the plan, the log and
// the rows that are set aside.
func TestLogs(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.log"))
	if err != nil || len(files) < 15 {
		t.Fatalf("got %d files, error %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".log")
		rejects := filepath.Join(t.TempDir(), "rejects")
		f := opened(t, load(t, name, rollback), source.Options{Rename: renames(name), Rejects: rejects})
		if err := f.KeepRejects(0, true); err != nil {
			t.Fatal(err)
		}
		if got, want := described(t, f)+"rejects\n"+string(read(t, rejects)), string(read(t, file)); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

// The log after a commit is the rest of the log, for each commit, and so is its size.
func TestLogSince(t *testing.T) {
	for _, name := range []string{"format6", "adopted-v2", "gaps", "times", "unreadable"} {
		f := opened(t, load(t, name, walClosed), source.Options{Rejects: filepath.Join(t.TempDir(), "rejects")})
		all := lines(t, f.Log(t.Context(), 0))
		size, err := f.LogSize(t.Context(), 0, backend.Head)
		if err != nil {
			t.Fatal(err)
		}
		for since := range size.Head + 1 {
			rest := lines(t, f.Log(t.Context(), since))
			if got, want := strings.Join(rest, "\n"), strings.Join(all[len(all)-len(rest):], "\n"); got != want {
				t.Fatalf("%s after %d: got\n%s\nwant\n%s", name, since, got, want)
			}
			if since < size.Head && !strings.HasPrefix(rest[0], fmt.Sprintf(`{"ID":%d,`, since+1)) {
				t.Errorf("%s after %d: got %s first", name, since, rest[0])
			}
			n, err := f.LogSize(t.Context(), since, backend.Head)
			if err != nil || n.Head != size.Head || n.Commits != size.Head-since || n.Commits+n.Versions != int64(len(rest)) {
				t.Errorf("%s after %d: got %+v, error %v; want %d entries", name, since, n, err, len(rest))
			}
		}
		for _, since := range []int64{-1, size.Head + 1} {
			if _, err := f.LogSize(t.Context(), since, backend.Head); !errors.Is(err, onto.NotFound) {
				t.Errorf("%s: the size after %d: got %v", name, since, err)
			}
			if err := failure(f.Log(t.Context(), since)); !errors.Is(err, onto.NotFound) {
				t.Errorf("%s: the log after %d: got %v", name, since, err)
			}
		}
	}
}

// failure is the error that ends a log; nil for none.
func failure(log func(func(backend.LogEntry, error) bool)) error {
	var failed error
	log(func(_ backend.LogEntry, err error) bool {
		failed = err
		return err == nil
	})
	return failed
}

// A row that cannot be stored ends the log, after the commits before it, with an error that
// names the row and says what can be done.
func TestTheFirstBadRowStops(t *testing.T) {
	f := opened(t, load(t, "unreadable", rollback), source.Options{})
	n := 0
	for e, err := range f.Log(t.Context(), 0) {
		if err == nil {
			if e.Commit != nil {
				n++
			}
			continue
		}
		if !errors.Is(err, onto.Invalid) || !strings.Contains(err.Error(), `Person "`) || !strings.Contains(err.Error(), "commit 2") || !strings.Contains(onto.HintOf(err).Text, "--rejects FILE") {
			t.Errorf("got %v (hint %q)", err, onto.HintOf(err).Text)
		}
	}
	if n != 1 {
		t.Errorf("got %d commits before the bad one, want 1", n)
	}
	if got := noted(t, f, 0); !strings.Contains(got, "rows_rejected Person") {
		t.Errorf("the plan does not count them: %s", got)
	}
}

// big is rows of one commit, as the original writes them.
func big(commit, rows int) string {
	return fmt.Sprintf(`INSERT OR IGNORE INTO commits (id, created_at) VALUES (%[1]d, '2026-01-01T00:00:00+00:00');
		INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %[2]d)
		SELECT 'Customer', 'k' || ((i * 7919) %% %[2]d), '{"tags": [], "odd": "' || hex(zeroblob(400)) || '", "id": "k' || ((i * 7919) %% %[2]d) || '", "name": "N"}', %[1]d, 1 FROM n;`, commit, rows)
}

// A commit of many versions is read twice, and comes in order like any other. Rows of
// commits that are mixed up in the file, and out of order, come by commit.
func TestRowsInAnyOrder(t *testing.T) {
	const many = 9000
	mixed := ""
	for i := range 40 {
		commit := 10 + (i*7)%20
		mixed += fmt.Sprintf(`INSERT OR IGNORE INTO commits (id, created_at) VALUES (%[1]d, '2026-01-01T00:00:00+00:00');
			INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id) VALUES ('Customer', 'm%[2]d', '{"id": "m%[2]d", "name": "M", "odd": 1, "tags": []}', %[1]d);
			INSERT INTO relation_history (relation_type, left_key, right_key, fields_json, commit_id) VALUES ('Likes', 'm%[2]d', 'a', '{}', %[1]d);`, commit, i)
	}
	f := opened(t, load(t, "plain", rollback, `DELETE FROM entity_history; DELETE FROM relation_history; DELETE FROM commits;`, big(1, many), mixed), source.Options{})
	var commits, versions int
	var begun *backend.LogCommit
	var last onto.Identity
	left := 0
	for e, err := range f.Log(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Commit != nil {
			if left != 0 {
				t.Fatalf("commit %d has %d versions less than it says", begun.ID, left)
			}
			commits++
			begun, left, last = e.Commit, e.Commit.Operations, onto.Identity{}
			if begun.ID != int64(commits) {
				t.Fatalf("got commit %d in place %d", begun.ID, commits)
			}
			continue
		}
		if e.Version.Commit != begun.ID || last.Compare(e.Version.Identity) >= 0 {
			t.Fatalf("%s follows %s", e.Version, last)
		}
		last = e.Version.Identity
		left--
		versions++
	}
	if commits != 21 || versions != many+80 {
		t.Errorf("got %d commits and %d versions, want 21 and %d", commits, versions, many+80)
	}
}

// A store of ours with gaps between its commits has the same log without them: causes, the
// commits that have asserted facts, those with which types begin and end, and how far folds
// have come go with the commits.
func TestGapsAreClosedEverywhere(t *testing.T) {
	const record = `INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id)
		VALUES ('onto_folds', 'Notice/x', '{"behind":12,"facts":"Notice/x","mark":"m","progress":{"after":"s","upto":20}}', 43, 1);`
	const gaps = `PRAGMA foreign_keys = OFF;
		UPDATE commits SET id = -10 * id, causation_id = 10 * causation_id; UPDATE commits SET id = -id;
		UPDATE entity_history SET commit_id = 10 * commit_id, onto_sum = NULL;
		UPDATE entity_history SET fields_json = json_set(fields_json, '$.behind', 10 * json_extract(fields_json, '$.behind')) WHERE entity_type = 'onto_folds' AND fields_json ->> '$.behind' IS NOT NULL;
		UPDATE entity_history SET fields_json = json_set(fields_json, '$.progress.upto', 10 * json_extract(fields_json, '$.progress.upto')) WHERE entity_type = 'onto_folds' AND fields_json ->> '$.progress' IS NOT NULL;
		UPDATE relation_history SET commit_id = 10 * commit_id, onto_sum = NULL;
		UPDATE fact_history SET commit_id = 10 * commit_id, onto_sum = NULL;
		UPDATE fact_history SET fields_json = json_set(fields_json, '$.asserted', 10 * json_extract(fields_json, '$.asserted')) WHERE fields_json ->> '$.asserted' IS NOT NULL;
		UPDATE schema_versions SET onto_since = 10 * onto_since, onto_end = json_set(onto_end, '$.commit', 10 * json_extract(onto_end, '$.commit'));`
	was := regexp.MustCompile(`"onto_source":\{"id":\d+0\},?`)
	log := func(script string) (list []string, notes string) {
		f := opened(t, load(t, "format6", rollback, record, script), source.Options{})
		copied(t, f)
		list = append(typeLines(t, f), lines(t, f.Log(t.Context(), 0))...)
		for i := range list {
			without := was.ReplaceAllString(list[i], "")
			list[i] = strings.ReplaceAll(strings.ReplaceAll(without, ",}", "}"), " {} ", "  ")
		}
		return list, noted(t, f, 0)
	}
	want, _ := log("")
	got, notes := log(gaps)
	if len(got) != len(want) {
		t.Fatalf("got %d lines, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("line %d: got\n%s\nwant\n%s", i, got[i], want[i])
		}
	}
	if !strings.Contains(notes, "commits_renumbered  43") {
		t.Errorf("got the notes %s", notes)
	}
}

// What is appended later follows, and nothing that was read changes: ids, times, types and
// the origin stay.
func TestTheFileGrows(t *testing.T) {
	for _, as := range []left{rollback, walInUse} {
		path := load(t, "migrated", as)
		f := opened(t, path, source.Options{})
		origin, err := f.Origin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		since := map[string]int64{}
		for i := range 5 {
			head := int64(5 + i)
			all = append(all, lines(t, f.Log(t.Context(), max(0, head-1)*int64(min(i, 1))))...)
			if got := lines(t, f.Log(t.Context(), 0)); !slices.Equal(got, all) {
				t.Fatalf("left as %s, grown %d times: got\n%s\nwant\n%s", as, i, strings.Join(got, "\n"), strings.Join(all, "\n"))
			}
			types, err := f.Schemas(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range types {
				name := fmt.Sprintf("%s %d", v.Schema.TypeName(), v.Version)
				if was, ok := since[name]; ok && was != v.Since {
					t.Errorf("left as %s: %s began with commit %d, and now with %d", as, name, was, v.Since)
				}
				since[name] = v.Since
			}
			if i == 4 {
				break
			}
			script := fmt.Sprintf(`INSERT INTO commits (created_at) VALUES ('2026-01-02T03:04:0%[1]d+00:00');
				INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id) VALUES ('City', 'c%[1]d', '{"id": "c%[1]d"}', (SELECT max(id) FROM commits), 1)`, i)
			if i == 1 { // a version that no row has yet, and then others come first
				script += `; INSERT INTO schema_versions (type_kind, type_name, schema_version_id, schema_json, schema_hash, created_at, reason)
					SELECT type_kind, type_name, 2, replace(schema_json, '"fields": {', '"fields": {"area": {"type": "float | None"}, '), 'y', '2026-01-02T03:04:01.5+00:00', 'migration' FROM schema_versions WHERE type_name = 'City'`
			}
			if i == 2 {
				script = strings.ReplaceAll(script, "'City', 'c2', '{\"id\": \"c2\"}', (SELECT max(id) FROM commits), 1", "'Person', 'p', '{\"id\": \"p\", \"full\": \"P\"}', (SELECT max(id) FROM commits), 2")
			}
			if i == 3 {
				script = strings.ReplaceAll(script, "commits), 1)", "commits), 2)")
			}
			connect(t, path, as, script)
			if now, err := f.Origin(t.Context()); err != nil || now != origin {
				t.Errorf("the origin was %s and is %s, error %v", origin, now, err)
			}
		}
		again := opened(t, path, source.Options{})
		if now, err := again.Origin(t.Context()); err != nil || now != origin || !strings.HasPrefix(origin, "original-") {
			t.Errorf("opened again, the origin is %s, error %v; want %s", now, err, origin)
		}
		if got := since["entity City 2"]; got != 8 {
			t.Errorf("got %v, want version 2 of City to begin with commit 8", since)
		}
	}
}

// Whoever ends the sequence early, or the context, leaves nothing behind.
func TestLogEnds(t *testing.T) {
	scratch := t.TempDir()
	path := load(t, "format6", walAlone)
	f, err := source.Open(t.Context(), path, &source.Options{Scratch: scratch})
	if err != nil {
		t.Fatal(err)
	}
	for range f.Log(t.Context(), 0) {
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	for _, err = range f.Log(ctx, 0) {
		if n++; n == 3 {
			cancel()
		}
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the error of the context", err)
	}
	if _, err := f.LogSize(ctx, 0, backend.Head); !errors.Is(err, context.Canceled) {
		t.Errorf("the size: got %v, want the error of the context", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(scratch); err != nil || len(left) != 0 {
		t.Errorf("got %v, error %v; want no temporary files", left, err)
	}
}
