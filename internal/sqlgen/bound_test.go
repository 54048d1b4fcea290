package sqlgen_test

import (
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/sqlgen"
)

// hostile is what must never be part of a statement.
func hostile() []string {
	return []string{
		`'`, `"`, `''; DROP TABLE commits; --`, `"); DELETE FROM commits; --`, `;`, `--`, `/* */`, `?`, `?1`, `:a`, `@a`, `$a`,
		`$.x`, `$[0]`, `[0]`, `%`, `_`, `\`, `\'`, `\"`, "\n", "\t", "é", "\x00", "\xff", `]`, `)`, `x') OR TRUE --`, `json('[]')`,
	}
}

// everyTest is conditions on an operand, with a text in all of them.
func everyTest(o onto.Operand, s string) []onto.Filter {
	list := []onto.Filter{o.IsNull(), o.IsNotNull(), o.IsTrue(), o.IsFalse(), o.In("s"+s, "t"+s, int64(3)), o.StartsWith("s" + s),
		o.EndsWith("s" + s), o.Contains("s" + s)}
	for _, t := range []onto.Test{onto.Equal, onto.NotEqual, onto.Less, onto.AtMost, onto.Greater, onto.AtLeast} {
		list = append(list, onto.Condition{Operand: o, Test: t, Values: []any{"s" + s}})
	}
	return list
}

// everyPlace is operands with a text in all places where a name can stand.
func everyPlace(s string) []onto.Operand {
	return []onto.Operand{
		onto.Path(s), onto.Path("a", s), onto.Left(s), onto.Right(s, "a"), onto.Path("object", s),
		onto.Path("list").Some(), onto.Path(s).Some(), onto.Path(s).Some(s), onto.Path("list").Some("a", s),
	}
}

// TestNothingGivenIsInTheText compiles the same shapes with harmless and with
// hostile texts: the statements must be the same to the letter.
func TestNothingGivenIsInTheText(t *testing.T) {
	for _, known := range []string{"typed", "named", "open"} {
		s := scope(known)
		statements := func(text string) []string {
			var list []string
			for _, o := range everyPlace(text) {
				for _, f := range everyTest(o, text) {
					for _, f := range []onto.Filter{f, onto.Not{Of: f}, onto.And{f, f}, onto.Or{f, f}} {
						list = append(list, checked(t, s.Where(f)))
					}
				}
				order := []onto.Order{o.Asc(), o.Desc()}
				list = append(list, checked(t, sqlgen.OrderBy(s.Keys(order))))
				places := s.Places(order, quoted(text, text))
				list = append(list, checked(t, sqlgen.After(s.Keys(order), places, sqlgen.SQL("TRUE"))))
				a := s.Aggregates([]onto.Operand{o}, []onto.Operand{o.Sum(), o.Avg(), o.Min(), o.Max(), o.AvgLen(), onto.Count()})
				for _, parts := range [][]sqlgen.Part{a.Inputs, a.Columns, a.GroupBy} {
					list = append(list, checked(t, sqlgen.Join(", ", parts...)))
				}
			}
			return list
		}
		want := statements("harmless")
		for _, text := range hostile() {
			got := statements(text)
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("%s: %q changes the statement\n got: %s\nwant: %s", known, text, got[i], want[i])
				}
			}
		}
	}
}

// checked requires an argument for each placeholder.
func checked(t *testing.T, p sqlgen.Part) string {
	t.Helper()
	if got := strings.Count(p.SQL, "?"); got != len(p.Args) {
		t.Errorf("got %d placeholders for %d arguments: %s", got, len(p.Args), p.SQL)
	}
	return p.SQL
}

// TestForgedSchema has names that no checked schema has: they are bound like unknown
// names.
func TestForgedSchema(t *testing.T) {
	for _, name := range hostile() {
		if onto.CheckName("field", name) == nil {
			continue
		}
		forged := &onto.Schema{Kind: onto.KindEntity, Name: "Forged", Fields: []onto.Field{{Name: name, Type: onto.String}}}
		s := &sqlgen.Scope{Dialect: sqlgen.SQLite{}, Own: sqlgen.Document{Column: "c.fields", Schema: forged, Obeyed: true}}
		if got, want := s.Where(onto.Path(name).Eq("x")).SQL, "c.fields ->> ? = ?"; got != want {
			t.Errorf("%q: got %s, want %s", name, got, want)
		}
	}
}
