package sqlite_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
)

// A key is used once, in one part of a log, in several, and far apart.
func TestLogUsesKeysOnce(t *testing.T) {
	source := past(t)
	all, err := source.Schemas(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, filepath.Join(t.TempDir(), "target.db"), &sqlite.Options{Target: true})
	copyAll(t, source, b, 0)
	keyed := func(n int64, key string) backend.LogEntry {
		return backend.LogEntry{Commit: &backend.LogCommit{Commit: onto.Commit{ID: pastHead + n, Time: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), IdempotencyKey: key}, Digest: "d"}}
	}
	far := []backend.LogEntry{keyed(1, "new")}
	for n := range int64(10_000) {
		far = append(far, keyed(n+2, fmt.Sprint("key ", n)))
	}
	for name, list := range map[string][]backend.LogEntry{
		"stored": {keyed(1, "k2")}, "near": {keyed(1, "new"), keyed(2, "new")}, "far": append(far, keyed(10_002, "new")), "among many": append(far, keyed(10_002, "k1")),
	} {
		err := b.Restore(t.Context(), &backend.Restoration{Since: pastHead, Types: all, Log: logOf(list)})
		if onto.CodeOf(err) != onto.Invalid || !strings.Contains(err.Error(), "idempotency key") {
			t.Errorf("%s: got %v, want Invalid that names the key", name, err)
		}
	}
	wantSame(t, b, source)
}

// A log of rows that are not as they were written, or where they were written, fails.
func TestLogOfDamage(t *testing.T) {
	for _, damage := range []string{
		`UPDATE entity_history SET fields_json = '{"id":"a","n":9}' WHERE id = 3`,
		`INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id, op) VALUES ('Thing', 'a', '{"id":"a"}', 1, 1, 'put')`,
		`PRAGMA foreign_keys = OFF; INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id, op) VALUES ('Thing', 'z', '{"id":"z"}', 7, 1, 'put')`,
		`PRAGMA foreign_keys = OFF; DELETE FROM commits WHERE id = 2`,
	} {
		path := makeDocumentedFile(t)
		runSQL(t, path, damage)
		b := opened(t, path, nil)
		var failed error
		for _, err := range b.Log(t.Context(), 0) {
			failed = err
		}
		if onto.CodeOf(failed) != onto.Corrupt {
			t.Errorf("%s: got %v, want Corrupt", damage, failed)
		}
	}
}

// The rows of a log come by index, and nothing is sorted.
func TestPlansOfLogs(t *testing.T) {
	path := makeDocumentedFile(t)
	var statements []string
	b := open(t, path, nil)
	b.OnPrepare(func(sql string) { statements = append(statements, sql) })
	entries(t, b, 1)
	if _, err := b.LogSize(t.Context(), 1, backend.Head); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, sql := range statements {
		if !strings.Contains(sql, "_history") || strings.Contains(sql, "coalesce(c.operations") {
			continue
		}
		seen++
		plan := query(t, path, "EXPLAIN QUERY PLAN "+strings.ReplaceAll(sql, "?", "1"))
		if strings.Contains(plan, "SCAN h\n") || strings.Contains(plan, "SCAN s\n") || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s\nis answered by %s", sql, plan)
		}
	}
	if seen < 6 {
		t.Errorf("saw %d statements about history, want 6 at least", seen)
	}
}

// A plan tells how much there is, and what stays behind.
func TestLogSize(t *testing.T) {
	_, _, b := openBus(t)
	register(t, b, note("title"), cites(), tagType())
	var some, tags, others []backend.Write
	for i := range 100 {
		some = append(some, putNote(fmt.Sprintf("a%03d", i), `,"title":"`+strings.Repeat("é", 20)+`"`))
		others = append(others, putNote(fmt.Sprintf("b%03d", i), `,"title":"`+strings.Repeat("é", 20)+`"`))
	}
	for i := range 800 {
		tags = append(tags, backend.Write{Identity: onto.EntityID("Tag", fmt.Sprintf("t%03d", i)), Op: onto.Put, Fields: fmt.Appendf(nil, `{"id":"t%03d"}`, i), SchemaVersion: 1})
	}
	commit(t, b, some...)
	commit(t, b, tags...)
	commit(t, b, others...)
	commit(t, b, putNote("a000", ""), cite("a000", "b001"))
	evolve(t, b, ending(backend.EndedType{Kind: onto.KindEntity, Type: "Tag", Purge: true})) // leaves a gap
	emit(t, b, "e1 T", "e2 T", "e3 U")
	claims := claim(t, b, request(2), "e1", "e2")
	mustSettle(t, b, backend.Ack, claims[0])
	if _, err := b.Enqueue(t.Context(), []onto.WorkItem{newItem("i1 s"), newItem("i2 s")}); err != nil {
		t.Fatal(err)
	}
	size, err := b.LogSize(t.Context(), 0, backend.Head)
	if err != nil {
		t.Fatal(err)
	}
	if size.Head != 4 || size.Commits != 4 || size.Versions != 202 || size.Scratch != 0 || size.Bytes < 200*60 || size.Bytes > 200*80 {
		t.Errorf("got %+v", size)
	}
	want := []backend.LogNote{{Code: backend.EventsStay, Of: "n", Count: 3}, {Code: backend.ClaimsStay, Of: "h acked", Count: 1},
		{Code: backend.ClaimsStay, Of: "h claimed", Count: 1}, {Code: backend.WorkStays, Of: "pending", Count: 2}}
	if !slices.Equal(size.Notes, want) {
		t.Errorf("notes\n got: %+v\nwant: %+v", size.Notes, want)
	}
	if size, err = b.LogSize(t.Context(), 3, backend.Head); err != nil || size.Commits != 1 || size.Versions != 2 {
		t.Errorf("after commit 3: got %+v, error %v", size, err)
	}
	if _, err = b.LogSize(t.Context(), 5, backend.Head); onto.CodeOf(err) != onto.NotFound {
		t.Errorf("after a commit that does not exist: got %v, want NotFound", err)
	}
}
