package source_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/source"
)

// workTable is the table as the original program documents it.
const workTable = `CREATE TABLE IF NOT EXISTS work_items (
	work_item_id TEXT PRIMARY KEY, source_system TEXT NOT NULL, source_name TEXT NOT NULL, resource_type TEXT NOT NULL, resource_id TEXT NOT NULL,
	request_uri TEXT NOT NULL, request_method TEXT NOT NULL, request_headers TEXT, request_body TEXT, metadata TEXT, priority INTEGER NOT NULL DEFAULT 100,
	status TEXT NOT NULL, attempt INTEGER NOT NULL DEFAULT 0, run_id TEXT, discovered_from TEXT, created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
	error_message TEXT, dedupe_key TEXT NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS ix_work_items_dedupe ON work_items (dedupe_key);`

// manyItems adds more items than are read at once.
const manyItems = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1203)
	INSERT INTO work_items SELECT 'i' || (2000 - i), 'mediawiki', 'en:wiki', 'page', 'p' || i, 'https://example.org/' || i, 'GET', NULL, '', '{"seed": true}', 100 + i % 3,
	'completed', i % 4, NULL, NULL, '2026-01-01T00:00:00', '2026-01-01T00:00:00', NULL, 'mediawiki:en:wiki:page:p' || i FROM n;`

// A queue is read from a file in every state, in the order in which its items were added, and
// nothing in its directory is changed.
func TestWorkOfEveryState(t *testing.T) {
	for _, as := range everyLeft() {
		t.Run(string(as), func(t *testing.T) {
			path := load(t, "original-v1", as, workTable, manyItems)
			before := bytesOf(t, path, as)
			w, err := source.OpenWork(t.Context(), path, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				n := 0
				for row, err := range w.Rows(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					n++
					if row.WorkItemID != fmt.Sprint("i", 2000-n) || row.DedupeKey != fmt.Sprint("mediawiki:en:wiki:page:p", n) || row.Priority != fmt.Sprint(100+n%3) ||
						row.Attempt != fmt.Sprint(n%4) || row.RunID.Valid || !row.RequestBody.Valid || row.Metadata.Text != `{"seed": true}` || row.Depth.Text != "0" || row.Attempts != nil {
						t.Fatalf("row %d: got %+v", n, row.Row)
					}
				}
				if n != 1203 {
					t.Errorf("got %d rows", n)
				}
			}
			if runs, err := w.Runs(t.Context()); runs != nil || err != nil {
				t.Errorf("got runs %v, error %v", runs, err)
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			if after := bytesOf(t, path, as); !maps.Equal(after, before) {
				t.Error("something in the directory has changed")
			}
		})
	}
}

// The attempts and runs of a file of this program are read, too.
func TestWorkWithAttempts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "queue.db")
	build(t, path, rollback, strings.Replace(workTable, "dedupe_key TEXT NOT NULL", "dedupe_key TEXT NOT NULL, not_before TEXT, depth INTEGER, onto_revised INTEGER", 1)+`
		CREATE TABLE work_attempts (attempt_id TEXT PRIMARY KEY, work_item_id TEXT NOT NULL, attempt_no INTEGER NOT NULL, worker TEXT NOT NULL, run_id TEXT, started_at TEXT NOT NULL,
			finished_at TEXT, status TEXT NOT NULL, retry_after TEXT, error_message TEXT, failure_class TEXT, diagnostic_json TEXT);
		CREATE TABLE work_runs (run_id TEXT PRIMARY KEY, started_at TEXT NOT NULL, finished_at TEXT, status TEXT NOT NULL, options_json TEXT, counts_json TEXT);
		INSERT INTO work_items VALUES ('a', 's', 'o', 't', 'r', 'x:', 'GET', NULL, NULL, NULL, 1, 'failed', 2, 'r1', NULL, '2026-01-01', '2026-01-01', 'no', 's:o:t:r', '2027', 3, 1);
		INSERT INTO work_attempts VALUES ('a:2', 'a', 2, 'w', 'r1', '2026-01-01T00:00:00Z', 'soon', 'failed', NULL, 'no', 'status', '{"n":1}'),
			('a:1', 'a', 1, 'w', NULL, '2026-01-01 00:00:00', '2026-01-01T00:00:01', 'returned', NULL, NULL, NULL, NULL);
		INSERT INTO work_runs VALUES ('r1', '2026-01-01T00:00:00Z', NULL, 'running', '{}', NULL);`)
	w, err := source.OpenWork(t.Context(), path, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for row, err := range w.Rows(t.Context()) {
		if err != nil || row.NotBefore.Text != "2027" || row.Depth.Text != "3" || row.Revised.Text != "1" || len(row.Attempts) != 2 {
			t.Fatalf("got %+v, error %v", row, err)
		}
		one, two := row.Attempts[0], row.Attempts[1]
		if one.Number != 1 || one.Status != onto.AttemptReturned || one.Finished.Second() != 1 || one.Run != "" || one.Diagnostic != nil {
			t.Errorf("got %+v", one)
		}
		if two.Number != 2 || !two.Finished.IsZero() || two.Error != "no" || two.Class != "status" || string(two.Diagnostic) != `{"n":1}` || two.Run != "r1" {
			t.Errorf("got %+v", two)
		}
	}
	runs, err := w.Runs(t.Context())
	if err != nil || len(runs) != 1 || runs[0].ID != "r1" || runs[0].Started.Year() != 2026 || !runs[0].Finished.IsZero() || string(runs[0].Options) != "{}" {
		t.Errorf("got %+v, error %v", runs, err)
	}
}

// What is no queue is refused by name, and is not changed.
func TestNoWork(t *testing.T) {
	for name, c := range map[string]struct{ script, says string }{
		"no table":             {`CREATE TABLE t (a)`, "there is no table work_items"},
		"no tables":            {`PRAGMA user_version = 1`, "a database without tables"},
		"other columns":        {`CREATE TABLE work_items (id INTEGER PRIMARY KEY, title TEXT)`, "work_items lacks the column"},
		"a column is missing":  {strings.Replace(workTable, "resource_type TEXT NOT NULL,", "", 1), "lacks the column resource_type"},
		"another type":         {strings.Replace(workTable, "status TEXT", "status INTEGER", 1), "has a column status of another kind"},
		"a collation":          {strings.Replace(workTable, "status TEXT", "status TEXT COLLATE NOCASE", 1), "has a column with a collation"},
		"a computed column":    {strings.Replace(workTable, "error_message TEXT", "error_message TEXT AS (hex(zeroblob(9)))", 1), "computes its column error_message"},
		"a view":               {`CREATE TABLE t (a); CREATE VIEW work_items AS SELECT * FROM t`, "is a view"},
		"another key":          {strings.Replace(workTable, "dedupe_key TEXT NOT NULL)", "dedupe_key TEXT NOT NULL) WITHOUT ROWID", 1), "cannot be read in order"},
		"attempts of another":  {workTable + `CREATE TABLE work_attempts (a TEXT)`, "work_attempts lacks the column"},
		"a column of ours odd": {strings.Replace(workTable, "dedupe_key TEXT NOT NULL", "dedupe_key TEXT NOT NULL, depth TEXT", 1), "has a column depth of another kind"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "other.db")
			build(t, path, rollback, c.script)
			before := bytesOf(t, path, rollback)
			_, err := source.OpenWork(t.Context(), path, t.TempDir())
			if onto.CodeOf(err) != onto.Unsupported || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "other.db") {
				t.Errorf("got %v, want something about %q", err, c.says)
			}
			if after := bytesOf(t, path, rollback); !maps.Equal(after, before) {
				t.Error("something in the directory has changed")
			}
		})
	}
	path := filepath.Join(t.TempDir(), "text.db")
	if err := os.WriteFile(path, []byte("this is no database, but text that is longer than its header would be if it was one"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := source.OpenWork(t.Context(), path, ""); onto.CodeOf(err) != onto.Unsupported || !strings.Contains(err.Error(), "not a SQLite database") {
		t.Errorf("got %v", err)
	}
}
