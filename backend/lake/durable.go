package lake

import (
	"context"
	"sync"

	"github.com/ontologia/onto"
)

// A head that was read may be one that another process has not synced yet. A
// commit on top of it makes it durable by its own swap. An answer without a swap,
// to a repeated draft or one that changes nothing, is given after a sync. A draft
// that is refused rests on nothing that could be lost; nor does a type that is
// registered already, since only a commit makes use of it.

// durableHeads remembers up to which head all is known to be durable.
type durableHeads struct {
	mu       sync.Mutex // guards sequence
	sequence int64
}

func (d *durableHeads) add(h *head) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sequence = max(d.sequence, h.Sequence)
}

func (d *durableHeads) has(h *head) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return h.Sequence <= d.sequence
}

// durable makes sure that a tip survives a power failure. All that its head leads
// to was durable before the head was published.
func (l *log) durable(ctx context.Context, t *tip) error {
	if l.kept.has(t.head) {
		return nil
	}
	if err := l.b.Sync(ctx, headKey); err != nil {
		return err
	}
	l.kept.add(t.head)
	return nil
}

const unsyncedHint = "check the disk and its file system, start the program again, and try again with the same idempotency key"

// vouch makes durable what a member is told without a commit of its own.
func (m *member) vouch(ctx context.Context, l *log, t *tip) error {
	if m.draft == nil || m.err != nil {
		return nil
	}
	err := l.durable(ctx, t)
	switch {
	case err == nil:
		return nil
	case m.result.Repeated:
		return onto.Errorf(onto.OutcomeUnknown, "commit %d has this idempotency key, and is not known to survive a power failure: %w", m.result.ID, err).
			WithHint("%s", unsyncedHint)
	}
	return onto.Errorf(onto.Unavailable, "nothing changed, but what is stored is not known to survive a power failure: %w", err).
		WithHint("%s", unsyncedHint)
}
