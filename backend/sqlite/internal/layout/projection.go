package layout

import (
	"context"
	"fmt"

	"github.com/ontologia/onto/backend/sqlite/internal/driver"
)

// Project writes a projection row for each identity, and calls step after each. Fields that
// cannot be read, which is damage of history, are NULL.
func Project(ctx context.Context, w *driver.Conn, t *Table, step func()) error {
	width := len(t.Columns)
	return w.Each(ctx, t.newestSQL("h.id = "+t.Newest("h"), t.createdSQL("h")), nil, func(rows *driver.Rows) error {
		v := Version(rows, width, t.Identity(rows, 0))
		var fields any
		if canonical, err := CanonicalFields(v.Fields); err == nil {
			fields = string(canonical)
		}
		args := IdentityArgs(nil, &v.Identity)
		step()
		return w.Exec(t.insertOne, append(args, v.Commit, rows.Int(width+4), string(v.Op), v.SchemaVersion, fields, rows.Vals[width+5])...)
	})
}

// CountSteps is how many steps a rebuild will take: one for each identity, and another
// one if it has words.
func CountSteps() string {
	return perKind(" + ", func(t *Table) string {
		return fmt.Sprintf(`(SELECT count(*) FROM %[1]s) + (SELECT count(*) FROM onto_derived JOIN %[1]s ON %[2]s = type_name
			WHERE type_kind = '%[3]s' AND purpose = 'search')`, t.Current, t.Columns[0], t.Kind)
	})
}
