package store_test

import (
	"path/filepath"
	"testing"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/store/facttest"
)

// What a store says of facts is what a list of rows says, at any point of both axes.
func TestFactsAreThoseOfTheModel(t *testing.T) {
	size := facttest.Size{Histories: 6, Facts: 40, Points: 10, Seed: 1}
	if backendtest.Soak() {
		size.Histories, size.Points = 500, 200
	}
	t.Run("memory", func(t *testing.T) {
		facttest.Run(t, size, func(*testing.T) backend.Backend { return memory.New(nil).Open() })
	})
	t.Run("sqlite", func(t *testing.T) {
		size.Seed += uint64(size.Histories)
		facttest.Run(t, size, func(t *testing.T) backend.Backend {
			b, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "facts.db"), nil)
			if err != nil {
				t.Fatal(err)
			}
			return b
		})
	})
}
