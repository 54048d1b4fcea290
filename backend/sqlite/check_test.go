package sqlite_test

import (
	"slices"
	"testing"

	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/upkeep"
)

// Each kind of damage that can be done with SQL has a finding of its own.
func TestFindings(t *testing.T) {
	for _, c := range []struct{ code, damage string }{
		{"commit_gap", `PRAGMA foreign_keys = OFF; UPDATE commits SET id = 9 WHERE id = 3; UPDATE entity_history SET commit_id = 9 WHERE commit_id = 3; UPDATE entity_current SET commit_id = 9 WHERE commit_id = 3`},
		{"commit_time_back", `UPDATE commits SET created_at = '2001-01-01T00:00:00.000000+00:00' WHERE id = 2`},
		{"commit_time_unreadable", `UPDATE commits SET created_at = 'yesterday' WHERE id = 2`},
		{"commit_incomplete", `UPDATE commits SET operations = 7 WHERE id = 2`},
		{"version_without_commit", `PRAGMA foreign_keys = OFF; DELETE FROM commits WHERE id = 3`},
		{"version_twice", `INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id) SELECT entity_type, entity_key, fields_json, commit_id, 1 FROM entity_history WHERE id = 3`},
		{"fields_not_canonical", `UPDATE entity_history SET fields_json = '{"n": 1, "id": "a"}' WHERE id = 1`},
		{"op_unknown", `UPDATE entity_history SET op = 'merge' WHERE id = 1`},
		{"projection_missing", `DELETE FROM entity_current WHERE entity_key = 'b'`},
		{"projection_extra", `INSERT INTO entity_current VALUES ('Thing', 'zzz', 1, 1, 'put', 1, jsonb('{}'), NULL)`},
		{"projection_differs", `UPDATE entity_current SET fields = jsonb('{"id":"a","n":3}') WHERE entity_key = 'a'`},
		{"projection_differs", `UPDATE relation_current SET fields = x'ff00ff'`},
		{"commit_uncounted", `INSERT INTO commits (created_at) VALUES ('2099-01-01T00:00:00+00:00')`},
		{"index_missing", `DROP INDEX onto_entity_history_commit`},
		{"index_missing", `DROP INDEX idx_entity_history_lookup`},
		{"schema_hash", `UPDATE schema_versions SET schema_hash = 'x' WHERE type_name = 'Thing'`},
		{"schema_gap", `UPDATE schema_versions SET schema_version_id = 7 WHERE type_name = 'Thing'`},
		{"schema_registry", `UPDATE schema_registry SET schema_json = '{"kind":"entity","name":"Thing","key":"id","fields":{"id":{"type":"string"}}}' WHERE type_name = 'Thing'`},
		{"schema_registry", `DELETE FROM schema_registry WHERE type_name = 'Thing'`},
		{"type_unregistered", `DELETE FROM schema_versions WHERE type_name = 'Thing'`},
	} {
		t.Run(c.code, func(t *testing.T) {
			t.Parallel()
			path := makeDocumentedFile(t)
			runSQL(t, path, c.damage)
			if got := findings(t, path); !slices.Contains(got, c.code) {
				t.Errorf("got findings %v, want %s", got, c.code)
			}
		})
	}
	if got := findings(t, makeDocumentedFile(t)); !slices.Equal(got, []string{"endpoint_missing"}) {
		t.Errorf("without damage: got findings %v, want only the endpoint that was deleted", got)
	}
}

// makeDocumentedFile is makeDocumented with the file closed.
func makeDocumentedFile(t *testing.T) string {
	t.Helper()
	copied := t.TempDir() + "/copy.db"
	path := makeDocumented(t)
	query(t, path, `PRAGMA wal_checkpoint(TRUNCATE)`)
	write(t, copied, read(t, path))
	return copied
}

// findings returns the codes that a check of the file finds.
func findings(t *testing.T, path string) []string {
	t.Helper()
	b, err := sqlite.Open(t.Context(), path, &sqlite.Options{ReadOnly: true}) // for writing, it would bring indexes back
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	var codes []string
	for f, err := range b.Check(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if f = upkeep.Explain(f); f.Message == "" || f.Remedy.Text == "" {
			t.Errorf("%s lacks a message or a remedy", f.Code)
		}
		codes = append(codes, f.Code)
	}
	return codes
}
