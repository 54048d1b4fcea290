package sqlgen_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/internal/sqlgen"
)

var update = flag.Bool("update", false, "write the answers in testdata instead of comparing them")

// typed has a field of each type, of which must is required.
func typed() *onto.Schema {
	s := &onto.Schema{Kind: onto.KindEntity, Name: "Typed", Key: "id"}
	for _, t := range onto.FieldTypes() {
		s.Fields = append(s.Fields, onto.Field{Name: string(t), Type: t, Optional: true})
	}
	s.Fields = append(s.Fields, onto.Field{Name: "id", Type: onto.String}, onto.Field{Name: "must", Type: onto.Int})
	s.SortFields()
	return s
}

// scope is what operands refer to by how well a schema is known: typed, named or open.
func scope(known string) *sqlgen.Scope {
	document := func(alias string) sqlgen.Document {
		d := sqlgen.Document{Column: alias + ".fields", Obeyed: known == "typed"}
		if known != "open" {
			d.Schema = typed()
		}
		return d
	}
	return &sqlgen.Scope{Dialect: sqlgen.SQLite{}, Own: document("c"), Left: document("le"), Right: document("re")}
}

// TestSQLite compares the SQL of the questions in testdata with the answers.
func TestSQLite(t *testing.T) {
	path := filepath.Join("testdata", "sqlite.txt")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	questions := 0
	var got strings.Builder
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "    ") {
			continue
		}
		got.WriteString(line)
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			questions++
			got.WriteString(written(answer(t, line)...))
		}
	}
	if questions < 50 {
		t.Errorf("got %d questions, want 50 or more", questions)
	}
	if *update {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	compareLines(t, got.String(), string(data))
}

func compareLines(t *testing.T, got, want string) {
	t.Helper()
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	question := ""
	for i := range min(len(g), len(w)) {
		if !strings.HasPrefix(g[i], "    ") {
			question = g[i]
		}
		if g[i] != w[i] {
			t.Fatalf("%s\n got: %s\nwant: %s", question, g[i], w[i])
		}
	}
	if len(g) != len(w) {
		t.Errorf("got %d lines, want %d", len(g), len(w))
	}
}

// written shows parts, and their arguments as JSON.
func written(parts ...sqlgen.Part) string {
	var text strings.Builder
	for _, p := range parts {
		fmt.Fprintf(&text, "    %s\n", strings.Join(strings.Fields(p.SQL), " "))
		for _, a := range p.Args {
			arg, _ := json.Marshal(a)
			fmt.Fprintf(&text, "        %s\n", arg)
		}
	}
	return text.String()
}

// answer compiles a question of testdata.
func answer(t *testing.T, line string) []sqlgen.Part {
	t.Helper()
	verb, rest, _ := strings.Cut(line, " ")
	known, rest, _ := strings.Cut(rest, " ")
	s := scope(known)
	switch verb {
	case "where":
		return []sqlgen.Part{s.Where(parse(t, rest))}
	case "order":
		return []sqlgen.Part{sqlgen.OrderBy(s.Keys(orders(t, rest)))}
	case "after":
		by, at, _ := strings.Cut(rest, " at ")
		var values []json.RawMessage
		if err := json.Unmarshal([]byte(at), &values); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		list := orders(t, by)
		return []sqlgen.Part{sqlgen.After(s.Keys(list), s.Places(list, values), sqlgen.SQL("c.key > ?", "k"))}
	case "groups":
		by, of, _ := strings.Cut(strings.TrimPrefix(rest, "by "), " of ")
		a := s.Aggregates(operands(t, by), operands(t, of))
		return []sqlgen.Part{sqlgen.Join(", ", a.Inputs...), sqlgen.Join(", ", a.Columns...), sqlgen.Join(", ", a.GroupBy...)}
	}
	t.Fatalf("%s: asks nothing", line)
	return nil
}

func parse(t *testing.T, text string) onto.Filter {
	t.Helper()
	f, err := filter.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return f
}

func orders(t *testing.T, text string) []onto.Order {
	t.Helper()
	var list []onto.Order
	for part := range strings.SplitSeq(text, ",") {
		o, err := filter.ParseOrder(strings.TrimSpace(part))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		list = append(list, o)
	}
	return list
}

func operands(t *testing.T, text string) []onto.Operand {
	t.Helper()
	var list []onto.Operand
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		o, err := filter.ParseOperand(part)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		list = append(list, o)
	}
	return list
}
