package sqlgen

import (
	"slices"

	"github.com/ontologia/onto"
)

// Pinned returns the strings of which a field must have one for a filter to be
// true, as far as its outermost And tells. It reports false if that leaves the
// field open.
func Pinned(f onto.Filter, side onto.Side, field string) ([]string, bool) {
	switch f := f.(type) {
	case onto.And:
		for _, each := range f {
			if values, ok := Pinned(each, side, field); ok {
				return values, true
			}
		}
	case onto.Condition:
		o := f.Operand
		if o.Any || o.Side != side || len(o.Path) != 1 || o.Path[0] != field || f.Test != onto.Equal && f.Test != onto.In {
			return nil, false
		}
		return textsAmong(f.Values), true
	}
	return nil, false
}

// textsAmong returns the strings among values. No string field has the others.
func textsAmong(values []any) []string {
	list := []string{}
	for _, v := range values {
		if s, ok := v.(string); ok {
			list = append(list, s)
		}
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
