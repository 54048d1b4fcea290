package work

import (
	"strings"
	"unicode"

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

// scopeOf is the scope of an item by its key: only that of a run has a control character.
func scopeOf(key string) Scope {
	if strings.ContainsFunc(key, unicode.IsControl) {
		return ScopeRun
	}
	return ScopeForever
}
