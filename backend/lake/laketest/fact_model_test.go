package laketest

import (
	"testing"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/store/facttest"
)

// What a lake says of facts is what a list of rows says, at any point of both axes: from
// files as commits leave them, from compacted ones, and by DuckDB alone.
func TestFactsAreThoseOfTheModel(t *testing.T) {
	opened := func(inProcess int64) func(t *testing.T) backend.Backend {
		return func(t *testing.T) backend.Backend { return openTrusted(t, memory.New(nil), inProcess) }
	}
	for _, c := range []struct {
		name string
		open func(t *testing.T) backend.Backend
		full int // how many histories there are
		size facttest.Size
	}{
		{"as committed", opened(0), 30, facttest.Size{Facts: 40, Points: 10, Seed: 10_001}},
		{"compacted", func(t *testing.T) backend.Backend {
			return &compacting{Backend: opened(0)(t).(*lake.Backend)}
		}, 20, facttest.Size{Facts: 40, Points: 10, Seed: 20_001}},
		{"on files, with either engine", func(t *testing.T) backend.Backend {
			dir := t.TempDir()
			return &divided{Backend: openFiles(t, dir, 0), duckdb: openFiles(t, dir, -1), every: 101}
		}, 10, facttest.Size{Facts: 40, Points: 10, Seed: 100_000, Few: true}},
		{"with DuckDB", opened(-1), 10, facttest.Size{Facts: 40, Points: 4, Seed: 30_001}},
	} {
		t.Run(c.name, func(t *testing.T) {
			facttest.Run(t, sized(t, c.full, c.size), c.open)
		})
	}
}

// sized is a size with so many histories in all, asked at more points than in a plain run.
func sized(t *testing.T, full int, size facttest.Size) facttest.Size {
	t.Helper()
	for seed := range effort.Seeds(t, full) {
		if size.Histories == 0 {
			size.Seed += seed
		}
		size.Histories++
	}
	if effort.Thorough(t) {
		size.Points *= 5
	}
	return size
}

// Neither migrations nor imports change what the facts of a lake say.
func TestMovedFactsAreThoseOfTheModel(t *testing.T) {
	size := sized(t, 10, facttest.Size{Facts: 40, Points: 6, Seed: 40_001})
	open := func(t *testing.T) backend.Backend { return openTrusted(t, memory.New(nil), 0) }
	t.Run("migrated", func(t *testing.T) { facttest.RunMigrated(t, size, open) })
	t.Run("imported", func(t *testing.T) { facttest.RunImported(t, size, open) })
}

// The rows of tables say the same at every time, in every order and however they are
// divided among files.
func TestRowsInAnyOrderAreThoseOfTheModel(t *testing.T) {
	facttest.RunRows(t, sized(t, 10, facttest.Size{Facts: 8, Points: 2, Seed: 50_001}), func(t *testing.T) backend.Backend {
		return openTrusted(t, memory.New(nil), 0)
	})
}

// A subject that is brought back is what it was, and nothing else has changed.
func TestSubjectsAreBroughtBack(t *testing.T) {
	facttest.RunUndo(t, sized(t, 10, facttest.Size{Facts: 20, Points: 5, Seed: 60_001}), func(t *testing.T) backend.Backend {
		return openTrusted(t, memory.New(nil), 0)
	})
}
