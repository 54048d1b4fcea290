-- A work queue of the other program, by itself in a file.
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
INSERT INTO work_items (work_item_id, source_system, source_name, resource_type, resource_id, request_uri, request_method, request_headers, request_body, metadata, priority, status, attempt, run_id, discovered_from, created_at, updated_at, error_message, dedupe_key) VALUES ('a', 'mediawiki', 'wikipedia', 'page', 'a', 'https://en.wikipedia.org/w/api.php?a', 'GET', '{"Accept": "text/html"}', NULL, '{"seed": true, "title": "\u00dc"}', 10, 'completed', 1, 'batch-1', NULL, '2026-01-01T00:00:00.250000', '2026-01-02T00:00:00', NULL, 'mediawiki:wikipedia:page:a');
INSERT INTO work_items (work_item_id, source_system, source_name, resource_type, resource_id, request_uri, request_method, request_headers, request_body, metadata, priority, status, attempt, run_id, discovered_from, created_at, updated_at, error_message, dedupe_key) VALUES ('b', 'mediawiki', 'wikipedia', 'page', 'b', 'https://en.wikipedia.org/w/api.php?b', 'GET', '{"Accept": "text/html"}', NULL, NULL, 11, 'failed', 3, 'batch-1', NULL, '2026-01-01T00:00:01.250000', '2026-01-02T00:00:01', 'HTTP 500', 'mediawiki:wikipedia:page:b');
INSERT INTO work_items (work_item_id, source_system, source_name, resource_type, resource_id, request_uri, request_method, request_headers, request_body, metadata, priority, status, attempt, run_id, discovered_from, created_at, updated_at, error_message, dedupe_key) VALUES ('c', 'mediawiki', 'wikipedia', 'page', 'c', 'https://en.wikipedia.org/w/api.php?c', 'GET', '{"Accept": "text/html"}', NULL, '{"seed": true, "title": "\u00dc"}', 12, 'skipped', 0, 'batch-1', 'a', '2026-01-01T00:00:02.250000', '2026-01-02T00:00:02', NULL, 'mediawiki:wikipedia:page:c');
INSERT INTO work_items (work_item_id, source_system, source_name, resource_type, resource_id, request_uri, request_method, request_headers, request_body, metadata, priority, status, attempt, run_id, discovered_from, created_at, updated_at, error_message, dedupe_key) VALUES ('d', 'mediawiki', 'wikipedia', 'page', 'd', 'https://en.wikipedia.org/w/api.php?d', 'GET', '{"Accept": "text/html"}', NULL, NULL, 13, 'in_progress', 1, 'batch-1', 'a', '2026-01-01T00:00:03.250000', '2026-01-02T00:00:03', NULL, 'mediawiki:wikipedia:page:d');
INSERT INTO work_items (work_item_id, source_system, source_name, resource_type, resource_id, request_uri, request_method, request_headers, request_body, metadata, priority, status, attempt, run_id, discovered_from, created_at, updated_at, error_message, dedupe_key) VALUES ('e', 'mediawiki', 'wikipedia', 'page', 'e', 'https://en.wikipedia.org/w/api.php?e', 'GET', '{"Accept": "text/html"}', NULL, '{"seed": true, "title": "\u00dc"}', 14, 'in_progress', 2, 'batch-1', 'd', '2026-01-01T00:00:04.250000', '2026-01-02T00:00:04', NULL, 'mediawiki:wikipedia:page:e');
INSERT INTO work_items (work_item_id, source_system, source_name, resource_type, resource_id, request_uri, request_method, request_headers, request_body, metadata, priority, status, attempt, run_id, discovered_from, created_at, updated_at, error_message, dedupe_key) VALUES ('f', 'mediawiki', 'wikipedia', 'page', 'f', 'https://en.wikipedia.org/w/api.php?f', 'GET', '{"Accept": "text/html"}', NULL, NULL, 15, 'pending', 0, 'batch-1', NULL, '2026-01-01T00:00:05.250000', '2026-01-02T00:00:05', NULL, 'mediawiki:wikipedia:page:f');
INSERT INTO work_items (work_item_id, source_system, source_name, resource_type, resource_id, request_uri, request_method, request_headers, request_body, metadata, priority, status, attempt, run_id, discovered_from, created_at, updated_at, error_message, dedupe_key) VALUES ('g', 'mediawiki', 'wikipedia', 'page', 'g', 'https://en.wikipedia.org/w/api.php?g', 'GET', '{"Accept": "text/html"}', NULL, '{"seed": true, "title": "\u00dc"}', 16, 'pending', 4, 'batch-1', NULL, '2026-01-01T00:00:06.250000', '2026-01-02T00:00:06', 'timeout', 'mediawiki:wikipedia:page:g');
