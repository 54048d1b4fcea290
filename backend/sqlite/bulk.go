package sqlite

import (
	"context"

	"github.com/ontologia/onto"
)

// Statements over many rows at once save most of the cost of a row. Their
// sizes are few, so that each connection prepares only a few of them.
const (
	largeBulk = 64
	smallBulk = 8
)

// bulkSize is the largest statement size that n rows fill.
func bulkSize(n int) int {
	switch {
	case n >= largeBulk:
		return largeBulk
	case n >= smallBulk:
		return smallBulk
	}
	return 1
}

// insertVersions writes history rows and their projection rows.
func insertVersions(w *conn, t *table, list []versionRow) error {
	if len(list) == 0 {
		return nil
	}
	var last int64
	args := make([]any, 0, largeBulk*8)
	for rest := list; len(rest) > 0; {
		n := bulkSize(len(rest))
		args = args[:0]
		for _, row := range rest[:n] {
			args = identityArgs(args, &row.write.Identity)
			fields := "{}"
			if row.write.Op == onto.Put {
				fields = string(row.write.Fields)
			}
			args = append(args, fields, row.commit, row.write.SchemaVersion, string(row.write.Op))
		}
		var err error
		if last, err = w.insert(t.inserts[n], args...); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return w.exec(t.upsertHistory, last-int64(len(list))+1, last)
}

// lookup reads the newest versions of identities, if they have any, into found.
func lookup(c *conn, t *table, ids []*onto.Identity, found map[onto.Identity]*onto.Version) error {
	if len(ids) == 1 {
		return lookupOne(c, t, ids[0], found)
	}
	args := make([]any, 0, largeBulk*4)
	for rest := ids; len(rest) > 0; {
		size := smallBulk
		if len(rest) > smallBulk {
			size = largeBulk
		}
		n := min(size, len(rest))
		args = args[:0]
		for i := range size { // repeat the last one to fill the statement
			args = identityArgs(args, rest[min(i, n-1)])
		}
		if err := lookupMany(c, t, t.lookups[size], args, found); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

func lookupOne(c *conn, t *table, id *onto.Identity, found map[onto.Identity]*onto.Version) error {
	r, ok, err := c.queryRow(t.lookup, identityArgs(nil, id)...)
	if err != nil || !ok {
		return err
	}
	v := version(r, 0, *id)
	found[*id] = &v
	return nil
}

func lookupMany(c *conn, t *table, sql string, args []any, found map[onto.Identity]*onto.Version) error {
	r, err := c.query(context.Background(), sql, args...)
	if err != nil {
		return err
	}
	for r.next() {
		v := version(r, len(t.columns), t.identity(r, 0))
		found[v.Identity] = &v
	}
	return r.close()
}
