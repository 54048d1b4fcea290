package sqlgen

import (
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// End is an endpoint of relations, or the subject of facts, that is joined to their rows.
type End struct {
	Side   onto.Side
	Alias  string       // its own
	Key    string       // the column of the rows with its key
	Keys   []string     // only these keys; nil for all
	Schema *onto.Schema // of its type; nil if that is not known
	Needed bool         // rows without it are left out
}

// Ends returns the endpoints to join for a question that uses some.
func Ends(q *backend.Query, looked backend.Ends) []End {
	var list []End
	columns := KeyColumns(q.Kind)
	if looked.Left {
		list = append(list, End{onto.LeftSide, "le", columns[0], q.LeftKeys, q.Left, NeedsEnd(q.Where, onto.LeftSide)})
	}
	if looked.Right {
		list = append(list, End{onto.RightSide, "re", columns[1], q.RightKeys, q.Right, NeedsEnd(q.Where, onto.RightSide)})
	}
	return list
}

// NeedsEnd reports whether a filter, which may be nil, is false wherever the
// endpoint does not exist.
func NeedsEnd(f onto.Filter, side onto.Side) bool {
	needs := func(f onto.Filter) bool { return NeedsEnd(f, side) }
	switch f := f.(type) {
	case onto.And:
		return slices.ContainsFunc(f, needs)
	case onto.Or:
		return !slices.ContainsFunc(f, func(f onto.Filter) bool { return !needs(f) })
	case onto.Condition:
		return f.Operand.Side == side && (f.Test != onto.IsNull || f.Operand.Any)
	}
	return false
}
