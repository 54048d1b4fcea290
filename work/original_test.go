package work_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	_ "github.com/mattn/go-sqlite3"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/work"
)

// original is the schema of the original program's queue.
const original = `
CREATE TABLE IF NOT EXISTS work_items (
    work_item_id TEXT PRIMARY KEY, source_system TEXT NOT NULL, source_name TEXT NOT NULL, resource_type TEXT NOT NULL, resource_id TEXT NOT NULL,
    request_uri TEXT NOT NULL, request_method TEXT NOT NULL, request_headers TEXT, request_body TEXT, metadata TEXT,
    priority INTEGER NOT NULL DEFAULT 100, status TEXT NOT NULL, attempt INTEGER NOT NULL DEFAULT 0, run_id TEXT, discovered_from TEXT,
    created_at TEXT NOT NULL, updated_at TEXT NOT NULL, error_message TEXT, dedupe_key TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS ix_work_items_status ON work_items (status, priority, created_at);
CREATE UNIQUE INDEX IF NOT EXISTS ix_work_items_dedupe ON work_items (dedupe_key);
CREATE INDEX IF NOT EXISTS ix_work_items_run_id ON work_items (run_id);
INSERT INTO work_items VALUES
    ('i1', 'test', 'site', 'page', 'pending', 'test://site/1', 'GET', NULL, NULL, '{"seed": true}', 10, 'pending', 0, NULL, NULL, '2026-01-01T00:00:00', '2026-01-01T00:00:00', NULL, 'test:site:page:pending'),
    ('i2', 'test', 'site', 'page', 'held', 'test://site/2', 'GET', NULL, NULL, NULL, 100, 'in_progress', 1, NULL, 'i1', '2026-01-01T00:00:01', '2026-01-01T00:00:01', NULL, 'test:site:page:held'),
    ('i3', 'test', 'site', 'page', 'done', 'test://site/3', 'GET', NULL, NULL, NULL, 100, 'completed', 1, NULL, 'i1', '2026-01-01T00:00:02', '2026-01-01T00:00:02', NULL, 'test:site:page:done'),
    ('i4', 'test', 'site', 'page', 'odd', 'page.html', 'GET', 'no JSON', NULL, NULL, 100, 'pending', 0, NULL, NULL, '2026-01-01T00:00:03', '2026-01-01T00:00:03', NULL, 'test:site:page:odd');`

// A queue of the original program is drained, with what it left in progress.
func TestAQueueOfTheOriginalProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ingest_state.db")
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), original); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	w := openFile(t, path)
	if fresh := w.enqueue(item("done"), item("new")); fresh[0] || !fresh[1] {
		t.Errorf("got %v", fresh)
	}
	sum := w.run(w.connect(func(_ context.Context, i *onto.WorkItem) (*work.Record, error) {
		return &work.Record{Metadata: map[string]any{"etag": "1"}}, nil
	}), nil)
	if sum.Completed != 3 || sum.Failed != 1 {
		t.Errorf("got %+v", sum)
	}
	if s := w.expect("pending", onto.WorkCompleted, "completed"); string(s.Metadata) != `{"etag":"1","seed":true}` {
		t.Errorf("got the metadata %s", s.Metadata)
	}
	w.expect("held", onto.WorkCompleted, "completed")
	w.expect("done", onto.WorkCompleted, "")
	w.says(w.expect("odd", onto.WorkFailed, "failed").Error, "headers", "JSON")
}
