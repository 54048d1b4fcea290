package parquet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/parquet"
)

// Files of every kind, with many row groups and pages, odd values, long ones, and every type
// of a table are left for readers of other makers in the directory that the environment
// variable TEST_KEEP_LAKES names; see tools/arrowread.
func TestFilesForOthers(t *testing.T) {
	dir := os.Getenv("TEST_KEEP_LAKES")
	if dir == "" {
		dir = t.TempDir()
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	eachKind(t, func(t *testing.T, kind onto.Kind) {
		table := parquet.NewTable(&onto.Schema{Kind: kind, Name: "Person", Fields: []onto.Field{
			{Name: "name", Type: onto.String}, {Name: "age", Type: onto.Int}, {Name: "score", Type: onto.Float}, {Name: "alive", Type: onto.Bool},
			{Name: "born", Type: onto.Time}, {Name: "wed", Type: onto.DateOnly}, {Name: "tags", Type: onto.List}, {Name: "more", Type: onto.Object}, {Name: "unknown", Type: onto.Any},
		}})
		for name, c := range map[string]struct {
			layout   *parquet.Layout
			versions []onto.Version
		}{
			"empty":  {people(kind), nil},
			"one":    {people(kind), many(1, kind)[:1]},
			"groups": {people(kind), many(20_000, kind)},
			"odd":    {people(kind), odd(kind)},
			"long":   {people(kind), long(kind)},
			"table":  {table, append(odd(kind), timed(kind)...)},
		} {
			data, _ := encode(t, c.layout, c.versions)
			got, err := all(open(t, c.layout, data))
			if err != nil {
				t.Fatal(err)
			}
			sameVersions(t, got, c.versions)
			file := filepath.Join(dir, fmt.Sprintf("codec-%s-%s.parquet", kind, name))
			if err := os.WriteFile(file, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// odd is versions with any values, the same each time.
func odd(kind onto.Kind) []onto.Version {
	var list []onto.Version
	for i := range 1000 {
		list = append(list, version(kind, 50).Example(i))
	}
	return list
}

// long is versions with values that are longer than bounds and pages are.
func long(kind onto.Kind) []onto.Version {
	list := many(200, kind)
	for i := range list {
		if v := &list[i]; v.Op == onto.Put && i%3 == 0 {
			v.Fields = fmt.Appendf(nil, `{"name":"%s"}`, strings.Repeat("é", i*100))
		}
	}
	return list
}

// timed is versions with times, before 1970 and after.
func timed(kind onto.Kind) []onto.Version {
	list := many(200, kind)
	for i := range list {
		if v := &list[i]; v.Op == onto.Put {
			v.Fields = fmt.Appendf(nil, `{"alive":%[1]t,"born":"%[2]d-01-02T03:04:05.123456Z","wed":"%[2]d-03-04"}`, i%2 == 0, 1900+i)
		}
	}
	return list
}
