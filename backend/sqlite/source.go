package sqlite

import (
	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/sqlgen"
)

// source is where the rows of a query come from: one row for each version of
// its type, mode and moment. Filters, orders and pages are added to it.
type source struct {
	from  sqlgen.Part   // the tables
	where []sqlgen.Part // which of their rows count

	narrowed bool // to some keys

	keys   string      // the alias that has the columns of the identity
	row    string      // the alias that has commit, op and schema version
	fields string      // the column with the JSON
	output string      // the same as bytes
	order  sqlgen.Part // of the mode

	ends endpoints
}

// endpoints is where a relation's endpoints are found.
type endpoints struct {
	table   string                                       // of entities
	fields  string                                       // the name of the column with the JSON
	version func(typ any, key, alias string) sqlgen.Part // the condition that alias is the endpoint
}

// source chooses where to read from.
func (r *reading) source(t *layout.Table, q *backend.Query) (source, error) {
	switch {
	case q.Mode == backend.History:
		return r.fromHistory(t, q), nil
	case q.At == backend.Head || q.At >= r.Head:
		return fromCurrent(t, q), nil
	}
	past, err := r.prefersPast(t, q)
	if err != nil || past {
		return fromPast(t, q), err
	}
	return fromSeek(t, q), nil
}

// fromCurrent reads the projection.
//
// SQLite considers any comparison with the first column of a primary key selective.
// Where there are indexes to choose from, a hint says that this one is not.
func fromCurrent(t *layout.Table, q *backend.Query) source {
	typ, indexed := typeInSQL(q.Type, q.Schema)
	isType := sqlgen.SQL("c.? = ?", raw(t.Columns[0]), typ)
	if indexed && q.Keys == nil && q.LeftKeys == nil && q.RightKeys == nil {
		isType = sqlgen.SQL("likelihood(?, 0.9)", isType)
	}
	return source{
		from:  sqlgen.SQL("? c", raw(t.Current)),
		where: []sqlgen.Part{isType, sqlgen.SQL("c.op = 'put'")},
		keys:  "c", row: "c",
		fields: "c.fields", output: "CAST(json(c.fields) AS BLOB)",
		order: raw(t.List("c")),
		ends: endpoints{"entity_current", "fields", func(typ any, key, alias string) sqlgen.Part {
			return sqlgen.SQL("?.entity_type = ? AND ?.entity_key = ?", raw(alias), typ, raw(alias), raw(key))
		}},
	}
}

// inHistory is a source whose versions are rows of history, called h. The columns of
// the identity are those of the alias that keys names, and endpoints are as of a commit.
func inHistory(t *layout.Table, from sqlgen.Part, keys string, commit sqlgen.Part, where ...sqlgen.Part) source {
	return source{
		from: from, where: where, keys: keys, row: "h",
		fields: "h.fields_json", output: "CAST(h.fields_json AS BLOB)",
		order: raw(t.List(keys)), ends: endsAt(commit),
	}
}

// fromSeek takes each identity that existed by then from the projection, and seeks its
// version of that time in history.
func fromSeek(t *layout.Table, q *backend.Query) source {
	from := sqlgen.SQL("? c CROSS JOIN ? h ON h.id = ?", raw(t.Current), raw(t.History), filled(t.NewestAt("c", "?"), q.At))
	return inHistory(t, from, "c", sqlgen.SQL("?", q.At), sqlgen.SQL("c.? = ?", raw(t.Columns[0]), boundType(q.Type)),
		sqlgen.SQL("c.first_commit_id <= ?", q.At), sqlgen.SQL("h.op = 'put'"))
}

// fromHistory reads all versions of an identity or of a type. A type's come by
// commit, so they are found by the index on it, unless keys are given: then
// there is less to sort.
func (r *reading) fromHistory(t *layout.Table, q *backend.Query) source {
	s := inHistory(t, sqlgen.SQL("? h", raw(t.History)), "h", sqlgen.SQL("h.commit_id"))
	s.order = sqlgen.SQL("h.commit_id, ?, h.id DESC", s.order)
	switch {
	case q.Identity != nil:
		s.where = append(s.where, sqlgen.Part{SQL: t.Matches("h", "?"), Args: layout.IdentityArgs(nil, q.Identity)})
		s.order = sqlgen.SQL("h.commit_id, h.id DESC")
	case q.Keys != nil || q.LeftKeys != nil:
		s.where = append(s.where, sqlgen.SQL("h.? = ?", raw(t.Columns[0]), q.Type))
	default:
		s.where = append(s.where, sqlgen.SQL("+h.? = ?", raw(t.Columns[0]), q.Type)) // no sort of the whole type
	}
	s.where = append(s.where, sqlgen.SQL("h.commit_id > ?", q.Since), sqlgen.SQL("h.commit_id <= ?", r.commitID(q.At)))
	return s
}

// endsAt finds endpoints as of a commit.
func endsAt(commit sqlgen.Part) endpoints {
	return endpoints{"entity_history", "fields_json", func(typ any, key, alias string) sqlgen.Part {
		return sqlgen.SQL(`?.id = (SELECT s.id FROM entity_history s WHERE s.entity_type = ? AND s.entity_key = ?
			AND s.commit_id <= ? ORDER BY s.commit_id DESC, s.id LIMIT 1)`, raw(alias), typ, raw(key), commit)
	}}
}

// join joins an endpoint of a type by its key. If it is optional, rows without it stay.
func (e *endpoints) join(end *sqlgen.End, typ sqlgen.Part, key string) sqlgen.Part {
	join := sqlgen.SQL("? ? ON ? AND ?.op = 'put'", raw(e.table), raw(end.Alias), e.version(typ, key, end.Alias), raw(end.Alias))
	if end.Needed {
		return sqlgen.SQL(" JOIN ?", join)
	}
	return sqlgen.SQL(" LEFT JOIN ?", join)
}

// typeInSQL is a type's name. It is a literal if the type has indexes: they are
// partial, and used only if the literal is in the statement.
func typeInSQL(name string, s *onto.Schema) (typ sqlgen.Part, written bool) {
	if s == nil || s.Name != name || onto.CheckName("type", name) != nil ||
		!s.Indexed() {
		return boundType(name), false
	}
	return raw("'" + name + "'"), true
}

// boundType is a type that is bound, as [layout.Table.Matches] has it.
func boundType(name string) sqlgen.Part { return sqlgen.SQL("+?", name) }

// raw is SQL made of names of this package's tables.
func raw(sql string) sqlgen.Part { return sqlgen.Part{SQL: sql} }

// filled is such SQL with values for its placeholders.
func filled(sql string, args ...any) sqlgen.Part { return sqlgen.Part{SQL: sql, Args: args} }
