package jq

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"reflect"
	"slices"

	"github.com/itchyny/gojq"
)

// editor changes a value at paths. It copies each list and object once, at its
// first change, and leaves alone what the program can see elsewhere.
type editor struct {
	value any
	owned map[uintptr]any // copies that can be changed in place; what holds one is one
	drops []any           // paths to remove in the end, since removing changes indices
}

// gone stands where something is to be removed.
type gone struct{}

// maxIndex is how far a list can be filled up with null.
const maxIndex = MaxValue / 4

func newEditor(v any) *editor { return &editor{value: v, owned: map[uintptr]any{}} }

func (e *editor) owns(v any) bool {
	switch v.(type) {
	case []any, map[string]any:
		return e.owned[reflect.ValueOf(v).Pointer()] != nil
	}
	return false
}

// own keeps the copy, so that nothing else gets its address, in place of what it is
// a copy of.
func (e *editor) own(copied, of any) {
	delete(e.owned, reflect.ValueOf(of).Pointer())
	e.owned[reflect.ValueOf(copied).Pointer()] = copied
}

// current returns the value, for the program to see what is at a path. If that
// is a copy, it is not changed in place any more.
func (e *editor) current(w *watch, path any) any {
	w.path(path)
	v := e.value
	for _, step := range path.([]any) {
		switch step := step.(type) {
		case string:
			object, _ := v.(map[string]any)
			v = object[step]
		case int:
			list, _ := v.([]any)
			v = nil
			if i := clamp(step, -1, len(list)); i >= 0 && i < len(list) {
				v = list[i]
			}
		default: // a part of a list, which shares its memory
			clear(e.owned)
			return e.value
		}
	}
	if e.owns(v) {
		clear(e.owned)
	}
	return e.value
}

// put sets what is at a path.
func (e *editor) put(w *watch, path, n any) any {
	steps, ok := path.([]any)
	if !ok {
		return notApplicable("setpath", e.value, path)
	}
	w.path(path)
	w.tick(len(steps))
	changed, err := e.set(w, e.value, steps, n)
	if err != nil {
		return fmt.Errorf("setpath(%s; %s) cannot be applied to %s: %w", gojq.Preview(path), gojq.Preview(n), gojq.Preview(e.value), err)
	}
	e.value = changed
	return e
}

// drop removes what is at a path when everything is edited.
func (e *editor) drop(path any) any {
	e.drops = append(e.drops, path)
	return e
}

// edited returns the value with all changes.
func (e *editor) edited(w *watch) any { return e.remove(w, e.drops) }

func (e *editor) remove(w *watch, paths any) any {
	list, ok := paths.([]any)
	if !ok {
		return notApplicable("delpaths", e.value, paths)
	}
	v, err := e.value, error(nil)
	for _, path := range list {
		if steps, ok := path.([]any); ok {
			w.path(path)
			w.tick(len(steps) + 1)
			v, err = e.set(w, v, steps, gone{})
		} else {
			err = expected("an array", path)
		}
		if err != nil {
			return fmt.Errorf("delpaths(%s) cannot be applied to %s: %w", gojq.Preview(paths), gojq.Preview(e.value), err)
		}
	}
	return e.sweep(v)
}

// sweep takes out what is gone, which is in copies only.
func (e *editor) sweep(v any) any {
	if v == (gone{}) {
		return nil
	}
	if !e.owns(v) {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		for name, m := range v {
			if m == (gone{}) {
				delete(v, name)
			} else if e.owns(m) {
				v[name] = e.sweep(m)
			}
		}
		return v
	case []any:
		left := v[:0]
		for _, m := range v {
			if m != (gone{}) {
				left = append(left, e.sweep(m))
			}
		}
		clear(v[len(left):])
		return left
	}
	return v
}

func setPath(w *watch, v, path, n any) any {
	e := newEditor(v)
	if err, failed := e.put(w, path, n).(error); failed {
		return err
	}
	return e.value
}

func deletePaths(w *watch, v, paths any) any { return newEditor(v).remove(w, paths) }

// set returns a value with another one at a path. It descends as deep as the path
// is long.
func (e *editor) set(w *watch, v any, path []any, n any) (any, error) {
	if len(path) == 0 {
		return n, nil
	}
	if v == (gone{}) {
		return v, nil
	}
	switch step := path[0].(type) {
	case string:
		if object, ok := v.(map[string]any); ok || v == nil {
			return e.setMember(w, object, step, path[1:], n)
		}
		return nil, expected("an object", v)
	case int, float64, *big.Int, json.Number:
		if list, ok := v.([]any); ok || v == nil {
			return e.setElement(w, list, index(step), path[1:], n)
		}
		return nil, expected("an array", v)
	case map[string]any:
		if list, ok := v.([]any); ok || v == nil {
			return e.setSlice(w, list, step, path[1:], n)
		}
		return nil, expected("an array", v)
	default:
		if _, ok := v.([]any); ok {
			return nil, expected("a number for indexing an array", step)
		}
		return nil, expected("a string for object key", step)
	}
}

func (e *editor) setMember(w *watch, object map[string]any, name string, path []any, n any) (any, error) {
	old, ok := object[name]
	if !ok && n == (gone{}) {
		return orNil(object), nil
	}
	v, err := e.set(w, old, path, n)
	if err != nil {
		return nil, err
	}
	if !e.owns(object) {
		copied := make(map[string]any, len(object)+1)
		maps.Copy(copied, object)
		e.own(copied, object)
		object = copied
	}
	object[name] = v
	return object, nil
}

func (e *editor) setElement(w *watch, list []any, i int, path []any, n any) (any, error) {
	at := clamp(i, -1, len(list))
	var old any
	switch {
	case at >= 0 && at < len(list):
		i, old = at, list[at]
	case n == (gone{}):
		return orNil(list), nil
	case at < 0:
		return nil, fmt.Errorf("array index should not be negative: %d", i)
	case i > maxIndex:
		w.stop("a list is filled up to index %d, the limit is %d", i, maxIndex)
	}
	v, err := e.set(w, old, path, n)
	if err != nil {
		return nil, err
	}
	switch owned := e.owns(list); {
	case owned && i < len(list):
	case owned && i < cap(list):
		list = list[:i+1]
	default:
		room := 0
		if owned {
			room = 2 * cap(list)
		}
		size := max(len(list), i+1)
		copied := make([]any, size, max(size, room))
		copy(copied, list)
		e.own(copied, list)
		list = copied
	}
	list[i] = v
	return list, nil
}

func (e *editor) setSlice(w *watch, list []any, bounds map[string]any, path []any, n any) (any, error) {
	start, end, err := slice(list, bounds)
	if err != nil {
		return nil, err
	}
	if start == end && n == (gone{}) {
		return orNil(list), nil
	}
	v, err := e.set(w, list[start:end:end], path, n)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case []any:
		if e.owns(list) && len(v) == end-start {
			copy(list[start:], v)
			return list, nil
		}
		w.sum(list, v)
		joined := slices.Concat(list[:start], v, list[end:])
		e.own(joined, list)
		return joined, nil
	case gone:
		if !e.owns(list) {
			copied := slices.Clone(list)
			e.own(copied, list)
			list = copied
		}
		for i := start; i < end; i++ {
			list[i] = v
		}
		return list, nil
	default:
		return nil, expected("an array", v)
	}
}

// slice returns the bounds of a part of a list.
func slice(list []any, bounds map[string]any) (start, end int, err error) {
	s, hasStart := bounds["start"]
	n, hasEnd := bounds["end"]
	if !hasStart || !hasEnd {
		return 0, 0, expected(`"start" and "end" for slicing`, bounds)
	}
	for _, v := range []any{s, n} {
		if v != nil && gojq.TypeOf(v) != "number" {
			return 0, 0, expected("a number for indexing an array", v)
		}
	}
	end = len(list)
	if s != nil {
		start = clamp(index(s), 0, len(list))
	}
	if n != nil {
		if f, ok := n.(float64); ok {
			n = math.Ceil(f)
		}
		end = clamp(index(n), start, len(list))
	}
	return start, end, nil
}

// clamp turns an index that may count from the end into one between limits.
func clamp(i, least, most int) int {
	if i < 0 {
		i += most
	}
	return min(max(i, least), most)
}

// index turns a number into an index, as near as possible.
func index(v any) int {
	switch v := v.(type) {
	case int:
		return v
	case *big.Int:
		if v.IsInt64() {
			return int(v.Int64())
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return int(n)
		}
	}
	switch f, _ := number(v); {
	case f >= math.MinInt && f < math.MaxInt:
		return int(f)
	case f > 0:
		return math.MaxInt
	}
	return math.MinInt
}

// orNil is nil for a list or an object that is not there.
func orNil[T []any | map[string]any](v T) any {
	if v == nil {
		return nil
	}
	return v
}

func expected(what string, v any) error {
	return fmt.Errorf("expected %s but got: %s", what, described(v))
}
