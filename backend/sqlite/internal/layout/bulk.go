package layout

import (
	"context"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/internal/codec"
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
// others follow it. Unlinked versions may supersede others without knowing it.
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
			var sum int64
			sum, w.Scratch = rowSum(&v.Version, w.Scratch)
			args = append(args, string(v.Fields), v.Commit, v.SchemaVersion, string(v.Op), sum)
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

// The columns of a commit's row. Most commits have only the first few, and omitted
// columns need not be bound.
const (
	commitColumnsFew = `id, created_at, operations, runtime_id, actor_kind, actor_id, comment`
	commitColumnsAll = commitColumnsFew + `, metadata_json, causation_id, correlation_id, signature_ref, idempotency_key, draft_hash`
)

// hasFew reports whether a commit has nothing outside commitColumnsFew.
func hasFew(c *decide.Commit) bool {
	return len(c.Metadata) == 0 && c.Causation == 0 && c.Correlation == "" && c.Signature == "" && c.IdempotencyKey == "" && c.Digest == ""
}

// InsertCommits writes the rows of commits.
func InsertCommits(w *driver.Conn, list []decide.Commit) error {
	args := make([]any, 0, LargeBulk*7)
	for len(list) > 0 {
		n, columns := 1, commitColumnsAll
		if hasFew(&list[0]) {
			for n < len(list) && hasFew(&list[n]) {
				n++
			}
			n, columns = BulkSize(n), commitColumnsFew
		}
		args = args[:0]
		for i := range n {
			args = commitArgs(args, &list[i])
		}
		if err := w.Exec(commitInsert(columns, n), args...); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// commitArgs appends the values of a commit's columns.
func commitArgs(args []any, c *decide.Commit) []any {
	args = append(args, c.ID, codec.FormatTime(c.Time), c.Operations, OrNull(c.Runtime),
		OrNull(string(c.Actor.Kind)), OrNull(c.Actor.ID), OrNull(c.Comment))
	if hasFew(c) {
		return args
	}
	return append(args, OrNull(string(c.Metadata)), OrNull(c.Causation), OrNull(c.Correlation),
		OrNull(c.Signature), OrNull(c.IdempotencyKey), OrNull(c.Digest))
}

func commitInsert(columns string, n int) string {
	row := "(" + strings.Repeat("?, ", strings.Count(columns, ",")) + "?)"
	return "INSERT INTO commits (" + columns + ") VALUES " + strings.Repeat(row+", ", n-1) + row
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
