package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
)

// originalEngine makes a file as an engine of the original program left it.
func originalEngine(t *testing.T, engine, mode string, script ...string) string {
	t.Helper()
	dump := string(read(t, filepath.Join("testdata", "original-"+engine+".sql")))
	return makeFile(t, dump, strings.Join(script, ";"), ";PRAGMA journal_mode = "+mode)
}

// beside is the file and everything that SQLite keeps beside it.
func beside(t *testing.T, path string) string {
	t.Helper()
	var all strings.Builder
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		data, err := os.ReadFile(path + suffix)
		if err == nil {
			fmt.Fprintf(&all, "%s: %s\n", suffix, data)
		}
	}
	return all.String()
}

func putCustomer(key string, age int) backend.Write {
	fields := fmt.Sprintf(`{"age":%d,"balance":1.5,"id":%q,"name":"Ours","profile":{"city":"SF"},"tags":[]}`, age, key)
	return backend.Write{Identity: onto.EntityID("Customer", key), Op: onto.Put, Fields: []byte(fields), SchemaVersion: 1}
}

// Opening and reading changes nothing; the first write adopts the file, and what was read
// before is read again.
func TestTheFirstWriteAdopts(t *testing.T) {
	for _, engine := range []string{"v1", "v2"} {
		for _, mode := range []string{"WAL", "DELETE"} {
			t.Run(engine+" "+mode, func(t *testing.T) {
				path := originalEngine(t, engine, mode)
				before := beside(t, path)
				b := open(t, path, nil)
				c00, want := onto.EntityID("Customer", "c00"), ""
				v, err := b.Get(t.Context(), c00, backend.Head)
				if err != nil || v.Commit != 2 {
					t.Fatalf("got %+v, error %v", v, err)
				}
				want = string(v.Fields)
				wantFields(t, b, c00, 5, want)
				all, err := b.Schemas(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				register(t, b, all[0].Schema) // it is there
				if info, err := b.Describe(t.Context(), true); err != nil || info.Format != 0 || len(info.Warnings) != 1 || info.Types[0].Live != 20 {
					t.Errorf("described as %+v, error %v", info, err)
				}
				if _, err := b.Checkpoint(t.Context()); err != nil {
					t.Error(err)
				}
				if b.Adopted() || beside(t, path) != before {
					t.Fatal("reading has changed the file, or what is beside it")
				}
				commit(t, b, putCustomer("c99", 1))
				if !b.Adopted() || query(t, path, `SELECT count(*) FROM onto_meta`) != "1" {
					t.Error("the file was not adopted")
				}
				wantFields(t, b, c00, backend.Head, want)
				wantScan(t, b, "Product", "p0", "p1", "p2", "p3")
			})
		}
	}
}

// An adoption that fails leaves the file as it was, and the next write tries again.
func TestAnAdoptionThatFails(t *testing.T) {
	for _, mode := range []string{"WAL", "DELETE"} {
		path := originalEngine(t, "v2", mode)
		b := open(t, path, nil)
		broken := errors.New("no luck")
		b.FailAt("commit", broken)
		if _, err := b.Append(t.Context(), &backend.Draft{Writes: []backend.Write{putCustomer("c99", 1)}}); !errors.Is(err, broken) {
			t.Errorf("%s: got %v", mode, err)
		}
		if got := query(t, path, `SELECT count(*) FROM sqlite_master WHERE name LIKE 'onto%'`); got != "0" || b.Adopted() {
			t.Errorf("%s: %s objects of ours are left", mode, got)
		}
		wantFields(t, b, onto.EntityID("Product", "p1"), backend.Head, `{"price":9.99,"sku":"p1"}`)
		commit(t, b, putCustomer("c99", 1))
		wantFields(t, b, onto.EntityID("Product", "p1"), backend.Head, `{"price":9.99,"sku":"p1"}`)
	}
}

// A file with code of others is read, and a refused write leaves it as it is.
func TestATriggerPreventsAdoption(t *testing.T) {
	for _, table := range []string{"entity_history", "type_layout_catalog"} {
		path := originalEngine(t, "v2", "WAL", `CREATE TRIGGER spy AFTER INSERT ON `+table+` BEGIN DELETE FROM commits; END`)
		before := beside(t, path)
		b, err := sqlite.Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		wantFields(t, b, onto.EntityID("Product", "p1"), backend.Head, `{"price":9.99,"sku":"p1"}`)
		_, err = b.Append(t.Context(), &backend.Draft{Writes: []backend.Write{putCustomer("c99", 1)}})
		if !errors.Is(err, onto.ReadOnly) || !strings.Contains(err.Error(), "spy") {
			t.Errorf("%s: got %v, want ReadOnly that names the trigger", table, err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if beside(t, path) != before {
			t.Errorf("%s: the refused write has changed the file", table)
		}
	}
}

// A program may write while it reads: the read goes on with the file as it was, although
// the write adopts the file.
func TestAdoptionBesideAReadUnderWay(t *testing.T) {
	const many = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000)
		INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id)
		SELECT 'Product', 'x' || i, '{"sku": "x' || i || '", "price": 1.5, "note": "' || hex(zeroblob(1000)) || '"}', 6, 1 FROM n`
	for _, mode := range []string{"WAL", "DELETE"} {
		path := originalEngine(t, "v2", mode, many)
		b := open(t, path, nil)
		n := 0
		for v, err := range b.Scan(t.Context(), &backend.Query{Kind: onto.KindEntity, Type: "Product", At: backend.Head}) {
			if err != nil {
				t.Fatalf("%s: after %d: %v", mode, n, err)
			}
			if v.Commit > 6 {
				t.Fatalf("%s: %s is of commit %d, after the read began", mode, v.Key, v.Commit)
			}
			if n++; n%800 == 1 {
				commit(t, b, putCustomer("c99", n), putProduct(v.Key))
			}
		}
		if n != 4004 {
			t.Errorf("%s: read %d products, want 4004", mode, n)
		}
		got, err := b.Get(t.Context(), onto.EntityID("Customer", "c99"), backend.Head)
		if err != nil || got.Commit != 12 {
			t.Errorf("%s: got commit %d, error %v; want 12", mode, got.Commit, err)
		}
	}
}

func putProduct(key string) backend.Write {
	return backend.Write{Identity: onto.EntityID("Product", key), Op: onto.Put, Fields: []byte(`{"price":7,"sku":"` + key + `"}`), SchemaVersion: 1}
}

// What another process writes, which adopts the file, is seen by a store that has it open:
// also deletes, which only an adopted file can tell.
func TestAnotherProcessAdopts(t *testing.T) {
	for _, readOnly := range []bool{false, true} {
		for _, live := range []bool{false, true} {
			path := originalEngine(t, "v1", "WAL")
			if live { // the original program has it open, and has written
				keepOpen(t, path)
			}
			reader := open(t, path, &sqlite.Options{ReadOnly: readOnly})
			wantScan(t, reader, "Product", "p0", "p1", "p2", "p3")
			other := open(t, path, nil)
			commit(t, other, backend.Write{Identity: onto.EntityID("Product", "p1"), Op: onto.Delete, SchemaVersion: 1})
			wantScan(t, reader, "Product", "p0", "p2", "p3")
			if v, err := reader.Get(t.Context(), onto.EntityID("Product", "p1"), backend.Head); err != nil || v.Op != onto.Delete {
				t.Errorf("got %s, error %v; want a delete", v.Op, err)
			}
			if !reader.Adopted() {
				t.Error("the reader does not know that the file was adopted")
			}
		}
	}
}

// keepOpen lets another program have the file open, with a commit in the WAL.
func keepOpen(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	for _, s := range []string{`PRAGMA wal_autocheckpoint = 0`, `INSERT INTO commits (created_at) VALUES ('2026-11-16T00:00:00+00:00')`} {
		if _, err := db.ExecContext(context.Background(), s); err != nil {
			t.Fatal(err)
		}
	}
}

// The second engine finds in its catalog what we write: it shows only rows of the version
// that is current there.
func TestTheSecondEngineReadsWhatWeWrite(t *testing.T) {
	path := originalEngine(t, "v2", "WAL")
	b := open(t, path, nil)
	catalog := func(typ, want string) {
		t.Helper()
		got := query(t, path, `SELECT group_concat(x, ' ') FROM (SELECT table_name || '@' || activation_commit_id || iif(is_current, '*', '') AS x
			FROM type_layout_catalog WHERE type_name = '`+typ+`' ORDER BY schema_version_id)`)
		if got != want {
			t.Errorf("%s: got %s, want %s", typ, got, want)
		}
	}
	commit(t, b, putCustomer("c99", 1))
	catalog("Customer", "entity_Customer_v1@1*")
	register(t, b, note())
	catalog("Note", "")
	commit(t, b, putNote("a", ""), putNote("b", ""))
	catalog("Note", "entity_Note_v1@8*")
	commit(t, b, putNote("c", ""))
	catalog("Note", "entity_Note_v1@8*")
	evolve(t, b, adding(rated("stars")), at(2, putNote("a", `,"stars":1`)), at(2, putNote("b", `,"stars":1`)), at(2, putNote("c", `,"stars":1`)))
	catalog("Note", "entity_Note_v1@8 entity_Note_v2@10*")
	evolve(t, b, ending(notes()))
	catalog("Note", "entity_Note_v1@8 entity_Note_v2@10")
	catalog("Product", "entity_Product_v1@1*")
}
