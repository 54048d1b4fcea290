package sqlgen

import (
	"slices"

	"github.com/ontologia/onto"
)

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
