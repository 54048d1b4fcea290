package lease

import "time"

// A Wait bounds how long a write waits for a lease that others hold: for Each of them,
// and for all of them in Total. A holder that follows another has not kept the write
// waiting yet.
type Wait struct {
	Each, Total time.Duration

	epoch      int64 // of the holder that is waited for
	until, end time.Time
}

// Patiently returns the wait of a write with a lock timeout: that time for each holder,
// and ten times that in any case.
func Patiently(timeout time.Duration) *Wait { return &Wait{Each: timeout, Total: 10 * timeout} }

// Left returns how much longer to wait for the holder with an epoch.
func (w *Wait) Left(epoch int64) time.Duration {
	now := time.Now()
	if w.end.IsZero() {
		w.end = now.Add(w.Total)
	}
	if w.until.IsZero() || epoch != w.epoch {
		w.epoch, w.until = epoch, now.Add(w.Each)
	}
	return min(w.until.Sub(now), w.end.Sub(now))
}
