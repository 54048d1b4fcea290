package sqlite_test

import (
	"context"
	"iter"
	"path/filepath"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/sqlite"
)

func TestContract(t *testing.T) { backendtest.Run(t, contractTarget()) }

// contractTarget is SQLite as the contract of backends tests it.
func contractTarget() backendtest.Target {
	return backendtest.Target{
		Open: func(t testing.TB, p *backendtest.Place) backend.Backend {
			b, err := sqlite.Open(t.Context(), filepath.Join(p.Dir, "store.db"), &sqlite.Options{Now: p.Now, LockTimeout: p.LockTimeout, Target: p.Target})
			if err != nil {
				t.Fatal(err)
			}
			b.ReadLogsInParts(50)
			return alone{b}
		},
		Points: sqlite.Points(),
		Fault: func(_ testing.TB, b backend.Backend, point string, err error) {
			b.(alone).FailAt(point, err)
		},
	}
}

// alone is a store that no other program uses: what looks like the work of one is a bug.
type alone struct{ *sqlite.Backend }

// Check is that of the store, with such findings as errors.
func (b alone) Check(ctx context.Context) iter.Seq2[onto.Finding, error] {
	return func(yield func(onto.Finding, error) bool) {
		for f, err := range b.Backend.Check(ctx) {
			if f.Code == "queues_behind" || f.Code == "claims_orphaned" || f.Code == "projection_behind" ||
				f.Code == "attempts_missing" || f.Code == "attempts_orphaned" {
				f.Severity = onto.SeverityError
			}
			if !yield(f, err) {
				return
			}
		}
	}
}
