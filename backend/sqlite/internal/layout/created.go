package layout

import (
	"cmp"
	"context"
	"fmt"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
)

// The projection tells with which commit an identity was created: the first of its versions
// since its last delete. Mostly that is the first of all, which the projection has anyway. So
// created_commit_id is NULL but for identities that were created again after a delete and live,
// and a file of format 7, which lacks the column, gets it without its rows being written.

// CreatedFormat is the first format with created_commit_id.
const CreatedFormat = 8

// createdSQL is what the column has to be for the identity in the row called alias, which is
// one of its newest version, in history or in the projection.
func (t *Table) createdSQL(alias string) string {
	return fmt.Sprintf(`iif(%[1]s.op = 'put', (SELECT min(s.commit_id) FROM %[2]s s WHERE %[3]s AND s.commit_id >
			(SELECT max(d.commit_id) FROM %[2]s d WHERE %[4]s AND d.commit_id < %[1]s.commit_id AND d.op = 'delete')), NULL)`,
		alias, t.History, t.Matches("s", alias), t.Matches("d", alias))
}

// fillCreated fills the column where it is NULL for every identity.
func (t *Table) fillCreated(ctx context.Context, w *driver.Conn) error {
	return w.ExecContext(ctx, fmt.Sprintf(`UPDATE %s AS c SET created_commit_id = %s FROM (SELECT DISTINCT %s FROM %s h WHERE h.op = 'delete') g
		WHERE c.op = 'put' AND %s`, t.Current, t.createdSQL("c"), t.List("h"), t.History, t.Matches("c", "g")))
}

// AddCreated adds the column to the tables, which lack nothing else but indexes, and fills it.
func AddCreated(ctx context.Context, w *driver.Conn, tables *Tables, s *Shape) error {
	if err := AddMissing(w, s); err != nil {
		return err
	}
	for _, t := range tables {
		err := t.fillCreated(ctx, w)
		if err = cmp.Or(ctx.Err(), err); err != nil { // a statement that was interrupted says less
			return err
		}
	}
	return nil
}

// bornSQL is the statements of [Table.Born]: what the projection has of an identity, and the
// commit with which its life as of a commit began, from history. The latter takes the identity
// and the commit twice.
func (t *Table) bornSQL() (first, firstAt string) {
	first = fmt.Sprintf(`SELECT c.commit_id, c.op, c.first_commit_id, ifnull(c.created_commit_id, c.first_commit_id) FROM %s c WHERE %s`,
		t.Current, t.Matches("c", "?"))
	firstAt = fmt.Sprintf(`SELECT min(s.commit_id) FROM %[1]s s WHERE %[2]s AND s.commit_id <= ? AND s.commit_id > ifnull(
		(SELECT max(d.commit_id) FROM %[1]s d WHERE %[3]s AND d.commit_id <= ? AND d.op = 'delete'), 0)`,
		t.History, t.Matches("s", "?"), t.Matches("d", "?"))
	return first, firstAt
}

// Born returns the commit with which the life of an identity as of a commit began, 0 if it
// does not live then. The projection tells what the life is that an identity has now, and that
// there was none before its first version. Of other lives, and in a file that lacks the column,
// history tells.
func (m *Moment) Born(t *Table, id *onto.Identity, at int64) (int64, error) {
	args := IdentityArgs(make([]any, 0, 10), id)
	if m.Format >= CreatedFormat {
		row, ok, err := m.QueryRow(t.First, args...)
		if err != nil || !ok {
			return 0, err
		}
		newest, lives, first, created := row.Int(0), row.Text(1) == string(onto.Put), row.Int(2), row.Int(3)
		switch {
		case lives && created <= at:
			return created, nil
		case first > at, !lives && newest <= at:
			return 0, nil
		}
	}
	args = append(args, at)
	return m.QueryInt(t.FirstAt, append(args, args...)...)
}
