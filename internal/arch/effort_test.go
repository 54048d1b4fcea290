package arch

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// TestPropertiesAskEffort keeps the number of random cases, and their seeds, in package
// effort: a property that is checked by itself has other cases on each run, and as many in
// a plain run as in a thorough one.
func TestPropertiesAskEffort(t *testing.T) {
	const one, library = "internal/effort", "pgregory.net/rapid"
	checks := 0
	for _, s := range sources(t) {
		name := importedAs(s.ast, library)
		ast.Inspect(s.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.SelectorExpr)
			if !ok || name == "" || !slices.Contains([]string{"Check", "MakeCheck"}, call.Sel.Name) {
				return true
			}
			if from, ok := call.X.(*ast.Ident); !ok || from.Name != name {
				return true
			}
			checks++
			if s.folder != one {
				t.Errorf("%s uses rapid.%s; use effort.Check(t, full, property), or effort.CheckUntil for a property that counts what it did, of %s", s.path, call.Sel.Name, one)
			}
			return true
		})
	}
	if checks == 0 {
		t.Errorf("no call of rapid.Check was found, not even in %s", one)
	}
}

// importedAs is what a file calls a package; "" if it does not import it.
func importedAs(file *ast.File, path string) string {
	for _, spec := range file.Imports {
		if spec.Path.Value != `"`+path+`"` {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path[strings.LastIndex(path, "/")+1:]
	}
	return ""
}
