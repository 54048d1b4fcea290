package facttest_test

import (
	"path/filepath"
	"testing"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/store/facttest"
)

// onFactBackends runs a comparison in memory and on SQLite.
func onFactBackends(t *testing.T, size facttest.Size, run func(*testing.T, facttest.Size, func(*testing.T) backend.Backend)) {
	t.Run("memory", func(t *testing.T) {
		run(t, size, func(*testing.T) backend.Backend { return memory.New(nil).Open() })
	})
	t.Run("sqlite", func(t *testing.T) {
		size.Seed += uint64(size.Histories)
		run(t, size, func(t *testing.T) backend.Backend {
			b, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "facts.db"), nil)
			if err != nil {
				t.Fatal(err)
			}
			return b
		})
	})
}

// sized is a size of so many histories in all, at ten points each, or more in a long run.
func sized(t *testing.T, histories int) facttest.Size {
	t.Helper()
	size := facttest.Size{Histories: effort.Count(t, histories), Facts: 40, Points: 10}
	if effort.Thorough(t) {
		size.Points = 40
	}
	for size.Seed = range effort.Seeds(t, histories) {
		break // the first one
	}
	return size
}

// What a store says of facts is what a list of rows says, at any point of both axes.
func TestFactsAreThoseOfTheModel(t *testing.T) {
	onFactBackends(t, sized(t, 60), facttest.Run)
}

// Neither migrations nor imports change what facts say.
func TestMovedFactsAreThoseOfTheModel(t *testing.T) {
	size := sized(t, 30)
	t.Run("migrated", func(t *testing.T) { onFactBackends(t, size, facttest.RunMigrated) })
	t.Run("imported", func(t *testing.T) { onFactBackends(t, size, facttest.RunImported) })
}

// The rows of tables say the same at every time, in every order and however they are
// divided among files.
func TestRowsInAnyOrderAreThoseOfTheModel(t *testing.T) {
	size := sized(t, 60)
	size.Facts, size.Points = 4, 0
	t.Run("every order", func(t *testing.T) {
		facttest.RunRows(t, size, func(*testing.T) backend.Backend { return memory.New(nil).Open() })
	})
	size = sized(t, 40)
	size.Facts, size.Points = 12, 5
	t.Run("some orders", func(t *testing.T) { onFactBackends(t, size, facttest.RunRows) })
}

// A subject that is brought back is what it was, and nothing else has changed.
func TestSubjectsAreBroughtBack(t *testing.T) {
	size := sized(t, 20)
	size.Facts = 25
	onFactBackends(t, size, facttest.RunUndo)
}
