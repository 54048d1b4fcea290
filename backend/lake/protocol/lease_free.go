package protocol

import (
	"maps"
	"sync"
)

// freeLeases remembers leases that were found free.
type freeLeases struct {
	mu       sync.Mutex       // guards sequence
	sequence map[string]int64 // by name: of the head after which it was found free
}

// note notes that a lease was found free after a head was read.
func (f *freeLeases) note(name string, sequence int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sequence == nil {
		f.sequence = map[string]int64{}
	}
	f.sequence[name] = sequence
}

// forget drops from the next head the leases that were found free since the head
// before it was read, so that their locks need not be read any more.
func (f *freeLeases) forget(t *Tip, next *Head) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, sequence := range f.sequence {
		if epoch, ok := next.Locks[name]; ok && sequence == t.Head.Sequence && epoch == t.Head.Locks[name] {
			next.Locks = maps.Clone(next.Locks)
			delete(next.Locks, name)
		}
	}
}
