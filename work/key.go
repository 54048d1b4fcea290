package work

import (
	"github.com/ontologia/onto/internal/dedupe"
)

// key tells an item apart from others.
func key(i *Item) (string, error) {
	r := dedupe.Resource{System: i.System, Source: i.Source, Type: i.Type, ID: i.ID}
	if i.Scope == ScopeRun {
		r.Run = i.Run
	}
	return dedupe.Key(r)
}

// scopeOf is the scope of an item by its key.
func scopeOf(key string) Scope {
	if dedupe.OfRun(key) {
		return ScopeRun
	}
	return ScopeForever
}
