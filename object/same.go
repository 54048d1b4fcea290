package object

import (
	"encoding/json"
	"reflect"
)

// members returns what an object is as JSON.
func members(object any) (map[string]any, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var m map[string]any
	return m, json.Unmarshal(text, &m)
}

// sameBut reports whether two values are equal but for what compute functions made of the
// second, which is given as it was before them and as it was after.
func sameBut(given, stored, computed any) bool {
	g, isGiven := given.(map[string]any)
	s, isStored := stored.(map[string]any)
	c, isComputed := computed.(map[string]any)
	if !isGiven || !isStored || !isComputed {
		return !reflect.DeepEqual(stored, computed) || reflect.DeepEqual(given, stored) || isEmpty(given) && isEmpty(stored)
	}
	names := map[string]bool{}
	for _, m := range []map[string]any{g, s, c} {
		for name := range m {
			names[name] = true
		}
	}
	for name := range names {
		if !sameBut(g[name], s[name], c[name]) {
			return false
		}
	}
	return true
}

// isEmpty reports whether a value is a list of nothing: a nil slice is stored and read as an empty one.
func isEmpty(value any) bool {
	list, isList := value.([]any)
	return value == nil || isList && len(list) == 0
}
