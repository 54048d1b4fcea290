package sqlgen_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/sqlgen"
)

// person is a type whose key is a field.
func person() *onto.Schema {
	return &onto.Schema{Kind: onto.KindEntity, Name: "Person", Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}}}
}

func TestNarrow(t *testing.T) {
	for _, test := range []struct {
		q    backend.Query
		want string
	}{
		{backend.Query{Kind: onto.KindEntity, Schema: person()}, ""},
		{backend.Query{Kind: onto.KindEntity, Keys: []string{}}, "entity_key []"},
		{backend.Query{Kind: onto.KindEntity, Keys: []string{"a", "b"}, LeftKeys: []string{"c"}}, "entity_key [a b]"},
		{backend.Query{Kind: onto.KindEntity, Schema: person(), Where: onto.Path("id").Eq("a")}, "entity_key [a]"},
		{backend.Query{Kind: onto.KindEntity, Where: onto.Path("id").Eq("a")}, ""},
		{backend.Query{Kind: onto.KindEntity, Schema: person(), Keys: []string{"b"}, Where: onto.Path("id").In("a", int64(1))}, "entity_key [b] entity_key [a]"},
		{backend.Query{Kind: onto.KindRelation, LeftKeys: []string{"a"}, RightKeys: []string{"b"}}, "left_key [a] right_key [b]"},
		{backend.Query{Kind: onto.KindRelation, Left: person(), Right: person(), Where: onto.And{onto.Left("id").Eq("a"), onto.Right("id").Eq("b")}}, "left_key [a] right_key [b]"},
	} {
		var got []string
		for _, n := range sqlgen.Narrow(&test.q) {
			got = append(got, fmt.Sprint(n.Column, " ", n.Keys))
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%+v: got %q, want %q", test.q, got, test.want)
		}
	}
}

func TestEnds(t *testing.T) {
	q := &backend.Query{Kind: onto.KindRelation, RightKeys: []string{"x"}, Left: person(),
		Where: onto.And{onto.Left("id").IsNull(), onto.Right("n").Gt(int64(1))}, Order: []onto.Order{onto.Left("n").Asc()}}
	ends := sqlgen.Ends(q, q.Ends())
	if len(ends) != 2 {
		t.Fatalf("got %d endpoints, want 2", len(ends))
	}
	left, right := ends[0], ends[1]
	if left.Side != onto.LeftSide || left.Key != "left_key" || left.Keys != nil || left.Schema != q.Left || left.Needed {
		t.Errorf("got %+v, want the left endpoint, which need not exist", left)
	}
	if right.Side != onto.RightSide || right.Key != "right_key" || right.Keys[0] != "x" || right.Schema != nil || !right.Needed || right.Alias == left.Alias {
		t.Errorf("got %+v, want the right endpoint, which must exist", right)
	}
	if got := sqlgen.Ends(q, backend.Ends{}); got != nil {
		t.Errorf("got %v, want none", got)
	}
}

// asked compiles a query about rows called r in a dialect. In DuckDB the field n
// has a column.
func asked(d sqlgen.Dialect, q backend.Query) *sqlgen.Question {
	own := sqlgen.Document{Column: "r.f"}
	if d == (sqlgen.DuckDB{}) {
		own.Typed = func(path []string) (string, onto.FieldType, bool) {
			return "r.n", onto.Int, slices.Equal(path, []string{"n"})
		}
	}
	question := &sqlgen.Question{Query: &q, Scope: sqlgen.Scope{Dialect: d, Own: own}, Rows: "r"}
	question.Compile()
	return question
}

// TestLeftForTheProcess requires that SQL does what it can do exactly, and the process
// the rest.
func TestLeftForTheProcess(t *testing.T) {
	n, x, odd := onto.Path("n"), onto.Path("x"), onto.Path("x", "*")
	word := []backend.Word{{Text: "w"}}
	at := func(values ...json.RawMessage) *backend.Place { return &backend.Place{Values: values} }
	for _, test := range []struct {
		name           string
		q              backend.Query
		where          int // conditions in DuckDB
		sqlite, duckdb string
	}{
		{"nothing", backend.Query{Limit: 3}, 0, "", ""},
		{"a filter", backend.Query{Where: onto.And{n.IsNull(), onto.And{x.Eq("a"), x.Eq("b")}}, Limit: 3}, 3, "", ""},
		{"half a filter", backend.Query{Where: onto.And{n.IsNull(), odd.Eq("a")}, Offset: 3}, 1, "", "filter page"},
		{"a filter that is all or nothing", backend.Query{Where: onto.Or{n.IsNull(), onto.Not{Of: odd.Eq("a")}}}, 0, "", "filter"},
		{"words", backend.Query{Where: n.IsNull(), Search: word, Limit: 1}, 1, "search page", "search page"},
		{"an order", backend.Query{Order: []onto.Order{n.Asc()}, Limit: 1, After: at(json.RawMessage("1"))}, 0, "", ""},
		{"an order of JSON", backend.Query{Where: n.IsNull(), Order: []onto.Order{n.Asc(), x.Asc()}}, 1, "", "sort"},
		{"a place of another kind", backend.Query{Order: []onto.Order{n.Asc()}, After: at(json.RawMessage(`"a"`))}, 0, "", "sort page"},
		{"a place of null", backend.Query{Order: []onto.Order{n.Asc()}, After: at(json.RawMessage(`null`))}, 0, "", ""},
		{"a place of another order", backend.Query{Order: []onto.Order{n.Asc()}, After: at()}, 0, "sort page", "sort page"},
	} {
		for d, want := range map[sqlgen.Dialect]string{sqlgen.SQLite{}: test.sqlite, sqlgen.DuckDB{}: test.duckdb} {
			question := asked(d, test.q)
			if got := strings.Join(question.Process(), " "); got != want || question.Whole() != (want == "") {
				t.Errorf("%s in %T: got %q left, whole %t; want %q", test.name, d, got, question.Whole(), want)
			}
			if d == (sqlgen.DuckDB{}) && len(question.Where) != test.where {
				t.Errorf("%s: got %d conditions, want %d", test.name, len(question.Where), test.where)
			}
			left := asked(d, *question.Rest())
			if got := left.Process(); !slices.Equal(got, question.Process()) {
				t.Errorf("%s in %T: of the rest %q is left, of the whole %q", test.name, d, got, question.Process())
			}
		}
	}
}

func TestComputes(t *testing.T) {
	n, x, odd := onto.Path("n"), onto.Path("x"), onto.Path("x", "*")
	for _, test := range []struct {
		a              backend.Aggregation
		sqlite, duckdb bool
	}{
		{backend.Aggregation{By: []onto.Operand{x}, Compute: []onto.Operand{onto.Count(), x.Sum(), n.Max()}}, true, true},
		{backend.Aggregation{Compute: []onto.Operand{x.Max()}}, true, false},
		{backend.Aggregation{By: []onto.Operand{odd}}, true, false},
		{backend.Aggregation{Compute: []onto.Operand{odd.Sum()}}, true, false},
		{backend.Aggregation{Query: backend.Query{Where: odd.IsNull()}}, true, false},
		{backend.Aggregation{Query: backend.Query{Search: []backend.Word{{Text: "w"}}}}, false, false},
		{backend.Aggregation{Compute: []onto.Operand{{Func: "median"}}}, false, false},
	} {
		for d, want := range map[sqlgen.Dialect]bool{sqlgen.SQLite{}: test.sqlite, sqlgen.DuckDB{}: test.duckdb} {
			if got := asked(d, test.a.Query).Computes(&test.a); got != want {
				t.Errorf("%+v in %T: got %t, want %t", test.a, d, got, want)
			}
		}
	}
}

// TestPage writes whole statements: their order, the place that they start after,
// and the page.
func TestPage(t *testing.T) {
	n := []onto.Order{onto.Path("n").Desc()}
	place := &backend.Place{Commit: 7, Identity: onto.EntityID("T", "k")}
	for _, test := range []struct {
		name           string
		q              backend.Query
		sqlite, duckdb string
	}{
		{"a page", backend.Query{Limit: 3, Offset: 2}, "TRUE ORDER BY k LIMIT 3 OFFSET 2", "TRUE ORDER BY k LIMIT 3 OFFSET 2"},
		{"all but the first", backend.Query{Offset: 2}, "TRUE ORDER BY k LIMIT -1 OFFSET 2", "TRUE ORDER BY k OFFSET 2"},
		{"an order", backend.Query{Order: n}, "TRUE ORDER BY r.f ->> '$.n' DESC, k", "TRUE ORDER BY r.n DESC NULLS LAST, k"},
		{"after a key", backend.Query{After: place}, "(r.entity_key) > (k) ORDER BY k", "(r.entity_key >= k AND (r.entity_key > k OR (r.entity_key = k AND FALSE))) ORDER BY k"},
		{"after a version", backend.Query{Mode: backend.History, After: place}, "(r.commit_id, r.entity_key) > (7, k) ORDER BY k",
			"(r.commit_id >= 7 AND (r.commit_id > 7 OR (r.commit_id = 7 AND (r.entity_key >= k AND (r.entity_key > k OR (r.entity_key = k AND FALSE)))))) ORDER BY k"},
		{"after an earlier type", backend.Query{Type: "U", After: place}, "TRUE ORDER BY k", "TRUE ORDER BY k"},
		{"after a later type", backend.Query{Type: "A", After: place}, "FALSE ORDER BY k", "FALSE ORDER BY k"},
		{"versions after an earlier type", backend.Query{Type: "U", Mode: backend.History, After: place}, "r.commit_id >= 7 ORDER BY k", "r.commit_id >= 7 ORDER BY k"},
		{"versions after a later type", backend.Query{Type: "A", Mode: backend.History, After: place}, "(r.commit_id) > (7) ORDER BY k",
			"(r.commit_id >= 7 AND (r.commit_id > 7 OR (r.commit_id = 7 AND FALSE))) ORDER BY k"},
	} {
		test.q.Kind = onto.KindEntity
		if test.q.Type == "" {
			test.q.Type = "T"
		}
		for d, want := range map[sqlgen.Dialect]string{sqlgen.SQLite{}: test.sqlite, sqlgen.DuckDB{}: test.duckdb} {
			q := asked(d, test.q)
			if d == (sqlgen.SQLite{}) {
				q.Scope.Own.Schema, q.Scope.Own.Obeyed = &onto.Schema{Fields: []onto.Field{{Name: "n", Type: onto.Int}}}, true
				q.Compile()
			}
			s := sqlgen.Select{Columns: sqlgen.SQL("*"), From: sqlgen.SQL("t r"), Where: q.After(q.Keys, q.Places()),
				Keys: q.Keys, Order: sqlgen.SQL("k"), Skip: q.Query.Offset, Take: q.Query.Limit}
			got := s.Statement(d)
			filled := got.SQL
			for _, a := range got.Args {
				filled = strings.Replace(filled, "?", fmt.Sprint(a), 1)
			}
			if want = "SELECT * FROM t r WHERE " + want; filled != want {
				t.Errorf("%s in %T\n got: %s\nwant: %s", test.name, d, filled, want)
			}
		}
	}
}

func TestGroups(t *testing.T) {
	n := onto.Path("n")
	from, where := sqlgen.SQL("t r"), []sqlgen.Part{sqlgen.SQL("r.a = ?", int64(1)), sqlgen.SQL("r.b")}
	for d, want := range map[sqlgen.Dialect][2]string{
		sqlgen.SQLite{}: {
			"SELECT count(*) FROM t r WHERE (r.a = ? AND r.b)",
			"SELECT v1, count(*) FROM (SELECT nullif(r.f -> ?, 'null') AS v1 FROM t r WHERE (r.a = ? AND r.b) LIMIT -1) GROUP BY v1",
		},
		sqlgen.DuckDB{}: {
			"SELECT count(*) FROM t r WHERE (r.a = ? AND r.b)",
			"SELECT v1, count(*) FROM (SELECT r.n AS v1 FROM t r WHERE (r.a = ? AND r.b)) GROUP BY v1",
		},
	} {
		scope := asked(d, backend.Query{}).Scope
		for i, by := range [][]onto.Operand{nil, {n}} {
			if got := checked(t, scope.Aggregates(by, []onto.Operand{onto.Count()}).Statement(from, where)); got != want[i] {
				t.Errorf("%T\n got: %s\nwant: %s", d, got, want[i])
			}
		}
	}
}
