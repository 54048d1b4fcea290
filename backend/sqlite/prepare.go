package sqlite

import (
	"context"

	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
)

// prepareFile makes the tables in an empty file, brings back what a store lacks, and upgrades
// one of an older format. It refuses anything else.
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
		return wr.emptyError()
	}
	mode := `PRAGMA journal_mode = WAL`
	if found.Kind == layout.Empty {
		mode = `PRAGMA auto_vacuum = INCREMENTAL;` + mode // possible only before the first page is written
	}
	if err := wr.retryBusy(ctx, func() error { return w.Script(mode) }); err != nil || found.Whole || wr.opts.asItIs {
		return err
	}
	return wr.transact(ctx, w, func() error {
		found, err := layout.Inspect(w, wr.at.Path) // again: another process may have been faster
		if err == nil {
			err = wr.admit(found)
		}
		if err == nil {
			err = found.Shape.Writable(wr.at.Path)
		}
		switch {
		case err != nil || found.Whole:
			return err
		case found.Kind == layout.Empty:
			return layout.Create(w)
		}
		return wr.complete(ctx, w, &found)
	})
}

// complete brings back what a store lacks, and gives an older one the present format.
func (wr *writer) complete(ctx context.Context, w *driver.Conn, found *layout.File) error {
	if err := layout.SetFormat(w, found); err != nil {
		return err
	}
	switch {
	case found.Shape.LacksOnlyIndexes():
		return layout.AddMissing(w, found.Shape)
	case found.Shape.LacksOnlyCreated():
		if err := wr.reached("upgrade"); err != nil {
			return err
		}
		return layout.AddCreated(ctx, w, &wr.tables, found.Shape)
	}
	_, err := wr.rebuildIn(ctx, w, found.Shape, nil)
	return err
}
