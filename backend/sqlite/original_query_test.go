package sqlite_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/filter"
)

// originalQuery is a query of the original program's rows, with what its
// schema says of them.
func originalQuery(t *testing.T, b *sqlite.Backend, typ, where string, at int64) *backend.Query {
	t.Helper()
	all, err := b.Schemas(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	schemas := map[string]*onto.Schema{}
	for _, v := range all {
		schemas[v.Schema.Name] = &v.Schema
	}
	q := &backend.Query{Kind: schemas[typ].Kind, Type: typ, At: at, Schema: schemas[typ]}
	if q.Kind == onto.KindRelation {
		q.Left, q.Right = schemas[q.Schema.Left], schemas[q.Schema.Right]
	}
	q.Where = checkedFilter(t, q, where)
	return q
}

// found is the keys that a query finds, with their commits.
func found(t *testing.T, b *sqlite.Backend, q *backend.Query) string {
	t.Helper()
	var list []string
	for v, err := range b.Scan(t.Context(), q) {
		if err != nil {
			return err.Error()
		}
		list = append(list, fmt.Sprintf("%s%s@%d", v.Key, v.Left, v.Commit))
	}
	return strings.Join(list, " ")
}

// computed is what an aggregation says.
func computed(t *testing.T, b *sqlite.Backend, q *backend.Query, by, of string) string {
	t.Helper()
	a := &backend.Aggregation{Query: *q}
	for _, o := range checkedOrder(t, q, by) {
		a.By = append(a.By, o.Operand)
	}
	o, err := filter.ParseOperand(of)
	if err != nil {
		t.Fatal(err)
	}
	a.Compute = append(a.Compute, o)
	var list []string
	for g, err := range b.Aggregate(t.Context(), a) {
		if err != nil {
			return err.Error()
		}
		list = append(list, fmt.Sprintf("%s", append(g.By, g.Values...)))
	}
	return strings.Join(list, " ")
}

// originalAnswers is the answers for rows of the original program, though they are
// spaced, escaped and unsorted and hold nulls.
func originalAnswers() []struct {
	typ, where string
	at         int64
	want       string
} {
	return []struct {
		typ, where string
		at         int64
		want       string
	}{
		{"Customer", `$.name == "Adé"`, backend.Head, "c1@2"},
		{"Customer", `$.name == "Adé"`, 1, "c1@1"},
		{"Customer", `$.age == 40`, backend.Head, "c2@1"},
		{"Customer", `$.age == 40`, 1, "c2@1"},
		{"Customer", `$.age.is_null()`, 1, "c1@1"},
		{"Customer", `$.age < 50`, backend.Head, "c1@2 c2@1"},
		{"Customer", `$.tags.any() == "x"`, 1, "c1@1"},
		{"Customer", `$.tags.any() == "x"`, backend.Head, ""},
		{"Customer", `$.id == "c2"`, 1, "c2@1"},
		{"Likes", `left.$.age == 37 & right.$.name == "Bo"`, backend.Head, "c1@2"},
		{"Likes", `left.$.age == 37 & right.$.name == "Bo"`, 2, "c1@2"},
		{"Likes", `left.$.tags.any() == "x"`, 2, ""},
	}
}

func TestOriginalRowsAreFiltered(t *testing.T) {
	b := open(t, makeFile(t, originalTables, originalRows), nil)
	for _, test := range originalAnswers() {
		if got := found(t, b, originalQuery(t, b, test.typ, test.where, test.at)); got != test.want {
			t.Errorf("%s where %s at %d: got %q, want %q", test.typ, test.where, test.at, got, test.want)
		}
	}
	history := originalQuery(t, b, "Customer", `$.name == "Adé"`, backend.Head)
	history.Mode = backend.History
	if got, want := found(t, b, history), "c1@1 c1@2"; got != want {
		t.Errorf("history: got %q, want %q", got, want)
	}
	for at, want := range map[int64]string{backend.Head: "[77]", 1: "[40]"} {
		if got := computed(t, b, originalQuery(t, b, "Customer", "", at), "", "sum:$.age"); got != want {
			t.Errorf("sum at %d: got %s, want %s", at, got, want)
		}
	}
}

// TestFilterBehindAHeldLock asks while the projection cannot catch up with another
// program.
func TestFilterBehindAHeldLock(t *testing.T) {
	path := makeFile(t, originalTables, originalRows)
	b := open(t, path, nil)
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, s := range []string{
		`INSERT INTO commits (created_at) VALUES ('2025-01-03T00:00:00+00:00')`,
		`INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id) VALUES ('Customer', 'c3', '{"name": "Cy", "age": 41.0, "id": "c3"}', 3)`,
		`BEGIN IMMEDIATE`,
	} {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	q := originalQuery(t, b, "Customer", `$.age > 39`, backend.Head)
	q.Order = checkedOrder(t, q, "$.age:desc")
	if got, want := found(t, b, q), "c3@3 c2@1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := computed(t, b, q, "", "sum:$.age"), "[81]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, err := db.Exec(`ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	if got, want := found(t, b, q), "c3@3 c2@1"; got != want {
		t.Errorf("after the lock: got %q, want %q", got, want)
	}
}

// TestOriginalRowsNeedNotObey has rows with values of other types than the
// schema says, which the original program does not refuse.
func TestOriginalRowsNeedNotObey(t *testing.T) {
	b := open(t, makeFile(t, originalTables, originalRows, `
		INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id) VALUES
			('Customer', 't', '{"id": "t", "age": "12"}', 2), ('Customer', 'u', '{"id": "u", "age": true}', 2)`), nil)
	for where, want := range map[string]string{
		`$.age > 1`:             "c1@2 c2@1",
		`$.age < 50`:            "c1@2 c2@1",
		`$.age == 1`:            "",
		`$.age.in_([1, 37])`:    "c1@2",
		`$.age != 37`:           "c2@1 t@2 u@2",
		`$.name.startswith("")`: "c1@2 c2@1",
	} {
		if got := found(t, b, originalQuery(t, b, "Customer", where, backend.Head)); got != want {
			t.Errorf("%s: got %q, want %q", where, got, want)
		}
	}
	q := originalQuery(t, b, "Customer", "", backend.Head)
	q.Order = checkedOrder(t, q, "$.age")
	if got, want := found(t, b, q), "u@2 c1@2 c2@1 t@2"; got != want {
		t.Errorf("by age: got %q, want %q", got, want)
	}
	q.Order = nil
	for of, want := range map[string]string{"sum:$.age": "[77]", "min:$.age": "[true]", "max:$.age": `["12"]`} {
		if got := computed(t, b, q, "", of); got != want {
			t.Errorf("%s: got %s, want %s", of, got, want)
		}
	}
	if got, want := computed(t, b, q, "$.age", "count"), `[true 1] [37 1] [40 1] ["12" 1]`; got != want {
		t.Errorf("by age: got %s, want %s", got, want)
	}
}
