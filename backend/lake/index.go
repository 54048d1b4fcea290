package lake

import (
	"context"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// VerifyIndex implements [backend.Indexer]. All findings are warnings. On a lake that
// is written to, an index that is about to be written is found to lag.
func (b *Backend) VerifyIndex(ctx context.Context) ([]onto.Finding, error) {
	return b.derived.Verify(ctx)
}

// PlanIndexRepair implements [backend.Indexer].
func (b *Backend) PlanIndexRepair(ctx context.Context) (*backend.IndexPlan, error) {
	return b.derived.PlanRepair(ctx)
}

// RepairIndex implements [backend.Indexer]. What is fine is left alone.
func (b *Backend) RepairIndex(ctx context.Context, plan *backend.IndexPlan) (int, error) {
	return b.derived.Repair(ctx, plan)
}

// LastIndexWarning implements [backend.Indexer].
func (b *Backend) LastIndexWarning() string { return b.deriver.Warning() }
