package filter

import (
	"fmt"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// The limits of a filter. Parse and Check refuse more.
const (
	maxText       = 64 << 10 // bytes
	maxDepth      = 100      // And, Or and Not inside each other
	maxConditions = 500
	maxValues     = 10_000         // in the lists of in_, all together
	maxNames      = codec.MaxDepth // in a path; no value is deeper
)

// fault is an error about a column, if the filter came from a text.
func fault(column int, format string, args ...any) *onto.Error {
	err := onto.Errorf(onto.Invalid, format, args...)
	if column > 0 {
		err.Message = fmt.Sprintf("column %d: %s", column, err.Message)
	}
	return err
}

// each visits the conditions of a filter, and stops with an error if it is not
// well formed or beyond the limits.
func each(f onto.Filter, visit func(onto.Condition)) error {
	w := walker{visit: visit}
	return w.filter(f, 1)
}

type walker struct {
	visit  func(onto.Condition)
	leaves int // conditions, and lists that are empty
	values int
}

func (w *walker) filter(f onto.Filter, depth int) error {
	switch f := f.(type) {
	case onto.Condition:
		return w.condition(f)
	case onto.And:
		return w.list(f, depth)
	case onto.Or:
		return w.list(f, depth)
	case onto.Not:
		return w.list([]onto.Filter{f.Of}, depth)
	case nil:
		return fault(0, "a part of the filter is nil").WithHint("leave it out")
	}
	return fault(0, "%T is no filter", f).WithHint("use onto.And, onto.Or, onto.Not and onto.Condition, not pointers to them")
}

func (w *walker) list(list []onto.Filter, depth int) error {
	if len(list) == 0 {
		return w.leaf()
	}
	if depth > maxDepth {
		return tooDeep(0)
	}
	for _, f := range list {
		if err := w.filter(f, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) condition(c onto.Condition) error {
	if err := w.leaf(); err != nil {
		return err
	}
	if c.Test == onto.In {
		if w.values += len(c.Values); w.values > maxValues {
			return tooManyValues(c.Column)
		}
	}
	w.visit(c)
	return nil
}

func (w *walker) leaf() error {
	if w.leaves++; w.leaves > maxConditions {
		return tooManyConditions(0)
	}
	return nil
}

func tooDeep(column int) error {
	return fault(column, "the filter nests deeper than %d levels", maxDepth)
}

func tooManyConditions(column int) error {
	return fault(column, "the filter has more than %d conditions", maxConditions).
		WithHint("to compare with many values, use in_")
}

func tooManyValues(column int) error {
	return fault(column, "in_ has more than %d values", maxValues).WithHint("ask in several queries")
}

// UsesEndpoints reports whether a filter, which may be nil, uses the left or the right
// endpoint.
func UsesEndpoints(f onto.Filter) (left, right bool) {
	_ = each(f, func(c onto.Condition) { // Check refuses malformed ones
		left = left || c.Operand.Side == onto.LeftSide
		right = right || c.Operand.Side == onto.RightSide
	})
	return left, right
}
