package layout

import (
	"context"
	"fmt"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
)

// Project writes a projection row for each identity that a commit after since has
// touched, and then passes on its newest version, with canonical fields, or nil if they
// cannot be read.
func Project(ctx context.Context, w *driver.Conn, t *Table, since int64, then func(v *onto.Version) error) error {
	width := len(t.Columns)
	return w.Each(ctx, t.newestSQL("h.commit_id > ? AND h.id = "+t.Newest("h")), []any{since}, func(rows *driver.Rows) error {
		v := Version(rows, width, t.Identity(rows, 0))
		canonical, err := CanonicalFields(v.Fields)
		v.Fields = canonical
		var fields any
		if err == nil {
			fields = string(canonical)
		}
		args := IdentityArgs(nil, &v.Identity)
		err = w.Exec(t.upsertOne, append(args, v.Commit, rows.Int(width+4), string(v.Op), v.SchemaVersion, fields)...)
		if err != nil {
			return err
		}
		return then(&v)
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
