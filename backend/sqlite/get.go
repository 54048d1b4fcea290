package sqlite

import (
	"context"
	"math"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/refusal"
)

// Get returns the newest version of an identity as of a commit.
func (b *Backend) Get(ctx context.Context, id onto.Identity, at int64) (onto.Version, error) {
	if err := ctx.Err(); err != nil {
		return onto.Version{}, err
	}
	c, err := b.reader.readers.Get()
	if err != nil {
		return onto.Version{}, driver.Wrap(b.at.Path, err)
	}
	v, err := b.reader.get(c, id, at)
	if c.IsStale() {
		v, err = onto.Version{}, b.reader.changedError()
	}
	b.reader.readers.Put(c)
	return v, driver.Wrap(b.at.Path, err)
}

// Find implements [backend.Finder]: one read transaction, and a seek in history for each.
func (b *Backend) Find(ctx context.Context, ids []onto.Identity, at int64) (found []onto.Version, err error) {
	if at == backend.Head {
		at = math.MaxInt64
	}
	err = b.reader.read(ctx, func(r *reading) error {
		for _, id := range ids {
			v, err := b.reader.getAt(r.Conn, id, at)
			switch {
			case err == nil:
				found = append(found, v)
			case onto.CodeOf(err) != onto.NotFound:
				return err
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Firsts implements [backend.Backend]: one read transaction, and a seek in the projection for
// each, or in history.
func (b *Backend) Firsts(ctx context.Context, q *backend.FirstsQuery) ([]int64, error) {
	firsts := make([]int64, len(q.IDs))
	err := b.reader.read(ctx, func(r *reading) (err error) {
		t, at := b.table(q.Kind), r.commitID(q.At)
		for i := range q.IDs {
			if firsts[i], err = r.Born(t, &q.IDs[i], at); err != nil {
				return err
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	return firsts, nil
}

func (rd *reader) get(c *driver.Conn, id onto.Identity, at int64) (onto.Version, error) {
	if at != backend.Head {
		return rd.getAt(c, id, at)
	}
	var buf [5]any
	r, ok, err := c.QueryRow(rd.table(id.Kind).Get, layout.IdentityArgs(buf[:0], &id)...)
	if err != nil {
		return onto.Version{}, err
	}
	v, err := rd.found(c, r, ok, id)
	if err != nil {
		return onto.Version{}, err
	}
	return v, layout.HasFields(&v)
}

// found is the version in a row of [layout.Table.Get] or of GetAt.
func (rd *reader) found(c *driver.Conn, r *driver.Rows, ok bool, id onto.Identity) (onto.Version, error) {
	if ok {
		if err := rd.notice(c, r.Int(5)); err != nil {
			return onto.Version{}, err
		}
	}
	if !ok || r.Null(1) {
		return onto.Version{}, refusal.NoVersion(id)
	}
	v := layout.Version(r, 1, id)
	return v, layout.CheckSound(&v, r.Int(0))
}

// getAt reads history, which needs no projection.
func (rd *reader) getAt(c *driver.Conn, id onto.Identity, at int64) (onto.Version, error) {
	var buf [6]any
	r, ok, err := c.QueryRow(rd.table(id.Kind).GetAt, append(layout.IdentityArgs(buf[:0], &id), at)...)
	if err != nil {
		return onto.Version{}, err
	}
	v, err := rd.found(c, r, ok, id)
	if err == nil {
		err = layout.CheckIntact(r, 6, &v)
	}
	if err != nil {
		return onto.Version{}, err
	}
	return v, nil
}
