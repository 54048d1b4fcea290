package store

import (
	"context"
	"sync"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// keepWithin is how long Close may take to keep a checksum.
const keepWithin = 5 * time.Second

// recheck compares a store with the checksum that an earlier run has kept.
type recheck struct {
	once  sync.Once
	end   context.CancelFunc
	done  chan struct{} // closed when it has ended; nil if it has not begun
	clean bool          // it has compared all, and found nothing
}

// Recheck compares the store in the background with the checksum that was kept when it was
// last known to be good, and calls found for each difference. Close keeps the checksum anew if
// there was none, which takes as long as reading everything that is there, and at most a few
// seconds. Only the first call for a store does anything, and only if the backend is a
// [backend.Checksummer]. Programs that run for long call it when they begin; the loops of
// packages bus and work do.
func (s *Store) Recheck(found func(onto.Finding)) {
	k, ok := backend.As[backend.Checksummer](s.b)
	if !ok {
		return
	}
	r := &s.recheck
	r.once.Do(func() {
		ctx, end := context.WithCancel(context.Background())
		done := make(chan struct{})
		r.end, r.done = end, done
		go func() {
			defer close(done)
			clean := true
			for f, err := range k.CompareChecksum(ctx) {
				clean = false
				if err != nil {
					return // who needs what cannot be read is told so
				}
				found(f)
			}
			r.clean = clean
		}()
	})
}

// conclude ends the comparison, and keeps a new checksum if it has found nothing.
func (s *Store) conclude() {
	r := &s.recheck
	r.once.Do(func() {}) // it does not begin any more
	if r.done == nil {
		return
	}
	select {
	case <-r.done:
	default: // it is not known whether the store is good
		r.end()
		<-r.done
		return
	}
	r.end()
	k, ok := backend.As[backend.Checksummer](s.b)
	if !ok || !r.clean {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), keepWithin)
	defer cancel()
	sum, commit, err := k.Checksum(ctx)
	if err != nil {
		return
	}
	if head, err := s.Head(ctx); err == nil && (sum == "" || commit != head.ID) {
		_ = k.KeepChecksum(ctx) // the one before stays right
	}
}
