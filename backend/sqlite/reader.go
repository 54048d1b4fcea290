package sqlite

import (
	"context"

	"github.com/ontologia/onto/backend/sqlite/internal/driver"
)

// reader reads a store.
type reader struct {
	*store
	readers driver.Pool
	catchUp func(ctx context.Context) error // brings the projection up to the head, if it can
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
