package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3"

	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/effort"
)

// hostile is an untrusted SQLite file.
type hostile struct {
	name  string
	sql   string                                     // prepares a store that was healthy
	bytes func(t *testing.T, path string)            // changes it further
	want  func(verb string) (status int, say string) // what a verb says; nil for anything that is an answer or a refusal
}

// forever is a query that never ends; wide is one with a column of a gigabyte.
const (
	forever = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 0`
	wide    = `SELECT hex(zeroblob(499000000))`
)

// An untrusted file never hangs a verb, crashes it, or makes it take more memory than
// there is: each verb answers or refuses, and a refusal names the culprit.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	template := newHealthy(t)
	for i, h := range slices.Concat(hostileTables(), hostileExtras(), hostileRows(), hostilePages()) {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "hostile.db")
			if err := os.WriteFile(path, template, 0o644); err != nil {
				t.Fatal(err)
			}
			runRaw(t, path, h.sql)
			if h.bytes != nil {
				h.bytes(t, path)
			}
			for j, verb := range hostileVerbs {
				if !effort.Includes(t, i+j) { // there are more verbs than parts: each file is tried
					continue
				}
				status, stderr := runBounded(t, verb+" --db "+path)
				if h.want == nil {
					continue
				}
				if wantStatus, say := h.want(verb); status != wantStatus || !strings.Contains(stderr, say) {
					t.Errorf("%s: got status %d and %q, want %d and %q", verb, status, stderr, wantStatus, say)
				}
			}
		})
	}
}

var hostileVerbs = []string{
	"info --stats", "query entities Thing", "query entities Thing --as-of 2", "log Thing k1", "commits", "schema export",
	"doctor --quick", "doctor", `put Thing {"id":"new","n":1}`, "projection rebuild", "export --output -", "backup copy.db", "lock show",
}

// refused is a file that no verb opens, with a message that names the culprit.
func refused(name string) func(string) (int, string) {
	return func(string) (int, string) { return session.ExitStorage, name }
}

// readable is a file that can be read and not be written.
func readable(name string) func(string) (int, string) {
	return func(verb string) (int, string) {
		switch {
		case strings.HasPrefix(verb, "put"), verb == "projection rebuild":
			return session.ExitStorage, name
		case strings.HasPrefix(verb, "doctor"):
			return session.ExitMismatch, ""
		case strings.HasPrefix(verb, "backup"):
			return session.ExitOK, ""
		}
		return session.ExitOK, ""
	}
}

func hostileTables() []hostile {
	var list []hostile
	for _, table := range []string{
		"commits", "entity_history", "relation_history", "schema_registry", "schema_versions", "locks", "entity_current", "relation_current",
		"onto_meta", "onto_derived", "onto_entity_past", "onto_relation_past", "onto_leases", "onto_lease_breaks", "Entity_History",
	} {
		list = append(list, hostile{name: "view for " + table, want: refused(table),
			sql: fmt.Sprintf(`DROP TABLE %s; CREATE VIEW %[1]s AS %s`, table, forever)})
	}
	return append(list,
		hostile{name: "endless view with the right columns", want: refused("entity_current"),
			sql: `DROP TABLE entity_current; CREATE VIEW entity_current AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
				SELECT 'Thing' AS entity_type, '' || i AS entity_key, 1 AS commit_id, 1 AS first_commit_id, 'put' AS op, 1 AS schema_version_id, jsonb('{}') AS fields FROM n`},
		hostile{name: "wide view", want: refused("onto_meta"),
			sql: `DROP TABLE onto_meta; CREATE VIEW onto_meta AS SELECT 7 AS format, x AS store_id, 0 AS derived FROM (` + wide + ` AS x)`},
		hostile{name: "view of the original program", want: refused("storage_meta"),
			sql: `DROP TABLE onto_meta; DROP TABLE storage_meta; CREATE VIEW storage_meta AS ` + forever},
		hostile{name: "virtual table", want: refused("commits"), sql: `DROP TABLE commits; CREATE VIRTUAL TABLE commits USING fts4(id, created_at)`},
		hostile{name: "search table over a view", want: refused("onto_search_"), sql: `CREATE VIEW words AS SELECT i AS docid, i AS words FROM (` + forever + `);
			CREATE VIRTUAL TABLE onto_search_9 USING fts4(words, content="words")`},
		hostile{name: "view under a search table", want: refused("onto_search_"), sql: `PRAGMA writable_schema = ON;
			UPDATE sqlite_schema SET type = 'view', rootpage = 0, sql = 'CREATE VIEW ' || name || ' AS ` + forever + `' WHERE name GLOB 'onto_search_*_content'`},
		hostile{name: "computed column", want: refused("entity_history"), sql: `ALTER TABLE entity_history ADD COLUMN evil AS (hex(zeroblob(499000000)))`},
		hostile{name: "computed default", want: refused("locks"),
			sql: `DROP TABLE locks; CREATE TABLE locks (lock_name TEXT PRIMARY KEY, owner_id TEXT NOT NULL, acquired_at TEXT NOT NULL, expires_at TEXT NOT NULL, evil DEFAULT (hex(zeroblob(499000000))))`},
		hostile{name: "collation", want: refused("locks"),
			sql: `DROP TABLE locks; CREATE TABLE locks (lock_name TEXT COLLATE NOCASE PRIMARY KEY, owner_id TEXT NOT NULL, acquired_at TEXT NOT NULL, expires_at TEXT NOT NULL)`},
		hostile{name: "column of another type", want: refused("onto_leases"), sql: `DROP TABLE onto_leases; CREATE TABLE onto_leases (name INTEGER PRIMARY KEY, epoch INTEGER NOT NULL)`},
		hostile{name: "history without row ids", want: refused("relation_history"), sql: `PRAGMA writable_schema = ON;
			UPDATE sqlite_schema SET sql = replace(sql, ' AUTOINCREMENT', '') || ' WITHOUT ROWID' WHERE name = 'relation_history'`},
		hostile{name: "schema that is no SQL", sql: `PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE TABLE commits (' WHERE name = 'commits'`, want: refused("commits")},
		hostile{name: "view in the guise of a table", want: refused("commits"), sql: `PRAGMA writable_schema = ON;
			UPDATE sqlite_schema SET sql = 'CREATE VIEW commits AS ` + forever + `' WHERE name = 'commits'`},
	)
}

func hostileExtras() []hostile {
	var list []hostile
	for _, table := range []string{"commits", "entity_history", "entity_current", "locks", "onto_meta", "onto_search_2_content"} {
		for _, event := range []string{"INSERT", "UPDATE", "DELETE"} {
			list = append(list, hostile{name: event + " trigger on " + table, want: readable("evil"),
				sql: fmt.Sprintf(`INSERT INTO locks VALUES ('x', 'y', '2001-01-01T00:00:00.000000+00:00', '2001-01-01T00:00:00.000000+00:00');
					CREATE TRIGGER evil BEFORE %s ON %s BEGIN %s; END`, event, table, forever)})
		}
	}
	return append(list,
		hostile{name: "index that takes long", want: readable("evil"),
			sql: `CREATE INDEX evil ON onto_lease_breaks(length(hex(zeroblob(499000000))))`},
		hostile{name: "trigger of a table that follows", want: readable("evil"),
			sql: `CREATE TABLE follower (x REFERENCES locks(lock_name) ON DELETE CASCADE); CREATE TRIGGER evil AFTER DELETE ON follower BEGIN ` + forever + `; END`},
		hostile{name: "check that takes long",
			sql: `PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'created_at TEXT NOT NULL', 'created_at TEXT NOT NULL CHECK (length(hex(zeroblob(499000000))) > 7)') WHERE name = 'commits'`},
		hostile{name: "checks and indexes of tables that are not ours",
			sql: `CREATE TABLE mine (x CHECK (length(hex(zeroblob(499000000))) > 7)); CREATE TABLE other (x); CREATE INDEX evil ON other(length(hex(zeroblob(x)))); PRAGMA ignore_check_constraints = ON;
				INSERT INTO mine VALUES (1); INSERT INTO other VALUES (1); PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'zeroblob(x)', 'zeroblob(x + 499000000)') WHERE name = 'evil'`},
	)
}

// hostileRows are of shapes that no program writes.
func hostileRows() []hostile {
	deep := func(n int) string { return fmt.Sprintf(`replace(hex(zeroblob(%d)), '00', '{"a":')`, n) }
	row := func(value string) string {
		return fmt.Sprintf(`UPDATE entity_history SET fields_json = %s WHERE entity_key = 'k1' AND commit_id = 2`, value)
	}
	list := []hostile{
		{name: "row that is too long", sql: row(`CAST(zeroblob(70000000) AS TEXT)`)},
		{name: "row that is long", sql: row(`'{"id":"' || replace(hex(zeroblob(20000000)), '00', 'xx') || '"}'`)},
		{name: "row that is long in the projection", sql: `UPDATE entity_current SET fields = jsonb('{"id":"' || hex(zeroblob(30000000)) || '"}') WHERE entity_key = 'k1'`},
		{name: "deep JSON", sql: row(deep(900)) + `; UPDATE commits SET metadata_json = ` + deep(900)},
		{name: "very deep JSON", sql: row(deep(5_000_000)) + `; UPDATE commits SET metadata_json = ` + deep(1_000_000) + `; UPDATE schema_versions SET schema_json = ` + deep(1_000_000)},
		{name: "damaged JSONB", sql: `DROP INDEX onto_field_1; UPDATE entity_current SET fields = x'cbcbcbcbcbcbcbcbcbcbcbcbcbcb'`},
		{name: "no meta", sql: `DELETE FROM onto_meta`},
		{name: "last possible commit", sql: `PRAGMA foreign_keys = OFF; UPDATE commits SET id = 9223372036854775807 WHERE id = (SELECT max(id) FROM commits)`},
		{name: "last possible row", sql: `UPDATE sqlite_sequence SET seq = 9223372036854775807`},
	}
	columns := []string{
		"entity_history.schema_version_id", "schema_versions.schema_version_id", "schema_versions.onto_since", "entity_current.schema_version_id",
		"entity_current.first_commit_id", "entity_current.commit_id", "commits.operations", "commits.causation_id",
		"onto_meta.derived", "onto_meta.checksum_commit", "onto_entity_past.until", "onto_entity_past.history_id", "onto_leases.epoch",
	}
	for _, value := range []string{"-1", "0", "9223372036854775807", "'x'", "NULL", "x'00'", "1e300"} {
		var script strings.Builder
		for _, c := range columns {
			table, column, _ := strings.Cut(c, ".")
			fmt.Fprintf(&script, "UPDATE OR IGNORE %s SET %s = %s;\n", table, column, value)
		}
		list = append(list, hostile{name: "numbers that are " + value, sql: script.String()})
	}
	return list
}

// hostilePages are files that no SQLite writes.
func hostilePages() []hostile {
	return []hostile{
		{name: "page that is its own child", bytes: func(t *testing.T, path string) {
			editPage(t, path, "entity_history", func(page []byte, number uint32) { binary.BigEndian.PutUint32(page[8:], number) })
		}},
		{name: "page that is its own children", bytes: func(t *testing.T, path string) {
			editPage(t, path, "entity_current", func(page []byte, number uint32) {
				binary.BigEndian.PutUint32(page[8:], number)
				for i := range int(binary.BigEndian.Uint16(page[3:])) {
					cell := binary.BigEndian.Uint16(page[12+2*i:])
					binary.BigEndian.PutUint32(page[cell:], number)
				}
			})
		}},
	}
}

// editPage changes the root page of a table, which is not a leaf.
func editPage(t *testing.T, path, table string, edit func(page []byte, number uint32)) {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	var root, size int
	err = errors.Join(db.QueryRow(`SELECT rootpage FROM sqlite_schema WHERE name = ?`, table).Scan(&root),
		db.QueryRow(`PRAGMA page_size`).Scan(&size), db.Close())
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := data[(root-1)*size : root*size]
	if page[0] != 5 && page[0] != 2 {
		t.Fatalf("the root of %s is of kind %d: the table is too small", table, page[0])
	}
	edit(page, uint32(root))
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// newHealthy makes a store with an index, a search table and some commits, and
// returns its bytes.
func newHealthy(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "healthy.db")
	must(t, `
entities:
  Thing:
    key: id
    fields:
      id: {type: string, search: true}
      n: {type: int, index: true, optional: true}
relations:
  Touches:
    left: Thing
    right: Thing
`, "init", "--schema", "-", "--db", path)
	for n := range 3 {
		var objects strings.Builder
		for i := range 300 {
			fmt.Fprintf(&objects, `{"id":"k%d","n":%d}`+"\n", i, n)
		}
		must(t, objects.String(), "put", "Thing", "-", "--db", path)
	}
	must(t, "", "link", "Touches", "k1", "k2", "--db", path)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// runRaw runs SQL without any restrictions. The file is left without companions.
func runRaw(t *testing.T, path, script string) {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(script); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
		t.Log(err) // of a schema that cannot be read any more
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// boundedMemory is how much a verb may take, in MB; boundedTime is when it counts
// as hanging, on a machine that is busy.
const (
	boundedMemory = 512
	boundedTime   = 60 * time.Second
)

// runBounded runs a verb in a process of its own. It has to end by itself, and
// not because something broke.
func runBounded(t *testing.T, verb string) (status int, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), boundedTime)
	defer cancel()
	args := append([]string{"-c", "ulimit -d " + strconv.Itoa(boundedMemory<<10) + `; exec "$@"`, "sh", "onto"}, strings.Fields(verb)...)
	cmd := exec.CommandContext(ctx, "sh", args...)
	cmd.Dir = t.TempDir()
	var said bytes.Buffer
	cmd.Stderr = &said
	start := time.Now()
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if ctx.Err() != nil {
		t.Fatalf("%s hangs", verb)
	}
	status = cmd.ProcessState.ExitCode()
	if status < 0 || strings.Contains(said.String(), "goroutine ") {
		t.Errorf("%s: status %d: %.2000s", verb, status, &said)
	}
	if status == session.ExitGeneral {
		t.Errorf("%s: an error without a code: %.500s", verb, &said)
	}
	usage := cmd.ProcessState.SysUsage()
	t.Logf("%s: status %d, %s, %s: %.200s", verb, status, time.Since(start).Round(time.Millisecond), usageOf(usage), &said)
	return status, said.String()
}

// usageOf tells the most memory that a process had.
func usageOf(usage any) string {
	if r, ok := usage.(*syscall.Rusage); ok {
		return fmt.Sprintf("%d MB", r.Maxrss>>10)
	}
	return "?"
}
