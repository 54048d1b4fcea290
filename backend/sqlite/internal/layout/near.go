package layout

import (
	"fmt"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
)

// NearShape tells statements apart that find what is at one left key. Their parameters
// are type, left key and right key, the commit twice, and the time twice.
type NearShape struct {
	Right bool // and at one right key
	Past  bool // as of a commit
	Held  bool // facts that hold at a time
}

// The columns of these statements: those of Standing come first. Without a version
// there is one row, whose other columns are NULL.
const (
	NearChanges = iota + 3
	nearRight
	nearInstance
	nearCommit
	_ // op
	_ // schema version
	_ // fields
	NearSum
)

// nearSQL makes these statements; none for entities.
func (t *Table) nearSQL(changes string) map[NearShape]string {
	if t.Kind == onto.KindEntity {
		return nil
	}
	list := map[NearShape]string{}
	for _, right := range []bool{false, true} {
		for _, past := range []bool{false, true} {
			for _, held := range []bool{false, true} {
				s := NearShape{right, past, held}
				list[s] = t.near(s, changes)
			}
		}
	}
	return list
}

// near is one of these statements. SQLite knows that there is one row of onto_meta by its
// id, so that the rows need no sorting.
func (t *Table) near(s NearShape, changes string) string {
	row, fields, output := "c", "c.fields", "json(c.fields)"
	at := fmt.Sprintf("c.%s = +? AND c.%s = ?", t.Columns[0], t.Columns[1])
	if s.Right {
		at += fmt.Sprintf(" AND c.%s = ?", t.Columns[2])
	}
	join := ""
	if s.Past {
		at += " AND c.first_commit_id <= ?"
		row, fields, output = "h", "h.fields_json", "h.fields_json"
		join = fmt.Sprintf(" LEFT JOIN %s h ON h.id = %s AND h.op = 'put'", t.History, t.NewestAt("c", "?"))
	} else {
		at += " AND c.op = 'put'"
	}
	held := ""
	if s.Held {
		held = fmt.Sprintf(" AND ifnull(%[1]s ->> '$.%[2]s', 0) <= ? AND ifnull(%[1]s ->> '$.%[3]s', x'') > ?", fields, onto.FactFrom, onto.FactUntil)
	}
	if s.Past {
		join += held
	} else {
		at += held
	}
	return fmt.Sprintf(`SELECT %s, %s, c.%s, c.%s, %[5]s.commit_id, %[5]s.op, %[5]s.schema_version_id, CAST(%[6]s AS BLOB), %[7]s
		FROM %[8]s LEFT JOIN %[9]s c ON %[10]s%[11]s WHERE m.id = 1 ORDER BY c.%[3]s, c.%[4]s`,
		Standing, changes, t.Columns[2], t.Columns[3], row, output, t.Sum(row), StandingFrom, t.Current, at, join)
}

// NearVersion reads a row of these statements, if it has a version.
func (t *Table) NearVersion(r *driver.Rows, typ, left string) (onto.Version, bool) {
	if r.Null(nearCommit) {
		return onto.Version{}, false
	}
	id := onto.Identity{Kind: t.Kind, Type: typ, Left: left, Right: r.Text(nearRight), Instance: r.Text(nearInstance)}
	return Version(r, nearCommit, id), true
}
