package sqlite

import (
	"context"

	"github.com/ontologia/onto/backend/sqlite/internal/bus"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/backend/sqlite/internal/work"
)

// RebuildProjection makes the projection anew from history, and from it what is
// derived; what is derived of events and claims, and of attempts at work, as well. The
// old projection may be damaged, so nothing of it is used. It stores the
// checksum of what it made, see [Backend.Checksum].
func (b *Backend) RebuildProjection(ctx context.Context, progress func(done, total int64)) (int64, error) {
	var identities int64
	err := b.writer.writeAs(ctx, b.deadline(), starter{damaged: true}, func(w *driver.Conn, _ state) (err error) {
		identities, err = b.writer.rebuild(ctx, w, progress)
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	})
	return identities, err
}

// rebuild is RebuildProjection in a transaction. Each identity is one step of progress,
// and another one when its words are entered.
func (wr *writer) rebuild(ctx context.Context, w *driver.Conn, progress func(done, total int64)) (int64, error) {
	s, err := layout.SoundShape(w, wr.at.Path)
	if err != nil {
		return 0, err
	}
	return wr.rebuildIn(ctx, w, s, progress)
}

// rebuildIn is rebuild in a file of a shape.
func (wr *writer) rebuildIn(ctx context.Context, w *driver.Conn, s *layout.Shape, progress func(done, total int64)) (int64, error) {
	if err := layout.AddMissing(w, s); err != nil {
		return 0, err
	}
	total, err := w.QueryIntContext(ctx, `SELECT `+layout.CountSteps())
	if err != nil {
		return 0, err
	}
	var done, identities int64
	step := func() {
		if done++; progress != nil && done%10_000 == 0 {
			progress(done, max(done, total))
		}
	}
	if err := layout.DropDerived(w); err != nil {
		return 0, err
	}
	for _, t := range wr.tables {
		if err := w.ExecContext(ctx, `DELETE FROM `+t.Current); err != nil {
			return 0, err
		}
		if err := layout.Project(ctx, w, t, func() { identities++; step() }); err != nil {
			return 0, err
		}
	}
	if err := layout.FillPast(ctx, w, &wr.tables); err != nil {
		return 0, err
	}
	if err := layout.DeriveAll(ctx, w, step); err != nil {
		return 0, err
	}
	if err := bus.Rebuild(w); err != nil {
		return 0, err
	}
	if err := work.Rebuild(ctx, w, wr.now()); err != nil {
		return 0, err
	}
	// Also if nothing is derived: other processes must not rely on the old projection.
	if err := w.Exec(`UPDATE onto_meta SET derived = derived + 1`); err != nil {
		return 0, err
	}
	st, err := wr.readState(w)
	if err == nil {
		err = layout.KeepChecksum(ctx, w, &wr.tables, st.Head)
	}
	return identities, err
}
