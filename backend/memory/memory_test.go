package memory_test

import (
	"sync"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/memory"
)

func TestContract(t *testing.T) { backendtest.Run(t, target()) }

func TestCopies(t *testing.T) { backendtest.Copies(t, target(), target(), 500) }

// target keeps stores by the names of their places.
func target() backendtest.Target {
	var stores sync.Map // from the name of a place to its *memory.Store
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

func TestNoOptions(t *testing.T) {
	ctx := t.Context()
	b := memory.New(nil).Open()
	note := onto.Schema{Kind: onto.KindEntity, Name: "Note", Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}}}
	if _, err := b.Register(ctx, &backend.Registration{Schemas: []onto.Schema{note}}); err != nil {
		t.Fatal(err)
	}
	before := time.Now().Truncate(time.Microsecond)
	r, err := b.Append(ctx, &backend.Draft{Writes: []backend.Write{{
		Identity: onto.EntityID("Note", "x"), Op: onto.Put, Fields: []byte(`{"id":"x"}`), SchemaVersion: 1,
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if r.ID != 1 || r.Time.Before(before) || r.Time.After(time.Now()) {
		t.Errorf("got commit %d at %v, want commit 1 now", r.ID, r.Time)
	}
	backendtest.Check(t, b)
}
