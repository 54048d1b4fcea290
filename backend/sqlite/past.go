package sqlite

import (
	"context"
	"fmt"
	"sync"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/internal/audit"
	"github.com/ontologia/onto/internal/sqlgen"
)

// A view of the past asks for the version of each identity that was the newest
// then. To seek it for each identity is good if there are few identities with
// many versions. For many identities with few versions each there is a table of
// thin rows, one for each version that was superseded: from which commit, and
// until which other one, it was the newest. Those that were not superseded are
// in the projection. Rows are only ever added, in the order of the primary key,
// and nothing is written for an identity's first version.
const createPast = `
CREATE TABLE IF NOT EXISTS onto_entity_past (
    entity_type TEXT NOT NULL,
    until INTEGER NOT NULL,
    since INTEGER NOT NULL,
    history_id INTEGER NOT NULL,
    PRIMARY KEY (entity_type, until, since, history_id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS onto_relation_past (
    relation_type TEXT NOT NULL,
    until INTEGER NOT NULL,
    since INTEGER NOT NULL,
    history_id INTEGER NOT NULL,
    PRIMARY KEY (relation_type, until, since, history_id)
) WITHOUT ROWID;
`

// supersede is the statement that enters the versions which those in a range of
// history rows supersede. It reads nothing but the lookup index.
func (t *table) supersede() string {
	return fmt.Sprintf(`INSERT INTO %[1]s SELECT h.%[2]s, h.commit_id, p.commit_id, p.id
		FROM %[3]s h CROSS JOIN %[3]s p ON %[4]s AND p.commit_id =
			(SELECT max(s.commit_id) FROM %[3]s s WHERE %[5]s AND s.commit_id < h.commit_id)
		WHERE h.id BETWEEN ? AND ?`, t.past, t.columns[0], t.history, t.matches("p", "h"), t.matches("s", "h"))
}

// supersessions is all that the table of the past should have. Of several
// versions that another program wrote in one commit, none is told apart.
func (t *table) supersessions() string {
	return fmt.Sprintf(`SELECT %[1]s, next, commit_id, id FROM (SELECT %[1]s, commit_id, id,
		lead(commit_id) OVER (PARTITION BY %[2]s ORDER BY commit_id) AS next FROM %[3]s h) WHERE next IS NOT NULL`,
		t.columns[0], t.list("h"), t.history)
}

// fillPast makes the tables of the past anew.
func fillPast(ctx context.Context, w *driver.Conn, tables [2]*table) error {
	for _, t := range tables {
		if err := w.Script(`DROP TABLE IF EXISTS ` + t.past); err != nil {
			return err
		}
	}
	if err := w.Script(createPast); err != nil {
		return err
	}
	for _, t := range tables {
		if err := w.ExecContext(ctx, fmt.Sprintf(`INSERT INTO %s %s ORDER BY 1, 2, 3, 4`, t.past, t.supersessions())); err != nil {
			return err
		}
	}
	return nil
}

// fromPast reads what was superseded later from the table of the past, and the
// rest from the projection.
func fromPast(t *table, q *backend.Query) source {
	columns := func(alias, fields, text string) sqlgen.Part {
		return sqlgen.SQL("?, ?.commit_id, ?.op, ?.schema_version_id, ? AS fields, ? AS text, ? AS onto_sum",
			raw(t.list(alias)), raw(alias), raw(alias), raw(alias), raw(fields), raw(text), raw(t.sum(alias)))
	}
	superseded := sqlgen.SQL("p.? = ? AND p.until > ? AND p.since <= ? AND h.op = 'put'", raw(t.columns[0]), q.Type, q.At, q.At)
	if glance, ok := (sqlgen.SQLite{}).Glance("h.fields_json", q.Where); ok {
		superseded = sqlgen.All(superseded, glance)
	}
	return source{
		from: sqlgen.SQL("(SELECT ? FROM ? c WHERE c.? = ? AND c.commit_id <= ? AND c.op = 'put' UNION ALL SELECT ? FROM ? p CROSS JOIN ? h ON h.id = p.history_id WHERE ?) v",
			columns("c", "c.fields", "NULL"), raw(t.current), raw(t.columns[0]), boundType(q.Type), q.At,
			columns("h", "h.fields_json", "h.fields_json"), raw(t.past), raw(t.history), superseded),
		keys: "v", row: "v",
		fields: "v.fields", output: "CAST(ifnull(v.text, json(v.fields)) AS BLOB)",
		order: raw(t.list("v")),
		ends:  endsAt(sqlgen.SQL("?", q.At)),
	}
}

// pastPays is how many rows of the table of the past can be read in the time of
// one seek in history.
const pastPays = 20

// prefersPast reports whether the table of the past is the better way to a view:
// if there are many identities for each version that came later. Rows of other
// programs are not told apart there.
func (r *reading) prefersPast(t *table, q *backend.Query) (bool, error) {
	few := len(sqlgen.Narrow(q)) > 0 || q.Limit > 0 && q.Where == nil && len(q.Order) == 0
	if few || r.foreign.until > 0 || r.format < 2 {
		return false, nil
	}
	later, err := r.queryInt(fmt.Sprintf(`SELECT (SELECT max(id) FROM %s) - ifnull(
		(SELECT id FROM %[1]s WHERE commit_id <= ? ORDER BY commit_id DESC LIMIT 1), 0)`, t.history), q.At)
	if err != nil {
		return false, err
	}
	return r.hasIdentities(t, q.Type, later/pastPays+1)
}

// hasIdentities reports whether a type has that many identities. They never
// become fewer, so what is known stays so.
func (r *reading) hasIdentities(t *table, typ string, enough int64) (bool, error) {
	name := onto.TypeName{Kind: t.kind, Name: typ}
	if r.counted.atLeast(name, enough) {
		return true, nil
	}
	n, err := r.queryInt(fmt.Sprintf(`SELECT count(*) FROM (SELECT 1 FROM %s WHERE %s = +? LIMIT ?)`, t.current, t.columns[0]), typ, enough)
	r.counted.note(name, n)
	return n >= enough, err
}

// counted is how many identities types are known to have, at least.
type counted struct {
	mu    sync.Mutex // guards least
	least map[onto.TypeName]int64
}

func (c *counted) atLeast(name onto.TypeName, n int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.least[name] >= n
}

func (c *counted) note(name onto.TypeName, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.least == nil {
		c.least = map[onto.TypeName]int64{}
	}
	c.least[name] = max(n, c.least[name])
}

// past compares the tables of the past with history.
func (c *checker) past() error {
	if c.r.format < 2 || c.r.foreign.until > 0 || !c.r.foreign.covers() {
		return nil
	}
	for _, t := range c.b.tables {
		n, err := c.r.queryInt(`SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?`, t.past)
		if err == nil && n == 0 {
			err = c.stale(audit.PastMissing, "the table %s is missing", t.past)
		}
		if err != nil || n == 0 {
			return err
		}
		for _, side := range []struct {
			code      audit.Fault
			what, sql string
		}{
			{audit.PastMissing, "lacks", t.supersessions() + ` EXCEPT SELECT * FROM ` + t.past},
			{audit.PastExtra, "has a row for", `SELECT * FROM ` + t.past + ` EXCEPT ` + t.supersessions()},
		} {
			err := c.each(side.sql, nil, func(rows *driver.Rows) error {
				return c.stale(side.code, "%s %s the version of %s in row %d of %s, superseded by commit %d",
					t.past, side.what, rows.Text(0), rows.Int(3), t.history, rows.Int(1))
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
