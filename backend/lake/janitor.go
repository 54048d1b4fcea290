package lake

import (
	"context"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// DefaultGrace is how old an object must be before the janitor takes it for an orphan.
const DefaultGrace = time.Hour

// PlanJanitor finds the objects that can be removed and are older than a grace period,
// 0 for DefaultGrace: orphans of attempts that lost or were killed, files that a
// compaction has replaced, and those of types that were purged. It removes nothing.
func (b *Backend) PlanJanitor(ctx context.Context, grace time.Duration) (*backend.OrphanPlan, error) {
	if err := b.usable(ctx); err != nil {
		return nil, err
	}
	least := b.janitor.LeastGrace()
	if grace <= 0 {
		grace = b.grace()
	}
	if grace < least {
		return nil, onto.Errorf(onto.Invalid, "a grace period of %v is shorter than an attempt can last", grace).
			WithHint("let it be %v or more", least)
	}
	return b.janitor.Plan(ctx, grace)
}

// grace is how old an object must be unless the caller says otherwise.
func (b *Backend) grace() time.Duration { return max(DefaultGrace, b.janitor.LeastGrace()) }

// Sweep removes what a plan names, unless a head leads to it by now. It returns
// how many objects it removed.
func (b *Backend) Sweep(ctx context.Context, plan *backend.OrphanPlan) (int, error) {
	if err := b.usable(ctx); err != nil {
		return 0, err
	}
	return b.janitor.Sweep(ctx, plan)
}
