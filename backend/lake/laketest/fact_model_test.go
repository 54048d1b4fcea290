package laketest

import (
	"testing"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
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
		size facttest.Size
		long facttest.Size
	}{
		{"as committed", opened(0), facttest.Size{Histories: 3, Facts: 40, Points: 10, Seed: 10_001}, facttest.Size{Histories: 70, Facts: 40, Points: 200, Seed: 10_001}},
		{"compacted", func(t *testing.T) backend.Backend {
			return &compacting{Backend: opened(0)(t).(*lake.Backend)}
		}, facttest.Size{Histories: 2, Facts: 40, Points: 10, Seed: 20_001}, facttest.Size{Histories: 30, Facts: 40, Points: 200, Seed: 20_001}},
		{"on files, with either engine", func(t *testing.T) backend.Backend {
			dir := t.TempDir()
			return &divided{Backend: openFiles(t, dir, 0), duckdb: openFiles(t, dir, -1), every: 101}
		}, facttest.Size{Histories: 1, Facts: 40, Points: 10, Seed: 100_000, Few: true}, facttest.Size{Histories: 100, Facts: 40, Points: 200, Seed: 100_000, Few: true}},
		{"with DuckDB", opened(-1), facttest.Size{Histories: 1, Facts: 40, Points: 4, Seed: 30_001}, facttest.Size{Histories: 10, Facts: 40, Points: 20, Seed: 30_001}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if backendtest.Soak() {
				c.size = c.long
			}
			facttest.Run(t, c.size, c.open)
		})
	}
}

// Neither migrations nor imports change what the facts of a lake say.
func TestMovedFactsAreThoseOfTheModel(t *testing.T) {
	size := facttest.Size{Histories: 1, Facts: 40, Points: 6, Seed: 40_001}
	if backendtest.Soak() {
		size.Histories, size.Points = 10, 100
	}
	open := func(t *testing.T) backend.Backend { return openTrusted(t, memory.New(nil), 0) }
	t.Run("migrated", func(t *testing.T) { facttest.RunMigrated(t, size, open) })
	t.Run("imported", func(t *testing.T) { facttest.RunImported(t, size, open) })
}
