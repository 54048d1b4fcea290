package jq

import (
	"encoding/json"
	"math/big"

	"github.com/itchyny/gojq"
)

// Limits on what one operator or function handles. Between them no limit is needed: the
// interpreter takes small steps, and watch checks each.
const (
	// MaxValue is how many bytes of JSON a function can read or write at once, at
	// least: as many as may be stored.
	MaxValue = MaxResult

	maxNesting = 10_000  // of such a value, and steps of a path; as encoding/json
	maxParts   = 2 << 20 // of a text that is taken apart
	maxSorted  = 1 << 20 // elements of a list that is sorted
	maxMatches = 1 << 18 // of an expression, counting groups
	maxBits    = 1 << 16 // of an integer
	maxDigits  = 1000    // of a number that is read from text
	maxOrder   = 1 << 20 // of a Bessel function, which takes as many rounds
	maxFormat  = 4 << 10 // bytes of a format of times, which may ask for 1 KiB every few bytes
)

// whole stops the run if a value is too large or too deep to be read whole. It counts
// shared parts each time: a value that shares its parts is small in memory and can be
// huge as text.
func (w *watch) whole(v any) {
	switch v.(type) {
	case nil, bool, int, float64:
		return
	}
	if size := w.measure(v, 0, 0); size > MaxValue {
		w.tooLarge()
	}
}

// sortable stops the run if a list is too large to be sorted.
func (w *watch) sortable(v any) {
	if list, ok := v.([]any); ok && len(list) > maxSorted {
		w.stop("a list of more than %d elements is sorted", maxSorted)
	}
	w.whole(v)
}

func (w *watch) tooLarge() {
	w.stop("a value has more than %d bytes of JSON", MaxValue)
}

// measure returns a size, plus that of a value, which is at most that of its
// JSON. It stops counting above MaxValue.
func (w *watch) measure(v any, size, depth int) int {
	switch v := v.(type) {
	case string:
		return size + len(v) + 2
	case json.Number:
		return size + len(v)
	case *big.Int:
		return size + v.BitLen()/4
	case []any:
		w.nested(depth + 1)
		size += 1 + max(1, len(v))
		for _, e := range v {
			if size > MaxValue {
				return size
			}
			size = w.measure(e, size, depth+1)
		}
		return size
	case map[string]any:
		w.nested(depth + 1)
		size += 1 + max(1, len(v))
		for name, e := range v {
			if size > MaxValue {
				return size
			}
			size = w.measure(e, size+len(name)+3, depth+1)
		}
		return size
	}
	return size + 1
}

func (w *watch) nested(depth int) {
	if depth > maxNesting {
		w.stop("a value is nested deeper than %d", maxNesting)
	}
}

// shallow is how many bytes of JSON the copy of a value takes at least, if its
// parts are shared and not copied.
func shallow(v any) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case []any:
		return 2 * len(v)
	case map[string]any:
		return 5 * len(v)
	case json.Number:
		return len(v)
	case *big.Int:
		return v.BitLen() / 3
	}
	return 8
}

// sum stops the run if values are too much to be put together.
func (w *watch) sum(values ...any) {
	size := 0
	for _, v := range values {
		if size += shallow(v); size > MaxValue {
			w.tooLarge()
		}
	}
}

// product stops the run before a multiplication with too large a result: numbers get as
// long as both together, a text is repeated, objects are merged.
func (w *watch) product(l, r any) {
	if text, ok := r.(string); ok {
		l, r = text, l
	}
	switch l := l.(type) {
	case string:
		if n, ok := number(r); ok && n > 0 && n*float64(len(l)) > MaxValue {
			w.tooLarge()
		}
	case map[string]any:
		w.whole(l)
		w.whole(r)
	default:
		if bits(l)+bits(r) > maxBits {
			w.stop("an integer has more than %d bits", maxBits)
		}
	}
}

func bits(v any) int {
	switch v := v.(type) {
	case *big.Int:
		return v.BitLen()
	case json.Number:
		return 4 * len(v)
	}
	return 64
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	case *big.Int:
		f, _ := new(big.Float).SetInt(v).Float64()
		return f, true
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	}
	return 0, false
}

// compare is the order of two values.
func (w *watch) compare(l, r any) int {
	if gojq.TypeOf(l) == gojq.TypeOf(r) {
		w.whole(l)
		w.whole(r)
	}
	return gojq.Compare(l, r)
}
