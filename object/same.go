package object

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// members returns what an object is as JSON. Numbers keep all their digits.
func members(object any) (m map[string]any, err error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return m, decoder.Decode(&m)
}

// sameBut reports whether a given value is the stored one, but for what compute functions
// change: they make computed of the stored value, and recomputed of the given one.
func sameBut(given, stored, computed, recomputed any) bool {
	g, isGiven := given.(map[string]any)
	s, isStored := stored.(map[string]any)
	c, isComputed := computed.(map[string]any)
	r, isRecomputed := recomputed.(map[string]any)
	if !isGiven || !isStored || !isComputed || !isRecomputed {
		return reflect.DeepEqual(given, stored) || isEmpty(given) && isEmpty(stored) || !reflect.DeepEqual(stored, computed) || !reflect.DeepEqual(given, recomputed)
	}
	for _, m := range []map[string]any{g, s, c, r} {
		for name := range m {
			if !sameBut(g[name], s[name], c[name], r[name]) {
				return false
			}
		}
	}
	return true
}

// isEmpty reports whether a value is a list of nothing: a nil slice is stored and read as an empty one.
func isEmpty(value any) bool {
	list, isList := value.([]any)
	return value == nil || isList && len(list) == 0
}
