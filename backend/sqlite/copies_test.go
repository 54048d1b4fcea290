package sqlite_test

import (
	"sync"
	"testing"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/memory"
)

// Histories are copied from memory and back.
func TestCopies(t *testing.T) {
	t.Run("from memory", func(t *testing.T) { backendtest.Copies(t, inMemory(), contractTarget(), 100) })
	t.Run("to memory", func(t *testing.T) { backendtest.Copies(t, contractTarget(), inMemory(), 100) })
}

// inMemory is package memory as the other side of a copy.
func inMemory() backendtest.Target {
	var stores sync.Map // from the name of a place to its store
	return backendtest.Target{
		Open: func(_ testing.TB, p *backendtest.Place) backend.Backend {
			s, _ := stores.LoadOrStore(p.Name, memory.New(&memory.Options{Now: p.Now, LockTimeout: p.LockTimeout, MigrationWait: p.MigrationWait}))
			if p.Target {
				return s.(*memory.Store).OpenTarget()
			}
			return s.(*memory.Store).Open()
		},
	}
}
