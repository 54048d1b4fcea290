package layout

import (
	"context"
	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/internal/decide"
)

// Statements over many rows at once save most of the cost per row. There are few sizes,
// so that each connection prepares only a few statements.
const (
	LargeBulk = 64
	SmallBulk = 8
)

// BulkSize is the largest statement size that n rows fill.
func BulkSize(n int) int {
	switch {
	case n >= LargeBulk:
		return LargeBulk
	case n >= SmallBulk:
		return SmallBulk
	}
	return 1
}

// InsertVersions writes history rows, and the rows of the past and of the
// projection that follow from them. It returns the row id of the first; the
// others follow it. Their checksums were noted by MadeBy. Unlinked versions may supersede others without knowing it.
func InsertVersions(w *driver.Conn, t *Table, list []*decide.Version, unlinked bool) (int64, error) {
	if len(list) == 0 {
		return 0, nil
	}
	var last int64
	supersedes := unlinked
	args := make([]any, 0, LargeBulk*9)
	for rest := list; len(rest) > 0; {
		n := BulkSize(len(rest))
		args = args[:0]
		for _, v := range rest[:n] {
			args = IdentityArgs(args, &v.Identity)
			args = append(args, string(v.Fields), v.Commit, v.SchemaVersion, string(v.Op), v.Sum)
			supersedes = supersedes || v.Before != nil
		}
		var err error
		if last, err = w.Insert(t.inserts[n], args...); err != nil {
			return 0, err
		}
		rest = rest[n:]
	}
	first := last - int64(len(list)) + 1
	if supersedes {
		if err := w.Exec(t.superseding, first, last); err != nil {
			return 0, err
		}
	}
	return first, w.Exec(t.upsertHistory, first, last)
}

// OrNull is a value, or NULL if it is zero.
func OrNull[T string | int64](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

// Lookup reads the newest versions of identities, if they have any, into found.
func Lookup(c *driver.Conn, t *Table, ids []*onto.Identity, found map[onto.Identity]*onto.Version) error {
	if len(ids) == 1 {
		return lookupOne(c, t, ids[0], found)
	}
	args := make([]any, 0, LargeBulk*4)
	for rest := ids; len(rest) > 0; {
		size := SmallBulk
		if len(rest) > SmallBulk {
			size = LargeBulk
		}
		n := min(size, len(rest))
		args = args[:0]
		for i := range size { // repeat the last one to fill the statement
			args = IdentityArgs(args, rest[min(i, n-1)])
		}
		err := c.Each(context.Background(), t.lookups[size], args, func(r *driver.Rows) error {
			v := Version(r, len(t.Columns), t.Identity(r, 0))
			found[v.Identity] = &v
			return nil
		})
		if err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

func lookupOne(c *driver.Conn, t *Table, id *onto.Identity, found map[onto.Identity]*onto.Version) error {
	r, ok, err := c.QueryRow(t.Lookup, IdentityArgs(nil, id)...)
	if err != nil || !ok {
		return err
	}
	v := Version(r, 0, *id)
	found[*id] = &v
	return nil
}
