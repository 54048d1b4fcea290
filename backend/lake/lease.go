package lake

import (
	"context"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// Acquire implements [backend.Leaser].
func (b *Backend) Acquire(ctx context.Context, r *backend.LeaseRequest) (onto.Lease, error) {
	if err := b.usable(ctx); err != nil {
		return onto.Lease{}, err
	}
	return b.leases.Acquire(ctx, r)
}

// Renew implements [backend.Leaser].
func (b *Backend) Renew(ctx context.Context, l onto.Lease, ttl time.Duration) (onto.Lease, error) {
	if err := b.usable(ctx); err != nil {
		return onto.Lease{}, err
	}
	return b.leases.Renew(ctx, l, ttl)
}

// Release implements [backend.Leaser].
func (b *Backend) Release(ctx context.Context, l onto.Lease) error {
	if err := b.usable(ctx); err != nil {
		return err
	}
	return b.leases.Release(ctx, l)
}

// Leases implements [backend.Leaser].
func (b *Backend) Leases(ctx context.Context) ([]onto.Lease, error) {
	if err := b.usable(ctx); err != nil {
		return nil, err
	}
	return b.leases.List(ctx)
}

// Break implements [backend.Leaser].
func (b *Backend) Break(ctx context.Context, record onto.LeaseBreak) (onto.LeaseBreak, error) {
	if err := b.usable(ctx); err != nil {
		return onto.LeaseBreak{}, err
	}
	return b.leases.Break(ctx, record)
}

// Breaks implements [backend.Leaser].
func (b *Backend) Breaks(ctx context.Context) ([]onto.LeaseBreak, error) {
	if err := b.usable(ctx); err != nil {
		return nil, err
	}
	return b.leases.Breaks(ctx)
}
