package sqlite_test

import (
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/sqlite"
)

// stateTables are the statements with which the other program makes its work queue, as it
// documents them.
const stateTables = `
CREATE TABLE IF NOT EXISTS work_items (
    -- Primary key
    work_item_id TEXT PRIMARY KEY,
    
    -- Source identification
    source_system TEXT NOT NULL,      -- e.g., 'mediawiki', 'http_scrape', 'openalex'
    source_name TEXT NOT NULL,         -- e.g., 'wikipedia', 'wookieepedia'
    resource_type TEXT NOT NULL,       -- e.g., 'page', 'category', 'work'
    resource_id TEXT NOT NULL,         -- External identifier
    
    -- Request details
    request_uri TEXT NOT NULL,         -- Full URI to fetch
    request_method TEXT NOT NULL,      -- HTTP method (GET, POST, etc.)
    request_headers TEXT,              -- JSON-encoded headers
    request_body TEXT,                 -- Request body for POST
    
    -- Metadata
    metadata TEXT,                     -- JSON-encoded metadata
    priority INTEGER NOT NULL DEFAULT 100,  -- Lower = higher priority
    
    -- Status tracking
    status TEXT NOT NULL,              -- pending, in_progress, completed, failed, skipped
    attempt INTEGER NOT NULL DEFAULT 0,  -- Number of fetch attempts
    
    -- Run association
    run_id TEXT,                       -- Optional batch run identifier
    discovered_from TEXT,              -- Parent work item ID (for link discovery)
    
    -- Timestamps
    created_at TEXT NOT NULL,          -- ISO 8601 timestamp
    updated_at TEXT NOT NULL,          -- ISO 8601 timestamp
    
    -- Error tracking
    error_message TEXT,                -- Error message for failed items
    
    -- Deduplication
    dedupe_key TEXT NOT NULL           -- Composite key for uniqueness
);

-- Queue dequeue optimization (pending items by priority)
CREATE INDEX IF NOT EXISTS ix_work_items_status 
ON work_items (status, priority, created_at);

-- Deduplication enforcement (unique constraint)
CREATE UNIQUE INDEX IF NOT EXISTS ix_work_items_dedupe 
ON work_items (dedupe_key);

-- Run-based queries
CREATE INDEX IF NOT EXISTS ix_work_items_run_id 
ON work_items (run_id);
`

// stateColumns are the columns of the other program.
const stateColumns = `work_item_id, source_system, source_name, resource_type, resource_id, request_uri, request_method, request_headers, request_body,
	metadata, priority, status, attempt, run_id, discovered_from, created_at, updated_at, error_message, dedupe_key`

// stateStore is the other program's store of work, on a connection of its own.
type stateStore struct{ *originalBus }

func openState(t *testing.T, path string, clock *busClock) *stateStore {
	t.Helper()
	return &stateStore{openOriginalBus(t, path, clock)}
}

// start makes what is missing, as the program does whenever it starts.
func (s *stateStore) start() { s.t.Helper(); s.exec(stateTables) }

// enqueue adds an item of wikipedia, unless its key exists.
func (s *stateStore) enqueue(id string, priority int) bool {
	s.t.Helper()
	key := "mediawiki:wikipedia:page:" + id
	if s.ids(`SELECT 1 FROM work_items WHERE dedupe_key = ?`, key) != nil {
		return false
	}
	now := s.clock.sql()
	s.exec(`INSERT INTO work_items (`+stateColumns+`) VALUES (?, 'mediawiki', 'wikipedia', 'page', ?, ?, 'GET', '{"Accept": "text/html"}', NULL, '{"seed": true}', ?, 'pending', 0, 'batch-1', NULL, ?, ?, NULL, ?)`,
		id, id, "https://en.wikipedia.org/w/api.php?"+id, priority, now, now, key)
	return true
}

// dequeue takes pending items.
func (s *stateStore) dequeue(limit int) []string {
	s.t.Helper()
	ids := s.ids(`SELECT work_item_id FROM work_items WHERE status = 'pending' ORDER BY priority ASC, created_at ASC LIMIT ?`, limit)
	for _, id := range ids {
		s.exec(`UPDATE work_items SET status = 'in_progress', attempt = attempt + 1, updated_at = ? WHERE work_item_id = ?`, s.clock.sql(), id)
	}
	return ids
}

// updateStatus sets what has become of an item; the reason may be nil.
func (s *stateStore) updateStatus(id, status string, reason any) {
	s.t.Helper()
	s.exec(`UPDATE work_items SET status = ?, error_message = ?, updated_at = ? WHERE work_item_id = ?`, status, reason, s.clock.sql(), id)
}

// stats counts items by status.
func (s *stateStore) stats() string {
	s.t.Helper()
	return strings.Join(s.ids(`SELECT status || ' ' || COUNT(*) FROM work_items GROUP BY status ORDER BY status`), ", ")
}

// stateFile makes a file as the other program leaves it: of the items a to g, a is
// completed, b failed, c skipped, d and e in progress, and f and g are pending.
func stateFile(t *testing.T, clock *busClock) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ingest_state.db")
	s := openState(t, path, clock)
	s.start()
	for i, id := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		clock.advance(time.Second)
		s.enqueue(id, 10+i)
	}
	s.dequeue(5)
	s.updateStatus("a", "completed", nil)
	s.updateStatus("b", "failed", "HTTP 500")
	s.updateStatus("c", "skipped", nil)
	clock.advance(time.Second)
	return path
}

// A queue of the other program becomes a store, and goes on from where it
// was. Its items in progress have no lease, and are taken.
func TestStateBecomesAStore(t *testing.T) {
	clock := newBusClock()
	path := stateFile(t, clock)
	const show = `SELECT ` + stateColumns + ` FROM work_items ORDER BY work_item_id`
	before := query(t, path, show)
	b := open(t, path, &sqlite.Options{Now: clock.Now})
	if after := query(t, path, show); after != before {
		t.Errorf("got\n%s\nwant\n%s", after, before)
	}
	if got := busCodes(t, b); got != nil {
		t.Errorf("opened: got findings %v", got)
	}
	if got := workStats(t, b); got != "completed 1, failed 1, in_progress 2, pending 2, skipped 1" {
		t.Errorf("got %s", got)
	}
	items := dequeue(t, b, 9, "d e f g")
	if d := items[0]; d.Attempt != 2 || d.System != "mediawiki" || string(d.Metadata) != `{"seed": true}` || d.Run != "batch-1" || d.Priority != 13 {
		t.Errorf("got %+v", d)
	}
	finish(t, b, backend.WorkComplete, items...)
	revise(t, b, backend.ReviseRetry, 1, "a", "b", "c", "d")
	finish(t, b, backend.WorkComplete, dequeue(t, b, 9, "b")...)
	fresh, err := b.Enqueue(t.Context(), []onto.WorkItem{{ID: "other", System: "mediawiki", Source: "wikipedia", Type: "page", Resource: "a", URI: "x:", Method: "GET", Key: "mediawiki:wikipedia:page:a"}})
	if err != nil || fresh[0] {
		t.Errorf("enqueued what it has: %v, error %v", fresh, err)
	}
	if got := workStats(t, b); got != "completed 6, skipped 1" {
		t.Errorf("drained: got %s", got)
	}
	if _, err := b.Register(t.Context(), &backend.Registration{Reason: "initial", Schemas: []onto.Schema{{Kind: onto.KindEntity, Name: "Page", Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}}}}}); err != nil {
		t.Errorf("it is no store: %v", err)
	}
	if got := busCodes(t, b); got != nil {
		t.Errorf("drained: got findings %v", got)
	}
}

// For reading, such a file is a store with its items, and nothing is changed.
func TestStateForReading(t *testing.T) {
	path := stateFile(t, newBusClock())
	before := read(t, path)
	b := opened(t, path, &sqlite.Options{ReadOnly: true})
	if got := workStats(t, b); got != "completed 1, failed 1, in_progress 2, pending 2, skipped 1" {
		t.Errorf("got %s", got)
	}
	if got := busCodes(t, b); got != nil {
		t.Errorf("got findings %v", got)
	}
	if string(read(t, path)) != string(before) {
		t.Error("the file has changed")
	}
}

// A database of another program is none of ours because it has a table of that name.
func TestOtherWorkItems(t *testing.T) {
	for name, script := range map[string]string{
		"other columns":                   `CREATE TABLE work_items (id INTEGER PRIMARY KEY, title TEXT)`,
		"other columns, an index of ours": `CREATE TABLE work_items (id INTEGER PRIMARY KEY, dedupe_key TEXT); CREATE UNIQUE INDEX ix_work_items_dedupe ON work_items (dedupe_key)`,
		"a column of another type":        strings.Replace(stateTables, "status TEXT", "status INTEGER", 1),
		"a column is missing":             strings.Replace(stateTables, "resource_type TEXT NOT NULL,", "", 1),
		"no unique index":                 strings.Replace(stateTables, "ix_work_items_dedupe", "another", 1),
		"a view":                          `CREATE TABLE t (a); CREATE VIEW work_items AS SELECT * FROM t`,
	} {
		t.Run(name, func(t *testing.T) {
			path := makeFile(t, script)
			before := read(t, path)
			for _, readOnly := range []bool{false, true} {
				_, err := sqlite.Open(t.Context(), path, &sqlite.Options{ReadOnly: readOnly})
				if onto.CodeOf(err) != onto.Unsupported || !strings.Contains(err.Error(), "a SQLite database of another program") {
					t.Errorf("got %v", err)
				}
			}
			if string(read(t, path)) != string(before) {
				t.Error("the file has changed")
			}
		})
	}
}

// A store that has a table work_items of another shape beside it says so.
func TestOtherWorkItemsInAStore(t *testing.T) {
	path := makeFormat4(t)
	runSQL(t, path, `CREATE TABLE work_items (id INTEGER PRIMARY KEY, title TEXT)`)
	_, err := sqlite.Open(t.Context(), path, nil)
	if onto.CodeOf(err) != onto.Unsupported || !strings.Contains(err.Error(), "work_items lacks the column") {
		t.Errorf("got %v", err)
	}
}

// The other program goes on with the file beside us. Each side sees what the other does,
// and no item is stuck.
func TestStateProgramAtWork(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(t *testing.T, clock *busClock, b *sqlite.Backend, s *stateStore)
	}{
		{"it adds items", func(t *testing.T, clock *busClock, b *sqlite.Backend, s *stateStore) {
			enqueue(t, b, "a")
			clock.advance(time.Second)
			if !s.enqueue("b", 5) || s.enqueue("b", 5) {
				t.Error("its check of what exists is wrong")
			}
			dequeue(t, b, 9, "b a")
		}},
		{"it does not add what we have", func(t *testing.T, clock *busClock, b *sqlite.Backend, s *stateStore) {
			it := newItem("a")
			it.Key = "mediawiki:wikipedia:page:a"
			if _, err := b.Enqueue(t.Context(), []onto.WorkItem{it}); err != nil {
				t.Fatal(err)
			}
			if s.enqueue("a", 1) {
				t.Error("it was added twice")
			}
		}},
		{"it drains what we have added", func(t *testing.T, clock *busClock, b *sqlite.Backend, s *stateStore) {
			enqueue(t, b, "a", "b")
			for _, id := range s.dequeue(9) {
				clock.advance(time.Second)
				s.updateStatus(id, "completed", nil)
			}
			dequeue(t, b, 9, "")
			if got := s.stats(); got != "completed 2" || got != workStats(t, b) {
				t.Errorf("it counts %s, and we %s", got, workStats(t, b))
			}
		}},
		{"it stops with items in progress", func(t *testing.T, clock *busClock, b *sqlite.Backend, s *stateStore) {
			enqueue(t, b, "a", "b")
			s.dequeue(1)
			clock.advance(time.Second)
			dequeue(t, b, 9, "a b")
		}},
		{"it takes what waits for a retry", func(t *testing.T, clock *busClock, b *sqlite.Backend, s *stateStore) {
			enqueue(t, b, "a")
			finish(t, b, backend.WorkRetry, dequeue(t, b, 1, "a")...)
			clock.advance(time.Second)
			if got := s.dequeue(1); len(got) != 1 {
				t.Errorf("it took %v", got)
			}
			s.updateStatus("a", "failed", "its own")
		}},
		{"it ends what we hold", func(t *testing.T, clock *busClock, b *sqlite.Backend, s *stateStore) {
			enqueue(t, b, "a", "b", "c")
			held := dequeue(t, b, 9, "a b c")
			clock.advance(time.Second)
			for _, it := range held {
				s.updateStatus(it.ID, "completed", nil)
			}
			verdicts, err := b.Finish(t.Context(), []backend.WorkOutcome{outcome(backend.WorkComplete, held[0]), outcome(backend.WorkComplete, held[1]), outcome(backend.WorkFail, held[2])})
			for i := range held {
				if err != nil || onto.CodeOf(verdicts[i].Err) != onto.LeaseExpired {
					t.Errorf("got %v, error %v", verdicts, err)
				}
			}
			revise(t, b, backend.ReviseRecrawl, 3)
			dequeue(t, b, 9, "a b c")
		}},
		{"it ends what we hold, and the worker is gone", func(t *testing.T, clock *busClock, b *sqlite.Backend, s *stateStore) {
			enqueue(t, b, "a", "b")
			dequeue(t, b, 9, "a b")
			clock.advance(time.Second)
			s.updateStatus("a", "completed", nil)
			s.updateStatus("b", "pending", nil)
			revise(t, b, backend.ReviseRecrawl, 1, "a")
			dequeue(t, b, 9, "a b")
		}},
		{"it takes back what we hold, and dies", func(t *testing.T, clock *busClock, b *sqlite.Backend, s *stateStore) {
			enqueue(t, b, "a")
			dequeue(t, b, 1, "a")
			clock.advance(time.Second)
			s.updateStatus("a", "pending", nil)
			s.dequeue(1)
			clock.advance(time.Hour)
			dequeue(t, b, 1, "a")
		}},
		{"it repeats what we gave up, and clears the error", func(t *testing.T, clock *busClock, b *sqlite.Backend, s *stateStore) {
			enqueue(t, b, "a")
			finish(t, b, backend.WorkFail, dequeue(t, b, 1, "a")...)
			clock.advance(time.Second)
			s.updateStatus("a", "pending", nil)
			dequeue(t, b, 1, "a")
		}},
		{"it counts attempts anew", func(t *testing.T, clock *busClock, b *sqlite.Backend, s *stateStore) {
			enqueue(t, b, "a", "b", "c")
			held := dequeue(t, b, 9, "a b c")
			finish(t, b, backend.WorkFail, held...)
			clock.advance(time.Second)
			s.exec(`UPDATE work_items SET status = 'pending', attempt = 0, updated_at = ? WHERE work_item_id IN ('a', 'c')`, clock.sql())
			held = dequeue(t, b, 9, "a c")
			if held[0].Attempt != 2 || held[1].Attempt != 2 {
				t.Errorf("got %+v", held)
			}
			finish(t, b, backend.WorkFail, held...)
			clock.advance(time.Second)
			s.exec(`UPDATE work_items SET attempt = 0, updated_at = ? WHERE work_item_id = 'a'`, clock.sql())
			revise(t, b, backend.ReviseRetry, 3)
			dequeue(t, b, 9, "a b c")
		}},
		{"it writes times in other forms", func(t *testing.T, clock *busClock, b *sqlite.Backend, s *stateStore) {
			want := []string{}
			for i, at := range []string{"2026-01-05 10:00:00", "2026-01-05T10:00:00", "2026-01-05T10:00:00", "2026-01-05T10:00:00.5", "2026-01-05T10:00:00Z", "2026-01-05T12:00:00+02:00", "soon"} {
				id := fmt.Sprint("e", i)
				s.enqueue(id, 100)
				s.exec(`UPDATE work_items SET created_at = ? WHERE work_item_id = ?`, at, id)
				want = append(want, id)
			}
			dequeue(t, b, 99, strings.Join(want, " "))
		}},
		{"it names no source", func(t *testing.T, clock *busClock, b *sqlite.Backend, s *stateStore) {
			s.enqueue("a", 1)
			s.enqueue("b", 2)
			s.exec(`UPDATE work_items SET source_name = '', source_system = iif(work_item_id = 'a', '', source_system)`)
			r := workRequest(9)
			r.Systems = []string{"", "mediawiki"}
			if got, err := b.Dequeue(t.Context(), r); err != nil || len(got.Items) != 2 {
				t.Errorf("got %+v, error %v", got, err)
			}
			clock.advance(time.Hour)
			dequeue(t, b, 9, "a b")
		}},
		{"it removes items", func(t *testing.T, clock *busClock, b *sqlite.Backend, s *stateStore) {
			enqueue(t, b, "a", "b")
			held := dequeue(t, b, 1, "a")
			s.exec(`DELETE FROM work_items WHERE work_item_id = 'a'`)
			if v, err := b.Finish(t.Context(), []backend.WorkOutcome{outcome(backend.WorkComplete, held[0])}); err != nil || onto.CodeOf(v[0].Err) != onto.LeaseExpired {
				t.Errorf("got %v, error %v", v, err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path, clock, b := openWork(t)
			s := openState(t, path, clock)
			s.start()
			c.do(t, clock, b, s)
			backendtest.Check(t, b)
			clock.advance(time.Hour)
			completeAll(t, b)
			backendtest.Check(t, b)
			if ours, theirs := workStats(t, b), s.stats(); ours != theirs || strings.Contains(ours, "pending") || strings.Contains(ours, "progress") {
				t.Errorf("at the end we count %s, and it counts %s", ours, theirs)
			}
			if left := query(t, path, `SELECT count(*) FROM work_attempts WHERE status = 'running'`); left != "0" {
				t.Errorf("%s attempts are under way for ever", left)
			}
		})
	}
}

// The other program's way to carry its queue elsewhere as CSV works on our file, and the
// rows are as many as it counts.
func TestStateAsCSV(t *testing.T) {
	tool := stockShell(t)
	if tool == "" {
		t.Skip("there is no sqlite3 command")
	}
	path, _, b := openWork(t)
	enqueue(t, b, "a", "b", "c")
	finish(t, b, backend.WorkFail, dequeue(t, b, 1, "a")...)
	to := filepath.Join(t.TempDir(), "work_items.csv")
	if out, err := exec.Command(tool, path, ".mode csv", ".headers on", ".output "+to, "SELECT * FROM work_items").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f, err := os.Open(to)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if got := query(t, path, `SELECT COUNT(*) FROM work_items`); got != fmt.Sprint(len(rows)-1) {
		t.Errorf("%d rows, and it counts %s", len(rows)-1, got)
	}
	if want := strings.Join(strings.Fields(strings.ReplaceAll(stateColumns, ",", " ")), " "); !strings.HasPrefix(strings.Join(rows[0], " "), want+" ") {
		t.Errorf("got the columns %v", rows[0])
	}
	if rows[1][11] != "failed" || rows[1][17] != "planted" {
		t.Errorf("got %v", rows[1])
	}
}
