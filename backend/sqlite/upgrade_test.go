package sqlite_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
)

// format1 is a file as format 1 was: two notes, one of which was deleted, and a
// relation.
const format1 = `
PRAGMA journal_mode = WAL;
CREATE TABLE commits (
    id INTEGER PRIMARY KEY AUTOINCREMENT, created_at TEXT NOT NULL, metadata_json TEXT,
    runtime_id TEXT, actor_kind TEXT, actor_id TEXT, causation_id INTEGER, correlation_id TEXT,
    signature_ref TEXT, comment TEXT, idempotency_key TEXT, draft_hash TEXT, operations INTEGER);
CREATE TABLE entity_history (
    id INTEGER PRIMARY KEY AUTOINCREMENT, entity_type TEXT NOT NULL, entity_key TEXT NOT NULL,
    fields_json TEXT NOT NULL, commit_id INTEGER NOT NULL, schema_version_id INTEGER, op TEXT NOT NULL DEFAULT 'put',
    FOREIGN KEY (commit_id) REFERENCES commits(id));
CREATE TABLE relation_history (
    id INTEGER PRIMARY KEY AUTOINCREMENT, relation_type TEXT NOT NULL, left_key TEXT NOT NULL, right_key TEXT NOT NULL,
    instance_key TEXT NOT NULL DEFAULT '', fields_json TEXT NOT NULL, commit_id INTEGER NOT NULL, schema_version_id INTEGER,
    op TEXT NOT NULL DEFAULT 'put', FOREIGN KEY (commit_id) REFERENCES commits(id));
CREATE INDEX idx_entity_history_lookup ON entity_history(entity_type, entity_key, commit_id DESC);
CREATE INDEX idx_relation_history_lookup ON relation_history(relation_type, left_key, right_key, instance_key, commit_id DESC);
CREATE TABLE schema_registry (type_kind TEXT NOT NULL, type_name TEXT NOT NULL, schema_json TEXT NOT NULL, PRIMARY KEY (type_kind, type_name));
CREATE TABLE schema_versions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, type_kind TEXT NOT NULL, type_name TEXT NOT NULL, schema_version_id INTEGER NOT NULL,
    schema_json TEXT NOT NULL, schema_hash TEXT NOT NULL, created_at TEXT NOT NULL, runtime_id TEXT, reason TEXT,
    UNIQUE(type_kind, type_name, schema_version_id));
CREATE TABLE locks (lock_name TEXT PRIMARY KEY, owner_id TEXT NOT NULL, acquired_at TEXT NOT NULL, expires_at TEXT NOT NULL);
CREATE INDEX onto_entity_history_commit ON entity_history(commit_id);
CREATE INDEX onto_relation_history_commit ON relation_history(commit_id);
CREATE UNIQUE INDEX onto_commits_idempotency ON commits(idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE TABLE entity_current (
    entity_type TEXT NOT NULL, entity_key TEXT NOT NULL, commit_id INTEGER NOT NULL, first_commit_id INTEGER NOT NULL,
    op TEXT NOT NULL, schema_version_id INTEGER NOT NULL, fields BLOB, PRIMARY KEY (entity_type, entity_key)) WITHOUT ROWID;
CREATE TABLE relation_current (
    relation_type TEXT NOT NULL, left_key TEXT NOT NULL, right_key TEXT NOT NULL, instance_key TEXT NOT NULL,
    commit_id INTEGER NOT NULL, first_commit_id INTEGER NOT NULL, op TEXT NOT NULL, schema_version_id INTEGER NOT NULL,
    fields BLOB, PRIMARY KEY (relation_type, left_key, right_key, instance_key)) WITHOUT ROWID;
CREATE TABLE onto_meta (
    id INTEGER PRIMARY KEY CHECK (id = 1), format INTEGER NOT NULL, store_id TEXT NOT NULL,
    foreign_until INTEGER NOT NULL, times_ordered INTEGER NOT NULL);
INSERT INTO onto_meta VALUES (1, 1, 'a-store', 0, 1);
INSERT INTO commits (created_at, operations) VALUES ('2026-01-02T03:04:05.000000+00:00', 3), ('2026-01-02T03:04:06.000000+00:00', 2);
INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id, op) VALUES
    ('Note', 'a', '{"id":"a","n":1,"title":"First"}', 1, 1, 'put'),
    ('Note', 'b', '{"id":"b","title":"Gone"}', 1, 1, 'put'),
    ('Note', 'a', '{"id":"a","n":2,"title":"Second try"}', 2, 1, 'put'),
    ('Note', 'b', '{}', 2, 1, 'delete');
INSERT INTO relation_history (relation_type, left_key, right_key, fields_json, commit_id, schema_version_id) VALUES ('Cites', 'a', 'b', '{}', 1, 1);
INSERT INTO entity_current VALUES
    ('Note', 'a', 2, 1, 'put', 1, jsonb('{"id":"a","n":2,"title":"Second try"}')), ('Note', 'b', 2, 1, 'delete', 1, jsonb('{}'));
INSERT INTO relation_current VALUES ('Cites', 'a', 'b', '', 1, 1, 'put', 1, jsonb('{}'));
`

// makeFormat1 makes such a file with types of the given flags.
func makeFormat1(t *testing.T, flags ...string) string {
	t.Helper()
	script := []string{format1}
	for _, s := range []onto.Schema{note(flags...), cites()} {
		values := "('" + strings.Join([]string{string(s.Kind), s.Name, string(s.JSON())}, "', '") + "')"
		script = append(script, `INSERT INTO schema_registry VALUES `+values+`;
			INSERT INTO schema_versions (type_kind, type_name, schema_json, schema_version_id, schema_hash, created_at, reason)
			SELECT *, 1, '`+s.Hash()+`', '2026-01-02T03:04:05.000000+00:00', 'initial' FROM (VALUES `+values+`);`)
	}
	return makeFile(t, script...)
}

// A file of format 1 can be read as it is, and is upgraded when it is opened
// for writing.
func TestUpgradeFromFormat1(t *testing.T) {
	path := makeFormat1(t, "title", "n")
	reader := open(t, path, &sqlite.Options{ReadOnly: true})
	info, err := reader.Describe(t.Context(), true)
	if err != nil || info.Format != 1 {
		t.Errorf("opened for reading: got format %d, error %v; want 1", info.Format, err)
	}
	wantFields(t, reader, onto.EntityID("Note", "a"), 1, `{"id":"a","n":1,"title":"First"}`)
	wantScan(t, reader, "Note", "a")
	wantWords(t, path, reader, note("title", "n"), "")
	register(t, reader, note("title", "n"))
	if got := query(t, path, `SELECT count(*) FROM sqlite_master WHERE name GLOB 'onto_derived*'`); got != "0" {
		t.Error("reading has upgraded the file")
	}

	b := open(t, path, nil)
	info, err = b.Describe(t.Context(), true)
	if err != nil || info.Format != sqlite.Format || info.StoreID != "a-store" {
		t.Errorf("opened for writing: got %+v, error %v; want format %d of the same store", info, err, sqlite.Format)
	}
	wantDerived(t, path, "Note.n index; Note.title search")
	wantWords(t, path, b, note("title"), "a: second try")
	wantWords(t, path, reader, note("title"), "a: second try")
	commit(t, b, putNote("a", `,"title":"Third"`), putNote("b", `,"title":"Back"`))
	wantWords(t, path, b, note("title"), "a: third; b: back")
	wantFields(t, b, onto.EntityID("Note", "a"), 1, `{"id":"a","n":1,"title":"First"}`)
	if got := query(t, path, `SELECT count(*) FROM sqlite_master WHERE name = 'onto_relation_current_right'`); got != "1" {
		t.Error("the index on right keys is missing")
	}
}

// What the other program has appended since is in what is derived.
func TestUpgradeBehind(t *testing.T) {
	path := makeFormat1(t, "title")
	runSQL(t, path, `INSERT INTO commits (created_at) VALUES ('2026-02-02T03:04:06.000000+00:00');
		INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id) VALUES ('Note', 'c', '{"title": "Theirs", "id": "c"}', 3)`)
	wantWords(t, path, open(t, path, nil), note("title"), "a: second try; c: theirs")
}

// A projection that is too damaged to derive from is made anew.
func TestUpgradeDamaged(t *testing.T) {
	path := makeFormat1(t, "title", "n")
	runSQL(t, path, `UPDATE entity_current SET fields = x'ff00' WHERE entity_key = 'a'`)
	b := open(t, path, nil)
	wantWords(t, path, b, note("title"), "a: second try")
	wantFields(t, b, onto.EntityID("Note", "a"), backend.Head, `{"id":"a","n":2,"title":"Second try"}`)
}

// Many processes that upgrade the same file at once upgrade it once.
func TestManyUpgradeOneFile(t *testing.T) {
	path := makeFormat1(t, "title")
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			b, err := sqlite.Open(t.Context(), path, nil)
			if err != nil {
				t.Errorf("opener %d: %v", i, err)
				return
			}
			b.Close()
		})
	}
	wg.Wait()
	if got := findings(t, path); !slices.Equal(got, []string{"endpoint_missing"}) {
		t.Errorf("got findings %v, want only the endpoint that was deleted", got)
	}
	if got := query(t, path, `SELECT derived FROM onto_meta`); got != "1" {
		t.Errorf("got %s changes of what is derived, want 1", got)
	}
}

// A handle that is open while a newer program upgrades the file writes no more.
func TestUpgradedByANewerProgram(t *testing.T) {
	path := makeFormat1(t)
	func() {
		b, err := sqlite.Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		commit(t, b, putNote("a", ""))
		runSQL(t, path, `UPDATE onto_meta SET format = 99`)
		_, err = b.Append(t.Context(), &backend.Draft{Writes: []backend.Write{putNote("a", `,"n":7`)}})
		if onto.CodeOf(err) != onto.Unsupported || !strings.Contains(err.Error(), "format 99") {
			t.Errorf("got %v, want Unsupported with the format", err)
		}
		wantFields(t, b, onto.EntityID("Note", "a"), backend.Head, `{"id":"a"}`)
	}()
	runSQL(t, path, `UPDATE onto_meta SET format = 2`)
	wantScan(t, open(t, path, nil), "Note", "a")
}

// makeFormat2 makes a file as format 2 was, with two versions of a type that
// another program has added to, one of them without rows.
func makeFormat2(t *testing.T) string {
	t.Helper()
	path := makeFormat1(t, "title")
	func() {
		b, err := sqlite.Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
	}()
	runSQL(t, path, `ALTER TABLE schema_versions DROP COLUMN onto_since; ALTER TABLE schema_versions DROP COLUMN onto_upgrader;
		ALTER TABLE schema_versions DROP COLUMN onto_end; ALTER TABLE onto_meta DROP COLUMN checksum; ALTER TABLE onto_meta DROP COLUMN checksum_commit;
		DROP TABLE onto_leases; DROP TABLE onto_lease_breaks; UPDATE onto_meta SET format = 2`)
	for _, version := range []string{"2", "3"} {
		runSQL(t, path, `INSERT INTO schema_versions (type_kind, type_name, schema_version_id, schema_json, schema_hash, created_at)
			SELECT type_kind, type_name, `+version+`, schema_json, schema_hash, created_at FROM schema_versions WHERE type_name = 'Note' AND schema_version_id = 1`)
	}
	runSQL(t, path, `INSERT INTO commits (created_at) VALUES ('2026-02-02T03:04:06.000000+00:00');
		INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id) VALUES ('Note', 'c', '{"title": "Theirs", "id": "c"}', 3, 2)`)
	return path
}

// A file of format 2 can be read as it is, with versions that begin by the rule,
// and is upgraded when it is opened for writing, without deriving anything anew.
func TestUpgradeFromFormat2(t *testing.T) {
	const types = "Note 1 since 1; Note 2 since 3; Note 3 since 4; Cites 1 since 1"
	path := makeFormat2(t)
	reader := open(t, path, &sqlite.Options{ReadOnly: true})
	if info, err := reader.Describe(t.Context(), true); err != nil || info.Format != 2 {
		t.Errorf("opened for reading: got format %d, error %v; want 2", info.Format, err)
	}
	wantTypes(t, reader, types)
	wantScan(t, reader, "Note", "a", "c")
	b := open(t, path, nil)
	if info, err := b.Describe(t.Context(), true); err != nil || info.Format != sqlite.Format || info.StoreID != "a-store" {
		t.Errorf("opened for writing: got %+v, error %v; want format %d of the same store", info, err, sqlite.Format)
	}
	wantTypes(t, b, types)
	wantTypes(t, reader, types)
	if got := query(t, path, `SELECT derived FROM onto_meta`); got != "1" {
		t.Errorf("got %s changes of what is derived, want only the first", got)
	}
	wantWords(t, path, b, note("title"), "a: second try; c: theirs")
	evolve(t, b, adding(rated("title")), at(4, putNote("a", `,"stars":1,"title":"Third"`)))
	wantTypes(t, b, "Note 1 since 1; Note 2 since 3; Note 3 since 4; Note 4 since 4; Cites 1 since 1")
	wantWords(t, path, reader, rated("title"), "a: third; c: theirs")
}

// If another program has dropped what format 3 added, or a column that a store needs,
// opening the file brings it back and touches nothing else.
func TestDroppedColumns(t *testing.T) {
	for _, drop := range []string{
		`ALTER TABLE schema_versions DROP COLUMN onto_since`, `ALTER TABLE schema_versions DROP COLUMN onto_upgrader`,
		`ALTER TABLE schema_versions DROP COLUMN onto_end`, `ALTER TABLE onto_meta DROP COLUMN checksum`,
		`ALTER TABLE onto_meta DROP COLUMN checksum_commit`, `DROP TABLE onto_leases`, `DROP TABLE onto_lease_breaks`,
		`ALTER TABLE entity_history DROP COLUMN onto_sum`, `ALTER TABLE commits DROP COLUMN comment`, `ALTER TABLE schema_versions DROP COLUMN reason`,
	} {
		path := makeDocumentedFile(t)
		runSQL(t, path, drop)
		b := open(t, path, nil)
		wantTypes(t, b, "Thing 1 since 1; Touches 1 since 1")
		wantDerived(t, path, "Thing.id,last search; Thing.n index")
		if _, err := b.Append(t.Context(), thingDraft("after", 1)); err != nil {
			t.Errorf("%s: %v", drop, err)
		}
	}
}

// The other program's file gets the columns too, at the end, where its
// statements do not see them.
func TestAdoptedVersionsBegin(t *testing.T) {
	path := makeFile(t, originalTables, originalRows, `INSERT INTO schema_versions (type_kind, type_name, schema_version_id, schema_json, schema_hash, created_at)
			SELECT type_kind, type_name, column1, schema_json, 'theirs', '2025-01-02T03:04:05+00:00' FROM schema_registry, (VALUES (1), (2), (3)) WHERE type_name = 'Customer';
		UPDATE entity_history SET schema_version_id = 2 WHERE commit_id = 2`)
	const want = "Customer 1 since 1; Customer 2 since 2; Customer 3 since 3; Likes 1 since 1"
	b := open(t, path, nil)
	wantTypes(t, b, want)
	adopt(t, b)
	wantTypes(t, b, want)
	if got := query(t, path, `SELECT group_concat(name) FROM (SELECT name FROM pragma_table_info('schema_versions') ORDER BY cid DESC LIMIT 3)`); got != "onto_end,onto_upgrader,onto_since" {
		t.Errorf("the last columns are %s", got)
	}
	if got := query(t, path, `SELECT count(*) FROM schema_versions WHERE onto_since IS NULL`); got != "0" {
		t.Errorf("%s versions have no first commit", got)
	}
	if got := query(t, path, `SELECT count(*) FROM sqlite_master WHERE name IN ('onto_leases', 'onto_lease_breaks')`); got != "2" {
		t.Errorf("got %s tables of leases, want 2", got)
	}
}
