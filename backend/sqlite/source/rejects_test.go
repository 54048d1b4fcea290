package source_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/archive"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/backend/sqlite/source"
)

// bad is commits after those of the plain file: rows that cannot be stored before, between
// and after ones that can.
const bad = `
	INSERT INTO commits (id, created_at) VALUES (3, '2026-01-01T00:00:00+00:00'), (4, '2026-01-01T00:00:01+00:00'), (5, '2026-01-01T00:00:02+00:00'), (6, '2026-01-01T00:00:03+00:00');
	INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id) VALUES
		('Customer', 'first', '{"id": "first", "age": NaN}', 3, 1), ('Customer', 'c1', '{"id": "c1", "age": 9223372036854775808}', 3, 1),
		('Customer', 'first', '{"id": "first", "name": "F", "tags": [], "odd": 1}', 4, 1), ('Customer', 'c1', '{"id": "c1", "name": "\u0000"}', 4, 1),
		('Customer', 'c1', '{"id": "c1", "name": "Back", "tags": [], "odd": 1}', 5, 1), ('Customer', 'c2', '{"id": "c2", "name": 7, "tags": [], "odd": 1}', 5, 1),
		('Customer', 'first', '{"id": "first", "name": "F", "tags": [], "odd": 1, "more": 2}', 6, 1), ('Nothing', 'x', '{}', 6, 1);
`

// kept opens a file whose rows that cannot be stored go to another file, after a commit.
func kept(t testing.TB, path, rejects string, since int64) *source.File {
	t.Helper()
	f := opened(t, path, source.Options{Rejects: rejects})
	if err := f.KeepRejects(since, false); err != nil {
		t.Fatal(err)
	}
	return f
}

// A row that cannot be stored is a delete where an older value would show otherwise, and
// nothing where none would.
func TestNoOlderValueShows(t *testing.T) {
	rejects := filepath.Join(t.TempDir(), "rejects")
	f := kept(t, load(t, "plain", rollback, bad), rejects, 2)
	var got []string
	for e, err := range f.Log(t.Context(), 2) {
		if err != nil {
			t.Fatal(err)
		}
		if v := e.Version; e.Commit == nil {
			got = append(got, fmt.Sprintf("%d %s %s", v.Commit, v.Op, v.Key))
		} else {
			got = append(got, fmt.Sprintf("%d: %d", e.Commit.ID, e.Commit.Operations))
		}
	}
	if got, want := strings.Join(got, ", "), "3: 1, 3 delete c1, 4: 1, 4 put first, 5: 2, 5 put c1, 5 delete c2, 6: 1, 6 delete first"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	var told []string
	for text := range strings.Lines(string(read(t, rejects))) {
		var line struct {
			Kind, Type, Key, Reason, Text string
			Commit                        int64
		}
		if err := json.Unmarshal([]byte(text), &line); err != nil || line.Kind != "entity" || line.Reason == "" || !strings.HasPrefix(line.Text, "{") {
			t.Errorf("got the line %s, error %v", text, err)
		}
		told = append(told, fmt.Sprintf("%d %s %s", line.Commit, line.Type, line.Key))
	}
	if got, want := strings.Join(told, ", "), "3 Customer c1, 3 Customer first, 4 Customer c1, 5 Customer c2, 6 Customer first, 6 Nothing x"; got != want {
		t.Errorf("rejected %s\nwant %s", got, want)
	}
	copied(t, f)
}

// However often a log is read, and wherever that ends, each row is in the file once.
func TestRejectsAreWrittenOnce(t *testing.T) {
	path := load(t, "plain", walClosed, bad)
	whole := filepath.Join(t.TempDir(), "rejects")
	lines(t, kept(t, path, whole, 0).Log(t.Context(), 0))
	want := string(read(t, whole))
	for stop := range 14 {
		rejects := filepath.Join(t.TempDir(), "rejects")
		since, n := int64(0), 0
		first := kept(t, path, rejects, 0)
		for e, err := range first.Log(t.Context(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n > stop {
				break
			}
			if e.Commit != nil {
				since = e.Commit.ID - 1 // the one before is complete
			}
		}
		first.Close()
		text := string(read(t, rejects))
		if !strings.HasPrefix(want, text) {
			t.Fatalf("stopped after %d: got\n%s", stop, text)
		}
		if stop%2 == 1 && len(text) > 0 { // and the last line was not written to its end
			if err := os.WriteFile(rejects, []byte(text+want[:20+stop]), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		again := kept(t, path, rejects, since)
		for _, from := range []int64{since, 0, since} {
			lines(t, again.Log(t.Context(), from))
			if got := string(read(t, rejects)); got != want {
				t.Fatalf("stopped after %d, read again after commit %d: got\n%s\nwant\n%s", stop, from, got, want)
			}
		}
	}
}

// A commit that is not read to its end leaves no rows behind that come again.
func TestRejectsOfACommitThatFails(t *testing.T) {
	const damaged = `ALTER TABLE relation_history ADD COLUMN onto_sum INTEGER; UPDATE relation_history SET commit_id = 4, onto_sum = 7;`
	path, rejects := load(t, "plain", rollback, bad, damaged), filepath.Join(t.TempDir(), "rejects")
	f := kept(t, path, rejects, 0)
	for range 2 {
		if err := failure(f.Log(t.Context(), 0)); !errors.Is(err, onto.Corrupt) {
			t.Fatalf("got %v", err)
		}
	}
	connect(t, path, rollback, `UPDATE relation_history SET onto_sum = NULL`).Close()
	lines(t, f.Log(t.Context(), 0))
	if got := strings.Count(string(read(t, rejects)), "\n"); got != 6 {
		t.Errorf("got %d lines, want 6", got)
	}
}

// Where the rows of the file come to be others, those that were set aside before do not stay.
func TestRejectsOfAPlanThatChanges(t *testing.T) {
	path, rejects := load(t, "plain", rollback, bad), filepath.Join(t.TempDir(), "rejects")
	f := kept(t, path, rejects, 2)
	lines(t, f.Log(t.Context(), 2))
	connect(t, path, rollback, `INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id) VALUES ('Customer', 'late', '{', 3, 1)`).Close()
	lines(t, f.Log(t.Context(), 2))
	whole := filepath.Join(t.TempDir(), "rejects")
	lines(t, kept(t, path, whole, 0).Log(t.Context(), 0))
	if got, want := string(read(t, rejects)), string(read(t, whole)); got != want || !strings.Contains(got, "late") {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Rows after the last commit of a copy do not stay, although the log is read further. What is
// only planned or compared writes nothing.
func TestRejectsAreThoseOfTheCopy(t *testing.T) {
	path, rejects := load(t, "plain", rollback, bad), filepath.Join(t.TempDir(), "rejects")
	f := opened(t, path, source.Options{Rejects: rejects})
	job := archive.Job{From: f, To: memory.New(nil).OpenTarget(), Until: 4}
	copyOnce := func(fresh bool, want int) {
		t.Helper()
		plan, err := job.Plan(t.Context())
		if err == nil {
			err = f.KeepRejects(plan.Shared, fresh)
		}
		if err != nil {
			t.Fatal(err)
		}
		res, err := job.Apply(t.Context())
		if err == nil {
			err = f.EndRejects(res.Until)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(string(read(t, rejects)), "\n"); got != want {
			t.Errorf("got %d lines, want %d", got, want)
		}
	}
	if _, err := job.Plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(rejects); err == nil {
		t.Error("the plan has made the file")
	}
	copyOnce(true, 3)
	before := string(read(t, rejects))
	if got, err := job.Verify(t.Context()); err != nil || got.First != nil {
		t.Errorf("the copy differs: %+v, error %v", got, err)
	}
	if got := string(read(t, rejects)); got != before {
		t.Errorf("the comparison has written\n%s", got)
	}
	job.Until = 0
	copyOnce(false, 6)

	before = string(read(t, rejects))
	kept(t, path, rejects, 2).Close() // a copy that does not begin
	if got := string(read(t, rejects)); got != before {
		t.Errorf("nothing was copied, and the rows are\n%s", got)
	}
	another := opened(t, path, source.Options{Rejects: rejects})
	if err := another.KeepRejects(0, true); !errors.Is(err, onto.Refused) || onto.HintOf(err).Text == "" {
		t.Errorf("a fresh copy: got %v", err)
	}
	if err := another.KeepRejects(6, false); err != nil {
		t.Fatal(err)
	}
	if err := f.KeepRejects(6, false); !errors.Is(err, onto.Refused) {
		t.Errorf("two at once: got %v", err)
	}
	if err := failure(another.Log(t.Context(), 0)); err != nil {
		t.Errorf("read from the beginning: got %v", err)
	}
}

// A file that is none of rejected rows of the source is left as it is.
func TestRejectsGoNowhereElse(t *testing.T) {
	path, rejects := load(t, "plain", rollback, bad), filepath.Join(t.TempDir(), "rejects")
	lines(t, kept(t, path, rejects, 0).Log(t.Context(), 0))
	good := string(read(t, rejects))
	first, _, _ := strings.Cut(good, "\n")
	for _, text := range []string{
		"my notes", "my notes\n", "{}\n", "{", `{"kind":"entity","commit":0}` + "\n", "\n", good + "my notes", good + "my notes\n", good + "\n" + good, good + good,
		first[:12], strings.Repeat("x", 1<<20), strings.Replace(first, `"commit":3`, `"commit":x`, 1) + "\n", strings.ReplaceAll(good, `{"origin":"original-`, `{"origin":"other-`),
	} {
		rejects := written(t, []byte(text))
		_, err := source.Open(t.Context(), path, &source.Options{Rejects: rejects})
		if !errors.Is(err, onto.Refused) || onto.HintOf(err).Text == "" || !strings.Contains(err.Error(), "it is left as it is") {
			t.Errorf("%.80q: got %v", text, err)
		}
		if got := string(read(t, rejects)); got != text {
			t.Errorf("%.80q has become %.80q", text, got)
		}
	}
	f := opened(t, path, source.Options{Rejects: written(t, []byte(first))}) // of a commit that the copy has
	if err := f.KeepRejects(3, false); !errors.Is(err, onto.Refused) {
		t.Errorf("a row that is cut off: got %v", err)
	}
	f = opened(t, path, source.Options{Rejects: filepath.Join(t.TempDir(), "no", "such")})
	if err := f.KeepRejects(0, true); !errors.Is(err, onto.Unavailable) || onto.HintOf(err).Text == "" {
		t.Errorf("no directory: got %v", err)
	}
	if _, err := source.Open(t.Context(), path, &source.Options{Rejects: t.TempDir()}); !errors.Is(err, onto.Refused) {
		t.Errorf("a directory: got %v", err)
	}
}

// The source, and what SQLite keeps beside it, is not written to by any of its names.
func TestRejectsAreNotTheSource(t *testing.T) {
	path := load(t, "plain", walInUse, bad)
	dir := filepath.Dir(path)
	link, hard, toLink, folder := filepath.Join(dir, "link"), filepath.Join(dir, "hard"), filepath.Join(dir, "to-journal"), filepath.Join(t.TempDir(), "folder")
	for _, err := range []error{os.Symlink(path, link), os.Link(path+"-wal", hard), os.Symlink(filepath.Base(path)+"-journal", toLink), os.Symlink(dir, folder)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, rejects := range []string{path, path + "-wal", path + "-shm", path + "-journal", link, hard, toLink, filepath.Join(folder, filepath.Base(path)+"-journal")} {
		for _, from := range []string{path, link} {
			if _, err := source.Open(t.Context(), from, &source.Options{Rejects: rejects}); !errors.Is(err, onto.Invalid) || onto.HintOf(err).Text == "" {
				t.Errorf("%s of %s: got %v", rejects, from, err)
			}
		}
	}
}

// Upgraders that are given are those of the versions, and are then not lacking.
func TestUpgradersAreGiven(t *testing.T) {
	path := load(t, "migrated", rollback)
	if got := noted(t, opened(t, path, source.Options{}), 0); !strings.Contains(got, "upgrader_lacking Person 1->2 1") {
		t.Errorf("without: got %s", got)
	}
	step := backend.TypeUpgrader{Kind: onto.KindEntity, Type: "Person", Version: 2, Upgrader: onto.StoredUpgrader{Program: `{id, full: .name}`}}
	f := opened(t, path, source.Options{Upgraders: []backend.TypeUpgrader{step}})
	types, err := f.Schemas(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range types {
		if has := v.Upgrader != nil; has != (v.Schema.Name == "Person" && v.Version == 2) {
			t.Errorf("%s %d: got %+v", v.Schema.Name, v.Version, v.Upgrader)
		}
	}
	if got := noted(t, f, 0); strings.Contains(got, "upgrader_lacking") {
		t.Errorf("with it: got %s", got)
	}
	for _, wrong := range []backend.TypeUpgrader{
		{Kind: onto.KindEntity, Type: "Person", Version: 1}, {Kind: onto.KindEntity, Type: "Person", Version: 3}, {Kind: onto.KindRelation, Type: "Person", Version: 2},
	} {
		if _, err := source.Open(t.Context(), path, &source.Options{Upgraders: []backend.TypeUpgrader{wrong}}); !errors.Is(err, onto.Invalid) || onto.HintOf(err).Text == "" {
			t.Errorf("%+v: got %v", wrong, err)
		}
	}
}

// Names that are not allowed are told with what to write; names that nothing has, or that
// others have already, are refused.
func TestNames(t *testing.T) {
	path := load(t, "names", rollback)
	some := renames("names")
	delete(some, "2nd")
	with := func(old, name string) map[string]string {
		all := renames("names")
		all[old] = name
		return all
	}
	for _, c := range []struct {
		rename map[string]string
		code   onto.Code
		want   string
	}{
		{nil, onto.Invalid, "10 names"}, {some, onto.Invalid, `"2nd"`},
		{with("nobody", "x"), onto.Invalid, `"nobody"`}, {with("id", "x"), onto.Invalid, `"id"`}, {with("a-b", "a_b"), onto.Conflict, "a_b"},
		{with("2nd", "3rd"), onto.Invalid, "3rd"}, {with("2nd", "onto_x"), onto.Invalid, "onto_"}, {with("a.b", "first"), onto.Invalid, "first"},
	} {
		_, err := source.Open(t.Context(), path, &source.Options{Rename: c.rename})
		if !errors.Is(err, c.code) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, want %s with %s", c.rename, err, c.code, c.want)
		}
	}
	// The names that are suggested can all be given at once.
	_, err := source.Open(t.Context(), path, nil)
	suggested := map[string]string{}
	for _, m := range regexp.MustCompile(`--rename '([^=]*)=([^']*)'`).FindAllStringSubmatch(onto.HintOf(err).Text, -1) {
		suggested[m[1]] = m[2]
	}
	if len(suggested) != 10 || suggested["2nd"] != "x_2nd" {
		t.Errorf("got the hint %q", onto.HintOf(err).Text)
	}
	copied(t, opened(t, path, source.Options{Rename: suggested}))
	copied(t, opened(t, path, source.Options{Rename: with("a-b", "zz")})) // in another order
	f := opened(t, path, source.Options{Rename: with("entity a_b", "other")})
	if got := noted(t, f, 0); !strings.Contains(got, "names_changed entity a_b=other 1") {
		t.Errorf("got %s", got)
	}
	copied(t, f)
}
