package sqlite

import (
	"fmt"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/sqlgen"
)

// fromPast reads versions that were superseded later from the table of the past, and
// the rest from the projection.
func fromPast(t *layout.Table, q *backend.Query) source {
	columns := func(alias, fields, text string) sqlgen.Part {
		return sqlgen.SQL("?, ?.commit_id, ?.op, ?.schema_version_id, ? AS fields, ? AS text, ? AS onto_sum",
			raw(t.List(alias)), raw(alias), raw(alias), raw(alias), raw(fields), raw(text), raw(t.Sum(alias)))
	}
	superseded := sqlgen.SQL("p.? = ? AND p.until > ? AND p.since <= ? AND h.op = 'put'", raw(t.Columns[0]), q.Type, q.At, q.At)
	if glance, ok := (sqlgen.SQLite{}).Glance("h.fields_json", q.Where); ok {
		superseded = sqlgen.All(superseded, glance)
	}
	return source{
		from: sqlgen.SQL("(SELECT ? FROM ? c WHERE c.? = ? AND c.commit_id <= ? AND c.op = 'put' UNION ALL SELECT ? FROM ? p CROSS JOIN ? h ON h.id = p.history_id WHERE ?) v",
			columns("c", "c.fields", "NULL"), raw(t.Current), raw(t.Columns[0]), boundType(q.Type), q.At,
			columns("h", "h.fields_json", "h.fields_json"), raw(t.Past), raw(t.History), superseded),
		keys: "v", row: "v",
		fields: "v.fields", output: "CAST(ifnull(v.text, json(v.fields)) AS BLOB)",
		order: raw(t.List("v")),
		ends:  endsAt(sqlgen.SQL("?", q.At)),
	}
}

// pastPays is how many rows of the table of the past can be read in the time of one
// seek in history.
const pastPays = 20

// prefersPast reports whether the table of the past is the better way to a view: if
// there are many identities for each version that came later.
func (r *reading) prefersPast(t *layout.Table, q *backend.Query) (bool, error) {
	few := len(sqlgen.Narrow(q)) > 0 || q.Limit > 0 && q.Where == nil && len(q.Order) == 0
	if few {
		return false, nil
	}
	later, err := r.QueryInt(fmt.Sprintf(`SELECT (SELECT max(id) FROM %s) - ifnull(
		(SELECT id FROM %[1]s WHERE commit_id <= ? ORDER BY commit_id DESC LIMIT 1), 0)`, t.History), q.At)
	if err != nil {
		return false, err
	}
	return r.hasIdentities(t, q.Type, later/pastPays+1)
}

// hasIdentities reports whether a type has that many identities. Their number never
// decreases, so a positive answer is cached.
func (r *reading) hasIdentities(t *layout.Table, typ string, enough int64) (bool, error) {
	name := onto.TypeName{Kind: t.Kind, Name: typ}
	if known, ok := r.counted.Load(name); ok && known.(int64) >= enough {
		return true, nil
	}
	n, err := r.QueryInt(fmt.Sprintf(`SELECT count(*) FROM (SELECT 1 FROM %s WHERE %s = +? LIMIT ? + 0)`, t.Current, t.Columns[0]), typ, enough)
	r.counted.Store(name, n)
	return n >= enough, err
}
