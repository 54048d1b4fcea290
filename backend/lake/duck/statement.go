package duck

import (
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/sqlgen"
)

// from is the rows, joined with their endpoints, and the condition on them.
func (a *question) from() sqlgen.Part {
	rows := a.own.state
	if a.q.Mode == backend.History {
		rows = a.own.history
	}
	from := sqlgen.SQL("(?) v", rows())
	for _, e := range a.ends {
		from = sqlgen.Join("", from, a.join(e))
	}
	return from
}

// join joins an endpoint: its state as of the moment of the question, in a
// history that as of each version's own commit. What was deleted has no fields,
// which looks the same as what does not exist.
func (a *question) join(e end) sqlgen.Part {
	alias, key := raw(e.Alias), raw(e.Key)
	if a.q.Mode == backend.History {
		return sqlgen.SQL(" ASOF LEFT JOIN (?) ? ON v.? = ?.entity_key AND v.commit_id >= ?.commit_id",
			e.history(), alias, key, alias, alias)
	}
	return sqlgen.SQL(" LEFT JOIN (?) ? ON v.? = ?.entity_key", e.state(), alias, key, alias)
}

// statement selects versions, in the order of the answer unless the process
// sorts. The page is cut out here if nothing is left to do.
func (a *question) statement() sqlgen.Part { return a.selecting(a.output()) }

// selecting is the statement with other columns.
func (a *question) selecting(output sqlgen.Part) sqlgen.Part {
	q := a.q
	where := a.where
	order := raw(prefixed("v.", a.tie()))
	if a.sorts {
		where = append(where, a.after()...)
		if len(a.keys) > 0 {
			order = sqlgen.Join(", ", sqlgen.OrderBy(a.keys), order)
		}
	}
	sql := sqlgen.SQL("SELECT ? FROM ? WHERE ?", output, a.from(), sqlgen.All(where...))
	if a.sorts && !a.unordered {
		sql = sqlgen.SQL("? ORDER BY ?", sql, order)
	}
	if a.whole() && a.divisions == 0 && (q.Limit > 0 || q.Offset > 0) {
		if q.Limit > 0 {
			sql = sqlgen.SQL("? LIMIT ?", sql, int64(q.Limit))
		}
		sql = sqlgen.SQL("? OFFSET ?", sql, int64(max(0, q.Offset)))
	}
	return sql
}

// whole reports whether SQL does everything.
func (a *question) whole() bool { return a.filters && a.sorts }

// output is the columns of a version, and what the process needs of endpoints.
func (a *question) output() sqlgen.Part {
	columns := prefixed("v.", append(sqlgen.KeyColumns(a.q.Kind), "commit_id", "op", "schema_version_id", "fields_json"))
	if !a.withEnds {
		return raw(columns)
	}
	for _, end := range []*sqlgen.Document{&a.scope.Left, &a.scope.Right} {
		if end.Column == "" {
			columns += ", CAST(NULL AS VARCHAR)"
		} else {
			columns += ", " + end.Column
		}
	}
	return raw(columns)
}

func prefixed(prefix string, names []string) string { return prefix + strings.Join(names, ", "+prefix) }

// tie is the columns of the order of the mode.
func (a *question) tie() []string {
	if a.q.Mode == backend.History {
		return append([]string{"commit_id"}, sqlgen.KeyColumns(a.q.Kind)...)
	}
	return sqlgen.KeyColumns(a.q.Kind)
}

// after is the condition that a row comes after the place, if there is one.
func (a *question) after() []sqlgen.Part {
	place := a.q.After
	if place == nil {
		return nil
	}
	return []sqlgen.Part{sqlgen.After(a.keys, a.scope.Places(a.q.Order, place.Values), a.afterTie(place))}
}

// afterTie is the condition that a row comes after the place in the order of the
// mode: one column after the other, since a row is not compared as a whole in
// files.
func (a *question) afterTie(place *backend.Place) sqlgen.Part {
	columns, values := a.tie(), sqlgen.KeyValues(&place.Identity)
	if a.q.TypeName() != place.Identity.TypeName() {
		values = nil
	}
	if a.q.Mode == backend.History {
		values = append([]any{place.Commit}, values...)
	}
	var keys []sqlgen.Key
	for _, c := range columns[:len(values)] {
		keys = append(keys, sqlgen.Key{Expression: raw("v." + c)})
	}
	return sqlgen.After(keys, values, a.beyondType(place))
}

// beyondType is what holds for rows that the place does not come before or after
// by anything but, perhaps, its type.
func (a *question) beyondType(place *backend.Place) sqlgen.Part {
	own := onto.Identity{Kind: a.q.Kind, Type: a.q.Type}
	other := onto.Identity{Kind: place.Identity.Kind, Type: place.Identity.Type}
	if own.Compare(other) > 0 {
		return sqlgen.SQL("TRUE")
	}
	return sqlgen.SQL("FALSE")
}
