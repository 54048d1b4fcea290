package sqlite

import (
	"context"

	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
)

// A file of another program stays as it is until the first write, which adopts it: adds
// our tables, columns and indexes. Until then each connection has stand-ins for these,
// see layout/standin.go, and reads answer from history, as they do when the projection
// lags. The connections make no companions, and mostly read the file as immutable: without
// a lock. So an adoption need not wait for reads of this process that are under way, and
// must not pull the file from under them: it goes into the WAL, which they do not read, and
// stays there until they have ended.

// openUntouched finds out whether another program made the file. What cannot be read
// without companions is opened in the usual way.
func (b *Backend) openUntouched() error {
	if b.at.HasTable("onto_meta") {
		return nil
	}
	c, err := b.at.DialUntouched()
	if err != nil {
		return nil
	}
	defer c.Close()
	found, err := layout.Inspect(c, b.at.Path)
	if err == nil && found.Adoptable() {
		err = found.Check(b.at.Path)
	}
	if err != nil || !found.Adoptable() {
		return err
	}
	if err := found.StandIn(c); err != nil {
		return err
	}
	b.untouched.Store(true)
	return b.at.Opened()
}

// keeps reports whether reads leave the file as it is, also what is derived.
func (s *store) keeps() bool { return s.opts.ReadOnly || s.untouched.Load() }

// dialUntouched opens a connection to a file of another program, unless it was adopted
// meanwhile.
func (rd *reader) dialUntouched() (*driver.Conn, error) {
	if err := rd.at.SameFile(); err != nil {
		return nil, err
	}
	c, err := rd.at.DialUntouched()
	if err != nil {
		return nil, err
	}
	found, err := layout.Inspect(c, rd.at.Path)
	if err == nil {
		err = found.Check(rd.at.Path)
	}
	if err == nil && found.Adoptable() {
		if err = found.StandIn(c); err == nil {
			return c, nil
		}
	}
	c.Close()
	if err != nil {
		return nil, err
	}
	rd.untouched.Store(false)
	return rd.dial()
}

// take returns a connection for one read. One with stand-ins is given up after an
// adoption. The order matters: either the adoption knows of the read, or the read of the
// adoption.
func (rd *reader) take() (*driver.Conn, error) {
	for {
		c, err := rd.readers.Get()
		if err != nil || !c.Untouched {
			return c, err
		}
		rd.underWay.Add(1)
		if rd.untouched.Load() {
			return c, nil
		}
		rd.underWay.Add(-1)
		c.Close()
	}
}

// give returns a connection after a read. One that was left in the middle of a read is
// closed.
func (rd *reader) give(c *driver.Conn, clean bool) {
	if c.Untouched {
		rd.underWay.Add(-1)
	}
	if clean {
		rd.readers.Put(c)
	} else {
		c.Close()
	}
}

// endStandIn ends stand-ins for what another program has added to the file meanwhile.
func (rd *reader) endStandIn(c *driver.Conn) (bool, error) {
	untouched := c.Untouched
	ended, err := layout.EndStandIn(c)
	if ended && untouched {
		rd.untouched.Store(false)
		rd.underWay.Add(-1)
	}
	return ended, err
}

// ensureOpen opens the writer, if it is not open yet, which adopts the file. Its caller
// holds writing.
func (wr *writer) ensureOpen(ctx context.Context) error {
	if wr.conn != nil {
		return wr.resumeCheckpoints()
	}
	if err := wr.at.CompanionsFit(); err != nil {
		return err
	}
	wr.waits = true
	if err := wr.open(ctx); err != nil {
		if wr.conn != nil {
			wr.conn.Close()
			wr.conn = nil
		}
		return err
	}
	wr.untouched.Store(false)
	return wr.resumeCheckpoints()
}

// resumeCheckpoints lets the WAL be copied into the file once no read needs the file as it
// was.
func (wr *writer) resumeCheckpoints() error {
	if !wr.waits || wr.underWay.Load() > 0 {
		return nil
	}
	wr.waits = false
	return wr.conn.Script(checkpoints)
}
