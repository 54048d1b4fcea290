package sqlgen

import (
	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// KeyColumns is the columns of an identity within its type, in its order. They
// are never NULL.
func KeyColumns(k onto.Kind) []string {
	switch k {
	case onto.KindFact:
		return []string{"subject", "attribute", "fact_id"}
	case onto.KindRelation:
		return []string{"left_key", "right_key", "instance_key"}
	}
	return []string{"entity_key"}
}

// KeyValues is what the columns hold for an identity.
func KeyValues(id *onto.Identity) []any {
	if id.Kind != onto.KindEntity {
		return []any{id.Left, id.Right, id.Instance}
	}
	return []any{id.Key}
}

// Narrowed is a column and the only keys that it can hold.
type Narrowed struct {
	Column string
	Keys   []string
}

// Narrow returns what a query says about keys. Conditions of its filter on keys are
// included, since rows are found by keys.
func Narrow(q *backend.Query) []Narrowed {
	var list []Narrowed
	listed := func(column string, keys []string) {
		if keys != nil {
			list = append(list, Narrowed{column, keys})
		}
	}
	pinned := func(column string, side onto.Side, s *onto.Schema) {
		if s == nil || s.Kind != onto.KindEntity {
			return
		}
		if f, ok := s.Field(s.Key); ok && f.Type == onto.String {
			if keys, ok := Pinned(q.Where, side, s.Key); ok {
				listed(column, keys)
			}
		}
	}
	columns := KeyColumns(q.Kind)
	if q.Kind == onto.KindEntity {
		listed(columns[0], q.Keys)
		pinned(columns[0], onto.OwnSide, q.Schema)
		return list
	}
	listed(columns[0], q.LeftKeys)
	listed(columns[1], q.RightKeys)
	pinned(columns[0], onto.LeftSide, q.Left)
	pinned(columns[1], onto.RightSide, q.Right)
	return list
}

// Pinned returns the only strings that a field may have for a filter to be true,
// judging by its outermost And. It reports false if the field is unrestricted.
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
