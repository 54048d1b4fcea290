package sqlite_test

import (
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/sqlite"
)

// makeFile makes a SQLite file with the given SQL and returns its path.
func makeFile(t *testing.T, script ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "original.db")
	runSQL(t, path, strings.Join(script, "\n"))
	return path
}

// runSQL lets another program run SQL on a file.
func runSQL(t *testing.T, path, script string) {
	t.Helper()
	db, err := sql.Open("sqlite3", path+"?_busy_timeout=5000&_foreign_keys=on")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(script); err != nil {
		t.Fatal(err)
	}
}

// open opens a file and checks it when the test ends.
func open(t *testing.T, path string, opts *sqlite.Options) *sqlite.Backend {
	t.Helper()
	b, err := sqlite.Open(t.Context(), path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		backendtest.Check(t, b)
		if err := b.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return b
}

func wantFields(t *testing.T, b backend.Backend, id onto.Identity, at int64, want string) {
	t.Helper()
	v, err := b.Get(t.Context(), id, at)
	if err != nil || string(v.Fields) != want {
		t.Errorf("%s at %d: got %s, error %v; want %s", id, at, v.Fields, err, want)
	}
}

func wantScan(t *testing.T, b backend.Backend, typ string, want ...string) {
	t.Helper()
	var got []string
	for v, err := range b.Scan(t.Context(), &backend.Query{Kind: onto.KindEntity, Type: typ, At: backend.Head}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, v.Key)
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("scan of %s: got %v, want %v", typ, got, want)
	}
}

// query returns a statement's rows as the sqlite3 command prints them.
func query(t *testing.T, path, statement string) string {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(statement)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for rows.Next() {
		values, targets := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			t.Fatal(err)
		}
		var line []string
		for _, v := range values {
			line = append(line, shellText(v))
		}
		lines = append(lines, strings.Join(line, "|"))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

func shellText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		s := strconv.FormatFloat(v, 'g', 15, 64)
		if !strings.ContainsAny(s, ".e") {
			s += ".0"
		}
		return s
	}
	return fmt.Sprint(v)
}

// lockExclusively makes another program lock a file until the returned function is
// called.
func lockExclusively(t *testing.T, path string) (release func()) {
	t.Helper()
	db, err := sql.Open("sqlite3", path+"?_txlock=exclusive")
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		tx.Rollback()
		db.Close()
	}
}

// The documented lock row blocks commits until it expires.
func TestDocumentedLock(t *testing.T) {
	path := makeDocumentedFile(t)
	b := open(t, path, &sqlite.Options{LockTimeout: 50 * time.Millisecond})
	hold := func(until time.Time) {
		runSQL(t, path, `INSERT OR REPLACE INTO locks VALUES ('ontology_write', 'python-7', '2025-01-01T00:00:00+00:00', '`+until.UTC().Format(time.RFC3339Nano)+`')`)
	}
	d := &backend.Draft{Writes: []backend.Write{{Identity: onto.EntityID("Thing", "a"), Op: onto.Delete, SchemaVersion: 1}}}
	hold(time.Now().Add(time.Hour))
	if _, err := b.Append(t.Context(), d); !errors.Is(err, onto.LockContention) || !strings.Contains(err.Error(), "python-7") {
		t.Errorf("held: got %v, want LockContention that names the holder", err)
	}
	hold(time.Now().Add(-time.Second))
	if r, err := b.Append(t.Context(), d); err != nil || r.ID != 4 {
		t.Errorf("expired: got commit %d, error %v; want 4", r.ID, err)
	}
}

func TestRefusedFiles(t *testing.T) {
	newer := makeDocumentedFile(t)
	runSQL(t, newer, `UPDATE onto_meta SET format = 99`)
	text := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("not a database\n", 100)), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, path, want string
		code             onto.Code
	}{
		{"another program's", makeFile(t, `CREATE TABLE songs (title TEXT)`), "another program", onto.Unsupported},
		{"newer", newer, "format 99", onto.Unsupported},
		{"text", text, "not a SQLite database", onto.Unsupported},
		{"directory", t.TempDir(), "directory", onto.Unsupported},
		{"missing", filepath.Join(t.TempDir(), "none.db"), "no store", onto.Uninitialized},
		{"no directory", filepath.Join(t.TempDir(), "no", "such.db"), "no store", onto.Uninitialized},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, _ := os.ReadFile(c.path)
			_, err := sqlite.Open(t.Context(), c.path, &sqlite.Options{MustExist: true})
			if !errors.Is(err, c.code) || !strings.Contains(err.Error(), c.want) || onto.HintOf(err).Text == "" {
				t.Errorf("got %v (hint %q), want %s with %q and a hint", err, onto.HintOf(err), c.code, c.want)
			}
			if after, _ := os.ReadFile(c.path); string(after) != string(before) {
				t.Errorf("the refused file was changed")
			}
		})
	}
}

// Names that mean something in a URI are ordinary in a path.
func TestOddPaths(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{" ", "a b", "a?b", "a%20b", "a%3fb", "a#b", "a&b=c", "x?mode=memory", "file:x", ":memory:.db", `a\b`, "ü☃"} {
		path := filepath.Join(dir, name)
		makeThings(t, path)
		b := open(t, path, nil)
		if _, err := b.Append(t.Context(), thingDraft("k", 1)); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		wantFields(t, b, onto.EntityID("Thing", "k"), backend.Head, `{"id":"k","n":1}`)
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// A file that is no store of this format is refused with what it is and what to do, and
// nothing is changed or left beside it.
func TestOtherFilesStayAsTheyAre(t *testing.T) {
	original := string(read(t, filepath.Join("testdata", "original-v1.sql")))
	older := makeDocumentedFile(t)
	runSQL(t, older, `UPDATE onto_meta SET format = 6; PRAGMA wal_checkpoint(TRUNCATE)`)
	newer := makeDocumentedFile(t)
	runSQL(t, newer, `UPDATE onto_meta SET format = 9; PRAGMA wal_checkpoint(TRUNCATE)`)
	work := makeFile(t, `CREATE TABLE work_items (work_item_id TEXT PRIMARY KEY, dedupe_key TEXT); CREATE UNIQUE INDEX ix_work_items_dedupe ON work_items(dedupe_key)`)
	for _, c := range []struct {
		path, want, command string
	}{
		{makeFile(t, original), "a file of the original Ontologia program", "copy"},
		{makeFile(t, original, `PRAGMA journal_mode = WAL`), "a file of the original Ontologia program", "copy"},
		{inWAL(t, original), "a file of the original Ontologia program", "copy"},
		{older, "a store of format 6", "copy"},
		{newer, "format 9", ""},
		{work, "a work queue of another program", "work"},
		{makeFile(t, `CREATE TABLE songs (title TEXT)`), "a SQLite database of another program", ""},
		{makeFile(t, `CREATE TABLE storage_meta (key TEXT, value TEXT); INSERT INTO storage_meta VALUES ('engine_version', 'v3')`), `the engine "v3"`, ""},
	} {
		before := folder(t, c.path)
		for _, opts := range []*sqlite.Options{nil, {ReadOnly: true}, {MustExist: true}, {Target: true}} {
			_, err := sqlite.Open(t.Context(), c.path, opts)
			hint := onto.HintOf(err)
			if !errors.Is(err, onto.Unsupported) || !strings.Contains(err.Error(), c.want) || hint.Text == "" {
				t.Errorf("%s: got %v (hint %q), want Unsupported with a hint", c.want, err, hint)
			}
			if got := append(hint.Command, "")[0]; got != c.command {
				t.Errorf("%s: the hint is to %q, want %q", c.want, got, c.command)
			}
		}
		if after := folder(t, c.path); after != before {
			t.Errorf("%s: the files were\n%s, and are\n%s", c.want, before, after)
		}
	}
}

// inWAL makes a file whose contents are in its WAL alone, as a killed process leaves it.
func inWAL(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "live.db")
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;` + script); err != nil {
		t.Fatal(err)
	}
	killed := filepath.Join(t.TempDir(), "killed.db")
	for _, suffix := range []string{"", "-wal"} {
		write(t, killed+suffix, read(t, path+suffix))
	}
	return killed
}

// folder is the contents of every file beside a path.
func folder(t *testing.T, path string) string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, fmt.Sprintf("%s %x", e.Name(), sha256.Sum256(read(t, filepath.Join(filepath.Dir(path), e.Name())))))
	}
	return strings.Join(list, "\n")
}

// A commit that this program has not made is damage: nothing is appended to it, also by a
// store that was open before, and the check finds it.
func TestCommitsOfOthersAreDamage(t *testing.T) {
	path := makeDocumentedFile(t)
	b := opened(t, path, nil)
	runSQL(t, path, `INSERT INTO commits (created_at) VALUES ('2099-01-01T00:00:00.000000+00:00');
		INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id) VALUES ('Thing', 'py', '{"id":"py","n":1}', 4, 1)`)
	_, err := b.Append(t.Context(), thingDraft("x", 1))
	if hint := onto.HintOf(err); !errors.Is(err, onto.Corrupt) || !strings.Contains(err.Error(), "commit, 4,") || len(hint.Command) == 0 || hint.Command[0] != "doctor" {
		t.Errorf("got %v (hint %q), want Corrupt with the commit and the doctor", err, hint)
	}
	if got := query(t, path, `SELECT max(id) FROM commits`); got != "4" {
		t.Errorf("got head %s, want 4", got)
	}
	if got := findings(t, path); !slices.Contains(got, "commit_uncounted") {
		t.Errorf("got findings %v, want commit_uncounted", got)
	}
}
