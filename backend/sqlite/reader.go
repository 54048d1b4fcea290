package sqlite

import (
	"context"
	"iter"
	"sync"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/exec"
)

// reader reads a store.
type reader struct {
	*store
	readers driver.Pool
	catchUp func(ctx context.Context) error // brings the projection up to the head, if it can
}

// dial opens a connection for the pool.
func (rd *reader) dial() (*driver.Conn, error) {
	if rd.untouched.Load() {
		return rd.dialUntouched()
	}
	if rd.opts.ReadOnly {
		return rd.dialReadOnly()
	}
	if err := rd.at.SameFile(); err != nil {
		return nil, err
	}
	c, err := driver.Dial(rd.at.File, driver.AccessWrite, driver.BusyReader)
	if err != nil {
		return nil, err
	}
	if err := c.Script(`PRAGMA query_only = ON; PRAGMA cache_size = -65536`); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (rd *reader) dialReadOnly() (*driver.Conn, error) {
	c, err := rd.at.DialReadOnly()
	if err != nil || rd.older.Kind != layout.Ours {
		return c, err
	}
	if err := rd.older.StandIn(c); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// reading is a read transaction.
type reading struct {
	layout.Moment
	changes int64     // how often types have changed
	counted *sync.Map // the store's
}

// read runs f in a read transaction. With current set, the projection covers the head
// of the snapshot, unless others hold the write lock.
func (rd *reader) read(ctx context.Context, current bool, f func(r *reading) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c, err := rd.take()
	if err != nil {
		return driver.Wrap(rd.at.Path, err)
	}
	clean := false
	defer func() { rd.give(c, clean) }() // the consumer may panic in the middle
	r, err := rd.beginRead(ctx, c)
	if err == nil && current && !r.Foreign.Covers() {
		_ = c.Exec(`ROLLBACK`)
		if err = rd.catchUp(ctx); err == nil {
			r, err = rd.beginRead(ctx, c)
		}
	}
	if err == nil {
		err = f(r)
	}
	_ = c.Exec(`ROLLBACK`)
	clean = true
	if c.IsStale() {
		err = rd.changedError()
	}
	return driver.Wrap(rd.at.Path, err)
}

// pushed yields what f pushes in a read transaction; see read.
func pushed[T any](ctx context.Context, rd *reader, current bool, f func(r *reading, push func(T) error) error) iter.Seq2[T, error] {
	return exec.Pushed(func(push func(T) error) error {
		return rd.read(ctx, current, func(r *reading) error { return f(r, push) })
	})
}

// changedError is for a file that was opened as immutable and changed meanwhile: what
// was read may mix two states.
func (rd *reader) changedError() error {
	return onto.Errorf(onto.Unavailable, "%s: the file has changed while it was read", rd.at.Path).
		WithHint("read again")
}

// beginRead begins a read transaction. If another program has upgraded or adopted the
// file meanwhile, stand-ins end first: they would hide its tables.
func (rd *reader) beginRead(ctx context.Context, c *driver.Conn) (*reading, error) {
	r, err := rd.begin(ctx, c)
	if err != nil || !c.StandIn {
		return r, err
	}
	if ended, err := rd.endStandIn(c); err != nil || !ended {
		return r, err
	}
	return rd.begin(ctx, c)
}

func (rd *reader) begin(ctx context.Context, c *driver.Conn) (*reading, error) {
	if err := c.Exec(`BEGIN`); err != nil {
		return nil, err
	}
	row, ok, err := c.QueryRowContext(ctx, `SELECT `+layout.Standing+`, m.times_ordered, m.format, `+rd.changes+` FROM `+layout.StandingFrom)
	if err == nil && !ok {
		err = onto.Errorf(onto.Corrupt, "%s: the table onto_meta is empty", rd.at.Path)
	}
	if err == nil {
		err = rd.checkCopied(c, row.Int(4))
	}
	if err != nil {
		return nil, err
	}
	rd.sees(row.Int(5))
	m := layout.Moment{Conn: c, Ctx: ctx, Head: row.Int(0), Foreign: layout.ReadForeign(row), Ordered: row.Int(3) == 1 && layout.ReadForeign(row).Covers(), Format: layout.PlainFormat(row.Int(4))}
	return &reading{m, row.Int(5), &rd.counted}, nil
}
