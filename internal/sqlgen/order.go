package sqlgen

import (
	"encoding/json"

	"github.com/ontologia/onto"
)

// Key is an expression to sort by. NULL comes last in both directions.
type Key struct {
	Expression Part
	Desc       bool
	Nullable   bool
}

// Keys is what orders sort by.
func (s *Scope) Keys(orders []onto.Order) []Key {
	var keys []Key
	for _, o := range orders {
		for _, k := range s.Dialect.Sort(s.value(o.Operand)) {
			k.Desc = o.Desc
			keys = append(keys, k)
		}
	}
	return keys
}

// Places is what the keys of orders hold at a place in the answer, given its canonical
// values; nil for null.
func (s *Scope) Places(orders []onto.Order, values []json.RawMessage) []any {
	var places []any
	for i, o := range orders {
		v := values[i]
		if isNull(v) {
			v = nil
		}
		places = append(places, s.Dialect.Place(s.value(o.Operand), v)...)
	}
	return places
}

// isNull reports whether a canonical value is missing or null.
func isNull(v json.RawMessage) bool { return len(v) == 0 || v[0] == 'n' }

// OrderBy is the list that follows ORDER BY.
func OrderBy(keys []Key) Part {
	parts := make([]Part, len(keys))
	for i, k := range keys {
		parts[i] = k.Expression
		if k.Desc {
			parts[i] = SQL("? DESC", parts[i])
		}
		if k.Nullable {
			parts[i] = SQL("? NULLS LAST", parts[i])
		}
	}
	return Join(", ", parts...)
}

// After is the condition that a row comes after the place where the keys have
// these values; rest is the condition for rows where they have the same.
func After(keys []Key, places []any, rest Part) Part {
	for i := len(keys) - 1; i >= 0; i-- {
		rest = keys[i].after(places[i], rest)
	}
	return rest
}

func (k Key) after(place any, rest Part) Part {
	if place == nil {
		return All(SQL("? IS NULL", k.Expression), rest)
	}
	beyond, bound := SQL("? > ?", k.Expression, place), SQL("? >= ?", k.Expression, place)
	if k.Desc {
		beyond, bound = SQL("? < ?", k.Expression, place), SQL("? <= ?", k.Expression, place)
	}
	tie := All(SQL("? = ?", k.Expression, place), rest)
	if k.Nullable {
		return Either(beyond, SQL("? IS NULL", k.Expression), tie)
	}
	return All(bound, Either(beyond, tie)) // an index can start at the bound
}
