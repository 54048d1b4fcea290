package memory

import (
	"context"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// Schemas implements [backend.Backend].
func (b *Backend) Schemas(ctx context.Context) ([]onto.SchemaVersion, error) {
	now, err := b.moment(ctx)
	if err != nil {
		return nil, err
	}
	return backend.CopySchemas(now.schemas), nil
}

// Register implements [backend.Backend]. Types that are there as given need no
// turn to write.
func (b *Backend) Register(ctx context.Context, r *backend.Registration) ([]onto.SchemaVersion, error) {
	now, err := b.moment(ctx)
	if err != nil {
		return nil, err
	}
	if backend.Registered(now.schemas, r) {
		return backend.Named(now.schemas, r), nil
	}
	if err := b.lockWrite(ctx, nil); err != nil {
		return nil, err
	}
	s := b.store
	defer s.mu.Unlock()
	all, err := backend.Register(s.log.schemas, r, s.log.head()+1, s.stamp())
	if err != nil {
		return nil, err
	}
	s.log.schemas = all
	return backend.Named(all, r), nil
}
