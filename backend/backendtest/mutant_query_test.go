package backendtest_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/internal/exec"
)

type groups = iter.Seq2[onto.Group, error]

// queryMutants lists the mistakes in answering queries.
func queryMutants() []mutant {
	return []mutant{
		{"not is unknown for what is null", "corpus histories", asked(onConditions(threeValued))},
		{"true is 1", "corpus histories", asked(onConditions(looseBools))},
		{"what is null is unequal", "corpus histories", asked(onConditions(unequalNull))},
		{"prefixes ignore case", "corpus histories", asked(onConditions(anyCase))},
		{"a percent sign stands for anything", "corpus histories", asked(onConditions(wildcard))},
		{"numbers are compared as floats", "corpus histories", asked(onConditions(throughFloat))},
		{"a scalar is a list of one", "corpus histories", asked(onConditions(scalarList))},
		{"filters are ignored in the past", "stories histories", asked(func(q *backend.Query) {
			if q.At >= 0 {
				q.Where = nil
			}
		})},
		{"no keys are all keys", "stories histories", asked(func(q *backend.Query) {
			if len(q.Keys) == 0 {
				q.Keys = nil
			}
		})},
		{"the keys on the right are ignored", "stories histories", asked(func(q *backend.Query) { q.RightKeys = nil })},
		{"offset is ignored", "stories histories", asked(func(q *backend.Query) { q.Offset = 0 })},
		{"the second order is ignored", "stories histories", asked(func(q *backend.Query) {
			if q.After == nil {
				q.Order = q.Order[:min(1, len(q.Order))]
			}
		})},
		{"limit comes before the filter", "stories histories", around(func(b backend.Backend) hurried { return hurried{b} })},
		{"the page of an order starts with the last row of the page before", "stories histories", around(func(b backend.Backend) repeating { return repeating{b} })},
		{"pages of a history look at the identity alone", "stories histories", around(func(b backend.Backend) timeless { return timeless{b} })},
		{"null comes first", "corpus histories", sortedBy(func(a, b json.RawMessage, desc bool) int {
			if (a == nil) != (b == nil) {
				return map[bool]int{true: -1, false: 1}[a == nil]
			}
			return turned(filter.Compare(a, b), desc)
		})},
		{"null comes first on the way down", "corpus histories", sortedBy(func(a, b json.RawMessage, desc bool) int {
			return turned(filter.Compare(a, b), desc)
		})},
		{"lists are sorted by their text", "corpus histories", sortedBy(func(a, b json.RawMessage, desc bool) int {
			if a == nil || b == nil {
				return filter.Compare(a, b)
			}
			return turned(cmp.Or(filter.Compare(a, b), bytes.Compare(a, b)), desc)
		})},
		{"texts are sorted by letter", "corpus histories", sortedBy(func(a, b json.RawMessage, desc bool) int {
			if a == nil || b == nil {
				return filter.Compare(a, b)
			}
			return turned(filter.Compare(bytes.ToLower(a), bytes.ToLower(b)), desc)
		})},
	}
}

// endMutants lists the mistakes about endpoints.
func endMutants() []mutant {
	return []mutant{
		{"endpoints are those of the head", "stories histories", withEnds(func(q *backend.Query, v *onto.Version, get getter) [2]json.RawMessage {
			return [2]json.RawMessage{get(q.Left, v.Left, backend.Head), get(q.Right, v.Right, backend.Head)}
		})},
		{"endpoints in a history are those of the query's moment", "stories histories", withEnds(func(q *backend.Query, v *onto.Version, get getter) [2]json.RawMessage {
			return [2]json.RawMessage{get(q.Left, v.Left, q.At), get(q.Right, v.Right, q.At)}
		})},
		{"endpoints are those of the relation's commit", "stories histories", withEnds(func(q *backend.Query, v *onto.Version, get getter) [2]json.RawMessage {
			return [2]json.RawMessage{get(q.Left, v.Left, v.Commit), get(q.Right, v.Right, v.Commit)}
		})},
		{"the left endpoint is of the right type", "stories histories", withEnds(func(q *backend.Query, v *onto.Version, get getter) [2]json.RawMessage {
			at := momentOf(q, v)
			return [2]json.RawMessage{get(q.Right, v.Left, at), get(q.Right, v.Right, at)}
		})},
		{"endpoints that do not exist have no relations", "stories histories", around(func(b backend.Backend) joining { return joining{b} })},
	}
}

// rewritten asks another question than the one it was asked.
type rewritten struct {
	backend.Backend
	rewrite func(*backend.Query)
}

func asked(rewrite func(*backend.Query)) planting {
	return around(func(b backend.Backend) rewritten { return rewritten{b, rewrite} })
}

func (b rewritten) Scan(ctx context.Context, q *backend.Query) versions {
	other := *q
	b.rewrite(&other)
	return b.Backend.Scan(ctx, &other)
}

func (b rewritten) Aggregate(ctx context.Context, a *backend.Aggregation) groups {
	other := *a
	b.rewrite(&other.Query)
	return b.Backend.Aggregate(ctx, &other)
}

// onConditions puts something else in the place of each condition.
func onConditions(replace func(onto.Condition) onto.Filter) func(*backend.Query) {
	var walk func(f onto.Filter) onto.Filter
	list := func(fs []onto.Filter) []onto.Filter {
		var out []onto.Filter
		for _, f := range fs {
			out = append(out, walk(f))
		}
		return out
	}
	walk = func(f onto.Filter) onto.Filter {
		switch f := f.(type) {
		case onto.And:
			return onto.And(list(f))
		case onto.Or:
			return onto.Or(list(f))
		case onto.Not:
			if c, ok := f.Of.(onto.Condition); ok {
				if r, ok := replace(c).(negated); ok {
					return r.whole
				}
			}
			return onto.Not{Of: walk(f.Of)}
		case onto.Condition:
			if r, ok := replace(f).(negated); ok {
				return r.Condition
			}
			return replace(f)
		}
		return f
	}
	return func(q *backend.Query) {
		if q.Where != nil {
			q.Where = walk(q.Where)
		}
	}
}

// negated is a condition that means something else under a Not.
type negated struct {
	onto.Condition
	whole onto.Filter
}

func threeValued(c onto.Condition) onto.Filter {
	if c.Test == onto.IsNull || c.Test == onto.IsNotNull || c.Operand.Any {
		return c
	}
	return negated{c, onto.And{onto.Not{Of: c}, c.Operand.IsNotNull()}}
}

func looseBools(c onto.Condition) onto.Filter {
	for _, v := range c.Values {
		switch v {
		case true:
			c.Values = slices.Concat(c.Values, []any{int64(1)})
		case false:
			c.Values = slices.Concat(c.Values, []any{int64(0)})
		case int64(1):
			c.Values = slices.Concat(c.Values, []any{true})
		case int64(0):
			c.Values = slices.Concat(c.Values, []any{false})
		}
	}
	if c.Test == onto.Equal {
		c.Test = onto.In
	}
	if c.Test != onto.In {
		c.Values = c.Values[:min(1, len(c.Values))]
	}
	return c
}

func unequalNull(c onto.Condition) onto.Filter {
	if c.Test != onto.NotEqual || c.Operand.Any {
		return c
	}
	return onto.Not{Of: c.Operand.Eq(c.Values[0])}
}

func anyCase(c onto.Condition) onto.Filter {
	if c.Test != onto.StartsWith {
		return c
	}
	s := c.Values[0].(string)
	return onto.Or{c, c.Operand.StartsWith(strings.ToLower(s)), c.Operand.StartsWith(strings.ToUpper(s))}
}

func wildcard(c onto.Condition) onto.Filter {
	if c.Test == onto.StartsWith || c.Test == onto.EndsWith || c.Test == onto.Contains {
		c.Values = []any{strings.ReplaceAll(c.Values[0].(string), "%", "")}
	}
	return c
}

func throughFloat(c onto.Condition) onto.Filter {
	c.Values = slices.Clone(c.Values)
	for i, v := range c.Values {
		if n, ok := v.(int64); ok {
			c.Values[i] = float64(n)
		}
	}
	return c
}

func scalarList(c onto.Condition) onto.Filter {
	if !c.Operand.Any || len(c.Operand.Under) > 0 {
		return c
	}
	whole := c
	whole.Operand.Any = false
	return onto.Or{c, whole}
}

// bare asks for all that a query is about.
func bare(q *backend.Query) *backend.Query {
	other := *q
	other.Where, other.Search, other.Order, other.After, other.Offset, other.Limit = nil, nil, nil, nil, 0, 0
	return &other
}

// hurried reads only as many rows as are asked for, then filters.
type hurried struct{ backend.Backend }

func (b hurried) Scan(ctx context.Context, q *backend.Query) versions {
	if q.Where == nil || q.Limit == 0 || len(q.Order) > 0 || uses(q) {
		return b.Backend.Scan(ctx, q)
	}
	first := *q
	first.Where = nil
	list, err := all(b.Backend.Scan(ctx, &first))
	return replay(slices.DeleteFunc(list, func(v onto.Version) bool {
		return !filter.Match(q.Where, &filter.Row{Own: v.Fields})
	}), err)
}

// uses reports whether a query looks at endpoints.
func uses(q *backend.Query) bool {
	left, right := filter.UsesEndpoints(q.Where)
	return left || right || slices.ContainsFunc(q.Order, func(o onto.Order) bool { return o.Operand.Side != onto.OwnSide })
}

type repeating struct{ backend.Backend }

func (b repeating) Scan(ctx context.Context, q *backend.Query) versions {
	if q.After == nil || len(q.Order) == 0 {
		return b.Backend.Scan(ctx, q)
	}
	whole := *q
	whole.After, whole.Offset, whole.Limit = nil, 0, 0
	list, err := all(b.Backend.Scan(ctx, &whole))
	at := slices.IndexFunc(list, func(v onto.Version) bool { return v.Identity == q.After.Identity })
	if at < 0 {
		return b.Backend.Scan(ctx, q)
	}
	return replay(cut(list[at:], q), err)
}

// cut applies offset and limit.
func cut(list []onto.Version, q *backend.Query) []onto.Version {
	list = list[min(q.Offset, len(list)):]
	if q.Limit > 0 {
		list = list[:min(q.Limit, len(list))]
	}
	return list
}

type timeless struct{ backend.Backend }

func (b timeless) Scan(ctx context.Context, q *backend.Query) versions {
	if q.After == nil || q.Mode != backend.History || len(q.Order) > 0 {
		return b.Backend.Scan(ctx, q)
	}
	whole := *q
	whole.After, whole.Offset, whole.Limit = nil, 0, 0
	list, err := all(b.Backend.Scan(ctx, &whole))
	list = slices.DeleteFunc(list, func(v onto.Version) bool { return v.Identity.Compare(q.After.Identity) <= 0 })
	return replay(cut(list, q), err)
}

func turned(c int, desc bool) int {
	if desc {
		return -c
	}
	return c
}

// missorted sorts in its own way.
type missorted struct {
	backend.Backend
	compare func(a, b json.RawMessage, desc bool) int
}

func sortedBy(compare func(a, b json.RawMessage, desc bool) int) planting {
	return around(func(b backend.Backend) missorted { return missorted{b, compare} })
}

func (b missorted) Scan(ctx context.Context, q *backend.Query) versions {
	if len(q.Order) == 0 || q.After != nil || uses(q) {
		return b.Backend.Scan(ctx, q)
	}
	whole := *q
	whole.Order, whole.Offset, whole.Limit = nil, 0, 0
	list, err := all(b.Backend.Scan(ctx, &whole))
	slices.SortStableFunc(list, func(v, w onto.Version) int {
		for _, o := range q.Order {
			x, y := (&filter.Row{Own: v.Fields}).Value(o.Operand), (&filter.Row{Own: w.Fields}).Value(o.Operand)
			if c := b.compare(x, y, o.Desc); c != 0 {
				return c
			}
		}
		return 0
	})
	return replay(cut(list, q), err)
}

// getter returns the fields of an entity as of a commit.
type getter func(typ *onto.Schema, key string, at int64) json.RawMessage

func momentOf(q *backend.Query, v *onto.Version) int64 {
	if q.Mode == backend.History {
		return v.Commit
	}
	return q.At
}

// misled looks for endpoints in its own way.
type misled struct {
	backend.Backend
	ends func(q *backend.Query, v *onto.Version, get getter) [2]json.RawMessage
}

func withEnds(ends func(q *backend.Query, v *onto.Version, get getter) [2]json.RawMessage) planting {
	return around(func(b backend.Backend) misled { return misled{b, ends} })
}

func (b misled) endpoints(ctx context.Context, q *backend.Query) exec.Endpoints {
	get := func(typ *onto.Schema, key string, at int64) json.RawMessage {
		if typ == nil {
			return nil
		}
		v, err := b.Get(ctx, onto.EntityID(typ.Name, key), at)
		if err != nil || !v.Live() {
			return nil
		}
		return v.Fields
	}
	return func(v *onto.Version) (json.RawMessage, json.RawMessage, error) {
		fields := b.ends(q, v, get)
		return fields[0], fields[1], nil
	}
}

func (b misled) Scan(ctx context.Context, q *backend.Query) versions {
	if !uses(q) || q.Left == nil {
		return b.Backend.Scan(ctx, q)
	}
	return exec.Select(q, b.Backend.Scan(ctx, bare(q)), b.endpoints(ctx, q))
}

// joining leaves out relations that lack an endpoint.
type joining struct{ backend.Backend }

func (b joining) Scan(ctx context.Context, q *backend.Query) versions {
	if !uses(q) || q.Left == nil || q.Limit > 0 || q.Offset > 0 {
		return b.Backend.Scan(ctx, q)
	}
	list, err := all(b.Backend.Scan(ctx, q))
	return replay(slices.DeleteFunc(list, func(v onto.Version) bool {
		_, left := b.Get(ctx, onto.EntityID(q.Left.Name, v.Left), momentOf(q, &v))
		if q.Right == nil {
			return errors.Is(left, onto.NotFound)
		}
		_, right := b.Get(ctx, onto.EntityID(q.Right.Name, v.Right), momentOf(q, &v))
		return errors.Is(left, onto.NotFound) || errors.Is(right, onto.NotFound)
	}), err)
}
