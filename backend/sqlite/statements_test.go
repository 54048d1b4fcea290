package sqlite_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// documented are the statements that the original program documents for
// reading and examining a file, with what they answer on the store of
// makeDocumented. A delete shows as {} in them; %PUT% is the condition that
// our format adds to leave deletes out.
func documented() []struct{ name, sql, want string } {
	latest := func(bound string) string {
		return `SELECT eh.entity_key, eh.fields_json, eh.commit_id FROM entity_history eh INNER JOIN (
			SELECT entity_key, MAX(commit_id) as max_cid FROM entity_history WHERE entity_type = 'Thing'` + bound + ` GROUP BY entity_key
		) latest ON eh.entity_key = latest.entity_key AND eh.commit_id = latest.max_cid
		WHERE eh.entity_type = 'Thing'`
	}
	relations := `SELECT rh.left_key, rh.right_key, rh.instance_key, rh.fields_json, rh.commit_id FROM relation_history rh INNER JOIN (
			SELECT left_key, right_key, instance_key, MAX(commit_id) as max_cid FROM relation_history WHERE relation_type = 'Touches'
			GROUP BY left_key, right_key, instance_key
		) latest ON rh.left_key = latest.left_key AND rh.right_key = latest.right_key
			AND rh.instance_key = latest.instance_key AND rh.commit_id = latest.max_cid
		WHERE rh.relation_type = 'Touches'`
	return []struct{ name, sql, want string }{
		{"latest entity", `SELECT fields_json, commit_id FROM entity_history WHERE entity_type = 'Thing' AND entity_key = 'a' ORDER BY commit_id DESC LIMIT 1`,
			`{"id":"a","n":2}|2`},
		{"latest entities", latest("") + ` ORDER BY 1`, "a|{\"id\":\"a\",\"n\":2}|2\nb|{}|3"},
		{"latest entities without deletes", latest("") + ` AND eh.op = 'put' ORDER BY 1`, `a|{"id":"a","n":2}|2`},
		{"as of a commit", latest(" AND commit_id <= 1") + ` ORDER BY 1`, "a|{\"id\":\"a\",\"n\":1}|1\nb|{\"id\":\"b\",\"n\":1}|1"},
		{"full history", `SELECT eh.entity_key, eh.fields_json, eh.commit_id FROM entity_history eh WHERE eh.entity_type = 'Thing' ORDER BY eh.commit_id ASC`,
			"a|{\"id\":\"a\",\"n\":1}|1\nb|{\"id\":\"b\",\"n\":1}|1\na|{\"id\":\"a\",\"n\":2}|2\nb|{}|3"},
		{"latest relations", relations, `a|b||{}|1`},
		{"with an endpoint filter", relations + ` AND EXISTS (
			SELECT 1 FROM entity_history le INNER JOIN (
				SELECT entity_key, MAX(commit_id) as max_cid FROM entity_history WHERE entity_type = 'Thing' GROUP BY entity_key
			) le_latest ON le.entity_key = le_latest.entity_key AND le.commit_id = le_latest.max_cid
			WHERE le.entity_type = 'Thing' AND le.entity_key = rh.left_key AND json_extract(le.fields_json, '$.n') = 2)`, `a|b||{}|1`},
		{"filters", `SELECT count(*) FROM entity_history WHERE json_extract(fields_json, '$.n') = 1 AND json_extract(fields_json, '$.last') IS NULL
			AND json_extract(fields_json, '$.n') IN (1, 2) AND json_extract(fields_json, '$.id') LIKE 'a%'`, "1"},
		{"aggregates", `SELECT SUM(CAST(json_extract(fields_json, '$.n') AS REAL)), AVG(CAST(json_extract(fields_json, '$.n') AS REAL)) FROM entity_history WHERE op = 'put'`,
			"4.0|1.33333333333333"},
		{"foreign keys", `PRAGMA foreign_key_check`, ""},
		{"orphaned entities", `SELECT COUNT(*) FROM entity_history eh WHERE NOT EXISTS (SELECT 1 FROM commits c WHERE c.id = eh.commit_id)`, "0"},
		{"orphaned relations", `SELECT COUNT(*) FROM relation_history rh WHERE NOT EXISTS (SELECT 1 FROM commits c WHERE c.id = rh.commit_id)`, "0"},
		{"commit monotonicity", `SELECT id FROM (SELECT id, created_at FROM commits ORDER BY id ASC)`, "1\n2\n3"},
		{"duplicate latest versions", `SELECT entity_type, entity_key, COUNT(*) as version_count FROM (
			SELECT eh.entity_type, eh.entity_key, eh.commit_id FROM entity_history eh INNER JOIN (
				SELECT entity_key, MAX(commit_id) as max_cid FROM entity_history WHERE entity_type = 'Thing' GROUP BY entity_key
			) latest ON eh.entity_key = latest.entity_key AND eh.commit_id = latest.max_cid WHERE eh.entity_type = 'Thing')
			GROUP BY entity_type, entity_key HAVING version_count > 1`, ""},
		{"indexes", `SELECT group_concat(name) FROM (SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name IN ('entity_history', 'relation_history') AND name LIKE 'idx%' ORDER BY name)`,
			"idx_entity_history_lookup,idx_relation_history_lookup"},
		{"rows per type", `SELECT entity_type, COUNT(*) as total_versions FROM entity_history GROUP BY entity_type ORDER BY total_versions DESC`, "Thing|4"},
		{"lock holder", `SELECT * FROM locks WHERE lock_name = 'ontology_write'`, ""},
		{"expired locks", `SELECT *, datetime('now') as current_time, datetime(expires_at) as expiration_time FROM locks
			WHERE lock_name = 'ontology_write' AND datetime(expires_at) < datetime('now')`, ""},
		{"lock release", `DELETE FROM locks WHERE lock_name = 'ontology_write'`, ""},
		{"schema versions", `SELECT sv.type_name, sv.schema_version_id FROM schema_versions sv WHERE sv.type_kind = 'entity' ORDER BY sv.type_name, sv.schema_version_id`, "Thing|1"},
		{"schema version gaps", `SELECT type_name, schema_version_id, LEAD(schema_version_id) OVER (PARTITION BY type_name ORDER BY schema_version_id) as next_version
			FROM schema_versions WHERE type_kind = 'entity'`, "Thing|1|"},
		{"stale schema versions", `SELECT eh.entity_type, eh.schema_version_id, COUNT(*) as row_count FROM entity_history eh
			LEFT JOIN schema_versions sv ON sv.type_kind = 'entity' AND sv.type_name = eh.entity_type AND sv.schema_version_id = eh.schema_version_id
			WHERE sv.id IS NULL GROUP BY eh.entity_type, eh.schema_version_id`, ""},
		{"current schemas", `SELECT type_kind, type_name, substr(schema_json, 1, 10) as schema_preview FROM schema_registry ORDER BY type_kind, type_name`,
			"entity|Thing|{\"fields\":\nrelation|Touches|{\"fields\":"},
		{"schema versions of a type", `SELECT type_name, schema_version_id, reason FROM schema_versions WHERE type_kind = 'entity' AND type_name = 'Thing' ORDER BY schema_version_id`,
			"Thing|1|initial"},
		{"checkpoint", `PRAGMA wal_checkpoint(TRUNCATE)`, "0|0|0"},
	}
}

// makeDocumented makes a store of three commits: two things and a relation,
// then an update, then a delete.
func makeDocumented(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "documented.db")
	makeThings(t, path)
	b := open(t, path, nil)
	thing := func(key, fields string) backend.Write {
		return backend.Write{Identity: onto.EntityID("Thing", key), Op: onto.Put, Fields: []byte(fields), SchemaVersion: 1}
	}
	for _, writes := range [][]backend.Write{
		{thing("a", `{"id":"a","n":1}`), thing("b", `{"id":"b","n":1}`),
			{Identity: onto.RelationID("Touches", "a", "b"), Op: onto.Put, Fields: []byte(`{}`), SchemaVersion: 1}},
		{thing("a", `{"id":"a","n":2}`)},
		{{Identity: onto.EntityID("Thing", "b"), Op: onto.Delete, SchemaVersion: 1}},
	} {
		if _, err := b.Append(t.Context(), &backend.Draft{Writes: writes}); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// stockShell is the sqlite3 command. Where it is not installed, the statements
// run in the linked library alone, unless ONTO_REQUIRE names it.
func stockShell(t *testing.T) string {
	t.Helper()
	shell, err := exec.LookPath("sqlite3")
	if err != nil && strings.Contains(os.Getenv("ONTO_REQUIRE"), "sqlite3") {
		t.Fatal("the sqlite3 command is required and not installed")
	}
	if err != nil {
		t.Log("left out: the sqlite3 command is not installed; statements run in the linked library")
	}
	return shell
}

func TestDocumentedStatements(t *testing.T) {
	path := makeDocumented(t)
	shell := stockShell(t)
	for _, s := range documented() {
		t.Run(s.name, func(t *testing.T) {
			if got := query(t, path, s.sql); got != s.want {
				t.Errorf("in the library:\n got: %s\nwant: %s", got, s.want)
			}
			if shell == "" {
				return
			}
			out, err := exec.Command(shell, path, s.sql).CombinedOutput()
			if got := strings.TrimSuffix(string(out), "\n"); err != nil || got != s.want {
				t.Errorf("in the sqlite3 command:\n got: %s (error %v)\nwant: %s", got, err, s.want)
			}
		})
	}
}

// The lookup index carries the documented statements.
func TestDocumentedPlan(t *testing.T) {
	plan := query(t, makeDocumented(t), `EXPLAIN QUERY PLAN SELECT eh.entity_key, eh.fields_json, eh.commit_id FROM entity_history eh INNER JOIN (
		SELECT entity_key, MAX(commit_id) as max_cid FROM entity_history WHERE entity_type = 'Thing' GROUP BY entity_key
	) latest ON eh.entity_key = latest.entity_key AND eh.commit_id = latest.max_cid WHERE eh.entity_type = 'Thing'`)
	if !strings.Contains(plan, "INDEX idx_entity_history_lookup") || strings.Contains(plan, "SCAN eh\n") {
		t.Errorf("got plan\n%s\nwant one by idx_entity_history_lookup", plan)
	}
}

// The page about the format shows what is derived as it is, and its statements work as
// printed.
func TestDocumentedDerived(t *testing.T) {
	page := string(read(t, filepath.Join("..", "..", "docs", "format", "sqlite.md")))
	path := makeDerived(t)
	for _, name := range []string{"onto_field_1", "onto_search_2"} {
		if sql := query(t, path, `SELECT sql FROM sqlite_master WHERE name = '`+name+`'`); !strings.Contains(page, "\n"+sql+";\n") {
			t.Errorf("the page does not show %s", sql)
		}
	}
	_, block, _ := strings.Cut(page, "These statements look at it")
	_, block, _ = strings.Cut(block, "```sql\n")
	block, _, _ = strings.Cut(block, "```")
	statements := strings.Split(strings.TrimSuffix(block, ";\n"), ";\n")
	wants := []string{"1|Customer|tier|index\n2|Customer|name|search", "c1", "c2", "", "c1", "c1"}
	if len(statements) != len(wants) {
		t.Fatalf("got %d statements, want %d", len(statements), len(wants))
	}
	shell := stockShell(t)
	for i, sql := range statements {
		if got := query(t, path, sql); got != wants[i] {
			t.Errorf("%s\n got: %s\nwant: %s", sql, got, wants[i])
		}
		if shell == "" || strings.Contains(sql, "fields ->>") { // reads JSONB, which a stock shell may not know
			continue
		}
		out, err := exec.Command(shell, path, sql).CombinedOutput()
		if got := strings.TrimSuffix(string(out), "\n"); err != nil || got != wants[i] {
			t.Errorf("in the sqlite3 command: %s\n got: %s (error %v)\nwant: %s", sql, got, err, wants[i])
		}
	}
}

// makeDerived makes the store that the page's statements are about.
func makeDerived(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "derived.db")
	b := open(t, path, nil)
	key := onto.Field{Name: "id", Type: onto.String}
	register(t, b,
		onto.Schema{Kind: onto.KindEntity, Name: "Customer", Key: "id", Fields: []onto.Field{
			key, {Name: "name", Type: onto.String, Search: true}, {Name: "tier", Type: onto.String, Index: true}}},
		onto.Schema{Kind: onto.KindEntity, Name: "Product", Key: "id", Fields: []onto.Field{key}},
		onto.Schema{Kind: onto.KindRelation, Name: "Subscription", Left: "Customer", Right: "Product"})
	put := func(id onto.Identity, fields string) backend.Write {
		return backend.Write{Identity: id, Op: onto.Put, Fields: []byte(fields), SchemaVersion: 1}
	}
	commit(t, b, put(onto.EntityID("Product", "p1"), `{"id":"p1"}`))
	commit(t, b, put(onto.EntityID("Customer", "c1"), `{"id":"c1","name":"Ada","tier":"Silver"}`),
		put(onto.EntityID("Customer", "c2"), `{"id":"c2","name":"?","tier":"Silver"}`),
		put(onto.RelationID("Subscription", "c1", "p1"), `{}`))
	commit(t, b, put(onto.EntityID("Customer", "c1"), `{"id":"c1","name":"Ada","tier":"Gold"}`))
	return path
}

// What the page says about types works on a store whose types have evolved, and
// so do the statements of the original program.
func TestDocumentedTypes(t *testing.T) {
	path := makeDerived(t)
	b := open(t, path, nil)
	customer := onto.Schema{Kind: onto.KindEntity, Name: "Customer", Key: "id", Fields: []onto.Field{
		{Name: "id", Type: onto.String}, {Name: "name", Type: onto.String, Optional: true}, {Name: "tier", Type: onto.String}}}
	evolve(t, b, backend.Evolution{Add: []backend.NewVersion{{Schema: customer, Upgrader: &onto.StoredUpgrader{Program: "."}}},
		End: []backend.EndedType{{Kind: onto.KindRelation, Type: "Subscription", RenamedTo: "Order"}}},
		backend.Write{Identity: onto.EntityID("Customer", "c2"), Op: onto.Put, Fields: []byte(`{"id":"c2","tier":"Gold"}`), SchemaVersion: 2})
	page := string(read(t, filepath.Join("..", "..", "docs", "format", "sqlite.md")))
	_, block, _ := strings.Cut(page, "Types evolve in the transaction")
	_, block, _ = strings.Cut(block, "```sql\n")
	block, _, _ = strings.Cut(block, "```")
	statements := strings.Split(strings.TrimSuffix(block, ";\n"), ";\n")
	wants := []string{"1|1|\n2|4|{\"program\":\".\"}", `relation|Subscription|{"commit":4,"renamed_to":"Order","runtime":"run","time":"`}
	if len(statements) != len(wants) {
		t.Fatalf("got %d statements, want %d", len(statements), len(wants))
	}
	for i, sql := range statements {
		if got := query(t, path, sql); !strings.HasPrefix(got, wants[i]) {
			t.Errorf("%s\n got: %s\nwant: %s", sql, got, wants[i])
		}
	}
	for _, s := range documented() {
		query(t, path, s.sql) // fails if SQLite refuses it
	}
}

// shellAnswer is what the sqlite3 command answers.
func shellAnswer(t *testing.T, shell, path, statement string) string {
	t.Helper()
	c := exec.Command(shell, path)
	c.Stdin = strings.NewReader(statement + ";") // an argument cannot begin with a comment
	out, err := c.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v", statement, err)
	}
	return strings.TrimSuffix(string(out), "\n")
}
