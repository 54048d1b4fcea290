package sqlite_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
)

// The transaction of a migration holds SQLite's lock for longer than its lease lasts. Writers
// of this process and of others wait for it all the same, and those that give up say for
// whom they have waited, and how far it is.
func TestTransactionOfAMigrationIsAwaited(t *testing.T) {
	clock := newHandClock()
	path := filepath.Join(t.TempDir(), "store.db")
	makeThings(t, path)
	opened := func(wait time.Duration) *sqlite.Backend {
		return open(t, path, &sqlite.Options{LockTimeout: 20 * time.Millisecond, MigrationWait: wait, Now: clock.now})
	}
	mover, patient, hasty := opened(time.Minute), opened(time.Minute), opened(50*time.Millisecond)
	l, err := mover.Acquire(t.Context(), &backend.LeaseRequest{
		Name: onto.WriteLease, Owner: "mover", TTL: 30 * time.Second, Purpose: onto.MigrationLease, Note: "writing 1,200,000",
	})
	if err != nil {
		t.Fatal(err)
	}

	begun, end, done := make(chan bool), make(chan bool), make(chan error)
	write := thingDraft("moved", 1).Writes[0]
	go func() {
		_, err := mover.AppendStream(t.Context(), &backend.Draft{Lease: &l}, func(yield func(backend.Write, error) bool) {
			if yield(write, nil) {
				close(begun)
				<-end
			}
		})
		done <- err
	}()
	<-begun
	clock.move(31 * time.Second) // the lease has expired, and cannot be renewed or taken over
	waiting := map[string]*sqlite.Backend{"in this process": mover, "in another process": patient, "in the same handle as one before": patient}
	for name, b := range waiting {
		go func() {
			_, err := b.Append(t.Context(), thingDraft(name, 1))
			done <- err
		}()
	}
	for _, key := range []string{"h1", "h2"} { // meanwhile the others wait for longer than the lock timeout
		_, err := hasty.Append(t.Context(), thingDraft(key, 1))
		if !errors.Is(err, onto.LockContention) || !strings.HasSuffix(err.Error(), "migration, writing 1,200,000") || !strings.Contains(err.Error(), "mover") {
			t.Errorf("got %v, want who is waited for, and how far it is", err)
		}
	}
	close(end)
	for range len(waiting) + 1 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	wantHead(t, patient, int64(len(waiting)+1))

	// What a killed migration leaves behind delays nobody for long.
	clock.move(time.Hour)
	if _, err := hasty.Append(t.Context(), thingDraft("later", 1)); err != nil {
		t.Error(err)
	}
}
