package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// product calls f with every file of the module's product.
func product(t *testing.T, f func(at func(ast.Node) string, file *ast.File)) {
	t.Helper()
	root, files := filepath.Join("..", ".."), token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); name == "testdata" || name == "examples" || strings.HasPrefix(name, ".") && path != root {
				return fs.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		f(func(n ast.Node) string { return files.Position(n.Pos()).String() }, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// literal is a string literal's text.
func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

func commands() *cobra.Command {
	return newRoot(newSession(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}), nil)
}

// The commands of hints exist, with their flags.
func TestHintsNameCommandsThatExist(t *testing.T) {
	// Where the command begins among the arguments of functions that take one.
	begins := map[string]int{"WithCommand": 0, "NewHint": 1, "SayNext": 1, "Unsupported": 3, "unknownName": 4, "entry": 3}
	root, n := commands(), 0
	product(t, func(at func(ast.Node) string, file *ast.File) {
		ast.Inspect(file, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok {
				return true
			}
			var name string
			switch f := call.Fun.(type) {
			case *ast.Ident:
				name = f.Name
			case *ast.SelectorExpr:
				name = f.Sel.Name
			}
			begin, takes := begins[name]
			if !takes || len(call.Args) <= begin {
				return true
			}
			var words []string // "" for what is known at run time only
			for _, arg := range call.Args[begin:] {
				text, _ := literal(arg)
				words = append(words, text)
			}
			if words[0] == "" || words[0] == "--help" {
				return true
			}
			n++
			cmd, rest, err := root.Find(words)
			if err != nil || cmd == root || !cmd.Runnable() {
				t.Errorf("%s: there is no command onto %s", at(call), strings.Join(words, " "))
				return true
			}
			for _, word := range rest {
				if flag, ok := strings.CutPrefix(word, "--"); ok && flag != "help" && cmd.Flag(flag) == nil && cmd.InheritedFlags().Lookup(flag) == nil {
					t.Errorf("%s: %s has no flag --%s", at(call), cmd.CommandPath(), flag)
				}
			}
			return true
		})
	})
	if n < 50 {
		t.Errorf("found %d commands of hints: does the search still know how they are written?", n)
	}
}

// Commands are data: no text but that of the help has one in its middle, where programs
// would not find it.
func TestNoCommandIsHiddenInAText(t *testing.T) {
	var verbs []string
	for _, cmd := range commands().Commands() {
		verbs = append(verbs, cmd.Name())
	}
	hidden := regexp.MustCompile(`\bonto (` + strings.Join(verbs, "|") + `)\b`)
	product(t, func(at func(ast.Node) string, file *ast.File) {
		ast.Inspect(file, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.KeyValueExpr:
				key, ok := n.Key.(*ast.Ident)
				return !ok || key.Name != "Long"
			case *ast.BasicLit: // examples are indented
				if text, ok := literal(n); ok && hidden.MatchString(text) && !strings.HasPrefix(text, "  ") {
					t.Errorf("%s: %q has a command in its text", at(n), text)
				}
			}
			return true
		})
	})
}
