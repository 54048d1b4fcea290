package layout

import (
	"strconv"
	"strings"

	"github.com/ontologia/onto/backend/sqlite/internal/driver"
)

// createBus makes what format 4 added: the original program's tables of events, with our
// columns at the end, and our own.
//
// An event is numbered in the order of arrival (onto_seq). For each handler and each event of a type that it has asked
// for, the event is in one place: beyond onto_event_queues.filled; ready; behind another
// one of its key; claimed, with a row in event_claims; or done, with ack_at or
// dead_lettered_at in that row. A claim that fell due or ran out is ready as well, and
// has onto_queued set. An event that waits for not_before has a claim of no session.
// Ready, keys, behind and filled are derived: once emptied they fill again. No event
// after the number onto_bus.special has an ordering key or a time before which it waits.
const createBus = `
CREATE TABLE IF NOT EXISTS events (
    id TEXT PRIMARY KEY,
    namespace TEXT NOT NULL,
    type TEXT NOT NULL,
    payload TEXT NOT NULL,
    created_at TEXT NOT NULL,
    priority INTEGER NOT NULL DEFAULT 100,
    root_event_id TEXT NOT NULL,
    chain_depth INTEGER NOT NULL DEFAULT 0,
    onto_seq INTEGER,
    ordering_key TEXT,
    commit_id INTEGER,
    parent_event_id TEXT,
    replay_of TEXT,
    not_before TEXT,
    onto_sum INTEGER
);
CREATE TABLE IF NOT EXISTS event_claims (
    event_id TEXT NOT NULL,
    handler_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    claimed_at TEXT NOT NULL,
    lease_until TEXT NOT NULL,
    ack_at TEXT,
    attempts INTEGER NOT NULL DEFAULT 0,
    available_at TEXT NOT NULL,
    last_error TEXT,
    dead_lettered_at TEXT,
    deliveries INTEGER NOT NULL DEFAULT 0,
    onto_queued INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (event_id, handler_id)
);
CREATE TABLE IF NOT EXISTS dead_letters (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    event_id TEXT NOT NULL,
    handler_id TEXT NOT NULL,
    namespace TEXT NOT NULL,
    failed_at TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    last_error TEXT NOT NULL,
    event_type TEXT NOT NULL,
    event_payload TEXT NOT NULL,
    root_event_id TEXT NOT NULL,
    chain_depth INTEGER NOT NULL,
    deliveries INTEGER,
    event_created_at TEXT,
    priority INTEGER,
    ordering_key TEXT,
    commit_id INTEGER,
    parent_event_id TEXT,
    replay_of TEXT,
    not_before TEXT,
    resolved_at TEXT,
    resolution TEXT,
    resolved_by_kind TEXT,
    resolved_by TEXT,
    replay_event_id TEXT
);
CREATE TABLE IF NOT EXISTS sessions (
    session_id TEXT PRIMARY KEY,
    namespace TEXT NOT NULL,
    started_at TEXT NOT NULL,
    last_heartbeat TEXT NOT NULL,
    metadata TEXT
);
CREATE TABLE IF NOT EXISTS onto_bus (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    seq INTEGER NOT NULL,
    last_at TEXT NOT NULL,
    special INTEGER NOT NULL DEFAULT 0,
    held INTEGER,
    held_sum INTEGER
);
CREATE TABLE IF NOT EXISTS onto_event_queues (
    id INTEGER PRIMARY KEY,
    namespace TEXT NOT NULL,
    handler_id TEXT NOT NULL,
    type TEXT NOT NULL,
    filled INTEGER NOT NULL,
    UNIQUE (namespace, handler_id, type)
);
CREATE TABLE IF NOT EXISTS onto_event_ready (
    queue INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    event_id TEXT NOT NULL,
    PRIMARY KEY (queue, rank, seq)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS onto_event_keys (
    namespace TEXT NOT NULL,
    handler_id TEXT NOT NULL,
    ordering_key TEXT NOT NULL,
    event_id TEXT NOT NULL,
    PRIMARY KEY (namespace, handler_id, ordering_key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS onto_event_behind (
    namespace TEXT NOT NULL,
    handler_id TEXT NOT NULL,
    ordering_key TEXT NOT NULL,
    seq INTEGER NOT NULL,
    event_id TEXT NOT NULL,
    PRIMARY KEY (namespace, handler_id, ordering_key, seq)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS onto_event_schedules (
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    tick TEXT NOT NULL,
    PRIMARY KEY (namespace, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS onto_event_types (
    namespace TEXT NOT NULL,
    type TEXT NOT NULL,
    PRIMARY KEY (namespace, type)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS onto_positions (
    name TEXT PRIMARY KEY,
    commit_id INTEGER NOT NULL
) WITHOUT ROWID;
INSERT OR IGNORE INTO onto_bus (id, seq, last_at, special, held, held_sum)
    SELECT 1, 0, '', 0, count(*), coalesce(sum(onto_sum), 0) FROM events;
`

// createBusIndexes makes the indexes of the bus: first those of the original program.
const createBusIndexes = `
CREATE INDEX IF NOT EXISTS idx_events_namespace_type_order
    ON events(namespace, type, priority DESC, created_at ASC, id ASC);
CREATE INDEX IF NOT EXISTS idx_event_claims_handler_state
    ON event_claims(handler_id, ack_at, dead_lettered_at, lease_until, available_at);
CREATE INDEX IF NOT EXISTS idx_event_claims_event ON event_claims(event_id);
CREATE INDEX IF NOT EXISTS idx_dead_letters_namespace_failed ON dead_letters(namespace, failed_at DESC);
CREATE INDEX IF NOT EXISTS idx_sessions_heartbeat ON sessions(last_heartbeat);
CREATE INDEX IF NOT EXISTS idx_sessions_namespace ON sessions(namespace);
CREATE INDEX IF NOT EXISTS onto_events_arrival ON events(namespace, type, onto_seq);
CREATE INDEX IF NOT EXISTS onto_events_commit ON events(commit_id, onto_seq) WHERE commit_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS onto_event_claims_open ON event_claims(handler_id, max(lease_until, available_at))
    WHERE ack_at IS NULL AND dead_lettered_at IS NULL AND onto_queued = 0;
CREATE INDEX IF NOT EXISTS onto_dead_letters_event ON dead_letters(event_id);
`

// BusIndexes are the names of these indexes. Statements name those that they use.
func BusIndexes() []string { return indexNames(createBusIndexes) }

// indexNames are the names of the indexes that a script makes if they do not exist.
func indexNames(script string) []string {
	var names []string
	for statement := range strings.SplitSeq(script, ";") {
		if head, rest, ok := strings.Cut(statement, " EXISTS "); ok && strings.Contains(head, " INDEX ") {
			names = append(names, strings.Fields(rest)[0])
		}
	}
	return names
}

// BusTables are the tables of format 4.
func BusTables() []string {
	return []string{"events", "event_claims", "dead_letters", "sessions", "onto_bus", "onto_event_queues", "onto_event_ready",
		"onto_event_keys", "onto_event_behind", "onto_event_schedules", "onto_event_types", "onto_positions"}
}

// NumberEvents numbers the events that have no number, or one that another event has,
// after all others.
func NumberEvents(w *driver.Conn) error {
	const count = `UPDATE onto_bus SET seq = max(seq, coalesce((SELECT max(onto_seq) FROM events), 0)); UPDATE onto_bus SET special = seq;`
	return w.Script(`INSERT OR IGNORE INTO onto_bus (id, seq, last_at, special) VALUES (1, 0, '', 0);
		UPDATE onto_bus SET seq = 0 WHERE typeof(seq) <> 'integer' OR seq NOT BETWEEN 0 AND ` + maxEvent + `;
		UPDATE events SET onto_seq = NULL WHERE typeof(onto_seq) NOT IN ('integer', 'null') OR onto_seq NOT BETWEEN 1 AND ` + maxEvent + `;
		UPDATE events SET onto_seq = NULL WHERE id IN (
			SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY onto_seq ORDER BY created_at, id) AS n FROM events WHERE onto_seq IS NOT NULL) WHERE n > 1);` +
		count + `
		UPDATE events SET onto_seq = x.n + (SELECT seq FROM onto_bus)
			FROM (SELECT id, row_number() OVER (ORDER BY created_at, id) AS n FROM events WHERE onto_seq IS NULL) x WHERE x.id = events.id;` +
		count)
}

// MaxEvent is more than events ever arrive: a greater number is a mistake.
const MaxEvent = 1 << 62

var maxEvent = strconv.FormatInt(MaxEvent, 10)

// BusReads are statements that read every column of the bus, and no row.
func BusReads() []string { return readsOf(BusTables()) }

func readsOf(names []string) []string {
	var list []string
	tables := declaredTables()
	for _, name := range names {
		var columns []string
		for _, c := range tables[name].columns {
			columns = append(columns, c.name)
		}
		list = append(list, `SELECT `+strings.Join(columns, ", ")+` FROM `+name+` LIMIT 0`)
	}
	return list
}
