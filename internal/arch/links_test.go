package arch

import (
	"bytes"
	"encoding/json"
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
	light := []string{
		"", "/filter", "/store", "/store/records", "/store/schemafile", "/upkeep",
		"/backend", "/backend/memory", "/backend/sqlite", "/backend/lake/bucket/file", "/backend/lake/derived",
	}
	paths := []string{module + "/backend/lake"}
	for _, folder := range light {
		paths = append(paths, module+folder)
	}
	found := linked(t, paths...)
	for _, folder := range light {
		if list := found[module+folder]; len(list) > 0 {
			t.Errorf("%s links %s", module+folder, list)
		}
	}
	if list, want := found[module+"/backend/lake"], []string{"github.com/duckdb"}; !slices.Equal(list, want) {
		t.Errorf("a lake links %s of these modules, want %s", list, want)
	}
	protocol := module + "/backend/lake/protocol"
	tests := linked(t, "-test", protocol)
	if list := tests[protocol+".test"]; len(list) > 0 {
		t.Errorf("the tests of the lake's protocol link %s: they would not build in seconds", list)
	}
}

// linked lists the heavy modules that packages need, directly or not, by package; with the
// flag -test before them, also those that their tests need, by the name of the test program.
func linked(t *testing.T, args ...string) map[string][]string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Deps"}, args...)...)
	var problem strings.Builder
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %s: %v: %s", args, err, &problem)
	}
	found := map[string][]string{}
	for list := json.NewDecoder(bytes.NewReader(out)); list.More(); {
		var p struct {
			ImportPath string
			Deps       []string
		}
		if err := list.Decode(&p); err != nil {
			t.Fatal(err)
		}
		if len(p.Deps) == 0 {
			t.Errorf("%s needs no other package: go list has changed", p.ImportPath)
		}
		found[p.ImportPath] = nil
		for _, m := range heavyModules() {
			if slices.ContainsFunc(p.Deps, func(d string) bool { return strings.HasPrefix(d, m+"/") }) {
				found[p.ImportPath] = append(found[p.ImportPath], m)
			}
		}
	}
	for _, a := range args {
		if _, ok := found[a]; !ok && a != "-test" {
			t.Errorf("go list does not tell of %s", a)
		}
	}
	return found
}
