package sqlite

import (
	"context"
	"time"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
)

var _ backend.Dated = (*Backend)(nil)

// dated is the newest time that was stored before the first write of a handle.
type dated struct {
	known  bool
	newest time.Time
}

// Newest implements [backend.Dated].
func (b *Backend) Newest(ctx context.Context) (time.Time, error) {
	if err := b.writer.writing.acquire(ctx, b.deadline(), b.at.Path); err != nil {
		return time.Time{}, err
	}
	defer b.writer.writing.release()
	if d := &b.writer.dated; d.known {
		return d.newest, nil
	}
	var d dated
	err := b.reader.read(ctx, func(r *reading) (err error) {
		d, err = newestIn(r.Conn)
		return err
	})
	if err == nil {
		b.writer.dated = d
	}
	return d.newest, err
}

// newestIn looks up the newest time of a commit, an event, a work item or the last attempt.
func newestIn(c *driver.Conn) (dated, error) {
	r, _, err := c.QueryRow(`SELECT (SELECT created_at FROM commits ORDER BY id DESC LIMIT 1), (SELECT last_at FROM onto_bus), (SELECT last_at FROM onto_work),
		(SELECT started_at FROM work_attempts ORDER BY rowid DESC LIMIT 1)`)
	if err != nil {
		return dated{}, err
	}
	d := dated{known: true}
	for i := range 4 {
		if at := layout.TimeAt(r, i); at.After(d.newest) {
			d.newest = at
		}
	}
	return d, nil
}
