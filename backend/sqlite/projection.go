package sqlite

import (
	"context"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/bus"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/backend/sqlite/internal/work"
)

// The projection follows our own commits in the same transaction. Commits of other
// programs are caught up with here.

// tryCatchUp brings the projection up to the head if the write lock is free. If it is
// not, or the file cannot be written or is another program's, or what is derived is
// damaged, or the clock is wrong, the projection lags, and the read answers from history.
func (wr *writer) tryCatchUp(ctx context.Context) error {
	if wr.keeps() {
		return nil
	}
	err := wr.write(ctx, time.Now(), func(*driver.Conn, state) error { return nil }) // beginWrite does it
	switch onto.CodeOf(err) {
	case onto.LockContention, onto.Full, onto.ReadOnly, onto.OutcomeUnknown, onto.Unavailable, onto.Corrupt, onto.Invalid:
		return nil
	}
	return err
}

// catchUp projects the commits after the last one that is ours or was caught up with
// before.
func (wr *writer) catchUp(w *driver.Conn) error {
	covered, err := w.QueryInt(`SELECT max(foreign_until, coalesce(
		(SELECT id FROM commits WHERE operations IS NOT NULL ORDER BY id DESC LIMIT 1), 0)) FROM onto_meta`)
	if err != nil {
		return err
	}
	for _, t := range wr.tables {
		err := layout.Project(context.Background(), w, t, covered, func(v *onto.Version) error { return wr.types.search[v.TypeName()].Project(w, t, v) })
		if err != nil {
			return err
		}
	}
	return layout.CoverHead(w, covered)
}

// RebuildProjection makes the projection anew from history, and from it what is
// derived; what is derived of events and claims, and of attempts at work, as well. The
// old projection may be damaged, so nothing of it is used. It stores the
// checksum of what it made, see [Backend.Checksum].
func (b *Backend) RebuildProjection(ctx context.Context, progress func(done, total int64)) (int64, error) {
	var identities int64
	err := b.writer.writeAs(ctx, b.deadline(), starter{behind: true}, func(w *driver.Conn, _ state) (err error) {
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
	if err := layout.AddMissing(w); err != nil {
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
		err := layout.Project(ctx, w, t, 0, func(*onto.Version) error { identities++; step(); return nil })
		if err != nil {
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
	s, err := wr.readState(w)
	if err == nil && !s.covered {
		err = layout.CoverHead(w, 0)
	}
	if err == nil {
		err = layout.KeepChecksum(ctx, w, &wr.tables, s.Head)
	}
	return identities, err
}
