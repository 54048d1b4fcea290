package arch

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

const (
	module   = "github.com/ontologia/onto"
	maxLines = 500
)

// may says what the code of a package, tests aside, may import: packages of this module
// by their folder ("." is the root), and other modules by prefix. The standard library
// is allowed everywhere. No arrow points up.
func may() map[string][]string {
	return map[string][]string{
		".":                 {"internal/suggest", "internal/gostruct", "internal/codec", "internal/segment", "internal/shell"},
		"internal/arch":     {},
		"internal/child":    {},
		"internal/effort":   {"pgregory.net/rapid"},
		"tools/ci":          {"internal/effort"},
		"internal/cron":     {"internal/suggest"},
		"internal/dedupe":   {"."},
		"internal/fetch":    {"."},
		"internal/flock":    {"internal/backoff"},
		"internal/scratch":  {"internal/flock"},
		"internal/links":    {".", "golang.org/x/net", "golang.org/x/text"},
		"internal/parallel": {},
		"internal/iofault":  {},
		"internal/planted":  {"internal/effort"},
		"internal/mailbox":  {},
		"internal/workcsv":  {"."},
		"internal/attempts": {"."},
		"internal/audit":    {".", "internal/codec", "internal/computed"},
		"internal/computed": {".", "internal/codec"},
		"internal/own":      {},
		"internal/volume":   {".", "internal/audit"},
		"internal/needcgo":  {},
		"internal/codec":    {},
		"internal/robots":   {"."},
		"internal/segment":  {},
		"internal/shell":    {},
		"backend":           {".", "filter", "internal/codec", "internal/dedupe", "internal/suggest"},
		"filter":            {"internal/suggest", ".", "internal/codec"},
		"filter/filtertest": {".", "backend", "filter", "internal/codec", "internal/effort", "pgregory.net/rapid"},
		"internal/jq":       {"internal/codec", "github.com/itchyny/gojq"},
		"internal/words":    {"backend", "golang.org/x/text"},
		"internal/exec":     {".", "backend", "filter", "internal/codec", "internal/words"},
		"internal/spool":    {".", "backend", "internal/exec"},
		"internal/gostruct": {},
		"internal/refusal":  {"internal/codec", "backend", "."},
		"internal/suggest":  {},
		"internal/uuid":     {},
		"internal/emission": {".", "backend", "internal/codec", "internal/uuid"},
		"internal/typelist": {"internal/refusal", "."},
		"internal/decide":   {"internal/computed", "internal/typelist", "internal/refusal", ".", "backend", "internal/codec"},
		"internal/sqlgen":   {".", "backend", "filter", "internal/codec"},
		"backend/memory":    {"internal/computed", "internal/typelist", "internal/refusal", ".", "backend", "filter", "internal/audit", "internal/codec", "internal/exec"},
		"backend/sqlite": {"internal/typelist", "internal/refusal", ".", "backend", "backend/sqlite/internal/backup", "backend/sqlite/internal/bus", "backend/sqlite/internal/check", "backend/sqlite/internal/disk", "backend/sqlite/internal/driver", "backend/sqlite/internal/layout", "backend/sqlite/internal/snapshot", "backend/sqlite/internal/work",
			"internal/backoff", "internal/codec", "internal/decide", "internal/exec", "internal/flock", "internal/groupcommit", "internal/lease", "internal/sqlgen"},
		"backend/sqlite/source":            {".", "backend", "backend/sqlite/internal/driver", "backend/sqlite/internal/snapshot", "internal/audit", "internal/codec", "internal/flock", "internal/refusal", "internal/typelist", "internal/workcsv"},
		"backend/sqlite/internal/snapshot": {".", "backend/sqlite/internal/disk", "backend/sqlite/internal/driver", "internal/backoff", "internal/flock", "internal/scratch"},
		"backend/sqlite/internal/backup":   {".", "backend/sqlite/internal/disk", "backend/sqlite/internal/driver", "backend/sqlite/internal/layout"},
		"backend/sqlite/internal/bus":      {".", "backend", "backend/sqlite/internal/driver", "backend/sqlite/internal/layout", "internal/codec", "internal/decide", "internal/refusal"},
		"backend/sqlite/internal/work":     {".", "backend", "backend/sqlite/internal/driver", "backend/sqlite/internal/layout", "internal/attempts", "internal/codec", "internal/refusal"},
		"backend/sqlite/internal/check":    {"internal/codec", "internal/typelist", ".", "backend", "backend/sqlite/internal/disk", "backend/sqlite/internal/driver", "backend/sqlite/internal/layout", "backend/sqlite/internal/work", "internal/audit", "internal/volume"},
		"backend/sqlite/internal/disk":     {".", "backend/sqlite/internal/driver"},
		"backend/sqlite/internal/driver":   {"internal/needcgo", ".", "internal/backoff", "github.com/mattn/go-sqlite3"},
		"backend/sqlite/internal/layout":   {"internal/uuid", "internal/typelist", "internal/refusal", ".", "backend", "backend/sqlite/internal/driver", "internal/codec", "internal/decide", "internal/words"},
		"backend/lake": {"internal/typelist", "internal/refusal", ".", "backend", "backend/lake/bucket", "backend/lake/bucket/file", "backend/lake/bucket/probe", "backend/lake/cache", "backend/lake/check", "backend/lake/compact", "backend/lake/datafile", "backend/lake/derived", "backend/lake/parquet", "backend/lake/protocol", "backend/lake/query",
			"internal/codec", "internal/decide", "internal/exec", "internal/lease", "internal/groupcommit", "internal/spool"},
		"internal/groupcommit":             {"."},
		"internal/lease":                   {"internal/refusal", ".", "backend", "internal/backoff", "internal/codec"},
		"internal/backoff":                 {},
		"backend/lake/protocol":            {"internal/segment", "internal/typelist", "internal/refusal", ".", "backend", "backend/lake/bucket", "backend/lake/bucket/probe", "internal/backoff", "internal/codec", "internal/decide", "internal/lease", "internal/parallel"},
		"backend/lake/datafile":            {".", "backend/lake/bucket", "backend/lake/cache", "backend/lake/parquet", "backend/lake/protocol", "internal/parallel", "golang.org/x/sync"},
		"backend/lake/check":               {"internal/typelist", ".", "backend", "backend/lake/bucket", "backend/lake/cache", "backend/lake/datafile", "backend/lake/parquet", "backend/lake/protocol", "internal/audit", "internal/codec", "internal/decide", "internal/exec", "internal/volume"},
		"backend/lake/compact":             {".", "backend", "backend/lake/datafile", "backend/lake/protocol", "internal/backoff", "internal/exec"},
		"backend/lake/derived":             {"internal/segment", "internal/typelist", ".", "backend", "backend/lake/bucket", "backend/lake/protocol", "internal/audit", "internal/backoff", "internal/codec"},
		"backend/lake/query":               {"internal/refusal", ".", "backend", "backend/lake/datafile", "backend/lake/duck", "backend/lake/protocol", "internal/exec"},
		"backend/lake/laketest":            {},
		"backend/lake/hostiletest":         {"backend/lake/bucket", "backend/lake/parquet/parquettest", "internal/codec"},
		"backend/lake/cache":               {".", "internal/scratch", "internal/volume"},
		"backend/lake/duck":                {"internal/needcgo", ".", "backend", "backend/lake/parquet", "filter", "internal/codec", "internal/exec", "internal/sqlgen", "internal/words", "github.com/duckdb"},
		"backend/lake/duck/ducktest":       {"github.com/duckdb"},
		"backend/lake/parquet":             {".", "internal/codec", "backend/lake/parquet/internal/flat", "backend/lake/parquet/internal/format"},
		"backend/lake/parquet/parquettest": {"backend/lake/parquet/internal/flat", "backend/lake/parquet/internal/format"},
		"backend/lake/s3lake":              {".", "backend", "backend/lake", "backend/lake/bucket", "backend/lake/bucket/s3"},
		"backend/lake/bucket":              {".", "internal/segment"},
		"backend/lake/bucket/buckettest":   {".", "backend/lake/bucket", "internal/effort", "pgregory.net/rapid"},
		"backend/lake/bucket/faulty":       {"backend/lake/bucket"},
		"backend/lake/bucket/file":         {".", "backend/lake/bucket", "internal/flock", "internal/volume"},
		"backend/lake/bucket/filetest":     {"backend/lake/bucket/file", "internal/effort"},
		"backend/lake/bucket/memory":       {".", "backend/lake/bucket"},
		"backend/lake/bucket/probe":        {".", "backend/lake/bucket", "internal/backoff"},
		"backend/lake/bucket/s3/s3fake":    {"github.com/johannesboyne/gofakes3"},
		"backend/lake/bucket/s3/versitygw": {},
		"backend/lake/bucket/s3":           {".", "backend/lake/bucket", "internal/backoff", "github.com/aws"},

		"backend/lake/parquet/internal/flat":   {"backend/lake/parquet/internal/format", "github.com/klauspost/compress/zstd"},
		"backend/lake/parquet/internal/format": {},

		"backend/backendtest": {"internal/typelist", ".", "backend", "backend/memory", "filter", "internal/child", "internal/codec", "internal/effort", "internal/flock", "internal/spool", "pgregory.net/rapid", "go.uber.org/goleak",
			"github.com/anishathalye/porcupine"},
		"internal/bitemporal":       {".", "internal/codec"},
		"store":                     {"internal/own", "internal/computed", "store/internal/factread", "store/internal/factstream", "store/internal/fold", "store/internal/foldkeep", "internal/bitemporal", "store/internal/queue", "internal/emission", "store/internal/catalog", "internal/typelist", "internal/suggest", "internal/refusal", ".", "backend", "filter", "store/internal/lineage", "store/internal/shape", "internal/backoff", "internal/codec", "internal/decide", "internal/exec", "internal/lease", "internal/jq", "internal/spool", "internal/words"},
		"store/deploytest":          {},
		"store/facttest":            {".", "backend", "store", "store/records", "internal/effort"},
		"store/internal/queue":      {"."},
		"store/internal/factread":   {".", "backend", "internal/bitemporal"},
		"store/internal/factstream": {".", "backend", "store/internal/catalog", "store/internal/shape"},
		"store/internal/fold":       {".", "backend", "store/internal/shape", "internal/codec", "internal/jq"},
		"store/internal/foldkeep": {".", "backend", "store/internal/catalog", "store/internal/fold", "store/internal/queue", "store/internal/shape",
			"internal/backoff", "internal/codec", "internal/refusal", "internal/spool"},
		"store/internal/catalog": {"internal/own", "internal/computed", "store/internal/fold", "internal/uuid", "store/internal/shape", "store/internal/lineage", "internal/typelist", "internal/suggest", "internal/codec", "backend", "."},
		"store/internal/lineage": {"internal/computed", ".", "backend", "store/internal/shape", "internal/codec", "internal/jq"},
		"store/internal/shape":   {"internal/computed", "internal/suggest", "internal/refusal", "internal/gostruct", ".", "backend", "internal/codec"},
		"store/records":          {"internal/computed", "internal/suggest", ".", "store", "internal/codec"},
		"store/schemafile":       {"internal/suggest", ".", "internal/codec", "go.yaml.in/yaml/v3"},
		"bus":                    {"internal/mailbox", ".", "backend", "store", "internal/backoff", "internal/codec", "internal/cron", "internal/emission", "internal/refusal", "internal/suggest", "internal/uuid"},
		"object":                 {".", "backend", "filter", "internal/exec", "internal/gostruct", "internal/own", "internal/parallel", "store", "go.yaml.in/yaml/v3"},
		"upkeep":                 {".", "backend", "internal/audit"},
		"archive":                {".", "backend", "internal/codec", "internal/typelist"},
		// Only care knows every backend: place is given what opens lakes, which is linked with DuckDB.
		"internal/place":    {"internal/typelist", "internal/suggest", ".", "backend", "backend/sqlite", "backend/lake/bucket", "backend/lake/bucket/file", "backend/lake/bucket/probe", "backend/lake/bucket/s3", "backend/lake/protocol", "internal/shell", "go.yaml.in/yaml/v3"},
		"internal/document": {"object", ".", "archive", "backend", "store", "store/records", "upkeep", "internal/codec"},
		"internal/terminal": {".", "backend", "store", "internal/codec", "internal/document", "golang.org/x/term"},
		"cmd/onto": {".", "bus", "store", "cmd/onto/internal/session", "cmd/onto/internal/ask", "cmd/onto/internal/change", "cmd/onto/internal/events", "cmd/onto/internal/work", "cmd/onto/internal/transfer", "cmd/onto/internal/evolve", "cmd/onto/internal/care",
			"internal/place", "internal/shell", "internal/terminal", "github.com/spf13/cobra", "github.com/spf13/pflag"},
		"cmd/onto/internal/session":  {"object", "internal/emission", "internal/suggest", ".", "backend", "filter", "store", "store/schemafile", "internal/document", "internal/place", "internal/terminal", "github.com/spf13/cobra", "github.com/spf13/pflag"},
		"cmd/onto/internal/ask":      {"object", "internal/suggest", "internal/typelist", ".", "backend", "filter", "store", "store/schemafile", "cmd/onto/internal/session", "internal/document", "internal/place", "internal/terminal", "github.com/spf13/cobra"},
		"cmd/onto/internal/change":   {"internal/uuid", ".", "store", "cmd/onto/internal/session", "internal/codec", "internal/document", "internal/place", "internal/terminal", "github.com/spf13/cobra"},
		"cmd/onto/internal/transfer": {"object", "internal/computed", "internal/suggest", ".", "archive", "backend", "backend/memory", "backend/sqlite/source", "backend/lake/parquet", "store", "store/records", "cmd/onto/internal/session", "internal/document", "internal/place", "internal/terminal", "github.com/spf13/cobra"},
		"cmd/onto/internal/events":   {"internal/suggest", ".", "backend", "bus", "store", "cmd/onto/internal/session", "internal/document", "internal/place", "internal/terminal", "github.com/spf13/cobra"},
		"cmd/onto/internal/work":     {"backend/sqlite/source", "internal/dedupe", "internal/suggest", ".", "backend", "store", "store/records", "work", "cmd/onto/internal/session", "internal/document", "internal/place", "internal/terminal", "github.com/spf13/cobra", "golang.org/x/net"},
		"cmd/onto/internal/evolve":   {"object", ".", "backend", "store", "store/schemafile", "cmd/onto/internal/session", "internal/document", "internal/place", "internal/terminal", "github.com/spf13/cobra"},
		"cmd/onto/internal/care": {"object", "internal/audit", "internal/suggest", "internal/refusal", ".", "archive", "backend", "backend/sqlite", "backend/lake", "backend/lake/bucket", "backend/lake/bucket/probe", "store", "upkeep", "cmd/onto/internal/session", "internal/document", "internal/place", "internal/terminal",
			"github.com/spf13/cobra"},
		"work":  {"internal/mailbox", ".", "backend", "store", "internal/attempts", "internal/codec", "internal/dedupe", "internal/fetch", "internal/links", "internal/robots", "internal/uuid", "internal/workcsv", "golang.org/x/net"},
		"bench": {".", "archive", "bus", "backend", "backend/lake", "backend/lake/bucket", "backend/lake/bucket/file", "backend/lake/bucket/memory", "backend/lake/duck", "backend/lake/parquet", "backend/sqlite", "filter", "object", "store", "store/records", "internal/codec", "github.com/mattn/go-sqlite3"},
	}
}

// source is one Go file of the module.
type source struct {
	path   string // from the module's root
	folder string
	lines  int
	test   bool
	ast    *ast.File
}

// sources are all Go files of the module.
func sources(t *testing.T) []source {
	t.Helper()
	list, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) == 0 {
		t.Fatal("no source files found")
	}
	return list
}

// parsed reads the module once for all tests.
var parsed = sync.OnceValues(func() ([]source, error) {
	root := os.DirFS(filepath.Join("..", ".."))
	var list []source
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); name != "." && (strings.HasPrefix(base, ".") || base == "testdata" || otherModule(root, name)) {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		list = append(list, source{name, path.Dir(name), bytes.Count(text, []byte("\n")), strings.HasSuffix(name, "_test.go"), file})
		return nil
	})
	return list, err
})

// otherModule reports whether a directory has a module of its own, as the tools have. Its
// dependencies are not those of this one.
func otherModule(root fs.FS, dir string) bool {
	_, err := fs.Stat(root, path.Join(dir, "go.mod"))
	return err == nil
}

func TestImports(t *testing.T) {
	table := may()
	for _, s := range sources(t) {
		allowed, known := table[s.folder]
		if !known {
			if !strings.HasPrefix(s.folder, "examples/") {
				t.Errorf("%s: package %s is not in the import table", s.path, s.folder)
			}
			continue
		}
		if s.test {
			continue
		}
		for _, spec := range s.ast.Imports {
			name := strings.Trim(spec.Path.Value, `"`)
			if !importAllowed(name, allowed) {
				t.Errorf("%s: %s may not import %s", s.path, s.folder, name)
			}
		}
	}
}

func importAllowed(name string, allowed []string) bool {
	if name == module {
		return slices.Contains(allowed, ".")
	}
	if folder, ours := strings.CutPrefix(name, module+"/"); ours {
		return slices.Contains(allowed, folder)
	}
	first, _, _ := strings.Cut(name, "/")
	if !strings.Contains(first, ".") {
		return name != "C" // the standard library
	}
	return slices.ContainsFunc(allowed, func(a string) bool { return name == a || strings.HasPrefix(name, a+"/") })
}

func TestFileLength(t *testing.T) {
	for _, s := range sources(t) {
		if s.lines >= maxLines {
			t.Errorf("%s has %d lines, the limit is %d: split it by topic", s.path, s.lines, maxLines)
		}
	}
}

func TestPackageComments(t *testing.T) {
	comments := map[string][]string{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		files := comments[s.folder]
		if s.ast.Doc != nil {
			files = append(files, s.path)
		}
		comments[s.folder] = files
	}
	for folder, files := range comments {
		if len(files) != 1 {
			t.Errorf("package %s has %d package comments, want 1: %v", folder, len(files), files)
		}
	}
}

func TestPackageNames(t *testing.T) {
	empty := []string{"util", "utils", "common", "helper", "helpers", "base", "misc", "shared", "lib"}
	for _, s := range sources(t) {
		if slices.Contains(empty, strings.TrimSuffix(s.ast.Name.Name, "_test")) {
			t.Errorf("%s: package name %s says nothing about what the package gives", s.path, s.ast.Name.Name)
		}
		if base := strings.TrimSuffix(path.Base(s.path), ".go"); slices.Contains(empty, strings.TrimSuffix(base, "_test")) {
			t.Errorf("%s: the file's name says nothing about what is in it", s.path)
		}
	}
}

// TestLinks follows the relative links of the documents.
func TestLinks(t *testing.T) {
	root := os.DirFS(filepath.Join("..", ".."))
	code := regexp.MustCompile("(?s)```.*?```|`[^`\n]*`") // type parameters look like links
	link := regexp.MustCompile(`\]\(([^)#:," ]+)(#[^)]*)?\)`)
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".md" {
			return err
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(string(text), ""), -1) {
			if _, err := fs.Stat(root, path.Join(path.Dir(name), m[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", name, m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestNoInit(t *testing.T) {
	for _, s := range sources(t) {
		for _, d := range s.ast.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s: has an init function", s.path)
			}
		}
	}
}

// TestCapabilities keeps what only some backends can do in package backend: nothing
// asks a backend for an interface of its own.
func TestCapabilities(t *testing.T) {
	asked := 0
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			as, ok := n.(*ast.IndexExpr)
			if !ok || !selects(as.X, "As") {
				return true
			}
			asked++
			if name, ok := as.Index.(*ast.Ident); ok && name.Name == "T" || selects(as.Index, "") {
				return true // the parameter of a generic function, or an interface of backend
			}
			t.Errorf("%s asks a backend for an interface that package backend does not declare", s.path)
			return true
		})
	}
	if asked == 0 {
		t.Error("no call of backend.As was found")
	}
}

// selects reports whether an expression is a name of package backend; "" for any.
func selects(e ast.Expr, name string) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok || name != "" && sel.Sel.Name != name {
		return false
	}
	from, ok := sel.X.(*ast.Ident)
	return ok && from.Name == "backend"
}

// TestOneDriverPackage keeps the SQLite driver behind one package, so that another
// driver is one package too.
func TestOneDriverPackage(t *testing.T) {
	const one = "backend/sqlite/internal/driver"
	for _, s := range sources(t) {
		if !strings.HasPrefix(s.folder, "backend/sqlite") || s.test || s.folder == one {
			continue
		}
		for _, spec := range s.ast.Imports {
			if strings.Contains(spec.Path.Value, "go-sqlite3") {
				t.Errorf("%s imports the driver; only %s may", s.path, one)
			}
		}
	}
}
