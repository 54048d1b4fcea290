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
}

// dial opens a connection for the pool.
func (rd *reader) dial() (*driver.Conn, error) {
	if rd.opts.ReadOnly {
		return rd.at.DialReadOnly()
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

// reading is a read transaction.
type reading struct {
	layout.Moment
	changes int64     // how often types have changed
	counted *sync.Map // the store's
}

// read runs f in a read transaction.
func (rd *reader) read(ctx context.Context, f func(r *reading) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c, err := rd.readers.Get()
	if err != nil {
		return driver.Wrap(rd.at.Path, err)
	}
	clean := false
	defer func() { rd.give(c, clean) }() // the consumer may panic in the middle
	r, err := rd.begin(ctx, c)
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
func pushed[T any](ctx context.Context, rd *reader, f func(r *reading, push func(T) error) error) iter.Seq2[T, error] {
	return exec.Pushed(func(push func(T) error) error {
		return rd.read(ctx, func(r *reading) error { return f(r, push) })
	})
}

// changedError is for a file that was opened as immutable and changed meanwhile: what
// was read may mix two states.
func (rd *reader) changedError() error {
	return onto.Errorf(onto.Unavailable, "%s: the file has changed while it was read", rd.at.Path).
		WithHint("read again")
}

// give returns a connection after a read. One that was left in the middle of a read is
// closed.
func (rd *reader) give(c *driver.Conn, clean bool) {
	if clean {
		rd.readers.Put(c)
	} else {
		c.Close()
	}
}

func (rd *reader) begin(ctx context.Context, c *driver.Conn) (*reading, error) {
	if err := c.Exec(`BEGIN`); err != nil {
		return nil, err
	}
	row, ok, err := c.QueryRowContext(ctx, `SELECT `+layout.Head+`, m.format, `+layout.TypeChanges+` FROM `+layout.HeadFrom)
	if err == nil && !ok {
		err = onto.Errorf(onto.Corrupt, "%s: the table onto_meta is empty", rd.at.Path)
	}
	if err == nil {
		err = rd.checkCopied(c, row.Int(1))
	}
	if err != nil {
		return nil, err
	}
	rd.sees(row.Int(2))
	m := layout.Moment{Conn: c, Ctx: ctx, Head: row.Int(0), Format: layout.PlainFormat(row.Int(1))}
	return &reading{m, row.Int(2), &rd.counted}, nil
}
