package object_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each row of the comparison with D4 names something that the package exports, and a test.
func TestComparisonWithD4(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "objects.md"))
	must(t, err)
	_, section, found := strings.Cut(string(text), "\n## From D4\n")
	if !found {
		t.Fatal("docs/objects.md has no section \"From D4\"")
	}
	exported, tests := names(t)
	code := regexp.MustCompile("`([^`]+)`")
	rows := 0
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 || strings.HasPrefix(cells[1], "---") || strings.TrimSpace(cells[1]) == "D4" {
			if strings.HasPrefix(line, "|") && len(cells) != 5 {
				t.Errorf("not three cells: %s", line)
			}
			continue
		}
		rows++
		known := false
		for _, span := range code.FindAllStringSubmatch(cells[2], -1) {
			known = known || exported[span[1]]
			if name := strings.TrimPrefix(span[1], "Where()"); strings.Contains(name, ".") && name != span[1] {
				known = known || exported["Start"+name]
			} else if isName.MatchString(span[1]) && !exported[span[1]] {
				t.Errorf("the package has no %s: %s", span[1], line)
			}
		}
		if !known {
			t.Errorf("nothing that the package exports is named: %s", line)
		}
		named := code.FindAllStringSubmatch(cells[3], -1)
		for _, span := range named {
			if !tests[span[1]] {
				t.Errorf("there is no test %s: %s", span[1], line)
			}
		}
		if len(named) == 0 {
			t.Errorf("no test is named: %s", line)
		}
	}
	if rows < 60 {
		t.Errorf("the table has %d rows", rows)
	}
}

// isName matches what looks like an exported type, function or method of the package; codes of
// errors and methods that the row explains otherwise are among those that follow.
var isName = regexp.MustCompile(`^[A-Z][a-z]+[A-Za-z]*\.[A-Z][A-Za-z]*$`)

// names returns what the package exports, methods with their types in front, and its tests.
func names(t *testing.T) (exported, tests map[string]bool) {
	t.Helper()
	exported, tests = map[string]bool{}, map[string]bool{}
	paths, err := filepath.Glob("*.go")
	must(t, err)
	files := token.NewFileSet()
	var product []*ast.File
	for _, path := range paths {
		f, err := parser.ParseFile(files, path, nil, parser.ParseComments)
		must(t, err)
		if !strings.HasSuffix(path, "_test.go") {
			product = append(product, f)
			continue
		}
		for _, d := range f.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				tests[f.Name.Name] = strings.HasPrefix(f.Name.Name, "Test") || strings.HasPrefix(f.Name.Name, "Example")
			}
		}
	}
	p, err := doc.NewFromFiles(files, product, "github.com/ontologia/onto/object")
	must(t, err)
	for _, f := range p.Funcs {
		exported[f.Name] = true
	}
	for _, values := range p.Consts {
		for _, name := range values.Names {
			exported[name] = true
		}
	}
	for _, typ := range p.Types {
		exported[typ.Name] = true
		for _, f := range append(typ.Funcs, typ.Methods...) {
			if f.Recv == "" {
				exported[f.Name] = true
				continue
			}
			exported[typ.Name+"."+f.Name] = true
		}
	}
	// Start has the methods of step, which is not exported.
	exported["Start.Key"], exported["Start.Filter"] = true, true
	return exported, tests
}

// The program of the package comment is an example, so it compiles.
func TestPackageComment(t *testing.T) {
	comment, err := os.ReadFile("doc.go")
	must(t, err)
	examples, err := os.ReadFile("example_test.go")
	must(t, err)
	var program strings.Builder
	for line := range strings.Lines(string(comment)) {
		if code, ok := strings.CutPrefix(line, "//\t"); ok {
			program.WriteString("\t" + code)
		} else if line == "//\n" && program.Len() > 0 {
			program.WriteString("\n")
		}
	}
	if text := strings.TrimRight(program.String(), "\n"); strings.Count(text, "\n") < 8 || !strings.Contains(string(examples), text) {
		t.Errorf("no example is the program of the package comment:\n%s", text)
	}
}
