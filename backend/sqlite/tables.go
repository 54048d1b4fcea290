package sqlite

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
)

// createTables makes the tables of the original program, with our columns
// added at the end, and our own tables. It runs on an empty file.
const createTables = `
CREATE TABLE commits (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    created_at TEXT NOT NULL,
    metadata_json TEXT` + commitColumns + `
);
CREATE TABLE entity_history (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    entity_type TEXT NOT NULL,
    entity_key TEXT NOT NULL,
    fields_json TEXT NOT NULL,
    commit_id INTEGER NOT NULL,
    schema_version_id INTEGER,
    op TEXT NOT NULL DEFAULT 'put',
    onto_sum INTEGER,
    FOREIGN KEY (commit_id) REFERENCES commits(id)
);
CREATE TABLE relation_history (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    relation_type TEXT NOT NULL,
    left_key TEXT NOT NULL,
    right_key TEXT NOT NULL,
    instance_key TEXT NOT NULL DEFAULT '',
    fields_json TEXT NOT NULL,
    commit_id INTEGER NOT NULL,
    schema_version_id INTEGER,
    op TEXT NOT NULL DEFAULT 'put',
    onto_sum INTEGER,
    FOREIGN KEY (commit_id) REFERENCES commits(id)
);
` + createLookup + createSchemas + createOwn

// createLookup makes the indexes of the original program.
const createLookup = `
CREATE INDEX IF NOT EXISTS idx_entity_history_lookup
    ON entity_history(entity_type, entity_key, commit_id DESC);
CREATE INDEX IF NOT EXISTS idx_relation_history_lookup
    ON relation_history(relation_type, left_key, right_key, instance_key, commit_id DESC);
`

const commitColumns = `,
    runtime_id TEXT,
    actor_kind TEXT,
    actor_id TEXT,
    causation_id INTEGER,
    correlation_id TEXT,
    signature_ref TEXT,
    comment TEXT,
    idempotency_key TEXT,
    draft_hash TEXT,
    operations INTEGER`

// createSchemas makes tables that old files of the original program may lack.
const createSchemas = `
CREATE TABLE IF NOT EXISTS schema_registry (
    type_kind TEXT NOT NULL,
    type_name TEXT NOT NULL,
    schema_json TEXT NOT NULL,
    PRIMARY KEY (type_kind, type_name)
);
CREATE TABLE IF NOT EXISTS schema_versions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    type_kind TEXT NOT NULL,
    type_name TEXT NOT NULL,
    schema_version_id INTEGER NOT NULL,
    schema_json TEXT NOT NULL,
    schema_hash TEXT NOT NULL,
    created_at TEXT NOT NULL,
    runtime_id TEXT,
    reason TEXT,
    onto_since INTEGER,
    onto_upgrader TEXT,
    onto_end TEXT,
    UNIQUE(type_kind, type_name, schema_version_id)
);
CREATE TABLE IF NOT EXISTS locks (
    lock_name TEXT PRIMARY KEY,
    owner_id TEXT NOT NULL,
    acquired_at TEXT NOT NULL,
    expires_at TEXT NOT NULL
);
`

// createOwn makes what the original program does not have.
const createOwn = createIndexes + createProjection + `
CREATE TABLE onto_meta (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    format INTEGER NOT NULL,
    store_id TEXT NOT NULL,
    foreign_until INTEGER NOT NULL,
    times_ordered INTEGER NOT NULL,
    derived INTEGER NOT NULL DEFAULT 0,
    checksum TEXT,
    checksum_commit INTEGER
);
` + createDerived + createLeases

// createIndexes makes our indexes of the original's tables.
const createIndexes = `
CREATE INDEX IF NOT EXISTS onto_entity_history_commit ON entity_history(commit_id);
CREATE INDEX IF NOT EXISTS onto_relation_history_commit ON relation_history(commit_id);
CREATE UNIQUE INDEX IF NOT EXISTS onto_commits_idempotency ON commits(idempotency_key)
    WHERE idempotency_key IS NOT NULL;
`

// createProjection makes the tables of the projection. It keeps one row per
// identity that ever was: tombstones too, since a view of the past starts from
// it. fields is JSONB, or NULL when the newest version's JSON cannot be read.
const createProjection = `
CREATE TABLE IF NOT EXISTS entity_current (
    entity_type TEXT NOT NULL,
    entity_key TEXT NOT NULL,
    commit_id INTEGER NOT NULL,
    first_commit_id INTEGER NOT NULL,
    op TEXT NOT NULL,
    schema_version_id INTEGER NOT NULL,
    fields BLOB,
    PRIMARY KEY (entity_type, entity_key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS relation_current (
    relation_type TEXT NOT NULL,
    left_key TEXT NOT NULL,
    right_key TEXT NOT NULL,
    instance_key TEXT NOT NULL,
    commit_id INTEGER NOT NULL,
    first_commit_id INTEGER NOT NULL,
    op TEXT NOT NULL,
    schema_version_id INTEGER NOT NULL,
    fields BLOB,
    PRIMARY KEY (relation_type, left_key, right_key, instance_key)
) WITHOUT ROWID;
`

// createDerived makes what format 2 added, but for the column of onto_meta:
// the list of what is derived from the projection, and the way from a
// relation's right endpoint, and the tables of the past.
const createDerived = `
CREATE TABLE IF NOT EXISTS onto_derived (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    type_kind TEXT NOT NULL,
    type_name TEXT NOT NULL,
    field TEXT NOT NULL,
    purpose TEXT NOT NULL,
    UNIQUE (type_kind, type_name, purpose, field)
);
` + createRight + createPast

// createLeases makes what format 3 added, but for columns: the epochs of leases,
// whose rows stand in locks, and the records of those that were broken.
const createLeases = `
CREATE TABLE IF NOT EXISTS onto_leases (
    name TEXT PRIMARY KEY,
    epoch INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS onto_lease_breaks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    owner_id TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    acquired_at TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    broken_at TEXT NOT NULL,
    runtime_id TEXT,
    actor_kind TEXT,
    actor_id TEXT,
    reason TEXT
);
`

const (
	rightIndex  = "onto_relation_current_right"
	createRight = `CREATE INDEX IF NOT EXISTS ` + rightIndex + ` ON relation_current(relation_type, right_key);
`
)

// standing is how far the projection goes, in three columns: the head, the
// commit that the projection is known to cover, and the last foreign commit.
// Our commits have their operations counted and move the projection along in
// the same transaction, after bringing in whatever others had appended. So a
// head of ours is covered; a foreign one is if it was the last brought in.
const (
	typeChanges  = `m.derived` // files of format 1 do not have it
	standing     = `head.id, iif(head.operations IS NULL, m.foreign_until, head.id), m.foreign_until`
	standingFrom = `onto_meta m LEFT JOIN commits head ON head.id = (SELECT max(id) FROM commits)`
)

// table is the pair of tables that keeps one kind, with the SQL to use it.
type table struct {
	kind             onto.Kind
	history, current string
	past             string   // see createPast
	sums             bool     // it has checksums
	columns          []string // type first, then the keys

	get, getAt, lookup string
	firstRow           string         // the row id of an identity's first version
	upsertHistory      string         // projection rows out of a range of history rows
	superseding        string         // rows of the past out of a range of history rows
	upsertOne          string         // one projection row
	inserts, lookups   map[int]string // by number of rows
}

// newNames returns the names of a kind's tables and columns, without SQL.
func newNames(kind onto.Kind) *table {
	if kind == onto.KindEntity {
		return &table{kind: kind, history: "entity_history", current: "entity_current", past: "onto_entity_past",
			columns: []string{"entity_type", "entity_key"}}
	}
	return &table{kind: kind, history: "relation_history", current: "relation_current", past: "onto_relation_past",
		columns: []string{"relation_type", "left_key", "right_key", "instance_key"}}
}

// newTable makes the SQL of a kind. Changes is the column that tells how often
// types have changed. Older files that are only read have no checksums.
func newTable(kind onto.Kind, changes string, sums bool) *table {
	t := newNames(kind)
	t.sums = sums
	same := t.matches("c", "?")
	t.get = fmt.Sprintf(`SELECT %s, c.commit_id, c.op, c.schema_version_id, CAST(json(c.fields) AS BLOB), %s
		FROM %s LEFT JOIN %s c ON %s`, standing, changes, standingFrom, t.current, same)
	t.getAt = fmt.Sprintf(`SELECT %s, h.commit_id, h.op, h.schema_version_id, CAST(h.fields_json AS BLOB), %s, %s
		FROM %s LEFT JOIN %s h ON h.id = %s`, standing, changes, t.sum("h"), standingFrom, t.history, t.newestAt("?", "?"))
	t.lookup = fmt.Sprintf(`SELECT commit_id, op, schema_version_id, CAST(json(fields) AS BLOB)
		FROM %s c WHERE %s`, t.current, same)
	t.firstRow = fmt.Sprintf(`SELECT %s FROM %s c WHERE %s`, t.firstID("c"), t.current, same)
	columns := strings.Join(t.columns, ", ")
	onConflict := `ON CONFLICT DO UPDATE SET commit_id = excluded.commit_id, op = excluded.op,
		schema_version_id = excluded.schema_version_id, fields = excluded.fields`
	t.upsertHistory = fmt.Sprintf(`INSERT INTO %s (%[2]s, commit_id, first_commit_id, op, schema_version_id, fields)
		SELECT %[2]s, commit_id, commit_id, op, schema_version_id, jsonb(fields_json)
		FROM %[3]s WHERE id BETWEEN ? AND ? ORDER BY id %[4]s`, t.current, columns, t.history, onConflict)
	t.upsertOne = fmt.Sprintf(`INSERT INTO %s (%s, commit_id, first_commit_id, op, schema_version_id, fields)
		VALUES (%s?, ?, ?, ?, jsonb(?)) %s`, t.current, columns, strings.Repeat("?, ", len(t.columns)), onConflict)
	t.superseding = t.supersede()
	t.inserts = map[int]string{1: t.insertSQL(1), smallBulk: t.insertSQL(smallBulk), largeBulk: t.insertSQL(largeBulk)}
	t.lookups = map[int]string{smallBulk: t.lookupSQL(smallBulk), largeBulk: t.lookupSQL(largeBulk)}
	return t
}

// matches is the condition that the row called alias has an identity given by
// parameters, or by the row of that other alias.
//
// The plus keeps SQLite from comparing the parameter with the type that an index
// is partial by: it would prepare the statement anew whenever it is bound.
func (t *table) matches(alias, other string) string {
	terms := make([]string, len(t.columns))
	for i, c := range t.columns {
		right := other
		if other != "?" {
			right = other + "." + c
		} else if i == 0 {
			right = "+?"
		}
		terms[i] = fmt.Sprintf("%s.%s = %s", alias, c, right)
	}
	return strings.Join(terms, " AND ")
}

// newest is the row id of an identity's newest version; newestAt is the same as
// of a commit. If another program wrote two versions in one commit, the first
// counts.
func (t *table) newest(other string) string { return t.seek(other, "") }

func (t *table) newestAt(other, commit string) string {
	return t.seek(other, " AND s.commit_id <= "+commit)
}

func (t *table) seek(other, bound string) string {
	return fmt.Sprintf(`(SELECT s.id FROM %s s WHERE %s%s ORDER BY s.commit_id DESC, s.id LIMIT 1)`,
		t.history, t.matches("s", other), bound)
}

// firstID is the row id of the first version of the identity that the
// projection row called alias has. If another program wrote two versions in
// that commit, it is the first.
func (t *table) firstID(alias string) string {
	return fmt.Sprintf(`(SELECT min(f.id) FROM %s f WHERE %s AND f.commit_id = %s.first_commit_id)`,
		t.history, t.matches("f", alias), alias)
}

// sum is the checksum of the row called alias, or NULL: the projection, which is
// always called c, has none.
func (t *table) sum(alias string) string {
	if !t.sums || alias == "c" {
		return "NULL"
	}
	return alias + ".onto_sum"
}

// list is the identity's columns of alias, separated by commas.
func (t *table) list(alias string) string {
	return alias + "." + strings.Join(t.columns, ", "+alias+".")
}

// insertSQL is an insert of n history rows.
func (t *table) insertSQL(n int) string {
	row := "(" + strings.Repeat("?, ", len(t.columns)+4) + "?)"
	return fmt.Sprintf("INSERT INTO %s (%s, fields_json, commit_id, schema_version_id, op, onto_sum) VALUES %s%s",
		t.history, strings.Join(t.columns, ", "), strings.Repeat(row+", ", n-1), row)
}

// lookupSQL finds the projection rows of n identities of any type.
func (t *table) lookupSQL(n int) string {
	row := "(" + strings.Repeat("?, ", len(t.columns)-1) + "?)"
	on := make([]string, len(t.columns))
	for i, c := range t.columns {
		on[i] = fmt.Sprintf("c.%s = v.column%d", c, i+1)
	}
	return fmt.Sprintf(`SELECT %s, c.commit_id, c.op, c.schema_version_id, CAST(json(c.fields) AS BLOB)
		FROM (VALUES %s%s) v CROSS JOIN %s c ON %s`,
		t.list("c"), strings.Repeat(row+", ", n-1), row, t.current, strings.Join(on, " AND "))
}

// identityArgs appends the identity's columns to args.
func identityArgs(args []any, id *onto.Identity) []any {
	if id.Kind == onto.KindEntity {
		return append(args, id.Type, id.Key)
	}
	return append(args, id.Type, id.Left, id.Right, id.Instance)
}

// identity reads the identity's columns, which start at column i.
func (t *table) identity(r *driver.Rows, i int) onto.Identity {
	if t.kind == onto.KindEntity {
		return onto.Identity{Kind: t.kind, Type: r.Text(i), Key: r.Text(i + 1)}
	}
	return onto.Identity{Kind: t.kind, Type: r.Text(i), Left: r.Text(i + 1), Right: r.Text(i + 2), Instance: r.Text(i + 3)}
}

// version reads commit_id, op, schema_version_id and fields, which start at
// column i.
func version(r *driver.Rows, i int, id onto.Identity) onto.Version {
	v := onto.Version{
		Identity: id, Commit: r.Int(i), Op: onto.Op(r.Text(i + 1)),
		SchemaVersion: int(r.Int(i + 2)), Fields: json.RawMessage(r.Bytes(i + 3)),
	}
	if v.SchemaVersion == 0 {
		v.SchemaVersion = 1 // rows from before versions were kept
	}
	return v
}

// table returns the tables of a kind.
func (s *store) table(k onto.Kind) *table {
	if k == onto.KindEntity {
		return s.tables[0]
	}
	return s.tables[1]
}

var _ backend.Backend = (*Backend)(nil)
