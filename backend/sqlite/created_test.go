package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// Certain commits, and the beginnings of lives, are sought by key, never by going through a table.
func TestPlansOfFirstsAndCommits(t *testing.T) {
	source := lived(t)
	path := makeLived(t, source)
	b := opened(t, path, nil)
	var statements []string
	b.OnPrepare(func(sql string) { statements = append(statements, sql) })
	wantLives(t, b, source)
	for _, q := range []backend.CommitQuery{{IDs: []int64{3, 1}, Until: backend.Head}, {IDs: []int64{3, 1}, Until: 9, Newest: true, Limit: 1}} {
		for _, err := range b.Commits(t.Context(), &q) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	seen := 0
	for _, statement := range statements {
		if !strings.Contains(statement, "created_commit_id") && !strings.Contains(statement, "d.op = 'delete'") && !strings.Contains(statement, "json_each") {
			continue
		}
		seen++
		rows, err := db.Query("EXPLAIN QUERY PLAN "+statement, make([]any, strings.Count(statement, "?"))...)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(detail, "SCAN") && !strings.Contains(detail, "json_each") || strings.Contains(detail, "TEMP B-TREE") {
				t.Errorf("%s\n%s", statement, detail)
			}
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if want := len(onto.Kinds()) + 3; seen < want {
		t.Errorf("got %d statements, want %d: one for each kind, one about history, and two of commits", seen, want)
	}
}

// The statements of the page about lives work as printed.
func TestDocumentedLives(t *testing.T) {
	path := makeDerived(t)
	b := open(t, path, nil)
	c2 := backend.Write{Identity: onto.EntityID("Customer", "c2"), Op: onto.Delete, SchemaVersion: 1}
	commit(t, b, c2) // commit 4
	c2.Op, c2.Fields = onto.Put, []byte(`{"id":"c2","name":"?","tier":"Gold"}`)
	commit(t, b, c2)
	c2.Fields = []byte(`{"id":"c2","name":"?","tier":"Silver"}`)
	commit(t, b, c2)
	page := string(read(t, filepath.Join("..", "..", "docs", "format", "sqlite.md")))
	_, block, _ := strings.Cut(page, "The commit that has created what lives")
	_, block, _ = strings.Cut(block, "```sql\n")
	block, _, _ = strings.Cut(block, "```")
	statements := strings.Split(strings.TrimSuffix(block, ";\n"), ";\n")
	if len(statements) != 2 {
		t.Fatalf("got %d statements, want 2", len(statements))
	}
	ids := strings.NewReplacer("f.created_at, f.actor_id, l.created_at, l.actor_id", "f.id, l.id").Replace(statements[0])
	if got := query(t, path, ids+" ORDER BY 1"); got != "c1|2|3\nc2|5|6" || query(t, path, statements[0]) == "" {
		t.Errorf("%s: got %s", ids, got)
	}
	for at, want := range map[string]string{"17": "c1|2|3\nc2|5|6", "5": "c1|2|3\nc2|5|5", "4": "c1|2|3", "2": "c1|2|2\nc2|2|2", "1": ""} {
		if got := query(t, path, strings.ReplaceAll(statements[1], "17", at)+" ORDER BY 1"); got != want {
			t.Errorf("as of %s: got %s, want %s", at, got, want)
		}
	}
}
