package layout

import (
	"fmt"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
)

// NearShape tells statements apart that find what is at one left key. Their parameters
// are type, left key and right key, the commit three times, and the time twice.
type NearShape struct {
	Right bool // and at one right key
	Past  bool // as of a commit
	Held  bool // facts that hold at a time
}

// The columns of these statements. Without a version there is one row, whose columns
// from nearInstance on are NULL.
const (
	NearHead    = iota // the newest commit
	NearChanges        // how often types have changed
	nearInstance
	nearRight // NULL if it is given
	nearCommit
	_       // op, which is always put
	_       // schema version
	_       // fields
	NearSum // of a version in history
)

// nearSQL makes these statements; none for entities.
func (t *Table) nearSQL() map[NearShape]string {
	if t.Kind == onto.KindEntity {
		return nil
	}
	list := map[NearShape]string{}
	for _, right := range []bool{false, true} {
		for _, past := range []bool{false, true} {
			for _, held := range []bool{false, true} {
				s := NearShape{right, past, held}
				list[s] = t.near(s)
			}
		}
	}
	return list
}

// near is one of these statements. SQLite knows that there is one row of onto_meta by its
// id, so that the rows need no sorting. A version of the past that is still the newest
// comes from the projection, as fast as one of the present.
func (t *Table) near(s NearShape) string {
	right, fields, sum, join, superseded := "c."+t.Columns[2], "c.fields", "NULL", "", ""
	at := fmt.Sprintf("c.%s = +? AND c.%s = ?", t.Columns[0], t.Columns[1])
	order := fmt.Sprintf("c.%s, c.%s", t.Columns[2], t.Columns[3])
	if s.Right {
		at += fmt.Sprintf(" AND c.%s = ?", t.Columns[2])
		right = "NULL"
	}
	commit, version, op := "c.commit_id", "c.schema_version_id", "c.op"
	if s.Past {
		at += " AND c.first_commit_id <= ?"
		join = fmt.Sprintf(" LEFT JOIN %s h ON c.commit_id > ? AND h.id = %s", t.History, t.NewestAt("c", "?"))
		fields, sum = "iif(h.id IS NULL, c.fields, h.fields_json)", t.Sum("h")
		commit, version, op = "ifnull(h.commit_id, c.commit_id)", "iif(h.id IS NULL, c.schema_version_id, h.schema_version_id)", "ifnull(h.op, c.op)"
	}
	live := op + " = 'put'"
	if s.Held {
		live += fmt.Sprintf(" AND ifnull(%[1]s ->> '$.%[2]s', 0) <= ? AND ifnull(%[1]s ->> '$.%[3]s', x'') > ?", fields, onto.FactFrom, onto.FactUntil)
	}
	if !s.Past {
		at += " AND " + live
	} else {
		superseded = " AND (c.commit_id IS NULL OR " + live + ")"
	}
	return fmt.Sprintf(`SELECT head.id, %s,
			c.%s, %s, %s, NULL, %s, CAST(json(%s) AS BLOB), %s
		FROM %s LEFT JOIN %s c ON %s%s WHERE m.id = 1%s ORDER BY %s`,
		TypeChanges, t.Columns[3], right, commit, version, fields, sum,
		HeadFrom, t.Current, at, join, superseded, order)
}

// NearVersion reads a row of these statements, if it has a version.
func (t *Table) NearVersion(r *driver.Rows, q *backend.Query) (onto.Version, bool) {
	if r.Null(nearCommit) {
		return onto.Version{}, false
	}
	id := onto.Identity{Kind: t.Kind, Type: q.Type, Left: q.LeftKeys[0], Right: r.Text(nearRight), Instance: r.Text(nearInstance)}
	if len(q.RightKeys) > 0 {
		id.Right = q.RightKeys[0]
	}
	v := Version(r, nearCommit, id)
	v.Op = onto.Put
	return v, true
}
