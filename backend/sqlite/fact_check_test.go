package sqlite_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
)

// If another program has dropped a table or an index of facts, opening the file brings it
// back, with what follows from history. A store that is open meanwhile reports it.
func TestDroppedFacts(t *testing.T) {
	for _, drop := range []string{
		`DROP TABLE fact_current`, `DROP TABLE onto_fact_past`, `DROP INDEX onto_fact_history_lookup`,
		`DROP INDEX onto_fact_history_commit`, `DROP INDEX onto_fact_current_attribute`,
	} {
		t.Run(drop, func(t *testing.T) {
			path, before := makeFacts(t)
			runSQL(t, path, drop)
			if got := busCodes(t, before); !slices.Contains(got, "index_missing") && !slices.Contains(got, "check_stopped") && !slices.Contains(got, "past_missing") {
				t.Errorf("while it is missing: got findings %v", got)
			}
			b := open(t, path, nil)
			if got := factIDs(t, b, backend.Query{At: 2}) + ", " + factIDs(t, b, backend.Query{At: backend.Head}); got != "f1 f3 f2 f4, f1 f3 f4" {
				t.Errorf("got facts %s", got)
			}
			wantWords(t, path, b, contract(), "ada>note: signed in paris")
		})
	}
}

// A table of another program that only has the name is not touched.
func TestAnotherTableOfFacts(t *testing.T) {
	for _, theirs := range []string{
		`CREATE TABLE fact_history (id INTEGER PRIMARY KEY, text TEXT)`, `CREATE VIEW fact_current AS SELECT 1`,
		`CREATE TABLE fact_history (id INTEGER PRIMARY KEY, fact_type TEXT, subject INTEGER)`,
	} {
		path := makeDocumentedFile(t)
		runSQL(t, path, "DROP TABLE "+strings.Join(factTables(), "; DROP TABLE ")+"; "+theirs)
		for _, opts := range []*sqlite.Options{nil, {ReadOnly: true}} {
			_, err := sqlite.Open(t.Context(), path, opts)
			if onto.CodeOf(err) != onto.Unsupported || onto.HintOf(err).Text == "" {
				t.Errorf("%s: got %v, want Unsupported with a hint", theirs, err)
			}
		}
	}
}

// Types of facts evolve, and are purged, as others are.
func TestEvolvedFacts(t *testing.T) {
	path, b := makeFacts(t)
	wider := contract()
	wider.Fields = append(slices.Clone(wider.Fields), onto.Field{Name: "city", Type: onto.String, Optional: true})
	wider.SortFields()
	evolve(t, b, adding(wider), at(2, fact("ada", "employer", "f1", `{"asserted":1,"employer":"Acme Ltd"}`)),
		at(2, fact("bob", "city", "f6", `{"city":"Rome"}`)))
	wantFields(t, b, onto.FactID("Contract", "ada", "employer", "f1"), backend.Head, `{"asserted":1,"employer":"Acme Ltd"}`)
	if got := factIDs(t, b, backend.Query{At: backend.Head}); got != "f1 f3 f6 f4" {
		t.Errorf("got facts %s", got)
	}
	evolve(t, b, ending(purged(backend.EndedType{Kind: onto.KindFact, Type: "Contract"})))
	for _, table := range factTables() {
		if got := query(t, path, `SELECT count(*) FROM `+table); got != "0" {
			t.Errorf("after a purge %s has %s rows", table, got)
		}
	}
	if got := query(t, path, `SELECT group_concat(operations) FROM commits`); got != "1,0,0,0,0" {
		t.Errorf("got operations %s, want only the person", got)
	}
	if got := findings(t, path); len(got) > 0 {
		t.Errorf("got findings %v", got)
	}
}

// Facts are found by the primary key and by indexes.
func TestPlansOfFacts(t *testing.T) {
	_, b := makeFacts(t)
	schema, left := contract(), holder()
	for _, test := range []struct {
		name  string
		query backend.Query
		where string
		want  string
	}{
		{"subject", backend.Query{LeftKeys: []string{"ada"}}, "", "USING PRIMARY KEY (fact_type=? AND subject=?)"},
		{"attribute of a subject", backend.Query{LeftKeys: []string{"ada"}, RightKeys: []string{"salary"}}, "", "USING PRIMARY KEY (fact_type=? AND subject=? AND attribute=?)"},
		{"attribute", backend.Query{RightKeys: []string{"salary"}}, "", "USING INDEX onto_fact_current_attribute (fact_type=? AND attribute=?)"},
		{"attribute of a subject in the past", backend.Query{LeftKeys: []string{"ada"}, RightKeys: []string{"salary"}, At: 1}, "", "SEARCH s USING COVERING INDEX onto_fact_history_lookup (fact_type=? AND subject=? AND attribute=? AND fact_id=? AND commit_id<?)"},
		{"value", backend.Query{}, `$.employer == "Acme"`, "USING INDEX onto_field_"},
		{"subject's fields", backend.Query{}, `left.$.tier == "Gold"`, "SEARCH le USING PRIMARY KEY (entity_type=? AND entity_key=?)"},
		{"subject's key", backend.Query{}, `left.$.id == "ada"`, "USING PRIMARY KEY (fact_type=? AND subject=?)"},
		{"history of one", backend.Query{Mode: backend.History, Identity: new(onto.FactID("Contract", "ada", "salary", "f2"))}, "", "INDEX onto_fact_history_lookup (fact_type=? AND subject=? AND attribute=? AND fact_id=?"},
		{"history since a commit", backend.Query{Mode: backend.History, Since: 2}, "", "INDEX onto_fact_history_commit (commit_id>?"},
	} {
		q := test.query
		q.Kind, q.Type, q.Schema, q.Left = onto.KindFact, "Contract", &schema, &left
		if q.At == 0 {
			q.At = backend.Head
		}
		q.Where = checkedFilter(t, &q, test.where)
		e, err := b.Explain(t.Context(), &q, nil)
		if plan := strings.Join(e.Plan, "\n"); err != nil || !strings.Contains(plan, test.want) || len(e.Process) > 0 {
			t.Errorf("%s\n got: %s (error %v, in process %v)\nwant: %s\n%s", test.name, plan, err, e.Process, test.want, e.Statement)
		}
	}
}

// The statements of the page about the format work as printed, in the sqlite3 command as
// well, and the page has every column and every index of facts.
func TestDocumentedFacts(t *testing.T) {
	page := string(read(t, filepath.Join("..", "..", "docs", "format", "sqlite.md")))
	path, b := makeFacts(t)
	d := backend.Draft{Header: backend.Header{IdempotencyKey: "again", Actor: onto.Operator("ana"), Comment: "not wrong after all"}, Digest: "x",
		Writes: []backend.Write{fact("ada", "salary", "f2", `{"asserted":1,"salary":4000,"seq":1}`)}}
	if _, err := b.Append(t.Context(), &d); err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(page, "\n## Facts\n")
	part, _, _ = strings.Cut(part, "\n## Types\n")
	_, block, _ := strings.Cut(part, "```sql\n")
	block, _, _ = strings.Cut(block, "```")
	statements := strings.Split(strings.TrimSuffix(block, ";\n"), ";\n")
	wants := []string{
		strings.Join([]string{
			`f1|1|ada|assert|employer|"Acme"||2026-01-01T00:00:00.000000+00:00||`,
			`f2|1|ada|assert|salary|4000||||`,
			`f3|2|ada|assert|note|"Signed in Paris"||||`,
			`f4|2|bob|offered|salary|3000||||`,
			`f1@3|3|ada|revoke|employer|"Acme"|f1|2026-01-01T00:00:00.000000+00:00|2026-06-01T00:00:00.000000+00:00|`,
			`f2@4|4|ada|retract|salary|4000|f2|||`,
			`f2@5|5|ada|assert|salary|4000|f2|||again`,
		}, "\n"),
		query(t, path, `SELECT id, created_at, actor_kind, actor_id, causation_id, correlation_id, signature_ref, comment FROM commits`),
		"ada|employer|f1|\"Acme\"\nada|note|f3|\"Signed in Paris\"\nada|salary|f2|4000\nbob|salary|f4|3000",
	}
	if len(statements) != len(wants) {
		t.Fatalf("got %d statements, want %d", len(statements), len(wants))
	}
	shell := stockShell(t)
	for i, sql := range statements {
		if got := query(t, path, sql); got != wants[i] {
			t.Errorf("%s\n got:\n%s\nwant:\n%s", sql, got, wants[i])
		}
		if shell == "" {
			continue
		}
		if got := shellAnswer(t, shell, path, sql); got != wants[i] {
			t.Errorf("in the sqlite3 command: %s\n got:\n%s\nwant:\n%s", sql, got, wants[i])
		}
	}
	for _, name := range strings.Fields(query(t, path, `SELECT group_concat(name, ' ') FROM pragma_table_xinfo('fact_history')`)) {
		if !strings.Contains(part, "`"+name+"`") {
			t.Errorf("the page does not mention %s", name)
		}
	}
	for _, name := range strings.Fields(query(t, path, `SELECT group_concat(name, ' ') FROM sqlite_master WHERE tbl_name LIKE '%fact%' AND name NOT GLOB 'sqlite_*' AND name NOT GLOB 'onto_field_*'`)) {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("the page does not mention %s", name)
		}
	}
}
