package filtertest_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/filter/filtertest"
	"github.com/ontologia/onto/internal/sqlgen"
)

var update = flag.Bool("update", false, "write the SQL of the corpus instead of comparing it")

// dialects are the dialects of SQL, by the names of their files in corpus.
func dialects() map[string]sqlgen.Dialect {
	return map[string]sqlgen.Dialect{"sqlite": sqlgen.SQLite{}}
}

// TestSQL compares the SQL of every case with what is kept beside the corpus.
func TestSQL(t *testing.T) {
	for name, dialect := range dialects() {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("corpus", name+".golden")
			got := golden(t, dialect)
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			compareGolden(t, got, string(want))
		})
	}
}

// compareGolden compares entry by entry, so that messages stay short.
func compareGolden(t *testing.T, got, want string) {
	t.Helper()
	g, w := strings.Split(got, "\n\n"), strings.Split(want, "\n\n")
	if len(g) != len(w) {
		t.Errorf("got %d entries, want %d: run go test ./filter/filtertest -run TestSQL -update and read the difference", len(g), len(w))
	}
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Errorf("\n got: %s\nwant: %s", g[i], w[i])
		}
	}
}

// golden writes the SQL of every case in a dialect.
func golden(t *testing.T, d sqlgen.Dialect) string {
	t.Helper()
	var text strings.Builder
	for _, g := range corpus(t) {
		scope := scopeOf(&g, d)
		for _, c := range g.Cases {
			if c.Refused == "" {
				fmt.Fprintf(&text, "%s: %s\n%s\n\n", c.ID, c.Text, written(t, &g, &c, scope))
			}
		}
	}
	return text.String()
}

// scopeOf returns what the operands of a group refer to. The rows of Typed obey
// their types, which makes statements shorter.
func scopeOf(g *filtertest.Group, d sqlgen.Dialect) *sqlgen.Scope {
	s := g.Scope(true)
	document := func(alias string, schema *onto.Schema) sqlgen.Document {
		if schema == nil {
			return sqlgen.Document{}
		}
		return sqlgen.Document{Column: alias + ".fields", Schema: schema, Obeyed: true}
	}
	return &sqlgen.Scope{Dialect: d, Own: document("c", s.Schema), Left: document("l", s.Left), Right: document("r", s.Right)}
}

// sqlOf compiles a case.
func sqlOf(t *testing.T, g *filtertest.Group, c *filtertest.Case, s *sqlgen.Scope) sqlgen.Part {
	t.Helper()
	if c.Order {
		by, err := c.Orders(g.Scope(true))
		if err != nil {
			t.Fatal(err)
		}
		return sqlgen.OrderBy(s.Keys(by))
	}
	f, err := c.Filter(g.Scope(true))
	if err != nil {
		t.Fatal(err)
	}
	return s.Where(f)
}

func written(t *testing.T, g *filtertest.Group, c *filtertest.Case, s *sqlgen.Scope) string {
	t.Helper()
	p := sqlOf(t, g, c, s)
	lines := []string{"  " + p.SQL}
	for _, arg := range p.Args {
		text := fmt.Sprintf("%q", arg)
		if _, ok := arg.(string); !ok {
			text = fmt.Sprintf("%T %v", arg, arg)
		}
		lines = append(lines, "  "+text)
	}
	return strings.Join(lines, "\n")
}

// mark is added to every text of a filter.
const mark = "MarkedByTheTest"

// TestNothingOfTheUserIsInSQL marks the values and paths of every filter, and requires
// no mark in the statement and a placeholder for each argument.
func TestNothingOfTheUserIsInSQL(t *testing.T) {
	for name, d := range dialects() {
		t.Run(name, func(t *testing.T) {
			for _, g := range corpus(t) {
				for _, c := range g.Cases {
					if c.Refused == "" && !c.Order {
						checkBound(t, &g, &c, d)
					}
				}
			}
		})
	}
}

func checkBound(t *testing.T, g *filtertest.Group, c *filtertest.Case, d sqlgen.Dialect) {
	t.Helper()
	f, err := c.Filter(g.Scope(true))
	if err != nil {
		t.Fatal(err)
	}
	p := scopeOf(g, d).Where(marked(f))
	if strings.Contains(p.SQL, mark) {
		t.Errorf("%s: %s: what the user wrote is in the statement: %s", c.ID, c.Text, p.SQL)
	}
	if got := strings.Count(p.SQL, "?"); got != len(p.Args) {
		t.Errorf("%s: %s: got %d placeholders and %d arguments: %s", c.ID, c.Text, got, len(p.Args), p.SQL)
	}
	text := filter.Format(marked(f))
	if strings.Contains(text, mark) && !strings.Contains(text, "in_([])") && !slices.ContainsFunc(p.Args, isMarked) {
		t.Errorf("%s: %s: the marks are nowhere: %s %q", c.ID, text, p.SQL, p.Args)
	}
}

func isMarked(arg any) bool {
	text, ok := arg.(string)
	return ok && strings.Contains(text, mark)
}

// marked adds the mark to the texts and the inner names of a filter. The names
// of fields are the schema's.
func marked(f onto.Filter) onto.Filter {
	switch f := f.(type) {
	case onto.And:
		list := slices.Clone(f)
		for i := range list {
			list[i] = marked(list[i])
		}
		return list
	case onto.Or:
		list := slices.Clone(f)
		for i := range list {
			list[i] = marked(list[i])
		}
		return list
	case onto.Not:
		return onto.Not{Of: marked(f.Of)}
	}
	c := f.(onto.Condition)
	c.Values = slices.Clone(c.Values)
	for i, v := range c.Values {
		if text, ok := v.(string); ok {
			c.Values[i] = text + mark
		}
	}
	c.Operand.Path, c.Operand.Under = slices.Clone(c.Operand.Path), slices.Clone(c.Operand.Under)
	for i := range c.Operand.Path[1:] {
		c.Operand.Path[i+1] += mark
	}
	for i := range c.Operand.Under {
		c.Operand.Under[i] += mark
	}
	return c
}
