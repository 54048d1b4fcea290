package source_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
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

// A row that cannot be stored is a delete where an older value would show otherwise, and
// nothing where none would.
func TestNoOlderValueShows(t *testing.T) {
	rejects := filepath.Join(t.TempDir(), "rejects")
	f := opened(t, load(t, "plain", rollback, bad), source.Options{Rejects: rejects})
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
	lines(t, opened(t, path, source.Options{Rejects: whole}).Log(t.Context(), 0))
	want := string(read(t, whole))
	for stop := range 14 {
		rejects := filepath.Join(t.TempDir(), "rejects")
		since, n := int64(0), 0
		first := opened(t, path, source.Options{Rejects: rejects})
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
			if err := os.WriteFile(rejects, []byte(text+`{"kind":"entity","type":"Cus`), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		again := opened(t, path, source.Options{Rejects: rejects})
		for _, from := range []int64{since, 0, since} {
			lines(t, again.Log(t.Context(), from))
			if got := string(read(t, rejects)); got != want {
				t.Fatalf("stopped after %d, read again after commit %d: got\n%s\nwant\n%s", stop, from, got, want)
			}
		}
	}
}

// Lines that are not of this log, as those of the file before it was mended, are replaced.
func TestRejectsOfAnotherLogAreReplaced(t *testing.T) {
	rejects := filepath.Join(t.TempDir(), "rejects")
	lines(t, opened(t, load(t, "unreadable", rollback), source.Options{Rejects: rejects}).Log(t.Context(), 0))
	f := opened(t, load(t, "plain", rollback, bad), source.Options{Rejects: rejects})
	lines(t, f.Log(t.Context(), 0))
	if got := strings.Count(string(read(t, rejects)), "\n"); got != 6 {
		t.Errorf("got %d lines, want 6", got)
	}
}

// A file that is none of rejected rows is not overwritten.
func TestRejectsGoNowhereElse(t *testing.T) {
	for _, text := range []string{"my notes", "my notes\n", "{}\n", `{"kind":"entity","commit":0}` + "\n"} {
		rejects := written(t, []byte(text))
		f := opened(t, load(t, "plain", rollback, bad), source.Options{Rejects: rejects})
		err := failure(f.Log(t.Context(), 0))
		if text == "my notes" && err == nil || !errors.Is(err, onto.Refused) || onto.HintOf(err).Text == "" {
			t.Errorf("%q: got %v", text, err)
		}
		if got := string(read(t, rejects)); got != text {
			t.Errorf("%q has become %q", text, got)
		}
	}
	f := opened(t, load(t, "plain", rollback, bad), source.Options{Rejects: filepath.Join(t.TempDir(), "no", "such")})
	if err := failure(f.Log(t.Context(), 0)); !errors.Is(err, onto.Unavailable) || onto.HintOf(err).Text == "" {
		t.Errorf("no directory: got %v", err)
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
	if _, err := source.Open(t.Context(), path, nil); !strings.Contains(onto.HintOf(err).Text, "--rename '2nd=x_2nd'") {
		t.Errorf("got the hint %q", onto.HintOf(err).Text)
	}
	f := opened(t, path, source.Options{Rename: with("entity a_b", "other")})
	if got := noted(t, f, 0); !strings.Contains(got, "names_changed entity a_b=other 1") {
		t.Errorf("got %s", got)
	}
	copied(t, f)
}
