package sqlite_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
)

// fault is something that is wrong with a file, and the code that says so.
type fault struct {
	name, code string
	sql        string                                            // plants it in the file
	plant      func(t *testing.T, path string)                   // plants it in another way
	opts       *sqlite.Options                                   // to open the file with
	around     func(*testing.T, *sqlite.Backend) backend.Backend // plants it around the open file
}

// Each fault that is planted in a real file is found with its code, and nothing
// is found where none is planted.
func TestPlantedFaults(t *testing.T) {
	template := read(t, makeHealthy(t))
	for _, f := range slices.Concat(logFaults(), typeFaults(), projectionFaults(), derivedFaults(), surveyFaults(),
		[]fault{{name: "none"}}) {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			path := t.TempDir() + "/faulty.db"
			write(t, path, template)
			if f.sql != "" {
				runSQL(t, path, `PRAGMA foreign_keys = OFF; `+f.sql)
			}
			if f.plant != nil {
				f.plant(t, path)
			}
			opts := f.opts
			if strings.HasPrefix(f.sql, "DROP") && f.code != "" && opts == nil { // opened for writing, it would be mended
				opts = &sqlite.Options{ReadOnly: true}
			}
			b := opened(t, path, opts)
			var around backend.Backend = b
			if f.around != nil {
				around = f.around(t, b)
			}
			got := codesOf(examined(t, around, false))
			if f.code == "" && len(got) > 0 || f.code != "" && !slices.Contains(got, f.code) {
				t.Errorf("got findings %v, want %q", got, f.code)
			}
		})
	}
}

func logFaults() []fault {
	return []fault{
		{name: "deleted commit", code: "version_without_commit", sql: `DELETE FROM commits WHERE id = 3`},
		{name: "gap in the log", code: "commit_gap", sql: `DELETE FROM commits WHERE id = 3`},
		{name: "orphaned relation rows", code: "version_without_commit", sql: `UPDATE relation_history SET commit_id = 99 WHERE id = 1`},
		{name: "orphaned facts", code: "version_without_commit", sql: `UPDATE fact_history SET commit_id = 99 WHERE id = 1`},
		{name: "fact removed from history", code: "commit_incomplete", sql: `DELETE FROM fact_history WHERE id = 1`},
		{name: "edited value of a fact", code: "version_damaged", sql: `UPDATE fact_history SET fields_json = '{"salary":41}' WHERE id = 2`},
		{name: "fact of an unknown schema version", code: "schema_unknown", sql: `UPDATE fact_history SET schema_version_id = 5 WHERE id = 1`},
		{name: "fact without its subject", code: "endpoint_missing", sql: `UPDATE fact_history SET subject = 'x', onto_sum = NULL; UPDATE fact_current SET subject = 'x'`},
		{name: "fact edited in history and projection", code: "history_changed", sql: `
			UPDATE fact_history SET onto_sum = NULL, fields_json = '{"salary":41}' WHERE id = 3; UPDATE fact_current SET fields = jsonb('{"salary":41}') WHERE fact_id = 's1'`},
		{name: "row removed from history", code: "commit_incomplete", sql: `DELETE FROM entity_history WHERE id = 10`},
		{name: "time that goes back", code: "commit_time_back", sql: `UPDATE commits SET created_at = '2001-01-01T00:00:00.000000+00:00' WHERE id = 3`},
		{name: "time in the future", code: "commit_time_future", sql: `UPDATE commits SET created_at = '2999-01-01T00:00:00.000000+00:00' WHERE id = 3`},
		{name: "time that cannot be read", code: "commit_time_unreadable", sql: `UPDATE commits SET created_at = 'noon' WHERE id = 3`},
		{name: "time in another form", code: "time_form", sql: `UPDATE commits SET created_at = replace(created_at, '+00:00', 'Z') WHERE id = 3`},
		{name: "delete that leaves fields", code: "delete_fields", sql: `UPDATE entity_history SET op = 'delete' WHERE id = 1`},
		{name: "duplicate version", code: "version_twice", sql: `INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id, op)
			SELECT entity_type, entity_key, fields_json, commit_id, schema_version_id, op FROM entity_history WHERE id = 1`},
		{name: "edited JSON", code: "fields_not_canonical", sql: `UPDATE entity_history SET fields_json = '{"id": "a"}' WHERE id = 1`},
		{name: "no JSON", code: "fields_not_canonical", sql: `UPDATE entity_history SET fields_json = '{' WHERE id = 1`},
		{name: "unknown op", code: "op_unknown", sql: `UPDATE entity_history SET op = 'merge' WHERE id = 1`},
		{name: "relation without its endpoint", code: "endpoint_missing", sql: `DELETE FROM entity_history WHERE entity_key = 'b'; DELETE FROM entity_current WHERE entity_key = 'b'`},
		{name: "damaged page", code: "file_damaged", plant: damagePage},
		{name: "history and projection edited alike", code: "history_changed", sql: `
			UPDATE entity_history SET fields_json = '{"age":99,"id":"p07","name":"Ada p07"}' WHERE entity_key = 'p07';
			UPDATE entity_current SET fields = jsonb('{"age":99,"id":"p07","name":"Ada p07"}') WHERE entity_key = 'p07'`},
		{name: "commit moved in history and projection", code: "history_changed", sql: `
			UPDATE entity_history SET commit_id = 4 WHERE entity_key = 'p07'; UPDATE entity_current SET commit_id = 4, first_commit_id = 4 WHERE entity_key = 'p07';
			UPDATE commits SET operations = operations - 1 WHERE id = 3; UPDATE commits SET operations = operations + 1 WHERE id = 4`},
		{name: "superseded version edited", code: "version_damaged", sql: `UPDATE entity_history SET fields_json = '{"age":9,"id":"a","name":"Ada a"}' WHERE id = 1`},
		{name: "checksum edited", code: "version_damaged", sql: `UPDATE entity_history SET onto_sum = onto_sum + 1 WHERE id = 1`},
		{name: "dropped index of the log", code: "index_missing", sql: `DROP INDEX onto_relation_history_commit`},
	}
}

// damagePage overwrites the middle of the first page of history.
func damagePage(t *testing.T, path string) {
	t.Helper()
	root, err := strconv.Atoi(query(t, path, `SELECT rootpage FROM sqlite_master WHERE name = 'idx_entity_history_lookup'`))
	if err != nil {
		t.Fatal(err)
	}
	size, err := strconv.Atoi(query(t, path, `PRAGMA page_size`))
	if err != nil {
		t.Fatal(err)
	}
	data := read(t, path)
	for i := (root - 1) * size; i < root*size; i++ {
		if i >= (root-1)*size+100 {
			data[i] ^= 0x5a
		}
	}
	write(t, path, data)
}

func typeFaults() []fault {
	next := personSchema()
	next.Fields = append(slices.Clone(next.Fields), onto.Field{Name: "rank", Type: onto.Int})
	next.SortFields()
	return []fault{
		{name: "wrong hash of a schema", code: "schema_hash", sql: `UPDATE schema_versions SET schema_hash = 'x' WHERE type_name = 'Person'`},
		{name: "gap in schema versions", code: "schema_gap", sql: `UPDATE schema_versions SET schema_version_id = 3 WHERE type_name = 'Person'`},
		{name: "rows of an unknown schema version", code: "schema_unknown", sql: `UPDATE entity_history SET schema_version_id = 5 WHERE id = 1`},
		{name: "type without a schema", code: "type_unregistered", sql: `DELETE FROM schema_versions WHERE type_name = 'Person'; DELETE FROM schema_registry WHERE type_name = 'Person'`},
		{name: "type that is not registered", code: "schema_registry", sql: `DELETE FROM schema_registry WHERE type_name = 'Person'`},
		{name: "rows of an older schema version", code: "schema_since", sql: addVersion(next, 1)},
		{name: "rows from before a version", code: "row_damaged", sql: addVersion(next, 6)},
	}
}

// addVersion is the SQL that makes a schema the second version of its type.
func addVersion(s onto.Schema, since int) string {
	return fmt.Sprintf(`INSERT INTO schema_versions (type_kind, type_name, schema_version_id, schema_json, schema_hash, created_at, onto_since)
		VALUES ('entity', '%[1]s', 2, '%[2]s', '%[3]s', '2026-01-01T00:00:00.000000+00:00', %[4]d);
		UPDATE schema_registry SET schema_json = '%[2]s' WHERE type_name = '%[1]s'`, s.Name, s.JSON(), s.Hash(), since)
}

func projectionFaults() []fault {
	return []fault{
		{name: "edited projection row", code: "projection_differs", sql: `UPDATE entity_current SET commit_id = 1 WHERE entity_key = 'a'`},
		{name: "checksum of an edited projection", code: "projection_checksum", sql: `UPDATE entity_current SET commit_id = 1 WHERE entity_key = 'a'`},
		{name: "missing projection row", code: "projection_missing", sql: `DELETE FROM entity_current WHERE entity_key = 'a'`},
		{name: "extra projection row", code: "projection_extra", sql: `INSERT INTO relation_current VALUES ('Knows', 'a', 'c', 'x', 1, 1, 'put', 1, jsonb('{"since":1}'), NULL)`},
		{name: "JSON of the projection", code: "projection_differs", sql: `UPDATE relation_current SET fields = x'ff00ff' WHERE left_key = 'a'`},
		{name: "edited fact in the projection", code: "projection_differs", sql: `UPDATE fact_current SET op = 'put' WHERE fact_id = 'm1'`},
		{name: "missing fact in the projection", code: "projection_missing", sql: `DELETE FROM fact_current WHERE fact_id = 'm1'`},
		{name: "extra fact in the projection", code: "projection_extra", sql: `INSERT INTO fact_current VALUES ('Says', 'a', 'mood', 'm2', 1, 1, 'put', 1, jsonb('{"mood":"calm"}'), NULL)`},
		{name: "another program has appended", code: "commit_uncounted", sql: `INSERT INTO commits (created_at) VALUES ('2026-01-01T00:00:00+00:00')`},
		{name: "dropped projection", code: "check_stopped", sql: `DROP TABLE relation_current`},
	}
}

// derivedFaults name what is derived as the rebuild of makeHealthy did.
func derivedFaults() []fault {
	return []fault{
		{name: "dropped index of a field", code: "derived_missing", sql: `DROP INDEX onto_field_3`},
		{name: "index of a field made otherwise", code: "derived_differs", sql: `DROP INDEX onto_field_3; CREATE INDEX onto_field_3 ON entity_current(op)`},
		{name: "index that serves nothing", code: "derived_extra", sql: `CREATE INDEX onto_field_99 ON entity_current(op)`},
		{name: "words removed", code: "search_missing", sql: `DELETE FROM onto_search_4 WHERE docid = 1`},
		{name: "words changed", code: "search_differs", sql: `UPDATE onto_search_4 SET words = 'eve' WHERE docid = 1`},
		{name: "words added", code: "search_extra", sql: `INSERT INTO onto_search_4 (docid, words) VALUES (999, 'eve')`},
		{name: "damaged search table", code: "search_damaged", sql: `DELETE FROM onto_search_4_segdir; UPDATE onto_search_4_segments SET block = x'00'; DROP TABLE onto_search_4_content`},
		{name: "row of the past removed", code: "past_missing", sql: `DELETE FROM onto_entity_past WHERE until = 2`},
		{name: "fact of the past removed", code: "past_missing", sql: `DELETE FROM onto_fact_past WHERE until = 2`},
		{name: "fact of the past added", code: "past_extra", sql: `INSERT INTO onto_fact_past VALUES ('Says', 5, 1, 3)`},
		{name: "row of the past added", code: "past_extra", sql: `INSERT INTO onto_entity_past VALUES ('Person', 5, 1, 3)`},
	}
}

func surveyFaults() []fault {
	const lock = `INSERT INTO locks VALUES ('ontology_write', 'importer', '2001-01-01T00:00:00.000000+00:00', '%s-01-01T00:00:00.000000+00:00')`
	early := func() time.Time { return time.Now().Add(-48 * time.Hour) }
	return []fault{
		{name: "held lock", code: "lock_held", sql: fmt.Sprintf(lock, "2999")},
		{name: "expired lock", code: "lock_expired", sql: fmt.Sprintf(lock, "2002")},
		{name: "clock ahead", code: "clock_ahead", opts: &sqlite.Options{Now: early}},
		{name: "clock ahead for an event", code: "clock_ahead", sql: `UPDATE onto_bus SET last_at = '2999-01-01T00:00:00.000000+00:00'`},
		{name: "claim ahead", code: "time_ahead", sql: claimUntil("2999")},
		{name: "claim that has ended", code: "claims_orphaned", sql: claimUntil("2001")},
		{name: "work in progress ahead", code: "time_ahead", sql: itemUntil("2999")},
		{name: "rate ahead", code: "time_ahead", sql: `INSERT INTO onto_work_sources VALUES ('http', 'docs', '2999-01-01T00:00:00.000000+00:00')`},
		{name: "low disk", code: "disk_low", around: func(_ *testing.T, b *sqlite.Backend) backend.Backend { return b.WithFree(64<<20 - 1) }},
		{name: "enough disk", around: func(_ *testing.T, b *sqlite.Backend) backend.Backend { return b.WithFree(64 << 20) }},
		{name: "huge WAL", code: "wal_large", around: growWAL},
		{name: "full scan of entities", code: "plan_scan", sql: `DROP INDEX idx_entity_history_lookup`},
		{name: "full scan of relations", code: "plan_scan", sql: `DROP INDEX idx_relation_history_lookup`},
		{name: "full scan of facts", code: "plan_scan", around: dropped("onto_fact_history_lookup")},
		{name: "full scan for a commit's facts", code: "plan_scan", around: dropped("onto_fact_history_commit")},
		{name: "dropped index of facts", code: "index_missing", around: dropped("onto_fact_current_attribute")},
		{name: "dropped index of facts in a file that is opened", sql: `DROP INDEX onto_fact_current_attribute`},
		{name: "full scan for a commit", code: "plan_scan", sql: `DROP INDEX onto_entity_history_commit`},
		{name: "statistics of a store that has grown", code: "plan_scan", sql: `ANALYZE; DELETE FROM sqlite_stat1; INSERT INTO sqlite_stat1 VALUES ('onto_meta', NULL, '1'), ('commits', 'onto_commits_idempotency', '0 0'), ('commits', NULL, '1');
			WITH RECURSIVE n(i) AS (SELECT 6 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
			INSERT INTO commits (id, created_at, operations) SELECT i, (SELECT created_at FROM commits WHERE id = 5), 0 FROM n`},
		{name: "statistics of a small store", sql: `ANALYZE; DELETE FROM sqlite_stat1; INSERT INTO sqlite_stat1 VALUES ('onto_meta', NULL, '1'), ('commits', 'onto_commits_idempotency', '0 0'), ('commits', NULL, '1')`},
		{name: "journal mode", code: "journal_mode", sql: `PRAGMA journal_mode = DELETE`, opts: &sqlite.Options{ReadOnly: true}},
		{name: "trigger of others", code: "table_extra", sql: `CREATE TRIGGER t AFTER INSERT ON commits BEGIN SELECT 1; END`},
		{name: "index of others on an expression", code: "table_extra", sql: `CREATE INDEX i ON entity_history(length(fields_json))`},
		{name: "index of others on some rows", code: "table_extra", sql: `CREATE INDEX i ON locks(owner_id) WHERE owner_id > 7`},
		{name: "plain index of others", sql: `CREATE INDEX i ON entity_history(entity_key)`},
		{name: "trigger of a table that follows ours", code: "table_extra", sql: `CREATE TABLE mine (x REFERENCES locks(lock_name) ON DELETE CASCADE); CREATE TRIGGER t AFTER DELETE ON mine BEGIN SELECT 1; END`},
		{name: "trigger of a table that is not ours", sql: `CREATE TABLE mine (x); CREATE TRIGGER t AFTER DELETE ON mine BEGIN SELECT 1; END`},
		{name: "free pages", code: "freelist_large", sql: `CREATE TABLE filler (x); INSERT INTO filler VALUES (zeroblob(8000000)); DROP TABLE filler`},
	}
}

// claimUntil is the SQL of a claim with a lease that ends at the beginning of a year.
func claimUntil(year string) string {
	return fmt.Sprintf(`INSERT INTO event_claims (event_id, handler_id, session_id, claimed_at, lease_until, available_at)
		VALUES ('e', 'h', 's', '%[1]s', '%[2]s-01-01T00:00:00.000000+00:00', '%[1]s')`, "2001-01-01T00:00:00.000000+00:00", year)
}

// itemUntil is the SQL of a work item with a lease that ends at the beginning of a year.
func itemUntil(year string) string {
	return fmt.Sprintf(`INSERT INTO work_items (work_item_id, source_system, source_name, resource_type, resource_id, request_uri, request_method, status,
		created_at, updated_at, dedupe_key, lease_owner, lease_until)
		VALUES ('i', 'http', 'docs', 'page', '/', 'https://example.org', 'GET', 'in_progress', '%[1]s', '%[1]s', 'k', 'w', '%[2]s-01-01T00:00:00.000000+00:00')`,
		"2001-01-01T00:00:00.000000+00:00", year)
}

// dropped drops an index, which opening the file again would bring back.
func dropped(index string) func(*testing.T, *sqlite.Backend) backend.Backend {
	return func(t *testing.T, b *sqlite.Backend) backend.Backend {
		t.Helper()
		if err := b.Exec(`DROP INDEX ` + index); err != nil {
			t.Fatal(err)
		}
		return b
	}
}

// growWAL writes something and lowers the limit below that.
func growWAL(t *testing.T, b *sqlite.Backend) backend.Backend {
	t.Helper()
	if _, err := b.Append(t.Context(), &backend.Draft{Writes: []backend.Write{person("a", 50)}}); err != nil {
		t.Fatal(err)
	}
	return b.WithWALLimit(4096)
}
