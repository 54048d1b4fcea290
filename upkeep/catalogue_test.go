package upkeep_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/upkeep"
)

var update = flag.Bool("update", false, "write docs/findings.md instead of comparing it")

// report is where the source reports a code, and how bad it can be there.
type report struct {
	code     string
	severity onto.Severity
	place    string
}

// The catalogue has what backends report, with the worst severity, and nothing
// else.
func TestCatalogueIsComplete(t *testing.T) {
	worst := map[string]onto.Severity{}
	for folder, least := range map[string]int{"../backend/sqlite": 10, "../backend/memory": 10, "../backend/lake": 10, "../internal/volume": 1} {
		reports := reportsOf(t, folder)
		if len(reports) < least {
			t.Errorf("%s: found only %d reports; does the search still know how findings are reported?", folder, len(reports))
		}
		for _, r := range reports {
			if _, ok := upkeep.Lookup(r.code); !ok {
				t.Errorf("%s reports %s, which the catalogue lacks", r.place, r.code)
			}
			if worst[r.code] != onto.SeverityError {
				worst[r.code] = r.severity
			}
		}
	}
	for _, e := range upkeep.Codes() {
		if worst[e.Code] != e.Severity {
			t.Errorf("the catalogue has %s as %s, it is reported as %q at worst", e.Code, e.Severity, worst[e.Code])
		}
	}
}

// reportsOf finds what the source of a package reports.
func reportsOf(t *testing.T, folder string) []report {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var reports []report
	files := token.NewFileSet()
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				reports = append(reports, reportsIn(t, files, f)...)
			}
		}
	}
	return reports
}

// reportsIn finds what a function reports: with a code as an argument or from a
// table with a column called code, or as a finding with a Code.
func reportsIn(t *testing.T, files *token.FileSet, f *ast.FuncDecl) []report {
	var reports []report
	ast.Inspect(f, func(n ast.Node) bool {
		place := ""
		if n != nil {
			place = files.Position(n.Pos()).String()
		}
		switch n := n.(type) {
		case *ast.CallExpr:
			sel, ok := n.Fun.(*ast.SelectorExpr)
			if !ok || sel.Sel.Name != "report" && sel.Sel.Name != "warn" {
				break
			}
			codes := argumentCodes(n, f)
			if len(codes) == 0 {
				t.Errorf("%s: which code is reported here?", place)
			}
			for _, code := range codes {
				reports = append(reports, report{code, severityOf(n.Args, sel.Sel.Name == "warn"), place})
			}
		case *ast.CompositeLit:
			if code := codeMember(n); code != "" {
				reports = append(reports, report{code, severityOf(n.Elts, false), place})
			}
		}
		return true
	})
	return reports
}

// severityOf is a warning if one is named among the expressions, or if nothing
// else is possible. What is decided elsewhere can be an error.
func severityOf(list []ast.Expr, warning bool) onto.Severity {
	for _, e := range list {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			e = pair.Value
		}
		if sel, ok := e.(*ast.SelectorExpr); ok && sel.Sel.Name == "SeverityWarning" {
			warning = true
		}
	}
	if warning {
		return onto.SeverityWarning
	}
	return onto.SeverityError
}

// codeMember is the Code of a finding.
func codeMember(lit *ast.CompositeLit) string {
	for _, e := range lit.Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			if key, ok := pair.Key.(*ast.Ident); ok && key.Name == "Code" {
				return codeOf(pair.Value)
			}
		}
	}
	return ""
}

// argumentCodes is the first argument that looks like a code, or the codes in
// the tables of the function.
func argumentCodes(call *ast.CallExpr, f *ast.FuncDecl) []string {
	for _, arg := range call.Args {
		if code := codeOf(arg); code != "" {
			return []string{code}
		}
	}
	return tableCodes(f)
}

// codeOf is a text in the source that looks like a code, or "".
func codeOf(e ast.Expr) string {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	text, err := strconv.Unquote(lit.Value)
	if err != nil || !codeForm().MatchString(text) {
		return ""
	}
	return text
}

func codeForm() *regexp.Regexp { return regexp.MustCompile(`^[a-z]+(_[a-z]+)+$`) }

// tableCodes finds the codes in tables of a function.
func tableCodes(f *ast.FuncDecl) []string {
	var codes []string
	ast.Inspect(f, func(n ast.Node) bool {
		table, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		column := codeColumn(table.Type)
		for _, row := range table.Elts {
			if cells, ok := row.(*ast.CompositeLit); ok && column >= 0 && column < len(cells.Elts) {
				codes = append(codes, codeOf(cells.Elts[column]))
			}
		}
		return true
	})
	return codes
}

// codeColumn is the place of the field called code in a slice of structs, or -1.
func codeColumn(e ast.Expr) int {
	list, ok := e.(*ast.ArrayType)
	if !ok {
		return -1
	}
	row, ok := list.Elt.(*ast.StructType)
	if !ok {
		return -1
	}
	i := 0
	for _, field := range row.Fields.List {
		for _, name := range field.Names {
			if name.Name == "code" {
				return i
			}
			i++
		}
	}
	return -1
}

func TestEntries(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range upkeep.Codes() {
		if seen[e.Code] {
			t.Errorf("%s is there twice", e.Code)
		}
		seen[e.Code] = true
		if !codeForm().MatchString(e.Code) || e.Severity != onto.SeverityError && e.Severity != onto.SeverityWarning {
			t.Errorf("%q has the severity %q", e.Code, e.Severity)
		}
		if !strings.HasSuffix(e.Explanation, ".") || len(e.Remedy) < 10 {
			t.Errorf("%s: explanation %q, remedy %q", e.Code, e.Explanation, e.Remedy)
		}
		if got, ok := upkeep.Lookup(e.Code); !ok || got != e {
			t.Errorf("looking up %s gives %+v", e.Code, got)
		}
	}
	if got, ok := upkeep.Lookup("no_such_code"); ok {
		t.Errorf("a code that does not exist gives %+v", got)
	}
}

// docs/findings.md is the catalogue for people. Write it with
//
//	go test ./upkeep -run TestDocument -update
func TestDocument(t *testing.T) {
	const name = "../docs/findings.md"
	want := document()
	if *update {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not the catalogue; write it with -update", name)
	}
}

func document() string {
	var b strings.Builder
	b.WriteString(`# Findings

` + "`onto doctor`" + ` examines a store and reports findings. Each has a code that stays the
same from version to version, so that programs can rely on it. An error means
that answers can be wrong, and the exit status is 3. A warning means that answers
are right and something is unusual. ` + "`onto doctor explain CODE`" + ` prints an entry of
this page.
`)
	for _, part := range []struct {
		title    string
		severity onto.Severity
	}{{"Errors", onto.SeverityError}, {"Warnings", onto.SeverityWarning}} {
		fmt.Fprintf(&b, "\n## %s\n\n| code | what it means | what to do |\n|---|---|---|\n", part.title)
		for _, e := range upkeep.Codes() {
			if e.Severity == part.severity {
				fmt.Fprintf(&b, "| `%s` | %s | %s |\n", e.Code, e.Explanation, e.Remedy)
			}
		}
	}
	return b.String()
}
