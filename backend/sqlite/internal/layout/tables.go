// Package layout is what a store looks like in its file: tables, formats, rows, what is
// derived from them, and whether the schema of a file can be trusted.
package layout

import (
	"fmt"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
)

// createTables makes the tables of the original program, with our columns
// added at the end, and our own tables. It runs on an empty file.
const createTables = `
CREATE TABLE commits (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    created_at TEXT NOT NULL,
    metadata_json TEXT,
    runtime_id TEXT,
    actor_kind TEXT,
    actor_id TEXT,
    causation_id INTEGER,
    correlation_id TEXT,
    signature_ref TEXT,
    comment TEXT,
    idempotency_key TEXT,
    draft_hash TEXT,
    operations INTEGER,
    onto_versions INTEGER,
    onto_events INTEGER,
    onto_event_sum INTEGER,
    onto_sum INTEGER
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

// createSchemas makes the other tables of the original program.
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
    onto_actor_kind TEXT,
    onto_actor_id TEXT,
    onto_comment TEXT,
    onto_learned TEXT,
    onto_sum INTEGER,
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
const createOwn = `
CREATE TABLE onto_meta (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    format INTEGER NOT NULL,
    store_id TEXT NOT NULL,
    derived INTEGER NOT NULL DEFAULT 0,
    checksum TEXT,
    checksum_commit INTEGER,
    copy_json TEXT,
    lineage TEXT,
    onto_sum INTEGER
);
` + createAdditions

// createAdditions makes all of that but onto_meta, without which a file is no store.
const createAdditions = createIndexes + createProjection + createDerived + createLeases + createRestores + createBus + createBusIndexes +
	createWork + createWorkIndexes + createFacts + createFactIndexes

// createIndexes makes our indexes of the original's tables.
const createIndexes = `
CREATE INDEX IF NOT EXISTS onto_entity_history_commit ON entity_history(commit_id);
CREATE INDEX IF NOT EXISTS onto_relation_history_commit ON relation_history(commit_id);
CREATE UNIQUE INDEX IF NOT EXISTS onto_commits_idempotency ON commits(idempotency_key)
    WHERE idempotency_key IS NOT NULL;
`

// createProjection makes the tables of the projection. It keeps one row per
// identity that ever was: tombstones too, since a view of the past starts from
// it. fields is JSONB.
const createProjection = `
CREATE TABLE IF NOT EXISTS entity_current (
    entity_type TEXT NOT NULL,
    entity_key TEXT NOT NULL,
    commit_id INTEGER NOT NULL,
    first_commit_id INTEGER NOT NULL,
    op TEXT NOT NULL,
    schema_version_id INTEGER NOT NULL,
    fields BLOB,
    created_commit_id INTEGER,
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
    created_commit_id INTEGER,
    PRIMARY KEY (relation_type, left_key, right_key, instance_key)
) WITHOUT ROWID;
`

// createDerived makes what format 2 added, except for the column of onto_meta: the list
// of what is derived from the projection, the index on a relation's right endpoint, and
// the tables of the past.
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

// createLeases makes what format 3 added, except for columns: the epochs of leases,
// whose rows are in locks, and the records of broken ones.
const createLeases = `
CREATE TABLE IF NOT EXISTS onto_leases (
    name TEXT PRIMARY KEY,
    epoch INTEGER NOT NULL,
    purpose TEXT,
    note TEXT
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
    reason TEXT,
    purpose TEXT,
    note TEXT
);
`

// createRight makes the index that leads from a right endpoint to its relations.
const createRight = `
CREATE INDEX IF NOT EXISTS onto_relation_current_right ON relation_current(relation_type, right_key);
`

// Where a store stands.
const (
	Head        = `head.id`   // the newest commit
	TypeChanges = `m.derived` // how often types have changed
	HeadFrom    = `onto_meta m LEFT JOIN commits head ON head.id = (SELECT max(id) FROM commits)`
)

// Table is the tables that keep one kind, with the SQL to use them.
type Table struct {
	Kind             onto.Kind
	History, Current string
	Past             string   // see createPast
	Columns          []string // type first, then the keys
	HistoryIndexes   []string // of History
	RightIndex       string   // leads to Current by the right key; "" for none

	Get, GetAt, Lookup string
	FirstRow           string // the row id of an identity's first version
	First, FirstAt     string // see Born
	Near               map[NearShape]string
	upsertHistory      string         // projection rows out of a range of history rows
	superseding        string         // rows of the past out of a range of history rows
	insertOne          string         // one projection row
	inserts, lookups   map[int]string // by number of rows
}

// Tables is the tables of every kind, in the order of [onto.Kinds].
type Tables [3]*Table

// NewTables makes the SQL of every kind, see [NewTable].
func NewTables() Tables {
	var list Tables
	for i, kind := range onto.Kinds() {
		list[i] = NewTable(kind)
	}
	return list
}

// Place is the index of a kind's tables among those of all kinds.
func Place(kind onto.Kind) int {
	switch kind {
	case onto.KindEntity:
		return 0
	case onto.KindFact:
		return 1
	}
	return 2
}

// Of returns the tables of a kind.
func (list *Tables) Of(kind onto.Kind) *Table { return list[Place(kind)] }

// Names returns the names of a kind's tables and columns, without SQL.
func Names(kind onto.Kind) *Table {
	switch kind {
	case onto.KindEntity:
		return &Table{Kind: kind, History: "entity_history", Current: "entity_current", Past: "onto_entity_past",
			Columns:        []string{"entity_type", "entity_key"},
			HistoryIndexes: []string{"idx_entity_history_lookup", "onto_entity_history_commit"}}
	case onto.KindFact:
		return &Table{Kind: kind, History: "fact_history", Current: "fact_current", Past: "onto_fact_past",
			Columns:        []string{"fact_type", "subject", "attribute", "fact_id"},
			HistoryIndexes: []string{"onto_fact_history_lookup", "onto_fact_history_commit"}, RightIndex: "onto_fact_current_attribute"}
	}
	return &Table{Kind: kind, History: "relation_history", Current: "relation_current", Past: "onto_relation_past",
		Columns:        []string{"relation_type", "left_key", "right_key", "instance_key"},
		HistoryIndexes: []string{"idx_relation_history_lookup", "onto_relation_history_commit"}, RightIndex: "onto_relation_current_right"}
}

// perKind is an expression for the tables of each kind, joined.
func perKind(separator string, expression func(t *Table) string) string {
	var list []string
	for _, kind := range onto.Kinds() {
		list = append(list, expression(Names(kind)))
	}
	return strings.Join(list, separator)
}

// CountRows is how many versions there are.
func CountRows() string {
	return perKind(" + ", func(t *Table) string { return `(SELECT count(*) FROM ` + t.History + `)` })
}

// CountVersions is how many versions a commit has.
func CountVersions(commit string) string {
	return perKind(" + ", func(t *Table) string {
		return fmt.Sprintf(`(SELECT count(*) FROM %s h WHERE h.commit_id = %s)`, t.History, commit)
	})
}

// SumVersions is the sum of the checksums of the versions that a commit has.
func SumVersions(commit string) string {
	return perKind(" + ", func(t *Table) string {
		return fmt.Sprintf(`(SELECT coalesce(sum(h.onto_sum), 0) FROM %s h WHERE h.commit_id = %s)`, t.History, commit)
	})
}

// NewTable makes the SQL of a kind.
func NewTable(kind onto.Kind) *Table {
	t := Names(kind)
	same := t.Matches("c", "?")
	t.Get = fmt.Sprintf(`SELECT %s, c.commit_id, c.op, c.schema_version_id, CAST(json(c.fields) AS BLOB), %s
		FROM %s LEFT JOIN %s c ON %s`, Head, TypeChanges, HeadFrom, t.Current, same)
	t.GetAt = fmt.Sprintf(`SELECT %s, h.commit_id, h.op, h.schema_version_id, CAST(h.fields_json AS BLOB), %s, %s
		FROM %s LEFT JOIN %s h ON h.id = %s`, Head, TypeChanges, t.Sum("h"), HeadFrom, t.History, t.NewestAt("?", "?"))
	t.Lookup = fmt.Sprintf(`SELECT commit_id, op, schema_version_id, CAST(json(fields) AS BLOB)
		FROM %s c WHERE %s`, t.Current, same)
	t.FirstRow = fmt.Sprintf(`SELECT %s FROM %s c WHERE %s`, t.FirstID("c"), t.Current, same)
	columns := strings.Join(t.Columns, ", ")
	onConflict := `ON CONFLICT DO UPDATE SET commit_id = excluded.commit_id, op = excluded.op,
		schema_version_id = excluded.schema_version_id, fields = excluded.fields,
		created_commit_id = iif(excluded.op = 'delete', NULL, iif(op = 'delete', excluded.commit_id, created_commit_id))`
	t.upsertHistory = fmt.Sprintf(`INSERT INTO %s (%[2]s, commit_id, first_commit_id, op, schema_version_id, fields)
		SELECT %[2]s, commit_id, commit_id, op, schema_version_id, jsonb(fields_json)
		FROM %[3]s WHERE id BETWEEN ? AND ? ORDER BY id %[4]s`, t.Current, columns, t.History, onConflict)
	t.insertOne = fmt.Sprintf(`INSERT INTO %s (%s, commit_id, first_commit_id, op, schema_version_id, fields, created_commit_id)
		VALUES (%s?, ?, ?, ?, jsonb(?), ?)`, t.Current, columns, strings.Repeat("?, ", len(t.Columns)))
	t.First, t.FirstAt = t.bornSQL()
	t.superseding = t.supersede()
	t.Near = t.nearSQL()
	t.inserts = map[int]string{1: t.insertSQL(1), SmallBulk: t.insertSQL(SmallBulk), LargeBulk: t.insertSQL(LargeBulk)}
	t.lookups = map[int]string{SmallBulk: t.lookupSQL(SmallBulk), LargeBulk: t.lookupSQL(LargeBulk)}
	return t
}

// Matches is the condition that the row called alias has an identity given by
// parameters, or by the row of another alias.
//
// The plus keeps SQLite from comparing the parameter with the type in the condition of
// a partial index: it would prepare the statement again at each binding.
func (t *Table) Matches(alias, other string) string {
	terms := make([]string, len(t.Columns))
	for i, c := range t.Columns {
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

// Newest is the row id of an identity's newest version.
func (t *Table) Newest(other string) string { return t.seek(other, "") }

// NewestAt is the row id of an identity's newest version as of a commit.
func (t *Table) NewestAt(other, commit string) string {
	return t.seek(other, " AND s.commit_id <= "+commit)
}

func (t *Table) seek(other, bound string) string {
	return fmt.Sprintf(`(SELECT s.id FROM %s s WHERE %s%s ORDER BY s.commit_id DESC, s.id LIMIT 1)`,
		t.History, t.Matches("s", other), bound)
}

// FirstID is the row id of the first version of the identity in the projection row
// called alias.
func (t *Table) FirstID(alias string) string {
	return fmt.Sprintf(`(SELECT min(f.id) FROM %s f WHERE %s AND f.commit_id = %s.first_commit_id)`,
		t.History, t.Matches("f", alias), alias)
}

// Sum is the checksum of the row called alias, or NULL: the projection, which is
// always called c, has none.
func (t *Table) Sum(alias string) string {
	if alias == "c" {
		return "NULL"
	}
	return alias + ".onto_sum"
}

// List is the identity's columns of alias, separated by commas.
func (t *Table) List(alias string) string {
	return alias + "." + strings.Join(t.Columns, ", "+alias+".")
}

// insertSQL is an insert of n history rows.
func (t *Table) insertSQL(n int) string {
	row := "(" + strings.Repeat("?, ", len(t.Columns)+4) + "?)"
	return fmt.Sprintf("INSERT INTO %s (%s, fields_json, commit_id, schema_version_id, op, onto_sum) VALUES %s%s",
		t.History, strings.Join(t.Columns, ", "), strings.Repeat(row+", ", n-1), row)
}

// lookupSQL finds the projection rows of n identities of any type.
func (t *Table) lookupSQL(n int) string {
	row := "(" + strings.Repeat("?, ", len(t.Columns)-1) + "?)"
	on := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		on[i] = fmt.Sprintf("c.%s = v.column%d", c, i+1)
	}
	return fmt.Sprintf(`SELECT %s, c.commit_id, c.op, c.schema_version_id, CAST(json(c.fields) AS BLOB)
		FROM (VALUES %s%s) v CROSS JOIN %s c ON %s`,
		t.List("c"), strings.Repeat(row+", ", n-1), row, t.Current, strings.Join(on, " AND "))
}

// IdentityArgs appends the identity's columns to args.
func IdentityArgs(args []any, id *onto.Identity) []any {
	if id.Kind == onto.KindEntity {
		return append(args, id.Type, id.Key)
	}
	return append(args, id.Type, id.Left, id.Right, id.Instance)
}

// Identity reads the identity's columns, which start at column i.
func (t *Table) Identity(r *driver.Rows, i int) onto.Identity {
	if t.Kind == onto.KindEntity {
		return onto.Identity{Kind: t.Kind, Type: r.Text(i), Key: r.Text(i + 1)}
	}
	return onto.Identity{Kind: t.Kind, Type: r.Text(i), Left: r.Text(i + 1), Right: r.Text(i + 2), Instance: r.Text(i + 3)}
}
