package sqlite

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// reading is a read transaction: all its statements see one moment.
type reading struct {
	*conn
	head    int64
	foreign foreignRows
	ordered bool // commit times never go back
}

// read runs f in a read transaction. With current set, the projection covers
// the head of that moment, unless others hold the write lock.
func (b *Backend) read(ctx context.Context, current bool, f func(r *reading) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c, err := b.readers.get()
	if err != nil {
		return wrap(b.path, err)
	}
	clean := false
	defer func() {
		if clean {
			b.readers.put(c)
		} else { // the consumer panicked in the middle
			c.close()
		}
	}()
	r, err := b.beginRead(c)
	if err == nil && current && !r.foreign.covers() {
		_ = c.exec(`ROLLBACK`)
		if err = b.tryCatchUp(ctx); err == nil {
			r, err = b.beginRead(c)
		}
	}
	if err == nil {
		err = f(r)
	}
	_ = c.exec(`ROLLBACK`)
	clean = true
	if c.isStale() {
		err = b.changedError()
	}
	return wrap(b.path, err)
}

// changedError is for a file that was read as it lay, and did not lie still:
// what was read may be of two moments.
func (b *Backend) changedError() error {
	return onto.Errorf(onto.Unavailable, "%s: the file has changed while it was read", b.path).
		WithHint("read again")
}

func (b *Backend) beginRead(c *conn) (*reading, error) {
	if err := c.exec(`BEGIN`); err != nil {
		return nil, err
	}
	row, ok, err := c.queryRow(`SELECT ` + standing + `, m.times_ordered FROM ` + standingFrom)
	if err == nil && !ok {
		err = onto.Errorf(onto.Corrupt, "%s: the table onto_meta is empty", b.path)
	}
	if err != nil {
		return nil, err
	}
	return &reading{conn: c, head: row.int(0), foreign: readForeign(row), ordered: row.int(3) == 1 && readForeign(row).covers()}, nil
}

// sequence turns a function that pushes into a sequence. An error of the
// function is yielded last. When the consumer stops, push fails and the
// function ends with whatever error that leads to.
func sequence[T any](run func(push func(T) error) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		stopped := false
		err := run(func(v T) error {
			if stopped = !yield(v, nil); stopped {
				return errStopped
			}
			return nil
		})
		if err != nil && !stopped {
			var none T
			yield(none, err)
		}
	}
}

var errStopped = errors.New("the consumer has stopped")

// Scan yields the versions a query asks for.
func (b *Backend) Scan(ctx context.Context, q *backend.Query) iter.Seq2[onto.Version, error] {
	return sequence(func(push func(onto.Version) error) error {
		return b.read(ctx, q.Mode == backend.State, func(r *reading) error {
			t := b.table(q.Kind)
			switch {
			case q.Mode == backend.History:
				return r.scanHistory(ctx, t, q, push)
			case !r.foreign.covers():
				return r.scanLog(ctx, t, q, push)
			case q.At == backend.Head || q.At >= r.head:
				return r.scanCurrent(ctx, t, q, push)
			}
			return r.scanAt(ctx, t, q, push)
		})
	})
}

// scanCurrent reads the projection.
func (r *reading) scanCurrent(ctx context.Context, t *table, q *backend.Query, push func(onto.Version) error) error {
	where, args := t.after("c", q)
	sql := fmt.Sprintf(`SELECT %s, c.commit_id, c.op, c.schema_version_id, CAST(json(c.fields) AS BLOB)
		FROM %s c WHERE %s AND c.op = 'put' ORDER BY %s LIMIT ?`,
		t.list("c"), t.current, where, t.list("c"))
	rows, err := r.query(ctx, sql, append(args, limit(q.Limit))...)
	if err != nil {
		return err
	}
	return each(rows, func() error {
		v := version(rows, len(t.columns), t.identity(rows, 0))
		if err := readable(&v); err != nil {
			return err
		}
		return push(v)
	})
}

// scanAt takes each identity that existed by then from the projection, and
// seeks its version of that time in history.
func (r *reading) scanAt(ctx context.Context, t *table, q *backend.Query, push func(onto.Version) error) error {
	where, args := t.after("c", q)
	sql := fmt.Sprintf(`SELECT %s, h.commit_id, h.op, h.schema_version_id, CAST(h.fields_json AS BLOB)
		FROM %s c CROSS JOIN %s h ON h.id = %s
		WHERE %s AND c.first_commit_id <= ? AND h.op = 'put' ORDER BY %s LIMIT ?`,
		t.list("c"), t.current, t.history, t.newestAt("c", "?"), where, t.list("c"))
	args = append([]any{q.At}, append(args, q.At, limit(q.Limit))...)
	return r.versions(ctx, t, push, sql, args...)
}

// scanLog reads history alone, for when the projection is behind.
func (r *reading) scanLog(ctx context.Context, t *table, q *backend.Query, push func(onto.Version) error) error {
	where, args := t.after("h", q)
	sql := fmt.Sprintf(`SELECT %s, h.commit_id, h.op, h.schema_version_id, CAST(h.fields_json AS BLOB)
		FROM %s h WHERE %s AND h.op = 'put' AND h.id = %s ORDER BY %s LIMIT ?`,
		t.list("h"), t.history, where, t.newestAt("h", "?"), t.list("h"))
	return r.versions(ctx, t, push, sql, append(args, r.commitID(q.At), limit(q.Limit))...)
}

// versions pushes the history rows that a query finds.
func (r *reading) versions(ctx context.Context, t *table, push func(onto.Version) error, sql string, args ...any) error {
	rows, err := r.query(ctx, sql, args...)
	if err != nil {
		return err
	}
	return each(rows, func() error {
		v := version(rows, len(t.columns), t.identity(rows, 0))
		if err := r.foreign.canonical(&v); err != nil {
			return err
		}
		return push(v)
	})
}

// scanHistory reads all versions of an identity or of a type. A type's come
// by commit, so they are found by the index on it.
func (r *reading) scanHistory(ctx context.Context, t *table, q *backend.Query, push func(onto.Version) error) error {
	until := q.At
	if until == backend.Head {
		until = r.head
	}
	where, args := "h."+t.columns[0]+" = ?", []any{q.Type}
	order := "h.commit_id, " + t.list("h") + ", h.id DESC" // the one that counts comes last
	if q.Identity != nil {
		where, args = t.matches("h", "?"), identityArgs(nil, q.Identity)
		order = "h.commit_id, h.id DESC"
	} else {
		where = "+" + where // by commit, not by type: no sort of the whole type
	}
	sql := fmt.Sprintf(`SELECT %s, h.commit_id, h.op, h.schema_version_id, CAST(h.fields_json AS BLOB)
		FROM %s h WHERE %s AND h.commit_id > ? AND h.commit_id <= ? ORDER BY %s LIMIT ?`,
		t.list("h"), t.history, where, order)
	return r.versions(ctx, t, push, sql, append(args, q.Since, until, limit(q.Limit))...)
}

// after is the condition of a query's type and of the identity it starts after.
func (t *table) after(alias string, q *backend.Query) (string, []any) {
	where := fmt.Sprintf("%s.%s = ?", alias, t.columns[0])
	args := []any{q.Type}
	if q.After == nil {
		return where, args
	}
	keys := t.columns[1:]
	where += fmt.Sprintf(" AND (%s.%s) > (%s?)", alias, strings.Join(keys, ", "+alias+"."), strings.Repeat("?, ", len(keys)-1))
	return where, append(args, identityArgs(nil, q.After)[1:]...)
}

// limit is a LIMIT that stands for no limit when n is 0.
func limit(n int) int64 {
	if n <= 0 {
		return -1
	}
	return int64(n)
}

// each calls f for every row and closes the rows.
func each(r *rows, f func() error) (err error) {
	defer func() { // also when f panics
		if closeErr := r.close(); err == nil {
			err = closeErr
		}
	}()
	for r.next() {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}
