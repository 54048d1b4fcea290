package filtertest_test

import (
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/filter/filtertest"
)

// naive is a second engine, written from the text of the contract and without package
// filter. One mistake can be planted in it.
type naive struct{ wrong mistake }

func (n naive) engine() filtertest.Engine {
	return filtertest.Engine{Match: n.match, Before: n.before}
}

func (n naive) match(f onto.Filter, r *filter.Row) bool { return n.eval(f, r) == yes }

// truth has a third value only by mistake.
type truth int

const (
	no truth = iota
	unknown
	yes
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

func (n naive) eval(f onto.Filter, r *filter.Row) truth {
	switch f := f.(type) {
	case onto.And:
		all := yes
		for _, part := range f {
			all = min(all, n.eval(part, r))
		}
		return all
	case onto.Or:
		some := no
		for _, part := range f {
			some = max(some, n.eval(part, r))
		}
		return some
	case onto.Not:
		return n.not(f.Of, r)
	case nil:
		return yes
	}
	return n.condition(f.(onto.Condition), r)
}

func (n naive) not(f onto.Filter, r *filter.Row) truth {
	if list, ok := f.(onto.And); ok && n.wrong == halfDeMorgan {
		all := yes
		for _, part := range list {
			all = min(all, n.not(part, r))
		}
		return all
	}
	if _, ok := f.(onto.Not); ok && n.wrong == twoNots {
		return n.eval(f, r)
	}
	return yes - n.eval(f, r)
}

func (n naive) condition(c onto.Condition, r *filter.Row) truth {
	row, there := n.side(c.Operand.Side, r)
	if !there && n.wrong == innerJoin {
		return unknown
	}
	v := n.find(row, c.Operand.Path)
	if !c.Operand.Any {
		return n.test(v, c.Test, c.Values)
	}
	list := n.elements(v)
	opposite := c.Test == onto.NotEqual && n.wrong == noneEquals
	if opposite {
		c.Test = onto.Equal
	}
	hits := 0
	for _, e := range list {
		e = n.find(e, c.Operand.Under)
		if e == nil && n.wrong == elementsExist {
			continue
		}
		if n.test(e, c.Test, c.Values) == yes {
			hits++
		}
	}
	switch {
	case opposite:
		return truthOf(list != nil && hits == 0)
	case n.wrong == everyElement:
		return truthOf(hits == len(list) && hits > 0)
	}
	return truthOf(hits > 0)
}

func (n naive) side(s onto.Side, r *filter.Row) (row any, there bool) {
	left, right := r.Left, r.Right
	if n.wrong == swappedEnds {
		left, right = right, left
	}
	text := r.Own
	switch {
	case s == onto.LeftSide && n.wrong != ownFields:
		text = left
	case s == onto.RightSide && n.wrong != ownFields:
		text = right
	}
	if text == nil {
		return nil, false
	}
	return decode(string(text)), true
}

// decode returns a JSON value with numbers as exact rationals; nil for null and
// for what is no JSON.
func decode(text string) any {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil || dec.More() {
		return nil
	}
	return exact(v)
}

func exact(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return new(big.Rat).SetInt64(i)
		}
		f, _ := v.Float64()
		return new(big.Rat).SetFloat64(f)
	case []any:
		for i := range v {
			v[i] = exact(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = exact(v[k])
		}
	}
	return v
}

// find follows names. Nil is what is missing or null.
func (n naive) find(v any, names []string) any {
	if n.wrong == dotsSplit {
		names = strings.Split(strings.Join(names, "."), ".")
	}
	for _, name := range names {
		if text, ok := v.(string); ok && n.wrong == textIsJSON {
			v = decode(text)
		}
		if list, ok := v.([]any); ok {
			v = n.stepIntoList(list, name)
			continue
		}
		object, _ := v.(map[string]any)
		if n.wrong == namesFold {
			object = folded(object)
			name = strings.ToLower(name)
		}
		v = object[name]
	}
	return v
}

func (n naive) stepIntoList(list []any, name string) any {
	i, err := strconv.Atoi(name)
	switch {
	case n.wrong == namesIndex && err == nil && i >= 0 && i < len(list):
		return list[i]
	case n.wrong == laxPaths && len(list) > 0:
		return n.find(list[0], []string{name})
	}
	return nil
}

func folded(object map[string]any) map[string]any {
	lower := map[string]any{}
	for name, v := range object {
		lower[strings.ToLower(name)] = v
	}
	return lower
}

func (n naive) elements(v any) []any {
	if text, ok := v.(string); ok && n.wrong == anyReadsText {
		v = decode(text)
	}
	switch v := v.(type) {
	case []any:
		return v
	case map[string]any:
		if n.wrong == anyOnObjects {
			var list []any
			for _, member := range v {
				list = append(list, member)
			}
			return list
		}
	default:
		if n.wrong == anyOnScalars && v != nil {
			return []any{v}
		}
	}
	return nil
}

// test applies a test to a value.
func (n naive) test(v any, t onto.Test, values []any) truth {
	switch {
	case t == onto.In && len(values) == 0:
		return truthOf(n.wrong == emptyInIsTrue)
	case v == nil:
		return n.testNull(t)
	}
	switch t {
	case onto.IsNull, onto.IsNotNull:
		return truthOf((t == onto.IsNotNull) != (n.wrong == emptyIsNull && v == ""))
	case onto.IsTrue:
		return truthOf(n.equal(v, true))
	case onto.IsFalse:
		return truthOf(n.equal(v, false))
	case onto.In:
		return truthOf(slices.ContainsFunc(values, func(w any) bool { return n.equal(v, w) }))
	case onto.Equal:
		return truthOf(n.equal(v, values[0]))
	case onto.NotEqual:
		if n.wrong == sameKindOnly && rank(v) != rank(value(values[0])) {
			return no
		}
		return truthOf(!n.equal(v, values[0]))
	case onto.StartsWith, onto.EndsWith, onto.Contains:
		return n.part(v, t, values[0].(string))
	}
	c, comparable := n.order(v, value(values[0]))
	less, same := c < 0, c == 0
	return truthOf(comparable && (less && (t == onto.Less || t == onto.AtMost) || same && (t == onto.AtMost || t == onto.AtLeast) ||
		!less && !same && (t == onto.Greater || t == onto.AtLeast)))
}

func (n naive) testNull(t onto.Test) truth {
	switch {
	case t == onto.IsNull:
		return yes
	case t == onto.NotEqual && n.wrong == missingIsUnequal:
		return yes
	case n.wrong == threeValued && t != onto.IsNotNull:
		return unknown
	}
	return no
}

// value is the value of a condition as decode would give it.
func value(v any) any {
	switch v := v.(type) {
	case int64:
		return new(big.Rat).SetInt64(v)
	case float64:
		return new(big.Rat).SetFloat64(v)
	}
	return v
}
