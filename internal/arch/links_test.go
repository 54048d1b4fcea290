package arch

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// heavyModules is what only programs with a lake or a shared database should link.
func heavyModules() []string {
	return []string{"github.com/duckdb", "github.com/apache/arrow-go", "github.com/aws", "github.com/jackc/pgx"}
}

// TestLinkedModules follows imports to their ends, other modules' too: programs that
// use the root, the core or the embedded default do not link DuckDB, the AWS SDK or pgx,
// and none links Arrow: it takes a minute to build.
func TestLinkedModules(t *testing.T) {
	for _, folder := range []string{
		"", "/filter", "/store", "/store/records", "/store/schemafile", "/upkeep",
		"/backend", "/backend/memory", "/backend/sqlite", "/backend/lake/bucket/file", "/backend/lake/derived",
	} {
		if found := linked(t, module+folder); len(found) > 0 {
			t.Errorf("%s links %s", module+folder, found)
		}
	}
	if found := linked(t, "-test", module+"/backend/lake/protocol"); len(found) > 0 {
		t.Errorf("the tests of the lake's protocol link %s: they would not build in seconds", found)
	}
	lake := []string{"github.com/duckdb"}
	if found := linked(t, module+"/backend/lake"); !slices.Equal(found, lake) {
		t.Errorf("a lake links %s of these modules, want %s", found, lake)
	}
}

// linked lists the heavy modules that a package needs, directly or not; with the flag
// -test before it, those that its tests need.
func linked(t *testing.T, args ...string) []string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-deps"}, args...)...)
	var problem strings.Builder
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list -deps %s: %v: %s", args, err, &problem)
	}
	var found []string
	for _, m := range heavyModules() {
		if strings.Contains("\n"+string(out), "\n"+m+"/") {
			found = append(found, m)
		}
	}
	return found
}
