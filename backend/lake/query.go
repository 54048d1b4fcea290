package lake

import (
	"context"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// DefaultInProcess is how many bytes of files are read without starting DuckDB.
const DefaultInProcess = 128 << 10

// Get implements [backend.Backend].
func (b *Backend) Get(ctx context.Context, id onto.Identity, at int64) (onto.Version, error) {
	return b.queries.Get(ctx, id, at)
}

// Find implements [backend.Finder].
func (b *Backend) Find(ctx context.Context, ids []onto.Identity, at int64) ([]onto.Version, error) {
	return b.queries.Find(ctx, ids, at)
}

// Firsts implements [backend.Backend].
func (b *Backend) Firsts(ctx context.Context, q *backend.FirstsQuery) ([]int64, error) {
	return b.queries.Firsts(ctx, q)
}

// Scan implements [backend.Backend].
func (b *Backend) Scan(ctx context.Context, q *backend.Query) iter.Seq2[onto.Version, error] {
	return b.queries.Scan(ctx, q)
}

// Aggregate implements [backend.Backend].
func (b *Backend) Aggregate(ctx context.Context, a *backend.Aggregation) iter.Seq2[onto.Group, error] {
	return b.queries.Aggregate(ctx, a)
}

// Diff implements [backend.Backend]. It goes through the types one by one.
func (b *Backend) Diff(ctx context.Context, q *backend.DiffQuery) iter.Seq2[onto.Change, error] {
	return b.queries.Diff(ctx, q)
}

// Explain implements [backend.Explainer].
func (b *Backend) Explain(ctx context.Context, q *backend.Query, a *backend.Aggregation) (backend.Explanation, error) {
	return b.queries.Explain(ctx, q, a)
}
