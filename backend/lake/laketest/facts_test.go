package laketest

import (
	"testing"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/store/facttest"
)

// What a store on a lake says of facts is what a list of rows says, at any point of both
// axes, from either engine. DuckDB answers one question in a hundred.
func TestFactsAreThoseOfTheModel(t *testing.T) {
	size := facttest.Size{Histories: 1, Facts: 40, Points: 10, Seed: 100_000, Few: true}
	if backendtest.Soak() {
		size.Histories, size.Points = 100, 200
	}
	facttest.Run(t, size, func(t *testing.T) backend.Backend {
		dir := t.TempDir()
		return &divided{Backend: openFiles(t, dir, 0), duckdb: openFiles(t, dir, -1), every: 101}
	})
}
