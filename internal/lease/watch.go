package lease

import (
	"sync"
	"time"

	"github.com/ontologia/onto"
)

// maxWatched is how many leases a Watch remembers at once.
const maxWatched = 10_000

// Watch judges the expiry of leases that are stored without a shared clock. It
// remembers since when it has seen each one unchanged. Beyond some thousands it begins anew. The
// zero value has seen none.
type Watch struct {
	mu   sync.Mutex // guards seen
	seen map[string]sighting
}

// sighting is a lease as it was last seen.
type sighting struct {
	id    string
	since time.Time // by the monotonic clock of this process
	epoch int64     // the largest that was seen
}

// See notes the stored lease under a key. Its id changes with each write. See reports
// false for a stale copy: its epoch is smaller than one that was seen, or than least.
// Epoch 0 is of a lease that is not stored.
func (w *Watch) See(key, id string, epoch, least int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, known := w.seen[key]
	if epoch != 0 && epoch < max(s.epoch, least) {
		return false
	}
	if !known || s.id != id {
		s.id, s.since = id, time.Now()
	}
	s.epoch = max(s.epoch, epoch)
	if w.seen == nil || !known && len(w.seen) >= maxWatched {
		w.seen = map[string]sighting{}
	}
	w.seen[key] = s
	return true
}

// Forget forgets the lease under a key.
func (w *Watch) Forget(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.seen, key)
}

// Epoch returns the largest epoch that was seen under a key.
func (w *Watch) Epoch(key string) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen[key].epoch
}

// Expired reports whether a lease has expired: its time is over by the clock, or it was
// seen unchanged for as long as it lasts. The second works also if the clock of its
// holder is ahead.
func (w *Watch) Expired(key, id string, l *onto.Lease, ttl time.Duration, now time.Time) bool {
	if l.Expired(now) {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.seen[key]
	return ttl > 0 && s.id == id && time.Since(s.since) >= ttl
}
