package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

// The original program's file: commits by Python, with its spacing, escapes,
// key order and explicit nulls.
const originalTables = `
PRAGMA journal_mode = WAL;
CREATE TABLE commits (id INTEGER PRIMARY KEY AUTOINCREMENT, created_at TEXT NOT NULL, metadata_json TEXT);
CREATE TABLE entity_history (
    id INTEGER PRIMARY KEY AUTOINCREMENT, entity_type TEXT NOT NULL, entity_key TEXT NOT NULL,
    fields_json TEXT NOT NULL, commit_id INTEGER NOT NULL, schema_version_id INTEGER,
    FOREIGN KEY (commit_id) REFERENCES commits(id));
CREATE INDEX idx_entity_history_lookup ON entity_history(entity_type, entity_key, commit_id DESC);
CREATE TABLE relation_history (
    id INTEGER PRIMARY KEY AUTOINCREMENT, relation_type TEXT NOT NULL, left_key TEXT NOT NULL, right_key TEXT NOT NULL,
    instance_key TEXT NOT NULL DEFAULT '', fields_json TEXT NOT NULL, commit_id INTEGER NOT NULL, schema_version_id INTEGER,
    FOREIGN KEY (commit_id) REFERENCES commits(id));
CREATE INDEX idx_relation_history_lookup ON relation_history(relation_type, left_key, right_key, instance_key, commit_id DESC);
CREATE TABLE schema_registry (type_kind TEXT NOT NULL, type_name TEXT NOT NULL, schema_json TEXT NOT NULL, PRIMARY KEY (type_kind, type_name));
CREATE TABLE schema_versions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, type_kind TEXT NOT NULL, type_name TEXT NOT NULL, schema_version_id INTEGER NOT NULL,
    schema_json TEXT NOT NULL, schema_hash TEXT NOT NULL, created_at TEXT NOT NULL, runtime_id TEXT, reason TEXT,
    UNIQUE(type_kind, type_name, schema_version_id));
CREATE TABLE locks (lock_name TEXT PRIMARY KEY, owner_id TEXT NOT NULL, acquired_at TEXT NOT NULL, expires_at TEXT NOT NULL);
`

// oldestTables lacks schema_version_id, instance_key, schema_versions and locks.
const oldestTables = `
CREATE TABLE commits (id INTEGER PRIMARY KEY AUTOINCREMENT, created_at TEXT NOT NULL, metadata_json TEXT);
CREATE TABLE entity_history (
    id INTEGER PRIMARY KEY AUTOINCREMENT, entity_type TEXT NOT NULL, entity_key TEXT NOT NULL,
    fields_json TEXT NOT NULL, commit_id INTEGER NOT NULL, FOREIGN KEY (commit_id) REFERENCES commits(id));
CREATE INDEX idx_entity_history_lookup ON entity_history(entity_type, entity_key, commit_id DESC);
CREATE TABLE relation_history (
    id INTEGER PRIMARY KEY AUTOINCREMENT, relation_type TEXT NOT NULL, left_key TEXT NOT NULL, right_key TEXT NOT NULL,
    fields_json TEXT NOT NULL, commit_id INTEGER NOT NULL, FOREIGN KEY (commit_id) REFERENCES commits(id));
CREATE INDEX idx_relation_history_lookup ON relation_history(relation_type, left_key, right_key, commit_id DESC);
CREATE TABLE schema_registry (type_kind TEXT NOT NULL, type_name TEXT NOT NULL, schema_json TEXT NOT NULL, PRIMARY KEY (type_kind, type_name));
`

const originalRows = `
INSERT INTO schema_registry VALUES ('entity', 'Customer', '{"entity_name": "Customer", "fields": {
    "id": {"primary_key": true, "index": false, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}},
    "name": {"primary_key": false, "index": false, "type": "<class ''str''>"},
    "age": {"primary_key": false, "index": true, "type": "typing.Optional[int]", "type_spec": {"kind": "union", "args": [{"kind": "primitive", "name": "int"}, {"kind": "primitive", "name": "NoneType"}]}},
    "tags": {"type": "list[str]", "type_spec": {"kind": "list", "item": {"kind": "primitive", "name": "str"}}},
    "odd": {"type": "<class ''decimal.Decimal''>", "type_spec": {"kind": "ref", "name": "Decimal"}}}}');
INSERT INTO schema_registry VALUES ('relation', 'Likes', '{"relation_name": "Likes", "left_type": "Customer", "right_type": "Customer", "instance_key_field": null, "fields": {}}');
INSERT INTO commits (created_at, metadata_json) VALUES ('2025-01-02T03:04:05+00:00', NULL);
INSERT INTO commits (created_at, metadata_json) VALUES ('2025-01-02T03:04:05.500000+00:00', '{"why": "birthday", "n": 9007199254740993}');
INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id) VALUES
    ('Customer', 'c1', '{"name": "Ad\u00e9", "id": "c1", "age": null, "tags": ["x", "y"]}', 1),
    ('Customer', 'c2', '{"name": "Bo", "id": "c2", "age": 40.0}', 1),
    ('Customer', 'c1', '{"name": "Ad\u00e9", "id": "c1", "age": 37, "tags": []}', 2);
INSERT INTO relation_history (relation_type, left_key, right_key, fields_json, commit_id) VALUES ('Likes', 'c1', 'c2', '{}', 2);
`

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

// adopt makes a file of another program ours.
func adopt(t *testing.T, b *sqlite.Backend) {
	t.Helper()
	if err := b.Adopt(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func wantFields(t *testing.T, b backend.Backend, id onto.Identity, at int64, want string) {
	t.Helper()
	v, err := b.Get(t.Context(), id, at)
	if err != nil || string(v.Fields) != want {
		t.Errorf("%s at %d: got %s, error %v; want %s", id, at, v.Fields, err, want)
	}
}

func TestOriginalFilesOpen(t *testing.T) {
	for _, age := range []struct{ name, tables string }{{"original", originalTables}, {"oldest", oldestTables}} {
		t.Run(age.name, func(t *testing.T) {
			b := open(t, makeFile(t, age.tables, originalRows), nil)
			c1 := onto.EntityID("Customer", "c1")
			wantFields(t, b, c1, 1, `{"id":"c1","name":"Adé","tags":["x","y"]}`)
			wantFields(t, b, c1, backend.Head, `{"age":37,"id":"c1","name":"Adé","tags":[]}`)
			wantFields(t, b, onto.EntityID("Customer", "c2"), backend.Head, `{"age":40,"id":"c2","name":"Bo"}`)
			wantFields(t, b, onto.RelationID("Likes", "c1", "c2"), backend.Head, `{}`)

			head, err := b.Resolve(t.Context(), onto.Point{})
			if err != nil || head.ID != 2 || head.Operations != 2 || head.Metadata["n"] != int64(9007199254740993) {
				t.Errorf("head: got %+v, error %v", head, err)
			}
			first, err := b.Resolve(t.Context(), onto.AtTime(time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)))
			if err != nil || first.ID != 1 {
				t.Errorf("as of the first commit's time: got %d, error %v; want 1", first.ID, err)
			}
			wantOriginalSchema(t, b)
		})
	}
}

func wantOriginalSchema(t *testing.T, b backend.Backend) {
	t.Helper()
	all, err := b.Schemas(t.Context())
	if err != nil || len(all) != 2 {
		t.Fatalf("schemas: got %d, error %v; want 2", len(all), err)
	}
	if all[0].Version != 1 || all[0].Reason != "bootstrap" {
		t.Errorf("got version %d, reason %q; want 1, bootstrap", all[0].Version, all[0].Reason)
	}
	customer := onto.Schema{Kind: onto.KindEntity, Name: "Customer", Key: "id", Fields: []onto.Field{
		{Name: "age", Type: onto.Int, Optional: true, Index: true}, {Name: "id", Type: onto.String},
		{Name: "name", Type: onto.String}, {Name: "odd", Type: onto.Any}, {Name: "tags", Type: onto.List},
	}}
	likes := onto.Schema{Kind: onto.KindRelation, Name: "Likes", Left: "Customer", Right: "Customer"}
	for i, want := range []onto.Schema{customer, likes} {
		if d := onto.DiffSchemas(all[i].Schema, want); !d.Empty() {
			t.Errorf("schema differs: %v", d)
		}
	}
}

// A file that both programs write: ours sees what the original appends.
func TestOriginalAppendsBesideUs(t *testing.T) {
	path := makeFile(t, originalTables, originalRows)
	b := open(t, path, nil)
	c1, c3 := onto.EntityID("Customer", "c1"), onto.EntityID("Customer", "c3")
	write := func(id onto.Identity, fields string) {
		t.Helper()
		w := backend.Write{Identity: id, Op: onto.Put, Fields: []byte(fields), SchemaVersion: 1}
		if _, err := b.Append(t.Context(), &backend.Draft{Writes: []backend.Write{w}}); err != nil {
			t.Fatal(err)
		}
	}
	write(c1, `{"id":"c1","name":"Ours"}`)
	for i, question := range []func(){
		func() { wantFields(t, b, c1, backend.Head, `{"id":"c1","name":"Theirs"}`) },
		func() { wantScan(t, b, "Customer", "c1", "c2", "c3") },
		func() { write(c1, `{"id":"c1","name":"Theirs"}`) }, // equal by meaning: no commit
	} {
		runSQL(t, path, `INSERT INTO commits (created_at) VALUES (strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now'));
			INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id) VALUES
				('Customer', 'c1', '{"name": "Theirs", "id": "c1", "age": null}', (SELECT max(id) FROM commits), 1),
				('Customer', 'c3', '{"id": "c3", "name": "New"}', (SELECT max(id) FROM commits), NULL)`)
		question()
		wantFields(t, b, c3, backend.Head, `{"id":"c3","name":"New"}`)
		head, err := b.Resolve(t.Context(), onto.Point{})
		if want := int64(4 + i); err != nil || head.ID != want {
			t.Errorf("head: got %d, error %v; want %d", head.ID, err, want)
		}
	}
	write(c1, `{"id":"c1","name":"Ours again"}`)
	wantFields(t, b, c1, backend.Head, `{"id":"c1","name":"Ours again"}`)
	wantFields(t, b, c1, 6, `{"id":"c1","name":"Theirs"}`)
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

// A clock that was set back does not confuse reads by time.
func TestOriginalClockWentBack(t *testing.T) {
	path := makeFile(t, originalTables, originalRows, `
		INSERT INTO commits (created_at) VALUES ('2025-01-02T03:04:05.100000+00:00');
		INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id) VALUES ('Customer', 'c9', '{"id": "c9"}', 3)`)
	b := open(t, path, nil)
	at := func(micros int) onto.Point {
		return onto.AtTime(time.Date(2025, 1, 2, 3, 4, 5, micros*1000, time.UTC))
	}
	for micros, want := range map[int]int64{0: 1, 99_999: 1, 100_000: 3, 600_000: 3} {
		got, err := b.Resolve(t.Context(), at(micros))
		if err != nil || got.ID != want {
			t.Errorf("as of %s: got %d, error %v; want %d", at(micros), got.ID, err, want)
		}
	}
}

// The lock row of the original program blocks our commits until it expires.
func TestOriginalLockIsHonoured(t *testing.T) {
	path := makeFile(t, originalTables, originalRows)
	b := open(t, path, &sqlite.Options{LockTimeout: 50 * time.Millisecond})
	hold := func(until time.Time) {
		runSQL(t, path, `INSERT OR REPLACE INTO locks VALUES ('ontology_write', 'python-7', '2025-01-01T00:00:00+00:00', '`+until.UTC().Format(time.RFC3339Nano)+`')`)
	}
	d := &backend.Draft{Writes: []backend.Write{{Identity: onto.EntityID("Customer", "c1"), Op: onto.Delete, SchemaVersion: 1}}}
	hold(time.Now().Add(time.Hour))
	if _, err := b.Append(t.Context(), d); !errors.Is(err, onto.LockContention) || !strings.Contains(err.Error(), "python-7") {
		t.Errorf("held: got %v, want LockContention that names the holder", err)
	}
	hold(time.Now().Add(-time.Second))
	if r, err := b.Append(t.Context(), d); err != nil || r.ID != 3 {
		t.Errorf("expired: got commit %d, error %v; want 3", r.ID, err)
	}
}

func TestRefusedFiles(t *testing.T) {
	newer := makeFile(t, originalTables, originalRows)
	b, err := sqlite.Open(t.Context(), newer, nil)
	if err != nil {
		t.Fatal(err)
	}
	adopt(t, b)
	b.Close()
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
		{"an unknown engine's", makeFile(t, originalTables, `CREATE TABLE storage_meta (key TEXT, value TEXT); INSERT INTO storage_meta VALUES ('engine_version', 'v3')`), "\"v3\"", onto.Unsupported},
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
