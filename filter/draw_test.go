package filter_test

import (
	"strings"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
)

// The drawn filters, rows and groups share few names and values, so that they match.
// Some names and texts need quotes and escapes.

func drawName(t *rapid.T) string {
	return rapid.SampledFrom([]string{"a", "b", "c", "any", "in_", "a b", "é", `q"\`, "\n", ""}).Draw(t, "name")
}

func drawNames(t *rapid.T, least int) []string {
	var names []string
	for range rapid.IntRange(least, 3).Draw(t, "names") {
		names = append(names, drawName(t))
	}
	return names
}

func drawText(t *rapid.T) string {
	if rapid.IntRange(0, 9).Draw(t, "free") == 0 {
		return strings.ReplaceAll(strings.ToValidUTF8(rapid.String().Draw(t, "text"), "?"), "\x00", "0")
	}
	return rapid.SampledFrom(texts()).Draw(t, "text")
}

func texts() []string {
	return []string{
		"", "x", "xy", "yx", "y", "X", "é", "e\u0301", "\uffff", "😀", `"`, `\`, "\n", "x\ny", "%", "_", "1", "true", "null",
	}
}

// numbers lie where int64 and float64 are hard to compare.
func numbers() []any {
	return []any{
		int64(0), int64(1), int64(-1), int64(2), int64(1<<53 - 1), int64(1 << 53), int64(1<<53 + 1), int64(-1<<53 - 1),
		int64(1<<63 - 1), int64(1<<63 - 2), int64(-1 << 63), int64(-1<<63 + 1),
		0.5, -0.5, 1.5, 1e-9, float64(1<<53 + 2), float64(1 << 62), 1e19, -1e19, 1e300, 2251799813685248.5, float64(1 << 63), float64(-1<<63 - 2048),
	}
}

// drawScalar draws a string, an int64, a float64 or a bool.
func drawScalar(t *rapid.T) any {
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0, 1:
		return drawText(t)
	case 2:
		return rapid.Bool().Draw(t, "bool")
	case 3:
		return rapid.SampledFrom(numbers()).Draw(t, "number")
	}
	return rapid.Int64Range(-3, 3).Draw(t, "small")
}

func drawOperand(t *rapid.T) onto.Operand {
	o := onto.Operand{
		Side: rapid.SampledFrom([]onto.Side{onto.OwnSide, onto.OwnSide, onto.LeftSide, onto.RightSide}).Draw(t, "side"),
		Path: drawNames(t, 1),
	}
	if o.Any = rapid.IntRange(0, 2).Draw(t, "any") == 0; o.Any {
		o.Under = drawNames(t, 0)
	}
	return o
}

func tests() []onto.Test {
	return []onto.Test{
		onto.Equal, onto.NotEqual, onto.Less, onto.AtMost, onto.Greater, onto.AtLeast, onto.In, onto.StartsWith,
		onto.EndsWith, onto.Contains, onto.IsNull, onto.IsNotNull, onto.IsTrue, onto.IsFalse,
	}
}

func drawCondition(t *rapid.T) onto.Condition {
	c := onto.Condition{Operand: drawOperand(t), Test: rapid.SampledFrom(tests()).Draw(t, "test")}
	switch c.Test {
	case onto.IsNull, onto.IsNotNull, onto.IsTrue, onto.IsFalse:
	case onto.In:
		for range rapid.IntRange(0, 3).Draw(t, "values") {
			c.Values = append(c.Values, drawScalar(t))
		}
	case onto.StartsWith, onto.EndsWith, onto.Contains:
		c.Values = []any{drawText(t)}
	case onto.Equal, onto.NotEqual:
		c.Values = []any{drawScalar(t)}
	default:
		v := drawScalar(t)
		if _, isBool := v.(bool); isBool {
			v = int64(1)
		}
		c.Values = []any{v}
	}
	return c
}

func drawFilter(t *rapid.T, depth int) onto.Filter {
	if depth == 0 {
		return drawCondition(t)
	}
	kind := rapid.IntRange(0, 3).Draw(t, "filter")
	if kind == 0 {
		return drawCondition(t)
	}
	if kind == 1 {
		return onto.Not{Of: drawFilter(t, depth-1)}
	}
	var list []onto.Filter
	for range rapid.IntRange(0, 3).Draw(t, "parts") {
		list = append(list, drawFilter(t, depth-1))
	}
	if kind == 2 {
		return onto.And(list)
	}
	return onto.Or(list)
}

// drawObject draws an object as encoding/json would decode it.
func drawObject(t *rapid.T, depth int) map[string]any {
	object := map[string]any{}
	for range rapid.IntRange(0, 4).Draw(t, "members") {
		object[drawName(t)] = drawValue(t, depth-1)
	}
	return object
}

func drawValue(t *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 5).Draw(t, "value")
	switch {
	case kind == 0:
		return nil
	case kind == 1 && depth > 0:
		return drawObject(t, depth)
	case kind == 2 && depth > 0:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			list = append(list, drawValue(t, depth-1))
		}
		return list
	}
	return drawScalar(t)
}
