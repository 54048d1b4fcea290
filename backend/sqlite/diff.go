package sqlite

import (
	"context"
	"fmt"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/exec"
)

// Diff yields each identity whose state differs between two commits.
func (b *Backend) Diff(ctx context.Context, q *backend.DiffQuery) iter.Seq2[onto.Change, error] {
	return pushed(ctx, b.reader, func(r *reading, push func(onto.Change) error) error {
		from, to := r.commitID(q.From), r.commitID(q.To)
		for _, t := range b.tables {
			if q.Kind != "" && q.Kind != t.Kind {
				continue
			}
			if err := r.diffTable(t, q.Type, from, to, push); err != nil {
				return err
			}
		}
		return nil
	})
}

func (r *reading) commitID(id int64) int64 {
	if id == backend.Head {
		return r.Head
	}
	return id
}

// diffTable finds the identities that were touched in between, and for each
// its version at either end. Sorting them is left to SQLite, which spills to
// disk.
func (r *reading) diffTable(t *layout.Table, typ string, from, to int64, push func(onto.Change) error) error {
	where := ""
	args := []any{from, to}
	if typ != "" {
		where = " AND h." + t.Columns[0] + " = ?"
		args = append(args, typ)
	}
	seek := t.NewestAt("d", "?")
	sql := fmt.Sprintf(`SELECT %s,
			a.commit_id, a.op, a.schema_version_id, CAST(a.fields_json AS BLOB),
			z.commit_id, z.op, z.schema_version_id, CAST(z.fields_json AS BLOB)
		FROM (SELECT DISTINCT %s FROM %s h WHERE h.commit_id > ? AND h.commit_id <= ?%s ORDER BY %s) d
		LEFT JOIN %s a ON a.id = %s
		CROSS JOIN %s z ON z.id = %s
		ORDER BY %s`,
		t.List("d"), t.List("h"), t.History, where, t.List("h"), t.History, seek, t.History, seek, t.List("d"))
	width := len(t.Columns)
	return r.Each(sql, append(args, from, to), func(rows *driver.Rows) error {
		id := t.Identity(rows, 0)
		var before *onto.Version
		if !rows.Null(width) {
			v := layout.Version(rows, width, id)
			before = &v
		}
		after := layout.Version(rows, width+4, id)
		if c, differs := exec.Difference(before, &after); differs {
			return push(c)
		}
		return nil
	})
}
