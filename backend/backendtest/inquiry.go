package backendtest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/typelist"
)

// inquiry is a random question. It is plain data: the moment and what is known
// of the types are filled in when it is asked.
type inquiry struct {
	backend.Aggregation      // an aggregation if Compute is not empty, otherwise a query
	Page                int  // query: the size of its pages; 0 for all at once
	Marked              bool // the query marks all texts for search, whatever is registered
}

// GoString describes the inquiry for messages.
func (i inquiry) GoString() string { return i.String() }

// String describes the inquiry for messages.
func (i inquiry) String() string {
	text := describeAggregation(&i.Aggregation)
	if i.Page > 0 {
		text += fmt.Sprintf(", in pages of %d", i.Page)
	}
	if i.Marked {
		text += ", all texts marked"
	}
	return text
}

// inquire asks both as of a commit. The reference answers at once what the
// backend answers page by page.
func (h *history) inquire(b backend.Backend, i inquiry, at int64) (got, want string) {
	i.At = at
	types := h.types()
	if i.Marked {
		types = searchable()
	}
	a := cleanAggregation(h, i.Aggregation, types)
	return h.both(b, func(ctx context.Context, b backend.Backend) string {
		if err := explain(ctx, b, a); err != nil {
			return "explain: " + err.Error()
		}
		switch {
		case len(a.Compute) > 0:
			return lines(b.Aggregate(ctx, a), roundedBy(a.Compute))
		case i.Page > 0 && b != h.reference:
			found, err := inPages(ctx, b, a.Query, i.Page)
			var text []string
			for _, v := range found {
				text = append(text, showVersion(v))
			}
			return outcome(strings.Join(text, "\n      "), err)
		}
		return lines(b.Scan(ctx, &a.Query), showVersion)
	})
}

// explain asks a backend that can explain its answers to do so.
func explain(ctx context.Context, b backend.Backend, a *backend.Aggregation) error {
	e, ok := backend.As[backend.Explainer](b)
	if !ok {
		return nil
	}
	var err error
	if len(a.Compute) > 0 {
		_, err = e.Explain(ctx, nil, a)
	} else {
		_, err = e.Explain(ctx, &a.Query, nil)
	}
	return err
}

// types returns the types of the tests with their present flags. Whatever their
// versions, they have the fields that are asked about.
func (h *history) types() []onto.Schema {
	types := testSchemas()
	for _, v := range typelist.Last(h.schemas()) {
		for i, t := range types {
			if t.TypeName() == v.Schema.TypeName() {
				types[i] = t.WithFlags(v.Schema)
			}
		}
	}
	return types
}

// roundedBy shows groups with their averages rounded, since engines add floats
// in different orders.
func roundedBy(compute []onto.Operand) func(onto.Group) string {
	return func(g onto.Group) string {
		g.Values = slices.Clone(g.Values)
		for i, o := range compute {
			if o.Func == onto.FuncAvg && g.Values[i] != nil {
				f, _ := strconv.ParseFloat(string(g.Values[i]), 64)
				g.Values[i] = strconv.AppendFloat(nil, f, 'g', 10, 64)
			}
		}
		return showGroup(g)
	}
}

// drawInquiry draws a question about one of the types of the tests.
func drawInquiry(t *rapid.T) inquiry {
	schema := oneOf(t, "type", testSchemas()...)
	var i inquiry
	i.Kind, i.Type = schema.Kind, schema.Name
	if oneOf(t, "mode", false, false, true) {
		i.Mode = backend.History
		i.Since = oneOf(t, "since", int64(0), 0, 0, 3, 9)
	}
	computing := oneOf(t, "computing", false, false, true)
	i.drawKeys(t)
	if oneOf(t, "filtered", true, !computing, true, false) {
		i.Where = drawFilter(t, schema, 2)
	}
	if oneOf(t, "searching", false, false, true, false) {
		i.Search = wordsOf(oneOf(t, "words", "ada", "ad", "a*", "ada b", "b", "e", "ad* b*", "b ada"))
		i.Marked = oneOf(t, "marked", true, false)
	}
	if computing {
		i.drawGroups(t, schema)
		return i
	}
	for range oneOf(t, "orders", 0, 1, 1, 2) {
		i.Order = append(i.Order, onto.Order{Operand: drawOperand(t, schema).Operand, Desc: oneOf(t, "down", false, true)})
	}
	i.Page = oneOf(t, "page", 0, 0, 1, 2, 3)
	if i.Page == 0 {
		i.Offset, i.Limit = oneOf(t, "offset", 0, 0, 0, 1, 3), oneOf(t, "limit", 0, 0, 1, 2, 4)
	}
	return i
}

func (i *inquiry) drawKeys(t *rapid.T) {
	keys := [][]string{nil, nil, nil, nil, nil, nil, {"a"}, {"b", "é", "a"}, {"b1", "B"}, {}, nil}
	if i.Kind == onto.KindEntity {
		i.Keys = oneOf(t, "keys", keys...)
		return
	}
	i.LeftKeys = oneOf(t, "left keys", keys...)
	if i.Kind == onto.KindFact {
		keys = [][]string{nil, nil, nil, nil, {"n"}, {"v", "n", "nothing"}, {"t", "mood"}, {}, nil}
	}
	i.RightKeys = oneOf(t, "right keys", keys...)
}

func (i *inquiry) drawGroups(t *rapid.T, schema onto.Schema) {
	for range oneOf(t, "by", 0, 1, 1, 2) {
		i.By = append(i.By, drawOperand(t, schema).Operand)
	}
	i.Compute = append(i.Compute, onto.Count())
	for range oneOf(t, "compute", 0, 1, 2, 3) {
		d := drawOperand(t, schema)
		d.Func = oneOf(t, "min or max", onto.FuncMin, onto.FuncMax, onto.FuncCountDistinct)
		switch {
		case d.kind == "n":
			d.Func = oneOf(t, "of n", onto.FuncSum, onto.FuncAvg, onto.FuncMin, onto.FuncMax, onto.FuncSum)
		case d.kind == "v":
			d.Func = oneOf(t, "of v", onto.FuncSum, onto.FuncAvg, onto.FuncMin, onto.FuncMax, onto.FuncAvgLen, onto.FuncCountDistinct)
		}
		i.Compute = append(i.Compute, d.Operand)
	}
}

// drawn is an operand and the field that it looks at.
type drawn struct {
	onto.Operand
	kind string
}

// drawOperand draws a path into a version or into its endpoints.
func drawOperand(t *rapid.T, schema onto.Schema) drawn {
	d := drawn{kind: oneOf(t, "field", "n", "t", "v", "v", "id")}
	switch {
	case schema.Right != "":
		d.Side = oneOf(t, "side", onto.OwnSide, onto.LeftSide, onto.RightSide)
	case schema.Left != "":
		d.Side = oneOf(t, "side", onto.OwnSide, onto.OwnSide, onto.LeftSide)
	}
	d.Path = []string{d.kind}
	if d.kind == "id" && schema.Kind != onto.KindEntity && d.Side == onto.OwnSide {
		d.kind, d.Path = "n", []string{"n"}
		if schema.Kind == onto.KindFact {
			d = drawReserved(t)
		}
	}
	if d.kind == "v" && oneOf(t, "inside", false, false, true, false) {
		d.Path = append(d.Path, "k")
	}
	return d
}

// drawReserved draws one of the fields that all facts have.
func drawReserved(t *rapid.T) drawn {
	name := oneOf(t, "reserved", onto.FactFrom, onto.FactUntil, onto.FactSeq, onto.FactAsserted, onto.FactKind, onto.FactRevoked)
	kinds := map[string]string{onto.FactFrom: "time", onto.FactUntil: "time", onto.FactSeq: "n", onto.FactAsserted: "n", onto.FactKind: "t", onto.FactRevoked: "v"}
	return drawn{onto.Path(name), kinds[name]}
}

func drawFilter(t *rapid.T, schema onto.Schema, depth int) onto.Filter {
	shape := "condition"
	if depth > 0 {
		shape = oneOf(t, "shape", "condition", "condition", "not", "and", "or")
	}
	switch shape {
	case "not":
		return onto.Not{Of: drawFilter(t, schema, depth-1)}
	case "and":
		return onto.And{drawFilter(t, schema, depth-1), drawFilter(t, schema, depth-1)}
	case "or":
		return onto.Or{drawFilter(t, schema, depth-1), drawFilter(t, schema, depth-1)}
	}
	return drawCondition(t, schema)
}

func drawCondition(t *rapid.T, schema onto.Schema) onto.Filter {
	d := drawOperand(t, schema)
	if d.kind == "v" && oneOf(t, "some", false, false, true) {
		d.Any = true
		if oneOf(t, "under", false, true) {
			d.Under = []string{"k"}
		}
	}
	c := onto.Condition{Operand: d.Operand, Test: oneOf(t, "test", testsOf(d.kind)...)}
	n := 1
	switch c.Test {
	case onto.IsNull, onto.IsNotNull, onto.IsTrue, onto.IsFalse:
		n = 0
	case onto.In:
		n = oneOf(t, "values", 2, 1, 0, 3)
	}
	for range n {
		c.Values = append(c.Values, drawValue(t, c.Test, d.kind))
	}
	return c
}

// testsOf returns the tests that fit a field.
func testsOf(kind string) []onto.Test {
	values := []onto.Test{onto.Equal, onto.NotEqual, onto.Less, onto.AtMost, onto.Greater, onto.AtLeast, onto.In, onto.IsNull, onto.IsNotNull}
	texts := []onto.Test{onto.StartsWith, onto.EndsWith, onto.Contains}
	switch kind {
	case "n", "time":
		return values
	case "v":
		return slices.Concat(values, texts, []onto.Test{onto.IsTrue, onto.IsFalse})
	}
	return slices.Concat(texts, values, texts)
}

// drawValue draws something that fits a field and a test.
func drawValue(t *rapid.T, test onto.Test, kind string) any {
	numbers := []any{int64(1), int64(2), int64(-1), 0.25, 1.5, -2.5, int64(9007199254740992), int64(9007199254740993), 9007199254740992.0}
	texts := []any{"a", "b", "1", "A", "ada", "Ada b", "é", "B", "%", "x", "", "_"}
	switch {
	case kind == "n":
		return oneOf(t, "number", numbers...)
	case kind == "time":
		return oneOf[any](t, "time", "2026-01-01T00:00:00.000000+00:00", "2026-02-01T00:00:00.000000+00:00", "1969-12-31T23:59:59.999999+00:00")
	case kind != "v" || slices.Contains([]onto.Test{onto.StartsWith, onto.EndsWith, onto.Contains}, test):
		return oneOf(t, "text", texts...)
	case test == onto.Equal || test == onto.NotEqual || test == onto.In:
		return oneOf(t, "value", slices.Concat([]any{true, int64(1), "1", false}, numbers, texts, []any{false, true})...)
	}
	return oneOf(t, "value", slices.Concat(numbers, texts)...)
}

// admissions returns what random streams admit: all of it, only what does not
// exist, and only what was made by some commits.
func admissions() []func(w *backend.Write, newest *onto.Version) (bool, error) {
	return []func(w *backend.Write, newest *onto.Version) (bool, error){
		nil,
		func(_ *backend.Write, newest *onto.Version) (bool, error) {
			return newest == nil || !newest.Live(), nil
		},
		func(w *backend.Write, newest *onto.Version) (bool, error) {
			return newest == nil || newest.Commit%3 != int64(len(w.Fields)%3), nil
		},
	}
}

// fieldsOf returns the fields that random histories write. The sums of the
// numbers in v are exact in any order.
func fieldsOf() []string {
	return []string{
		`{"n":1,"v":true}`, `{"n":2,"v":1}`, `{"v":{"k":["é",null]}}`, `{"v":"1"}`,
		`{"n":2,"t":"Ada b","v":true}`,
		`{"n":1,"t":"ada","v":1}`,
		`{"n":9007199254740993,"t":"B","v":0.25}`,
		`{"n":9007199254740992,"v":[1,"a",{"k":"x"}]}`,
		`{"t":"b ADA","v":-2.5}`,
		`{"n":-1,"t":"","v":{"k":"x"}}`,
		`{"n":9223372036854775807,"t":"É%_","v":false}`,
		`{"t":"b","v":"a"}`,
		`{"v":{"k":null}}`,
		`{"n":2,"t":"Ada b","v":{"k":[1,2]}}`, `{}`,
		`{"n":9223372036854775807,"v":1}`,
	}
}

// factFieldsOf returns as many fields for facts: some that differ in their place or in
// the commit that asserted them only, with and without an end.
func factFieldsOf() []string {
	const january, february = `"2026-01-01T00:00:00.000000+00:00"`, `"2026-02-01T00:00:00.000000+00:00"`
	return []string{
		`{"n":1}`, `{"n":1,"seq":1}`, `{"asserted":3,"n":1,"seq":2}`, `{"n":2}`,
		`{"n":1,"valid_from":` + january + `}`,
		`{"n":1,"valid_from":` + january + `,"valid_until":` + february + `}`,
		`{"asserted":1,"n":1,"revoked":true,"valid_from":` + january + `,"valid_until":` + february + `}`,
		`{"kind":"accepted","t":"Ada b","valid_from":"1969-12-31T23:59:59.999999+00:00"}`,
		`{"kind":"b","seq":1,"t":"ada"}`,
		`{"v":true}`, `{"v":{"k":["é",null]}}`, `{"seq":9007199254740993,"v":1}`, `{"v":"1"}`,
		`{"revoked":{"k":"x"},"v":[1,"a"],"valid_until":` + february + `}`, `{}`,
		`{"asserted":9007199254740993,"n":9223372036854775807}`,
	}
}
