package source_test

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/backend/sqlite/source"
	"github.com/ontologia/onto/internal/effort"
)

// database makes a file with SQL of its own.
func database(t testing.TB, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "any.db")
	build(t, path, rollback, script)
	return path
}

// written makes a file of bytes.
func written(t testing.TB, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "any.db")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// present is a store of the present format.
func present(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "any.db")
	b, err := sqlite.Open(t.Context(), path, nil)
	if err == nil {
		err = b.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	build(t, path, walClosed, `UPDATE onto_meta SET format = max(format, 7)`)
	return path
}

// Whatever is no source is refused by name, with a hint, and stays as it was.
func TestWhatIsNoSource(t *testing.T) {
	noise := make([]byte, 20_000)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	const engine = `CREATE TABLE storage_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL); INSERT INTO storage_meta VALUES ('engine_version', 'v3')`
	for _, c := range []struct {
		name, path string
		kind       source.Kind // "" if it cannot be told
		code       onto.Code
		want       string
	}{
		{"missing", filepath.Join(t.TempDir(), "none.db"), "", onto.Uninitialized, "no such file"},
		{"a directory", t.TempDir(), "", onto.Unsupported, "not a regular file"},
		{"no name", "", "", onto.Invalid, "empty"},
		{"empty", written(t, nil), source.Empty, onto.Uninitialized, "without tables"},
		{"text", written(t, []byte(strings.Repeat("not a database\n", 100))), source.NoDatabase, onto.Unsupported, "not a SQLite database"},
		{"noise", written(t, noise), source.NoDatabase, onto.Unsupported, "encrypted"},
		{"a database without tables", database(t, `CREATE TABLE a (x); DROP TABLE a`), source.Empty, onto.Uninitialized, "without tables"},
		{"another program's", database(t, `CREATE TABLE songs (title TEXT)`), source.Other, onto.Unsupported, "another program"},
		{"a later engine's", load(t, "plain", rollback, engine), source.Original, onto.Unsupported, `"v3"`},
		{"a later engine's without tables", database(t, engine), source.Original, onto.Unsupported, `"v3"`},
		{"a store", present(t), source.Store, onto.Unsupported, "as it is"},
		{"a work queue", load(t, "work-items", rollback), source.WorkQueue, onto.Unsupported, "work queue"},
		{"of no format", load(t, "format6", rollback, `UPDATE onto_meta SET format = -1`), "", onto.Corrupt, "-1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before map[string]string
			if c.kind != "" {
				before = bytesOf(t, c.path, rollback)
			}
			found, err := source.Inspect(t.Context(), c.path, t.TempDir())
			if found.Kind != c.kind || (err == nil) != (c.kind != "") {
				t.Errorf("found %v, error %v; want %s", found, err, c.kind)
			}
			f, err := source.Open(t.Context(), c.path, nil)
			if err == nil {
				f.Close()
			}
			if !errors.Is(err, c.code) || !strings.Contains(err.Error(), c.want) || onto.HintOf(err).Text == "" {
				t.Errorf("got %v (hint %q), want %s with %q and a hint", err, onto.HintOf(err), c.code, c.want)
			}
			var of *source.KindError
			if errors.As(err, &of) != (c.kind != "") || of != nil && of.Found != found {
				t.Errorf("the error %v says that the file is %v, want %s", err, of, c.kind)
			}
			if before != nil && !maps.Equal(bytesOf(t, c.path, rollback), before) {
				t.Error("the file, or what is beside it, has changed")
			}
		})
	}
}

// Code in the schema of a file is not run: what has the name of a table has to be one.
func TestHostileSchemas(t *testing.T) {
	const endless = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT `
	rebuilt := func(table, columns, tail string) string {
		return `DROP TABLE ` + table + `; CREATE TABLE ` + table + ` (` + columns + `) ` + tail
	}
	const commits = `id INTEGER PRIMARY KEY AUTOINCREMENT, created_at TEXT NOT NULL, metadata_json TEXT`
	for name, script := range map[string]string{
		"view for commits":        `DROP TABLE commits; CREATE VIEW commits AS ` + endless + `i AS id, 'x' AS created_at, NULL AS metadata_json FROM n`,
		"view for events":         `CREATE VIEW events AS ` + endless + `i AS namespace FROM n`,
		"view for facts":          `CREATE VIEW fact_history AS ` + endless + `i AS id FROM n`,
		"view for storage_meta":   `CREATE VIEW storage_meta AS ` + endless + `'engine_version' AS key, i AS value FROM n`,
		"virtual table":           `DROP TABLE commits; CREATE VIRTUAL TABLE commits USING fts4(id, created_at, metadata_json)`,
		"computed column":         rebuilt("commits", commits+`, big TEXT AS (hex(zeroblob(1000000000)))`, ""),
		"collation":               rebuilt("commits", strings.Replace(commits, "created_at TEXT", "created_at TEXT COLLATE nocase", 1), ""),
		"no row ids":              rebuilt("commits", strings.Replace(commits, " AUTOINCREMENT", "", 1), "WITHOUT ROWID"),
		"another type":            rebuilt("commits", strings.Replace(commits, "id INTEGER PRIMARY KEY AUTOINCREMENT", "id TEXT PRIMARY KEY", 1), ""),
		"no key":                  rebuilt("commits", strings.Replace(commits, "PRIMARY KEY AUTOINCREMENT", "", 1), ""),
		"missing column":          `ALTER TABLE entity_history RENAME COLUMN fields_json TO fields`,
		"huge definition":         rebuilt("commits", commits+`, x TEXT DEFAULT '`+strings.Repeat("x", 70_000)+`'`, ""),
		"view for schema_version": `DROP TABLE schema_versions; CREATE VIEW schema_versions AS ` + endless + `i AS id FROM n`,
	} {
		path := load(t, "plain", walClosed, "PRAGMA foreign_keys = OFF;", script)
		f, err := source.Open(t.Context(), path, nil)
		if err == nil {
			f.Close()
		}
		if !errors.Is(err, onto.Unsupported) || !strings.Contains(err.Error(), "the table ") || onto.HintOf(err).Text == "" {
			t.Errorf("%s: got %v (hint %q)", name, err, onto.HintOf(err))
		}
	}
	harmless := load(t, "plain", walClosed, `CREATE TRIGGER spy AFTER INSERT ON commits BEGIN DELETE FROM entity_history; END;
		CREATE INDEX odd ON entity_history(abs(commit_id)); CREATE TABLE songs (title TEXT); CREATE VIEW v AS `+endless+`i FROM n`)
	if got := lines(t, opened(t, harmless, source.Options{}).Log(t.Context(), 0)); len(got) == 0 {
		t.Error("triggers, indexes and tables of others keep the file from being read")
	}
}

// Damage is named, and what comes before it is read.
func TestDamage(t *testing.T) {
	cut := func(path string) {
		if info, err := os.Stat(path); err != nil || os.Truncate(path, info.Size()/2) != nil {
			t.Fatal("cannot truncate", err)
		}
	}
	run := func(script string) func(string) {
		return func(path string) { build(t, path, rollback, script) }
	}
	zero := func(path string) { // a page in the middle of a table
		db, err := sql.Open("sqlite3", path)
		if err != nil {
			t.Fatal(err)
		}
		var page, size int64
		err = db.QueryRow(`SELECT max(pageno), max(pgsize) FROM dbstat WHERE name = 'entity_history'`).Scan(&page, &size)
		if err != nil { // without dbstat, the last page of the file
			if err = db.QueryRow(`SELECT (SELECT page_count FROM pragma_page_count), (SELECT page_size FROM pragma_page_size)`).Scan(&page, &size); err != nil {
				t.Fatal(err)
			}
		}
		db.Close()
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteAt(make([]byte, size), (page-1)*size)
			f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, file string
		damage     func(path string)
		want       string
		read       int // commits before
	}{
		{"cut off", "format6", cut, "damaged", 0},
		{"a page of zeroes", "large", zero, "damaged", 0},
		{"a bit in a row", "format6", run(`UPDATE entity_history SET fields_json = replace(fields_json, '"id"', '"ID"') WHERE commit_id = 7`), "commit 7", 6},
		{"a row of no commit", "format6", run(`PRAGMA foreign_keys = OFF; UPDATE entity_history SET commit_id = 'x' WHERE id = 5`), "row 5 of entity_history", 0},
		{"a schema that is no JSON", "plain", run(`UPDATE schema_registry SET schema_json = '{' WHERE type_name = 'Customer'`), "Customer", 0},
		{"no store id", "format6", run(`UPDATE onto_meta SET store_id = ''`), "no id", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			file, more := c.file, ""
			if file == "large" {
				file, more = "plain", big(9, 5000)
			}
			path := load(t, file, rollback, more)
			c.damage(path)
			before := bytesOf(t, path, rollback)
			f, err := source.Open(t.Context(), path, nil)
			read := 0
			if err == nil {
				defer f.Close()
				for e, failed := range f.Log(t.Context(), 0) {
					if err = failed; err == nil && e.Commit != nil {
						read++
					}
				}
			}
			if !errors.Is(err, onto.Corrupt) || !strings.Contains(err.Error(), c.want) || onto.HintOf(err).Text == "" {
				t.Errorf("got %v (hint %q), want %q", err, onto.HintOf(err), c.want)
			}
			if read < c.read {
				t.Errorf("got %d commits before the damage, want %d", read, c.read)
			}
			if !maps.Equal(bytesOf(t, path, rollback), before) {
				t.Error("the file, or what is beside it, has changed")
			}
		})
	}
}

// Commits in a WAL that SQLite would not see, since a frame before them is damaged, are not
// left out in silence.
func TestCutOffWAL(t *testing.T) {
	path := load(t, "plain", walAlone, "", `INSERT INTO commits (created_at) VALUES ('2026-01-01T00:00:00+00:00')`)
	wal := read(t, path+"-wal")
	page := int(binary.BigEndian.Uint32(wal[8:]))
	wal[32+24+page+24+5] ^= 1 // in the second frame
	if err := os.WriteFile(path+"-wal", wal, 0o644); err != nil {
		t.Fatal(err)
	}
	before := bytesOf(t, path, walAlone)
	_, err := source.Open(t.Context(), path, nil)
	if !errors.Is(err, onto.Corrupt) || !strings.Contains(err.Error(), "frame 2") || onto.HintOf(err).Text == "" {
		t.Errorf("got %v (hint %q), want Corrupt that names the frame", err, onto.HintOf(err))
	}
	if !maps.Equal(bytesOf(t, path, walAlone), before) {
		t.Error("the file, or what is beside it, has changed")
	}
}

// Bits that have flipped anywhere give an error or another log, and nothing worse.
func TestFlippedBits(t *testing.T) {
	random := effort.Rand(t)
	refused := 0
	for _, name := range []string{"format6", "adopted-v2"} {
		data := read(t, load(t, name, rollback))
		for range effort.Count(t, 300) {
			flipped := slices.Clone(data)
			for range 1 + random.IntN(20) {
				flipped[random.IntN(len(flipped))] ^= 1 << random.IntN(8)
			}
			path := written(t, flipped)
			f, err := source.Open(t.Context(), path, &source.Options{Rejects: filepath.Join(t.TempDir(), "rejects")})
			if err == nil {
				err = failure(f.Log(t.Context(), 0))
				_, _ = f.LogSize(t.Context(), 0, backend.Head)
				f.Close()
			}
			if err != nil {
				if refused++; onto.CodeOf(err) == "" {
					t.Errorf("got the error %v without a code", err)
				}
			}
		}
	}
	if refused == 0 {
		t.Error("no damage was noticed")
	}
}

// A scratch directory that is not there is named.
func TestCannotCopy(t *testing.T) {
	path := load(t, "plain", rollback)
	_, err := source.Open(t.Context(), path, &source.Options{Scratch: filepath.Join(t.TempDir(), "none")})
	if !errors.Is(err, onto.Unavailable) || !strings.Contains(err.Error(), "none") || onto.HintOf(err).Text == "" {
		t.Errorf("no scratch: got %v (hint %q)", err, onto.HintOf(err))
	}
}
