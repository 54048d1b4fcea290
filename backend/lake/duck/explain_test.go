package duck_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// TestExplain requires that DuckDB does what it can do exactly, and nothing else.
func TestExplain(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	s := items(t, dir, schema(onto.Field{Name: "n", Type: onto.Int}, onto.Field{Name: "x", Type: onto.Any}), 1, []onto.Version{item("a", 1, `{"id":"a","n":1}`)})
	s.Unique = false
	n, x, odd := onto.Path("n"), onto.Path("x"), onto.Path("x", "*")
	for name, c := range map[string]struct {
		q       backend.Query
		process []string
		where   string // is in the statement
	}{
		"a typed filter": {backend.Query{Where: n.Lt(int64(5)), Limit: 3}, nil, `v."n" < ?`},
		"a JSON filter":  {backend.Query{Where: x.Eq("y")}, nil, "json_extract_string"},
		"a typed order":  {backend.Query{Order: []onto.Order{{Operand: n}}, Limit: 3}, nil, `ORDER BY v."n" NULLS LAST, v.entity_key LIMIT`},
		"a JSON order":   {backend.Query{Order: []onto.Order{{Operand: x}}, Limit: 3}, []string{"sort", "page"}, "WHERE TRUE"},
		"half a filter":  {backend.Query{Where: onto.And{n.Eq(int64(5)), odd.Eq("y")}}, []string{"filter"}, `WHERE v."n" = ?`},
		"words":          {backend.Query{Search: []backend.Word{{Text: "a"}}, Offset: 1}, []string{"search", "page"}, "ORDER BY v.entity_key"},
		"one key":        {backend.Query{Keys: []string{"a"}}, nil, "QUALIFY"},
		"many keys":      {backend.Query{Keys: []string{"a", "b"}}, nil, "entity_key BETWEEN ? AND ?"},
	} {
		c.q.Kind, c.q.Type, c.q.At = onto.KindEntity, "Item", backend.Head
		got, err := e.Explain(t.Context(), &c.q, nil, s, nil, nil)
		must(t, err)
		if !slices.Equal(got.Process, c.process) || !strings.Contains(got.Statement, c.where) || len(got.Plan) == 0 {
			t.Errorf("%s: got %q after %s, want %q after something with %s", name, got.Process, got.Statement, c.process, c.where)
		}
	}
}

func TestExplainGroups(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	s := items(t, dir, schema(onto.Field{Name: "n", Type: onto.Int}, onto.Field{Name: "x", Type: onto.Any}), 1, []onto.Version{item("a", 1, `{"id":"a","n":1}`)})
	n, x := onto.Path("n"), onto.Path("x")
	of := func(o onto.Operand, f onto.Func) onto.Operand { o.Func = f; return o }
	for name, c := range map[string]struct {
		a       backend.Aggregation
		process []string
	}{
		"typed":          {backend.Aggregation{By: []onto.Operand{n}, Compute: []onto.Operand{onto.Count(), of(n, onto.FuncMax)}}, []string{"sort the groups"}},
		"sums of JSON":   {backend.Aggregation{By: []onto.Operand{x}, Compute: []onto.Operand{of(x, onto.FuncSum)}}, []string{"sort the groups"}},
		"a JSON maximum": {backend.Aggregation{Compute: []onto.Operand{of(x, onto.FuncMax)}}, []string{"group and compute"}},
	} {
		c.a.Kind, c.a.Type, c.a.At = onto.KindEntity, "Item", backend.Head
		got, err := e.Explain(t.Context(), nil, &c.a, s, nil, nil)
		must(t, err)
		if !slices.Equal(got.Process, c.process) || len(got.Plan) == 0 {
			t.Errorf("%s: got %q after %s, want %q", name, got.Process, got.Statement, c.process)
		}
	}
}
