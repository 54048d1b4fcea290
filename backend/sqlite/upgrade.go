package sqlite

import (
	"context"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/bus"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/backend/sqlite/internal/work"
)

// prepareFile makes the file ours: creates the tables in an empty one or beside the work
// queue of another program, adopts one of the original program, upgrades one of an older format, refuses
// anything else.
func (wr *writer) prepareFile(ctx context.Context, w *driver.Conn) error {
	var found layout.File
	err := wr.retryBusy(ctx, func() (err error) {
		found, err = layout.Inspect(w, wr.at.Path)
		return err
	})
	if err != nil {
		return err
	}
	if err := wr.admit(found); err != nil {
		return err
	}
	if found.Kind == layout.Empty && wr.opts.MustExist {
		return onto.Errorf(onto.Uninitialized, "%s: the database has no tables", wr.at.Path).
			WithHint("make a store in it").WithCommand("init", "--db", wr.at.Path)
	}
	if found.Adoptable() {
		if err := found.Shape.Writable(wr.at.Path); err != nil {
			return err
		}
	}
	mode := `PRAGMA journal_mode = WAL`
	if found.Kind == layout.Empty {
		mode = `PRAGMA auto_vacuum = INCREMENTAL;` + mode // possible only before the first page is written
	}
	err = wr.retryBusy(ctx, func() error {
		return wr.at.ChangeMode(func() error { return w.Script(mode) })
	})
	if err != nil {
		return err
	}
	if found.Kind == layout.Ours && found.Format == layout.Format {
		return nil
	}
	return wr.transact(ctx, w, func() error {
		found, err := layout.Inspect(w, wr.at.Path) // again: another process may have been faster
		if err == nil {
			err = found.Shape.Writable(wr.at.Path)
		}
		if err != nil {
			return err
		}
		switch {
		case found.Kind == layout.Empty, found.Kind == layout.WorkState:
			return layout.Create(w, found)
		case found.Kind == layout.Original:
			return wr.adopt(ctx, w, found)
		case found.Kind == layout.Ours && found.Format < layout.Format:
			return wr.upgrade(ctx, w, found)
		}
		return wr.admit(found)
	})
}

// adopt makes a file of the original program ours.
func (wr *writer) adopt(ctx context.Context, w *driver.Conn, found layout.File) error {
	if err := layout.Adopt(w, found, wr.now()); err != nil {
		return err
	}
	if err := wr.catchUp(w); err != nil {
		return err
	}
	return layout.DeriveAll(ctx, w, nil)
}

// upgrade brings a file of an older format to ours.
func (wr *writer) upgrade(ctx context.Context, w *driver.Conn, found layout.File) error {
	err := layout.Upgrade(w, found)
	if err == nil {
		err = bus.Rebuild(w) // another program may have dropped a part of it
	}
	if err == nil {
		err = work.Rebuild(ctx, w, wr.now()) // likewise
	}
	if err == nil && found.Format < 2 {
		err = wr.upgradeDerived(ctx, w)
	}
	if err != nil || found.Format >= layout.FactFormat {
		return err
	}
	facts, err := w.QueryInt(`SELECT count(*) FROM (SELECT 1 FROM fact_history LIMIT 1)`)
	if err == nil && facts > 0 { // another program has dropped what is derived from them
		_, err = wr.rebuild(ctx, w, nil)
	}
	return err
}

// upgradeDerived adds what format 2 derives. If the projection is too damaged for that,
// it is made anew.
func (wr *writer) upgradeDerived(ctx context.Context, w *driver.Conn) error {
	if err := layout.AddDerived(ctx, w, &wr.tables); err != nil {
		return err
	}
	s, err := wr.readState(w)
	if err == nil && !s.covered {
		err = wr.catchUp(w)
	}
	if err == nil {
		err = layout.DeriveAll(ctx, w, nil)
	}
	if onto.CodeOf(driver.Wrap(wr.at.Path, err)) == onto.Corrupt {
		_, err = wr.rebuild(ctx, w, nil)
	}
	return err
}
