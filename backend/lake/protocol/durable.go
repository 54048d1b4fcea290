package protocol

import (
	"context"
	"sync"
)

// A head that was read may not have been synced yet by the process that wrote it. A
// commit on top of it makes it durable by its own swap. An answer without a swap, to a
// repeated draft or a no-op, is given after a sync. A refusal needs none, since it
// depends on nothing that could be lost; nor does a type that is registered already,
// since only a commit uses it.

// durableHeads remembers up to which head everything is known to be durable.
type durableHeads struct {
	mu       sync.Mutex // guards sequence
	sequence int64
}

func (d *durableHeads) add(h *Head) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sequence = max(d.sequence, h.Sequence)
}

func (d *durableHeads) has(h *Head) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return h.Sequence <= d.sequence
}

// Durable makes sure that a tip survives a power failure. All that its head leads
// to was durable before the head was published.
func (l *Publisher) Durable(ctx context.Context, t *Tip) error {
	if l.kept.has(t.Head) {
		return nil
	}
	if err := l.b.Sync(ctx, HeadKey); err != nil {
		return err
	}
	l.kept.add(t.Head)
	return nil
}

// UnsyncedHint is what to do where something may be undone by a power failure.
const UnsyncedHint = "check the disk and its file system, start the program again, and try again with the same idempotency key"
