package sqlgen_test

import (
	"strings"
	"testing"

	"github.com/ontologia/onto/internal/sqlgen"
)

// A limit that is bound makes SQLite compile the statement each time, so only large ones are.
func TestLimitIsWritten(t *testing.T) {
	for _, test := range []struct {
		skip, take int
		want       string
		bound      int
	}{
		{0, 20, "s LIMIT 20", 0},
		{5, 20, "s LIMIT 20 OFFSET ?", 1},
		{5, 0, "s LIMIT -1 OFFSET ?", 1},
		{0, 1001, "s LIMIT 1001", 0},
		{0, 100_000, "s LIMIT ?", 1},
	} {
		got := sqlgen.SQLite{}.Page(sqlgen.SQL("s"), test.skip, test.take)
		if got.SQL != test.want || len(got.Args) != test.bound || strings.Count(got.SQL, "?") != test.bound {
			t.Errorf("page of %d after %d: got %s with %v, want %s", test.take, test.skip, got.SQL, got.Args, test.want)
		}
	}
}
