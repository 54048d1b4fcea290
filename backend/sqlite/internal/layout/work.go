package layout

// createWork makes what format 5 added: the work queue. The table work_items, its columns
// and its first three indexes are those of another program; our columns are at the end.
// Status, attempt, error_message, lease_owner, lease_until, not_before and onto_revised
// follow from the attempts of an item, if it has any.
const createWork = `
CREATE TABLE IF NOT EXISTS work_items (
    work_item_id TEXT PRIMARY KEY,
    source_system TEXT NOT NULL,
    source_name TEXT NOT NULL,
    resource_type TEXT NOT NULL,
    resource_id TEXT NOT NULL,
    request_uri TEXT NOT NULL,
    request_method TEXT NOT NULL,
    request_headers TEXT,
    request_body TEXT,
    metadata TEXT,
    priority INTEGER NOT NULL DEFAULT 100,
    status TEXT NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 0,
    run_id TEXT,
    discovered_from TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    error_message TEXT,
    dedupe_key TEXT NOT NULL,
    lease_owner TEXT,
    lease_until TEXT,
    not_before TEXT,
    depth INTEGER NOT NULL DEFAULT 0,
    onto_revised INTEGER NOT NULL DEFAULT 0,
    onto_sum INTEGER
);
CREATE TABLE IF NOT EXISTS work_attempts (
    attempt_id TEXT PRIMARY KEY,
    work_item_id TEXT NOT NULL,
    attempt_no INTEGER NOT NULL,
    worker TEXT NOT NULL,
    run_id TEXT,
    started_at TEXT NOT NULL,
    finished_at TEXT,
    status TEXT NOT NULL,
    retry_after TEXT,
    error_message TEXT,
    failure_class TEXT,
    diagnostic_json TEXT,
    UNIQUE (work_item_id, attempt_no)
);
CREATE TABLE IF NOT EXISTS work_runs (
    run_id TEXT PRIMARY KEY,
    started_at TEXT NOT NULL,
    finished_at TEXT,
    status TEXT NOT NULL,
    options_json TEXT,
    counts_json TEXT
);
CREATE TABLE IF NOT EXISTS onto_work_sources (
    source_system TEXT NOT NULL,
    source_name TEXT NOT NULL,
    free_at TEXT NOT NULL,
    PRIMARY KEY (source_system, source_name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS onto_work (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    last_at TEXT NOT NULL,
    held INTEGER,
    held_sum INTEGER
);
INSERT OR IGNORE INTO onto_work (id, last_at, held, held_sum)
    SELECT 1, '', count(*), coalesce(sum(onto_sum), 0) FROM work_items;
`

// createWorkIndexes makes the indexes of the work queue: first those of the other program.
const createWorkIndexes = `
CREATE INDEX IF NOT EXISTS ix_work_items_status ON work_items (status, priority, created_at);
CREATE UNIQUE INDEX IF NOT EXISTS ix_work_items_dedupe ON work_items (dedupe_key);
CREATE INDEX IF NOT EXISTS ix_work_items_run_id ON work_items (run_id);
CREATE INDEX IF NOT EXISTS onto_work_ready ON work_items(source_system, source_name, priority, created_at, work_item_id)
    WHERE status = 'pending' AND not_before IS NULL;
CREATE INDEX IF NOT EXISTS onto_work_run_ready ON work_items(run_id, source_system, source_name, priority, created_at, work_item_id)
    WHERE status = 'pending' AND not_before IS NULL AND run_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS onto_work_due ON work_items(not_before)
    WHERE status = 'pending' AND not_before IS NOT NULL;
CREATE INDEX IF NOT EXISTS onto_work_delayed ON work_items(updated_at)
    WHERE status = 'pending' AND not_before IS NOT NULL AND attempt > 0;
CREATE INDEX IF NOT EXISTS onto_work_leases ON work_items(lease_until) WHERE status = 'in_progress';
CREATE INDEX IF NOT EXISTS onto_work_running ON work_items(source_system, source_name) WHERE status = 'in_progress';
CREATE INDEX IF NOT EXISTS onto_work_parent ON work_items(discovered_from) WHERE discovered_from IS NOT NULL;
`

// WorkTables are the tables of format 5.
func WorkTables() []string {
	return []string{"work_items", "work_attempts", "work_runs", "onto_work_sources", "onto_work"}
}

// WorkIndexes are the names of these indexes. Statements name those that they use.
func WorkIndexes() []string { return indexNames(createWorkIndexes) }

// WorkReads are statements that read every column of the work queue, and no row.
func WorkReads() []string { return readsOf(WorkTables()) }
