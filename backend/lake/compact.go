package lake

import (
	"context"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/compact"
)

// DefaultFileBytes is how large a file may become when others are merged into it.
const DefaultFileBytes = 256 << 20

// PlanCompaction implements [backend.Compactor].
func (b *Backend) PlanCompaction(ctx context.Context, o *backend.CompactionOptions) (*backend.CompactionPlan, error) {
	return b.compactor().Plan(ctx, o)
}

// Compact implements [backend.Compactor]. Writers and readers go on meanwhile.
func (b *Backend) Compact(ctx context.Context, plan *backend.CompactionPlan, progress func(done, total int64)) (merged int, err error) {
	return b.compactor().Run(ctx, plan, progress)
}

// CompactEvery compacts what is due, again and again until the context ends, for
// programs that run for long. Failed, if not nil, is called with each error; the next
// run tries again.
func (b *Backend) CompactEvery(ctx context.Context, interval time.Duration, failed func(error)) {
	b.compactor().Every(ctx, interval, failed)
}

func (b *Backend) compactor() *compact.Compactor {
	return &compact.Compactor{
		Log: b.publisher, Files: b.files, FileBytes: b.opts.FileBytes, Newest: b.newestShelf,
		Merged: func(ctx context.Context, t onto.TypeName) {
			if s, err := b.newestShelf(ctx); err == nil {
				b.derive(ctx, s, []onto.TypeName{t}, false)
			}
		},
	}
}
