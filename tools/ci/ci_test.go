package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestChoose(t *testing.T) {
	table := []step{{name: "a"}, {name: "b", onlyAll: true}, {name: "c"}}
	for _, c := range []struct {
		names []string
		all   bool
		want  string
	}{
		{nil, false, "a c"}, {nil, true, "a b c"}, {[]string{"c", "a"}, false, "a c"}, {[]string{"b"}, false, "b"},
	} {
		chosen, err := choose(table, c.names, c.all)
		var got []string
		for _, s := range chosen {
			got = append(got, s.name)
		}
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%v, all %t: got %v and %v, want %s", c.names, c.all, got, err, c.want)
		}
	}
	if _, err := choose(table, []string{"d"}, false); err == nil || !strings.Contains(err.Error(), `"d"`) {
		t.Errorf("got %v, want an error that names the step", err)
	}
}

func TestPackagesOf(t *testing.T) {
	tree := fstest.MapFS{}
	for _, name := range []string{"go.mod", "onto.go", "README.md", "bus/run.go", "bus/testdata/x/story.txt", "bus/testdata/x/main.go", "docs/json.md", "tools/gate/go.mod", "tools/gate/gate.go", "tools/ci/main.go"} {
		tree[name] = &fstest.MapFile{}
	}
	files := []string{"README.md", "docs/json.md", "bus/testdata/x/story.txt", "bus/testdata/x/main.go", "bus/gone.go", "tools/gate/gate.go", "tools/ci/main.go", "onto.go", "gone/gone.go"}
	got, err := packagesOf(tree, files)
	if want := []string{"./.", "./bus", "./tools/ci"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v and %v, want %v", got, err, want)
	}
}

// Of tests that pass only the counts are printed, of those that fail everything.
func TestReport(t *testing.T) {
	events := `{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:1: 12 kills\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:2: something\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB","Output":"    a_test.go:3: broken\n"}
{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Test":"TestC","Output":"    a_test.go:4: there is none\n"}
{"Action":"skip","Package":"p","Test":"TestC"}
{"Action":"output","Package":"p","Output":"FAIL\n"}
{"Action":"fail","Package":"p"}
`
	var out bytes.Buffer
	passed, err := (&runner{out: &out}).report(strings.NewReader(events))
	if err != nil || !passed["p TestA"] || passed["p TestB"] || passed["p TestC"] {
		t.Errorf("got %v and %v, want that TestA passed", passed, err)
	}
	if want := "    a_test.go:1: 12 kills\n    a_test.go:3: broken\nFAIL\n"; out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// Every package that starts a goroutine is examined by the race detector, or is named here
// with the reason.
func TestGoroutinesAreRaced(t *testing.T) {
	exempt := map[string]string{
		"bench":    "measures; nothing rests on it",
		"cmd/onto": "its tests run the command as a process",
	}
	for folder := range goroutines(t) {
		if !matched(folder, racePackages()) && exempt[folder] == "" && !strings.HasPrefix(folder, "cmd/onto/") {
			t.Errorf("package %s starts goroutines and is in no row of the race step: add it to racePackages", folder)
		}
	}
}

func matched(folder string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		p = strings.TrimPrefix(p, "./")
		below, all := strings.CutSuffix(p, "/...")
		return folder == p || all && (folder == below || strings.HasPrefix(folder, below+"/"))
	})
}

// goroutines returns the packages of the module whose code, tests aside, starts goroutines.
func goroutines(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || strings.Contains(name, "testdata/") {
			return err
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				found[path.Dir(name)] = true
			case *ast.CallExpr: // of a sync.WaitGroup or the like
				if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Go" {
					found[path.Dir(name)] = true
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Fatal("no package starts goroutines")
	}
	return found
}
