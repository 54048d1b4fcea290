package jq

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/itchyny/gojq"
)

// The functions in this file take time proportional to the product of their inputs, so
// they check the watch while they run.

// without returns what is in one list and not in another.
func without(w *watch, l, r []any) any {
	w.whole(l)
	w.whole(r)
	left := make([]any, 0, len(l))
	for _, e := range l {
		if !includes(w, r, e) {
			left = append(left, e)
		}
	}
	return left
}

func includes(w *watch, list []any, v any) bool {
	size := w.measure(v, 0, 0)
	for _, e := range list {
		w.tick(size)
		if gojq.Compare(e, v) == 0 {
			return true
		}
	}
	return false
}

// contains reports whether each part of a value is in another one. Values of
// different kinds are an error.
func contains(w *watch, l, r any) any {
	w.whole(l)
	w.whole(r)
	return holds(w, l, r)
}

func holds(w *watch, l, r any) any {
	w.tick(1)
	switch l := l.(type) {
	case string:
		if r, ok := r.(string); ok {
			w.tick(len(l))
			return strings.Contains(l, r)
		}
	case []any:
		if r, ok := r.([]any); ok {
			return holdsAll(w, l, r)
		}
	case map[string]any:
		if r, ok := r.(map[string]any); ok {
			for name, v := range r {
				if e, ok := l[name]; !ok || holds(w, e, v) != true {
					return false
				}
			}
			return true
		}
	default:
		if kind := gojq.TypeOf(l); kind == gojq.TypeOf(r) && (kind != "boolean" || l == r) {
			return gojq.Compare(l, r) == 0
		}
	}
	return notApplicable("contains", l, r)
}

func holdsAll(w *watch, l, r []any) bool {
	for _, v := range r {
		found := false
		for _, e := range l {
			if found = holds(w, e, v) == true; found {
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// find is indices, index and rindex: where a value is in a text or a list.
func find(w *watch, name string, v, x any) any {
	var at []any
	most := maxParts
	if name == "index" {
		most = 1
	}
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		part, ok := x.(string)
		if !ok {
			return notApplicable(name, v, x)
		}
		at = textIndices(w, v, part, most)
	case []any:
		at = listIndices(w, v, x, most)
	default:
		return notApplicable(name, v, x)
	}
	switch {
	case name == "indices":
		return at
	case len(at) == 0:
		return nil
	}
	return at[len(at)-1]
}

func textIndices(w *watch, text, part string, most int) []any {
	at := []any{}
	if part == "" {
		return at
	}
	for runes, pos := 0, 0; ; {
		i := strings.Index(text[pos:], part)
		if i < 0 {
			return at
		}
		w.tick(i + len(part))
		runes += utf8.RuneCountInString(text[pos : pos+i])
		at = append(at, runes)
		if len(at) == most {
			return w.most(at, most)
		}
		_, width := utf8.DecodeRuneInString(text[pos+i:])
		runes, pos = runes+1, pos+i+width
	}
}

func listIndices(w *watch, list []any, x any, most int) []any {
	at := []any{}
	part, ok := x.([]any)
	if !ok {
		part = []any{x}
	}
	if len(part) == 0 {
		return at
	}
	w.whole(list)
	w.whole(part)
	size := w.measure(part, 0, 0)
	for i := range len(list) - len(part) + 1 {
		w.tick(size)
		if gojq.Compare(list[i:i+len(part)], part) == 0 {
			if at = append(at, i); len(at) == most {
				return w.most(at, most)
			}
		}
	}
	return at
}

// most returns the first indices, if more were not asked for.
func (w *watch) most(at []any, most int) []any {
	if most > 1 {
		w.stop("a value is found at more than %d places", maxParts)
	}
	return at
}

func notApplicable(name string, v, x any) error {
	return fmt.Errorf("%s(%s) cannot be applied to: %s", name, gojq.Preview(x), described(v))
}
