package sqlite

import (
	"context"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
)

var _ backend.Restorable = (*Backend)(nil)

// Lineage implements [backend.Restorable].
func (b *Backend) Lineage(ctx context.Context) (id string, err error) {
	err = b.reader.read(ctx, func(r *reading) error {
		id, err = layout.Lineage(r.Conn)
		return err
	})
	return id, err
}

// Restores implements [backend.Restorable].
func (b *Backend) Restores(ctx context.Context) (list []backend.Restore, err error) {
	err = b.reader.read(ctx, func(r *reading) error {
		list, err = layout.Restores(&r.Moment)
		return err
	})
	return list, err
}
