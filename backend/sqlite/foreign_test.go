package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
)

// Names that mean something in a URI are ordinary in a path.
func TestOddPaths(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{" ", "a b", "a?b", "a%20b", "a%3fb", "a#b", "a&b=c", "x?mode=memory", "file:x", ":memory:.db", `a\b`, "ü☃"} {
		path := filepath.Join(dir, name)
		makeThings(t, path)
		b := open(t, path, nil)
		if _, err := b.Append(t.Context(), thingDraft("k", 1)); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		wantFields(t, b, onto.EntityID("Thing", "k"), backend.Head, `{"id":"k","n":1}`)
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// Many processes that adopt the same file of the original program at once get one
// store.
func TestManyAdoptOneFile(t *testing.T) {
	for _, mode := range []string{"WAL", "DELETE"} {
		path := makeFile(t, originalTables, originalRows, "PRAGMA journal_mode = "+mode)
		ids := make([]string, 6)
		var wg sync.WaitGroup
		for i := range ids {
			wg.Go(func() {
				b, err := sqlite.Open(context.Background(), path, nil)
				if err != nil {
					t.Errorf("%s: opener %d: %v", mode, i, err)
					return
				}
				defer b.Close()
				if err := b.Adopt(context.Background()); err != nil {
					t.Errorf("%s: opener %d: %v", mode, i, err)
				}
				info, err := b.Describe(context.Background(), true)
				if err != nil {
					t.Errorf("%s: opener %d: %v", mode, i, err)
				}
				ids[i] = info.StoreID
			})
		}
		wg.Wait()
		for _, id := range ids {
			if id == "" || id != ids[0] {
				t.Errorf("%s: got store ids %v, want one", mode, ids)
				break
			}
		}
		wantFields(t, open(t, path, nil), onto.EntityID("Customer", "c1"), backend.Head, `{"age":37,"id":"c1","name":"Adé","tags":[]}`)
	}
}

// The original program appends all the time while we read and write: no read is stale,
// no commit is lost.
func TestOriginalAppendsAllTheTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "both.db")
	makeThings(t, path)
	b := open(t, path, nil)
	db, err := sql.Open("sqlite3", path+"?_busy_timeout=5000&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var theirs atomic.Int64
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		defer stop.Store(true)
		for i := range 200 {
			id, err := appendAsOriginal(db, i)
			if err != nil {
				t.Error(err)
				return
			}
			theirs.Store(id)
		}
	})
	wg.Go(func() {
		for i := 0; !stop.Load(); i++ {
			r, err := b.Append(context.Background(), thingDraft("go", i))
			if err != nil {
				t.Error(err)
				return
			}
			if v, err := b.Get(context.Background(), onto.EntityID("Thing", "go"), backend.Head); err != nil || v.Commit != r.ID {
				t.Errorf("got commit %d, error %v; want %d", v.Commit, err, r.ID)
			}
		}
	})
	wg.Go(func() {
		for !stop.Load() {
			least, most := theirs.Load(), int64(0)
			for v, err := range b.Scan(context.Background(), &backend.Query{Kind: onto.KindEntity, Type: "Thing", At: backend.Head}) {
				if err != nil {
					t.Error(err)
					return
				}
				most = max(most, v.Commit)
			}
			if most < least {
				t.Errorf("a scan saw commit %d, but %d was there before", most, least)
			}
		}
	})
	wg.Wait()
	if _, err := b.Get(t.Context(), onto.EntityID("Thing", "py"), backend.Head); err != nil { // brings the rest in
		t.Error(err)
	}
}

func appendAsOriginal(db *sql.DB, i int) (int64, error) {
	tx, err := db.Begin()
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	r, err := tx.Exec(`INSERT INTO commits (created_at) VALUES ('2025-01-02T03:04:05+00:00')`)
	if err != nil {
		return 0, err
	}
	id, _ := r.LastInsertId()
	_, err = tx.Exec(`INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id) VALUES ('Thing', 'py', ?, ?)`,
		fmt.Sprintf(`{"n": %d, "id": "py", "last": null}`, i), id)
	if err != nil {
		return 0, err
	}
	return id, tx.Commit()
}

// Commits of the other program are not counted, so a purge leaves their count
// open.
func TestEvolvePurgesForeignRows(t *testing.T) {
	path := makeFile(t, originalTables, originalRows)
	b := open(t, path, nil)
	evolve(t, b, ending(backend.EndedType{Kind: onto.KindEntity, Type: "Customer", Purge: true}))
	wantTypes(t, b, "Customer 1 since 1 until 3 purged 3; Likes 1 since 1")
	if got := query(t, path, `SELECT count(*) FROM commits WHERE operations IS NULL`); got != "2" {
		t.Errorf("got %s commits that are not counted, want 2", got)
	}
	if c, err := b.Resolve(t.Context(), onto.AtCommit(1)); err != nil || c.Operations != 0 {
		t.Errorf("got %d operations, error %v; want none left", c.Operations, err)
	}
	wantFields(t, b, onto.RelationID("Likes", "c1", "c2"), backend.Head, `{}`)
}

// Another program adds versions without their first commit: it is that of the first
// rows, or the next commit, and is stored by the next write.
func TestForeignVersionsBegin(t *testing.T) {
	path, b := noted(t)
	addVersion := func(version int) {
		runSQL(t, path, fmt.Sprintf(`INSERT INTO schema_versions (type_kind, type_name, schema_version_id, schema_json, schema_hash, created_at)
			SELECT type_kind, type_name, %d, schema_json, 'x', created_at FROM schema_versions WHERE type_name = 'Note' AND schema_version_id = 1;
			UPDATE schema_versions SET schema_hash = (SELECT schema_hash FROM schema_versions WHERE type_name = 'Note' AND schema_version_id = 1) WHERE type_name = 'Note'`, version))
	}
	kept := func(want string) {
		t.Helper()
		if got := query(t, path, `SELECT group_concat(ifnull(onto_since, '?'), ' ') FROM (SELECT onto_since FROM schema_versions WHERE type_name = 'Note' ORDER BY schema_version_id)`); got != want {
			t.Errorf("kept: got %s, want %s", got, want)
		}
	}
	addVersion(2)
	wantTypes(t, b, "Note 1 since 1; Note 2 since 3; Cites 1 since 1")
	kept("1 ?")
	wantRefused(t, b, onto.SchemaOutdated, at(3, putNote("a", "")))
	kept("1 ?") // it was rolled back
	commit(t, b, cite("b", "a"))
	kept("1 3")
	addVersion(3)
	runSQL(t, path, `INSERT INTO commits (created_at) VALUES ('2099-01-01T00:00:00+00:00');
		INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id) VALUES ('Note', 'c', '{"id": "c"}', 4, 2);
		INSERT INTO commits (created_at) VALUES ('2099-01-01T00:00:00+00:00');
		INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id) VALUES ('Note', 'c', '{"id": "c", "n": 1}', 5, 3)`)
	wantTypes(t, b, "Note 1 since 1; Note 2 since 3; Note 3 since 5; Cites 1 since 1")
	commit(t, b, at(3, putNote("c", `,"n":2`)))
	kept("1 3 5")
	wantTypes(t, b, "Note 1 since 1; Note 2 since 3; Note 3 since 5; Cites 1 since 1")
}
