package filtertest_test

import (
	"path/filepath"
	"testing"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/filter/filtertest"
	"github.com/ontologia/onto/internal/effort"
)

func openMemory(testing.TB, string) backend.Backend { return memory.New(nil).Open() }

func openSQLite(t testing.TB, dir string) backend.Backend {
	t.Helper()
	b, err := sqlite.Open(t.Context(), filepath.Join(dir, "store.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestMemory(t *testing.T) {
	t.Parallel()
	filtertest.Run(t, openMemory)
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	filtertest.Run(t, openSQLite)
}

func TestAgree(t *testing.T) {
	t.Parallel()
	filtertest.Agree(t, questions(t), openMemory, openSQLite)
}

// questions is how many random questions a test asks.
func questions(t *testing.T) int {
	t.Helper()
	if effort.Thorough(t) {
		return effort.Count(t, 20_000)
	}
	return 1_000
}
