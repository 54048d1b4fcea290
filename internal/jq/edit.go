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

// editor changes a value at paths. It copies each list and object once, at its first
// change, and does not change what the program can see elsewhere.
type editor struct {
	value any
	owned map[uintptr]any // copies that can be changed in place; whatever holds one is one too
	drops []any           // paths to remove at the end, since removing changes indices
	trail []place         // the containers on the way to the change, kept for reuse
}

// gone marks what is to be removed.
type gone struct{}

// place is where one step of a path leads.
type place struct {
	kind       placeKind
	holder     any    // the object or list that it is in, or nil
	name       string // of a member
	start, end int    // of a part; start is the index of an element, negative if it is before the list
	value      any    // what is there
	found      bool   // whether something is there
}

type placeKind int

const (
	member  placeKind = iota // of an object
	element                  // of a list
	part                     // of a list, any number of elements
)

// maxIndex is how far a list can be filled up with null.
const maxIndex = MaxValue / 4

// largeIndex is up to where that is so little that the memory is not measured before.
const largeIndex = maxIndex / 64

func newEditor(v any) *editor { return &editor{value: v, owned: map[uintptr]any{}} }

func (e *editor) owns(v any) bool {
	switch v.(type) {
	case []any, map[string]any:
		return e.owned[reflect.ValueOf(v).Pointer()] != nil
	}
	return false
}

// own keeps a copy in place of its original. Keeping it makes sure that nothing else
// gets its address.
func (e *editor) own(copied, of any) {
	if of != nil {
		delete(e.owned, reflect.ValueOf(of).Pointer())
	}
	e.owned[reflect.ValueOf(copied).Pointer()] = copied
}

// current returns the value, for the program to see what is at a path. A copy that was
// seen is not changed in place any more.
func (e *editor) current(w *watch, path any) any {
	w.path(path)
	v := e.value
	for _, step := range path.([]any) {
		p, err := lookup(v, step)
		if err != nil {
			return e.value
		}
		if p.kind == part { // shares its memory with the list
			clear(e.owned)
			return e.value
		}
		v = p.value
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

// drop removes what is at a path when all changes are made.
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
	if v == (gone{}) {
		return nil
	}
	return e.sweep(v)
}

// sweep removes what is marked as gone, which is in copies only.
func (e *editor) sweep(v any) any {
	if !e.owns(v) {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(_ string, m any) bool { return m == (gone{}) })
		for name, m := range v {
			v[name] = e.sweep(m)
		}
	case []any:
		left := slices.DeleteFunc(v, func(m any) bool { return m == (gone{}) })
		for i, m := range left {
			left[i] = e.sweep(m)
		}
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

// set returns a value with another one at a path. All places on the way are looked
// up before the first is written to, which is the last one.
func (e *editor) set(w *watch, v any, path []any, n any) (any, error) {
	e.trail = slices.Grow(e.trail[:0], len(path))
	at := v
	for _, step := range path {
		if at == (gone{}) {
			return v, nil
		}
		p, err := lookup(at, step)
		switch {
		case err != nil:
			return nil, err
		case !p.found && n == (gone{}):
			return v, nil
		case p.start < 0:
			return nil, fmt.Errorf("array index should not be negative: %d", index(step))
		case !p.found && p.start > maxIndex:
			w.stop("a list is filled up to index %d, the limit is %d", p.start, maxIndex)
		}
		e.trail = append(e.trail, p)
		at = p.value
	}
	for _, p := range slices.Backward(e.trail) {
		var err error
		if n, err = e.write(w, p, n); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// lookup finds where a step leads from a value.
func lookup(v, step any) (place, error) {
	object, isObject := v.(map[string]any)
	list, isList := v.([]any)
	switch step := step.(type) {
	case string:
		if !isObject && v != nil {
			return place{}, expected("an object", v)
		}
		inside, found := object[step]
		return place{kind: member, holder: v, name: step, value: inside, found: found}, nil
	case int, float64, *big.Int, json.Number:
		if !isList && v != nil {
			return place{}, expected("an array", v)
		}
		p := place{kind: element, holder: v, start: fromStart(step, len(list))}
		if p.found = p.start >= 0 && p.start < len(list); p.found {
			p.value = list[p.start]
		}
		return p, nil
	case map[string]any:
		if !isList && v != nil {
			return place{}, expected("an array", v)
		}
		return lookupPart(v, list, step)
	}
	if isList {
		return place{}, expected("a number for indexing an array", step)
	}
	return place{}, expected("a string for object key", step)
}

// lookupPart finds the part of a list between bounds, null being those of the list.
func lookupPart(holder any, list []any, bounds map[string]any) (place, error) {
	from, hasStart := bounds["start"]
	to, hasEnd := bounds["end"]
	if !hasStart || !hasEnd {
		return place{}, expected(`"start" and "end" for slicing`, bounds)
	}
	for _, bound := range []any{from, to} {
		if bound != nil && gojq.TypeOf(bound) != "number" {
			return place{}, expected("a number for indexing an array", bound)
		}
	}
	p := place{kind: part, holder: holder, end: len(list)}
	if from != nil {
		p.start = min(max(fromStart(from, len(list)), 0), len(list))
	}
	if f, ok := to.(float64); ok {
		to = math.Ceil(f)
	}
	if to != nil {
		p.end = min(max(fromStart(to, len(list)), p.start), len(list))
	}
	p.value, p.found = list[p.start:p.end:p.end], p.start < p.end
	return p, nil
}

// fromStart turns a number into an index that counts from the start of a list; one
// that is negative counts from the end.
func fromStart(number any, length int) int {
	i := index(number)
	if i < 0 {
		i += length
	}
	return i
}

// index is a number without its fraction, or the nearest that is an int.
func index(v any) int {
	if i, ok := v.(int); ok {
		return i
	}
	switch f, _ := number(v); {
	case f >= math.MaxInt:
		return math.MaxInt
	case f > math.MinInt:
		return int(f)
	default: // or not a number
		return math.MinInt
	}
}

// write returns the list or object of a place with another value there.
func (e *editor) write(w *watch, p place, v any) (any, error) {
	switch p.kind {
	case member:
		holder := e.writableObject(p.holder)
		holder.(map[string]any)[p.name] = v
		return holder, nil
	case element:
		if !p.found && p.start >= largeIndex {
			w.large()
		}
		holder := e.writableList(p.holder, p.start+1)
		holder.([]any)[p.start] = v
		return holder, nil
	default:
		return e.writePart(w, p, v)
	}
}

func (e *editor) writePart(w *watch, p place, v any) (any, error) {
	if v == (gone{}) {
		holder := e.writableList(p.holder, p.end)
		for i := p.start; i < p.end; i++ {
			holder.([]any)[i] = v
		}
		return holder, nil
	}
	elements, ok := v.([]any)
	if !ok {
		return nil, expected("an array", v)
	}
	list, _ := p.holder.([]any)
	if e.owns(p.holder) && len(elements) == p.end-p.start {
		copy(list[p.start:], elements)
		return p.holder, nil
	}
	w.sum(list, elements)
	joined := make([]any, 0, len(list)-(p.end-p.start)+len(elements))
	joined = append(append(append(joined, list[:p.start]...), elements...), list[p.end:]...)
	e.own(joined, p.holder)
	return joined, nil
}

// writableObject returns an object that can be changed in place.
func (e *editor) writableObject(v any) any {
	if e.owns(v) {
		return v
	}
	object, _ := v.(map[string]any)
	copied := make(map[string]any, len(object)+1)
	maps.Copy(copied, object)
	e.own(copied, v)
	return copied
}

// writableList returns a list that can be changed in place, filled up to a length.
func (e *editor) writableList(v any, length int) any {
	list, _ := v.([]any)
	missing := max(length-len(list), 0)
	owned := e.owns(v)
	switch {
	case owned && missing == 0:
		return v
	case owned:
		list = append(list, make([]any, missing)...)
	default:
		copied := make([]any, len(list)+missing)
		copy(copied, list)
		list = copied
	}
	longer := any(list)
	e.own(longer, v)
	return longer
}

func expected(what string, v any) error {
	return fmt.Errorf("expected %s but got: %s", what, described(v))
}
