package sqlite

import (
	"context"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
)

// Points are the moments of an append where FailAt can make it fail.
func Points() []string { return []string{"begin", "versions", "commit"} }

// FailAt makes the next append fail at a point.
func (b *Backend) FailAt(point string, err error) {
	b.writer.reached = func(at string) error {
		if at != point {
			return nil
		}
		b.writer.reached = pass
		return err
	}
}

// CallAt calls f whenever an append comes to a point. Besides Points there are
// "words", before a search table changes, "events", before events are claimed, and
// "committed", when the commit is durable and not yet acknowledged.
func (b *Backend) CallAt(point string, f func()) {
	b.writer.reached = func(at string) error {
		if at == point {
			f()
		}
		return nil
	}
}

// Exec runs SQL on the writer connection.
func (b *Backend) Exec(sql string) error { return b.writer.conn.Script(sql) }

// OnPrepare calls f with every statement that is prepared from now on.
func (b *Backend) OnPrepare(f func(sql string)) {
	b.writer.conn.Prepared = f
	dial := b.reader.readers.Dial
	b.reader.readers.Dial = func() (*driver.Conn, error) {
		c, err := dial()
		if c != nil {
			c.Prepared = f
		}
		return c, err
	}
}

// OnSync lets f sync files and directories.
func (b *Backend) OnSync(f func(path string) error) { b.writer.durable.Sync = f }

// Waiting returns how many callers stand in the queue.
func (b *Backend) Waiting() int { return b.queue.Len() }

// SearchTable returns the table that a query for words in the fields of a
// schema would use, or "" if it would use none.
func (b *Backend) SearchTable(ctx context.Context, s onto.Schema) (name string, err error) {
	err = b.reader.read(ctx, func(r *reading) error {
		found, ok, err := r.searchTable(&s)
		if ok {
			name = found
		}
		return err
	})
	return name, err
}

// ReadLogsInParts lets a log be read so many entries at a time.
func (b *Backend) ReadLogsInParts(of int) { b.logPart = of }

// OpenReaching opens a file and calls reached with the points of the writes that this takes,
// which may fail them. Besides those of an append there is "upgrade", before an older file is
// changed.
func OpenReaching(ctx context.Context, path string, reached func(point string) error) (*Backend, error) {
	b := newBackend(path, nil)
	b.writer.reached = reached
	if err := b.open(ctx, path); err != nil {
		b.Close()
		return nil, driver.Wrap(path, err)
	}
	return b, nil
}
