package sqlite

import (
	"context"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/decide"
	"github.com/ontologia/onto/internal/typelist"
)

// typeCache is the types and the search tables of those that have one, as of one row of
// schema_versions and one change of what is derived. Rows there are only ever added,
// and every other change of types increments the counter of what is derived, so both
// together tell whether the cache is up to date.
type typeCache struct {
	row, derived int64
	loaded       bool
	all          *decide.Catalog
	search       map[onto.TypeName]*layout.WordTable // of the types that have one
}

func (c *typeCache) refresh(w *driver.Conn, s state) error {
	if c.loaded && c.row == s.Schemas && c.derived == s.Derived {
		return nil
	}
	all, err := layout.ReadSchemas(w)
	if err != nil {
		return err
	}
	search, err := layout.ReadWordTables(w)
	if err != nil {
		return err
	}
	*c = typeCache{s.Schemas, s.Derived, true, decide.NewCatalog(all), search}
	return nil
}

// Schemas returns every version of every type.
func (b *Backend) Schemas(ctx context.Context) ([]onto.SchemaVersion, error) {
	var list []onto.SchemaVersion
	err := b.reader.read(ctx, func(r *reading) error {
		var err error
		list, err = layout.ReadSchemas(r.Conn)
		return err
	})
	return list, err
}

// Register makes sure the types exist as given, and with them what their flags
// ask for.
func (b *Backend) Register(ctx context.Context, reg *backend.Registration) ([]onto.SchemaVersion, error) {
	if known, err := b.registered(ctx, reg); known != nil || err != nil {
		return known, err
	}
	var list []onto.SchemaVersion
	err := b.writer.write(ctx, b.deadline(), func(w *driver.Conn, s state) error {
		all, err := layout.ReadSchemas(w)
		if err != nil {
			return err
		}
		r := decide.NewRound(decide.Base{Head: s.Head, Now: b.now(), Types: decide.NewCatalog(all)})
		if list, err = r.Register(reg); err != nil {
			return err
		}
		if err := layout.WriteTypes(w, all, r.Types.All); err != nil {
			return err
		}
		return layout.Derive(ctx, w, list, nil)
	})
	return list, err
}

// registered answers without the write lock if every type is there already. A file that
// was opened for reading keeps its flags: they matter to search only.
func (b *Backend) registered(ctx context.Context, reg *backend.Registration) ([]onto.SchemaVersion, error) {
	var list []onto.SchemaVersion
	var found state
	keeps := b.opts.ReadOnly
	err := b.reader.read(ctx, func(r *reading) error {
		all, err := layout.ReadSchemas(r.Conn)
		if err != nil {
			return err
		}
		missing, err := typelist.Missing(all, reg.Schemas)
		if err != nil || len(missing) > 0 {
			return err
		}
		known := decide.Named(all, reg)
		if !keeps {
			plan, err := layout.PlanDerived(r.Conn, known)
			if err != nil || !plan.Empty() || len(typelist.Retuned(all, reg.Schemas)) > 0 {
				return err
			}
			if found, err = b.readState(r.Conn); err != nil {
				return err
			}
		}
		list = known
		return nil
	})
	if err == nil && list != nil && !keeps {
		err = b.writer.vouch(found)
	}
	if err != nil {
		return nil, err
	}
	return list, nil
}
