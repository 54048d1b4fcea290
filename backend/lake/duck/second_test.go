package duck_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/duck/ducktest"
	"github.com/ontologia/onto/backend/lake/parquet"
	"github.com/ontologia/onto/internal/effort"
)

// things is a layout with a column of each type.
func things() *parquet.Layout {
	return parquet.NewLayout(onto.KindEntity, "Thing", []onto.SchemaVersion{{Version: 1, Schema: onto.Schema{
		Kind: onto.KindEntity, Name: "Thing", Fields: []onto.Field{
			{Name: "b", Type: onto.Bool}, {Name: "f", Type: onto.Float}, {Name: "i", Type: onto.Int},
			{Name: "s", Type: onto.String}, {Name: "t", Type: onto.Time},
		},
	}}})
}

// DuckDB reads from our files what was written, whatever lies on which page, is repeated or
// is NULL, and finds it by the statistics of row groups.
func TestSecondReader(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	effort.Check(t, 200, func(t *rapid.T) {
		rows := rapid.SampledFrom([]int{1, 7, 8, 9, 64, 100, 1000, 1000, 17_000}).Draw(t, "rows")
		distinct := rapid.SampledFrom([]int{1, 2, 3, 200, 100_000}).Draw(t, "distinct")
		nulls := rapid.SampledFrom([]int{1, 2, 9, 1 << 30}).Draw(t, "one NULL in")
		var versions []onto.Version
		var want [][]string
		for i := range rows {
			n := i * 7919 % distinct
			fields, columns := `{}`, []string{"NULL", "NULL", "NULL", "NULL", "NULL"}
			if i%nulls != 0 {
				fields = fmt.Sprintf(`{"b":%t,"f":%d.5,"i":%d,"s":"text %d","t":"2026-01-%02d"}`, n%2 == 0, n, n-5, n, n%28+1)
				columns = []string{fmt.Sprint(n%2 == 0), fmt.Sprintf("%d.5", n), fmt.Sprint(n - 5), fmt.Sprint("text ", n), fmt.Sprintf("2026-01-%02d", n%28+1)}
			}
			v := onto.Version{Identity: onto.EntityID("Thing", fmt.Sprintf("k%06d", i)), Op: onto.Put, Commit: int64(i%50 + 1), SchemaVersion: i%3 + 1, Fields: []byte(fields)}
			if i%10 == 9 {
				v.Op = onto.Delete
			}
			versions = append(versions, v)
			want = append(want, append([]string{fmt.Sprint(v.Commit), "Thing", v.Key, fmt.Sprint(v.SchemaVersion), string(v.Op), fields}, columns...))
		}
		data, _, err := parquet.Encode(things(), versions)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "things.parquet")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ducktest.Rows(`SELECT COLUMNS(*)::VARCHAR FROM read_parquet('` + path + `')`)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) {
			t.Fatalf("got %d rows, want %d", len(got), len(want))
		}
		for i := range got {
			if fmt.Sprint(got[i]) != fmt.Sprint(want[i]) {
				t.Fatalf("row %d: got %q, want %q", i, got[i], want[i])
			}
		}
		last := rows - 1
		got, err = ducktest.Rows(fmt.Sprintf(`SELECT commit_id::VARCHAR FROM read_parquet('%s') WHERE entity_key = 'k%06d' AND i IS NOT DISTINCT FROM %s`, path, last, want[last][8]))
		if err != nil || len(got) != 1 || got[0][0] != want[last][0] {
			t.Fatalf("by key and field: got %q, %v, want commit %s", got, err, want[last][0])
		}
	})
}
