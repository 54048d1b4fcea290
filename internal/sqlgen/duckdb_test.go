package sqlgen_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/sqlgen"
)

// duckScope has a column for each type of field, and a schema of another field.
func duckScope() *sqlgen.Scope {
	types := map[string]onto.FieldType{"text": onto.String, "int": onto.Int, "float": onto.Float, "bool": onto.Bool, "time": onto.Time}
	return &sqlgen.Scope{Dialect: sqlgen.DuckDB{}, Own: sqlgen.Document{
		Column: "v.j", Schema: &onto.Schema{Fields: []onto.Field{{Name: "any", Type: onto.Any}}},
		Typed: func(path []string) (string, onto.FieldType, bool) {
			field := strings.Join(path, ".")
			t, ok := types[field]
			return `v."` + field + `"`, t, ok
		},
	}}
}

func showPart(p sqlgen.Part) string {
	var args []string
	for _, a := range p.Args {
		args = append(args, fmt.Sprintf("%T %v", a, a))
	}
	if args == nil {
		return p.SQL
	}
	return p.SQL + " -- " + strings.Join(args, ", ")
}

func TestDuckDBColumns(t *testing.T) {
	text, number, real, truth := onto.Path("text"), onto.Path("int"), onto.Path("float"), onto.Path("bool")
	for _, c := range []struct {
		filter onto.Filter
		want   string
	}{
		{text.Eq("Gold"), `v."text" = ? -- string Gold`},
		{text.Eq(int64(1)), `FALSE`},
		{text.Ne("Gold"), `(v."text" IS NOT NULL AND ((v."text" = ?) IS NOT TRUE)) -- string Gold`},
		{text.StartsWith("a"), `(v."text" >= ? AND v."text" < ?) -- string a, string b`},
		{text.StartsWith(""), `v."text" IS NOT NULL`},
		{text.EndsWith("%"), `suffix(v."text", ?) -- string %`},
		{text.Contains("_"), `contains(v."text", ?) -- string _`},
		{number.Contains("1"), `FALSE`},
		{text.In("a", "b", int64(1)), `v."text" IN (?, ?) -- string a, string b`},
		{text.In(), `FALSE`},
		{text.Some().Eq("a"), `len(list_filter(json_extract(v.j, ?)::JSON[], lambda e1: coalesce(json_extract_string(e1, ?) = ?, FALSE))) > 0 -- string $."text"[*], string $, string a`},
		{number.Eq(int64(1)), `v."int" = ? -- int64 1`},
		{number.Eq(1.5), `FALSE`},
		{number.Lt(1.5), `v."int" <= ? -- int64 1`},
		{number.Le(-1.5), `v."int" <= ? -- int64 -2`},
		{number.Gt(-1.5), `v."int" > ? -- int64 -2`},
		{number.Ge(2.0), `v."int" >= ? -- int64 2`},
		{number.Gt(1e300), `FALSE`},
		{number.Lt(1e300), `v."int" IS NOT NULL`},
		{number.Gt(-1e300), `v."int" IS NOT NULL`},
		{number.Lt(float64(1 << 63)), `v."int" IS NOT NULL`},
		{number.In(int64(1), 2.0, 2.5, "x"), `v."int" IN (?, ?) -- int64 1, int64 2`},
		{real.Eq(int64(1)), `v."float" = ? -- float64 1`},
		{real.Eq(int64(1<<53 + 1)), `FALSE`},
		{real.Lt(int64(1<<53 + 1)), `v."float" <= ? -- float64 9.007199254740992e+15`},
		{real.Gt(int64(1<<53 + 1)), `v."float" > ? -- float64 9.007199254740992e+15`},
		{real.Lt(int64(1<<53 + 3)), `v."float" < ? -- float64 9.007199254740996e+15`},
		{real.Ge(int64(math.MaxInt64)), `v."float" >= ? -- float64 9.223372036854776e+18`},
		{real.In(int64(1), int64(1<<53+1), 2.5), `v."float" IN (?, ?) -- float64 2.5, float64 1`},
		{truth.IsTrue(), `v."bool" = ? -- bool true`},
		{truth.Eq(int64(1)), `FALSE`},
	} {
		if got := showPart(duckScope().Where(c.filter)); got != c.want {
			t.Errorf("%v\n got: %s\nwant: %s", c.filter, got, c.want)
		}
	}
}

func TestDuckDBJSON(t *testing.T) {
	any, inner := onto.Path("any"), onto.Path("text", `a"b\c`)
	for _, c := range []struct {
		filter onto.Filter
		want   string
	}{
		{any.Eq("Gold"), `json_extract_string(v.j, '$.any') = ? -- string Gold`},
		{any.Eq("1"), `(json_type(v.j, '$.any') = 'VARCHAR' AND json_extract_string(v.j, '$.any') = ?) -- string 1`},
		{any.Eq("true"), `(json_type(v.j, '$.any') = 'VARCHAR' AND json_extract_string(v.j, '$.any') = ?) -- string true`},
		{any.Eq(int64(1)), `(json_extract_string(v.j, '$.any') = ? AND json_type(v.j, '$.any') IN ('BIGINT', 'UBIGINT')) -- string 1`},
		{any.Eq(1.5), `(TRY_CAST(json_extract_string(v.j, '$.any') AS DOUBLE) = ? AND json_type(v.j, '$.any') = 'DOUBLE') -- float64 1.5`},
		{any.IsTrue(), `(json_extract_string(v.j, '$.any') = ? AND json_type(v.j, '$.any') = 'BOOLEAN') -- string true`},
		{any.IsNull(), `json_extract_string(v.j, '$.any') IS NULL`},
		{inner.IsNull(), `json_extract_string(v.j, ?) IS NULL -- string $."text"."a\"b\\c"`},
	} {
		if got := showPart(duckScope().Where(c.filter)); got != c.want {
			t.Errorf("%v\n got: %s\nwant: %s", c.filter, got, c.want)
		}
	}
}

// TestDuckDBMany requires one placeholder for many values.
func TestDuckDBMany(t *testing.T) {
	var values []any
	for i := range 100 {
		values = append(values, int64(i))
	}
	p := duckScope().Where(onto.Path("int").In(values...))
	if want := `v."int" IN (SELECT unnest(?))`; p.SQL != want || len(p.Args) != 1 {
		t.Errorf("got %s with %d arguments, want %s with 1", p.SQL, len(p.Args), want)
	}
	p = duckScope().Where(onto.Path("any").Some().In(values...))
	if !strings.Contains(p.SQL, "list_contains(?, ") || strings.Contains(p.SQL, "SELECT") {
		t.Errorf("got %s, want no SELECT for the elements of a list", p.SQL)
	}
}

func TestDuckDBKnows(t *testing.T) {
	for path, want := range map[string]bool{"a": true, "a b": true, `"`: true, "": false, "*": false, "a*": false, "\xff": false} {
		if got := (sqlgen.DuckDB{}).Knows(onto.Path("x", path)); got != want {
			t.Errorf("%q: got %t, want %t", path, got, want)
		}
	}
}
