package work

import "strings"

// key tells an item apart from others: system, source, type and id, joined by colons. In
// the first three, colons and percent signs are escaped. The key of an item that is the
// same only in its run ends with a control character and the run, which no id can have.
func key(i *Item) string {
	escape := strings.NewReplacer("%", "%25", ":", "%3A")
	k := escape.Replace(i.System) + ":" + escape.Replace(i.Source) + ":" + escape.Replace(i.Type) + ":" + i.ID
	if i.Scope == ScopeRun {
		k += runMark + i.Run
	}
	return k
}

// runMark stands before the run in a key.
const runMark = "\x1f"

// scopeOf is the scope of an item that is queued.
func scopeOf(key string) Scope {
	if strings.Contains(key, runMark) {
		return ScopeRun
	}
	return ScopeForever
}
