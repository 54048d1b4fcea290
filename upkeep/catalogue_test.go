package upkeep_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/upkeep"
)

var update = flag.Bool("update", false, "write docs/findings.md instead of comparing it")

// constant is a code in the source of package audit.
type constant struct {
	name, code string
	severity   onto.Severity
}

// The catalogue has the codes of package audit, with their severities, and nothing
// else. Each is reported somewhere, and findings are made nowhere else.
func TestCatalogueIsComplete(t *testing.T) {
	used := map[string]bool{}
	for _, file := range sources(t, "../backend", "../internal", "../cmd") {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GenDecl:
				return n.Tok != token.CONST
			case *ast.Ident: // the rules name their own codes
				used[n.Name] = used[n.Name] || file.Name.Name == "audit"
			case *ast.SelectorExpr:
				if pkg, ok := n.X.(*ast.Ident); ok && pkg.Name == "audit" {
					used[n.Sel.Name] = true
				}
			case *ast.CompositeLit:
				if sel, ok := n.Type.(*ast.SelectorExpr); ok && sel.Sel.Name == "Finding" && len(n.Elts) > 0 && file.Name.Name != "audit" {
					t.Errorf("package %s makes a finding that has no code of package audit", file.Name.Name)
				}
			}
			return true
		})
	}
	known := map[string]bool{}
	for _, c := range constants(t) {
		known[c.code] = true
		if e, ok := upkeep.Lookup(c.code); !ok || e.Severity != c.severity {
			t.Errorf("the catalogue has %s as %+v, want it with severity %s", c.code, e, c.severity)
		}
		if !used[c.name] {
			t.Errorf("audit.%s is reported nowhere", c.name)
		}
		if strings.ToLower(c.name) != strings.ReplaceAll(c.code, "_", "") {
			t.Errorf("audit.%s is %q", c.name, c.code)
		}
	}
	for _, e := range upkeep.Codes() {
		if !known[e.Code] {
			t.Errorf("package audit lacks %s", e.Code)
		}
	}
}

// sources parses the product's source below some folders.
func sources(t *testing.T, folders ...string) []*ast.File {
	t.Helper()
	var files []*ast.File
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			files = append(files, file)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// constants finds the codes of package audit.
func constants(t *testing.T) []constant {
	t.Helper()
	severities := map[string]onto.Severity{"Fault": onto.SeverityError, "Notice": onto.SeverityWarning}
	var list []constant
	for _, file := range sources(t, "../internal/audit") {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			kind, ok := spec.Type.(*ast.Ident)
			if !ok || severities[kind.Name] == "" {
				return true
			}
			code, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, constant{spec.Names[0].Name, code, severities[kind.Name]})
			return true
		})
	}
	if len(list) < 50 {
		t.Fatalf("found only %d codes; does the search still know how they are declared?", len(list))
	}
	return list
}

func codeForm() *regexp.Regexp { return regexp.MustCompile(`^[a-z]+(_[a-z]+)+$`) }

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
		if !strings.HasSuffix(e.Explanation, ".") || len(e.Remedy.Text) < 10 || strings.HasSuffix(e.Remedy.Text, ".") != (e.Remedy.Command == nil) {
			t.Errorf("%s: explanation %q, remedy %q", e.Code, e.Explanation, e.Remedy)
		}
		if got, ok := upkeep.Lookup(e.Code); !ok || !reflect.DeepEqual(got, e) {
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

Findings of one kind about one type are shown as one, with their number and the first
few; ` + "`onto doctor --all`" + ` shows each. Programs get the same with ` + "`--json`: `count` and\n`examples`" + `, or one document for each finding. Beyond 20 types, the findings of a kind are
counted together.
`)
	for _, part := range []struct {
		title    string
		severity onto.Severity
	}{{"Errors", onto.SeverityError}, {"Warnings", onto.SeverityWarning}} {
		fmt.Fprintf(&b, "\n## %s\n\n| code | what it means | what to do |\n|---|---|---|\n", part.title)
		for _, e := range upkeep.Codes() {
			if e.Severity == part.severity {
				remedy := e.Remedy.Text
				if e.Remedy.Command != nil {
					remedy += ": `onto " + strings.Join(e.Remedy.Command, " ") + "`"
				}
				fmt.Fprintf(&b, "| `%s` | %s | %s |\n", e.Code, e.Explanation, remedy)
			}
		}
	}
	return b.String()
}
