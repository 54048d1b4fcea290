package duck

import (
	"slices"
	"strings"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/sqlgen"
)

// from is the rows, joined with their endpoints, and the condition on them.
func (a *question) from() sqlgen.Part {
	rows := a.own.state
	if a.Query.Mode == backend.History {
		rows = a.own.history
	}
	from := sqlgen.SQL("(?) v", rows())
	for _, e := range a.ends {
		from = sqlgen.Join("", from, a.join(e))
	}
	return from
}

// join joins an endpoint: its state as of the moment of the question, or in a history
// as of each version's own commit. A deleted endpoint has no fields, like one that does
// not exist.
func (a *question) join(e end) sqlgen.Part {
	alias, key := raw(e.Alias), raw(e.Key)
	if a.Query.Mode == backend.History {
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
	s := sqlgen.Select{Columns: output, From: a.from(), Where: a.Where}
	if a.Sorts {
		s.Where = slices.Concat(a.Where, a.after())
	}
	if a.Sorts && !a.unordered {
		s.Keys, s.Order = a.Keys, raw(prefixed("v.", a.Tie()))
	}
	if a.Whole() && a.divisions == 0 {
		s.Skip, s.Take = a.Query.Offset, a.Query.Limit
	}
	return s.Statement(a.Scope.Dialect)
}

// after is the condition that a row comes after the place, if there is one.
func (a *question) after() []sqlgen.Part { return a.After(a.Keys, a.Places()) }

// output is the columns of a version, and what the process needs of endpoints.
func (a *question) output() sqlgen.Part {
	columns := prefixed("v.", append(sqlgen.KeyColumns(a.Query.Kind), "commit_id", "op", "schema_version_id", "fields_json"))
	if !a.withEnds {
		return raw(columns)
	}
	for _, end := range []*sqlgen.Document{&a.Scope.Left, &a.Scope.Right} {
		if end.Column == "" {
			columns += ", CAST(NULL AS VARCHAR)"
		} else {
			columns += ", " + end.Column
		}
	}
	return raw(columns)
}

func prefixed(prefix string, names []string) string { return prefix + strings.Join(names, ", "+prefix) }
