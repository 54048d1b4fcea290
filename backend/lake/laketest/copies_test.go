package laketest

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
	reference "github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/backend/sqlite"
)

// Histories are copied between lakes and other backends, and from lake to lake.
func TestCopies(t *testing.T) {
	for _, pair := range []struct {
		name     string
		from, to backendtest.Target
	}{
		{"from memory", inMemory(), onLakes()},
		{"to memory", onLakes(), inMemory()},
		{"from SQLite", onSQLite(), onLakes()},
		{"to SQLite", onLakes(), onSQLite()},
		{"between lakes", onLakes(), onLakes()},
	} {
		t.Run(pair.name, func(t *testing.T) { backendtest.Copies(t, pair.from, pair.to, 100) })
	}
}

// onLakes is a lake as one side of a copy.
func onLakes() backendtest.Target {
	var buckets sync.Map // from the name of a place to its bucket
	return backendtest.Target{
		Open: func(t testing.TB, p *backendtest.Place) backend.Backend {
			b, _ := buckets.LoadOrStore(p.Name, memory.New(nil))
			return open(t, kept{b.(bucket.Bucket)}, p, 0)
		},
	}
}

// onSQLite is SQLite as one side of a copy.
func onSQLite() backendtest.Target {
	return backendtest.Target{
		Open: func(t testing.TB, p *backendtest.Place) backend.Backend {
			b, err := sqlite.Open(t.Context(), filepath.Join(p.Dir, "store.db"), &sqlite.Options{Now: p.Now, LockTimeout: p.LockTimeout, MigrationWait: p.MigrationWait, Target: p.Target})
			if err != nil {
				t.Fatal(err)
			}
			return b
		},
	}
}

// inMemory is package memory as the other side of a copy.
func inMemory() backendtest.Target {
	var stores sync.Map // from the name of a place to its store
	return backendtest.Target{
		Open: func(_ testing.TB, p *backendtest.Place) backend.Backend {
			s, _ := stores.LoadOrStore(p.Name, reference.New(&reference.Options{Now: p.Now, LockTimeout: p.LockTimeout, MigrationWait: p.MigrationWait}))
			if p.Target {
				return s.(*reference.Store).OpenTarget()
			}
			return s.(*reference.Store).Open()
		},
	}
}
