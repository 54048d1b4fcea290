package lease

import (
	"time"

	"github.com/ontologia/onto"
)

// DefaultMigrationWait is how long a write waits for a migration.
const DefaultMigrationWait = time.Minute

// A Wait bounds how long a write waits for a lease that others hold: for Each of them,
// and for all of them in Total; for a migration it is Migration, if that is longer. A
// holder that follows another has not kept the write waiting yet.
type Wait struct {
	Each, Total, Migration time.Duration

	epoch        int64 // of the holder that is waited for
	began, until time.Time
}

// Patiently returns the wait of a write with a lock timeout: that time for each holder,
// and ten times that in any case; and with a time for migrations.
func Patiently(timeout, migration time.Duration) *Wait {
	return &Wait{Each: timeout, Total: 10 * timeout, Migration: migration}
}

// Left returns how much longer to wait for a holder.
func (w *Wait) Left(held *onto.Lease) time.Duration {
	now, each, total := time.Now(), w.Each, w.Total
	if OfMigration(held) {
		each, total = max(each, w.Migration), max(total, w.Migration)
	}
	if w.began.IsZero() {
		w.began = now
	}
	if w.until.IsZero() || held.Epoch != w.epoch {
		w.epoch, w.until = held.Epoch, now.Add(each)
	}
	return min(w.until.Sub(now), w.began.Add(total).Sub(now))
}
