package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/sqlite"
)

func TestContract(t *testing.T) { backendtest.Run(t, contractTarget()) }

// contractTarget is SQLite as the contract of backends tests it.
func contractTarget() backendtest.Target {
	return backendtest.Target{
		Open: func(t testing.TB, p *backendtest.Place) backend.Backend {
			b, err := sqlite.Open(t.Context(), filepath.Join(p.Dir, "store.db"), &sqlite.Options{Now: p.Now, LockTimeout: p.LockTimeout, MigrationWait: p.MigrationWait, Target: p.Target})
			if err != nil {
				t.Fatal(err)
			}
			b.ReadLogsInParts(50)
			return b
		},
		Points: sqlite.Points(),
		Fault: func(_ testing.TB, b backend.Backend, point string, err error) {
			b.(*sqlite.Backend).FailAt(point, err)
		},
	}
}
