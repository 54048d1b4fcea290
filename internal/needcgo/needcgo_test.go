package needcgo_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// goTool runs the go command with or without cgo.
func goTool(t *testing.T, cgo string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

const module = "github.com/ontologia/onto"

// Without cgo a build says in one sentence what it needs.
func TestBuildWithoutCgo(t *testing.T) {
	out, err := goTool(t, "0", "build", module+"/internal/needcgo")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err == nil || len(lines) != 2 || !strings.Contains(lines[1], "build with CGO_ENABLED=1 and a C compiler") {
		t.Errorf("got %v and this, want one sentence:\n%s", err, out)
	}
	// The programs get as far as this package, which the others with C wait for.
	for _, program := range []string{"/cmd/onto", "/examples/crm"} {
		out, err := goTool(t, "0", "list", "-deps", module+program)
		if err != nil || !slices.Contains(strings.Fields(out), module+"/internal/needcgo") {
			t.Errorf("%s does not get as far as internal/needcgo: %v\n%s", program, err, out)
		}
	}
}

// Every package that imports one with C imports this one as well, or another that does.
func TestPackagesWithC(t *testing.T) {
	out, err := goTool(t, "1", "list", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", module+"/backend/...", module+"/store/...", module+"/cmd/...", module+"/internal/...")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	found := 0
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		withC := slices.ContainsFunc(fields[1:], func(i string) bool {
			return strings.HasPrefix(i, "github.com/mattn/go-sqlite3") || strings.HasPrefix(i, "github.com/duckdb/")
		})
		if !withC || strings.HasSuffix(fields[0], "test") {
			continue
		}
		found++
		if !slices.Contains(fields, module+"/internal/needcgo") {
			t.Errorf("%s has C below it, and does not import internal/needcgo", fields[0])
		}
	}
	if found != 2 {
		t.Errorf("got %d packages with C below them, want 2", found)
	}
}
